"""The result of an explanation: what a difference between two sides consists of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from regatta.answers.topics.counters.topic import Missing
from regatta.stats.estimate import Interval

#: What is divided into parts. Threads that run at the same time spend more processor time than time elapses.
Quantity = Literal["elapsed time", "processor time"]


@dataclass(frozen=True)
class Part:
    """A kind of work, or the time without any. `shares`: of the whole time of side A, of each side, 0 to 1."""

    name: str
    shares: tuple[float, float]
    #: to the relative difference, as a share; the intervals of all parts hold together
    contribution: Interval
    #: whether its interval excludes 0, so that it is a cause
    is_cause: bool


@dataclass(frozen=True)
class Counted:
    """The ratio B / A of a counter, by rounds."""

    name: str
    unit: str
    means: tuple[float, float]
    ratio: Interval


@dataclass(frozen=True)
class Explanation:
    """Why side B differs from side A on one host."""

    experiment: str
    host: str
    benchmark: str
    #: names of the sides
    a: str
    b: str
    metric: str
    quantity: Quantity
    #: what the times are of: `iteration` or `invocation`
    per: str
    rounds: int
    level: float
    #: relative difference of the metric in the experiment, without the profiler, as a share
    measured: Interval
    #: relative difference of the quantity in the profiled runs, as a share
    profiled: Interval
    #: the largest contributions first
    parts: tuple[Part, ...]
    #: what the causes leave of the difference, as a share
    unexplained: Interval
    counters: tuple[Counted, ...]
    #: counters without a value on this host, with the reason
    missing: tuple[Missing, ...]
    #: stack -> its share of the whole time of side A, on each side
    stacks: Mapping[str, tuple[float, float]] = field(repr=False, default_factory=dict)

    @property
    def causes(self) -> tuple[Part, ...]:
        """Return the parts whose contribution is beyond chance."""
        return tuple(part for part in self.parts if part.is_cause)
