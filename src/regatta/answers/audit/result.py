"""The result of an audit: claims of prevalent methods, compared with the intervals. Frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from regatta.answers.spine.parts import HEAP, INLINED, Place
from regatta.answers.spine.result import CellAnswer
from regatta.host.values.experiment import Scalar
from regatta.stats.estimate import Interval

#: which comparisons a tally contains: all, or those of one platform, host, kind of compilation, benchmark or alternative
Group = Literal["all", "platform", "host", "compilation", "benchmark", "alternative"]


@dataclass(frozen=True)
class PrevalentMethod:
    """A prevalent way to report a number.

    `startup`: over the values of `invocations` invocations (0: all), as in figure 4. `steady`: over the first
    `iterations` iterations of `invocations` invocations, as in figure 12.
    """

    regime: Literal["startup", "steady"]
    statistic: str
    invocations: int
    iterations: int = 0

    @property
    def name(self) -> str:
        """Return the name: `best of 3`, `median of all`, `best of median (3, 10)`."""
        if self.regime == "steady":
            return f"{self.statistic} ({self.invocations}, {self.iterations})"
        return f"{self.statistic} of {self.invocations or 'all'}"


@dataclass(frozen=True)
class AuditedPair:
    """One comparison: alternative `a` over `b`, by the rigorous method."""

    place: Place = field(
        metadata={
            INLINED: (
                "host", "platform", "benchmark", "runtime", "collector", "modifiers", *HEAP,
            )
        }
    )  # fmt: skip
    metric: str
    parameters: Mapping[str, Scalar]
    #: the alternatives; `a` is stored in the field of the factor that they differ in
    a: str
    b: str
    n_a: int
    n_b: int
    #: ratio a/b with its simultaneous interval
    ratio: Interval
    #: -1: a is significantly lower, +1: a is significantly higher, 0: no significant difference
    verdict: int
    #: kind of compilation, such as `plain, startup` and `replay-best, mix`; "" if the experiment has one kind
    compilation: str = ""


@dataclass(frozen=True)
class Tally:
    """The classes of a method's claims at one threshold, over the comparisons of one group.

    `shares`: fractions in the order of `regatta.stats.prevalent.CLASSES`, averaged over draws of the runs and over
    comparisons. `first`: counts of comparisons for the runs in measured order.
    """

    method: PrevalentMethod
    group: Group
    #: the host, kind of compilation, benchmark or alternative; "" for all
    of: str
    theta_percent: float
    comparisons: int
    shares: tuple[float, ...]
    first: tuple[int, ...]


@dataclass(frozen=True)
class Precision:
    """The interval widths of a series, in percent of the mean."""

    cell: CellAnswer
    #: after each further invocation in time order; NaN for the first
    widths_percent: tuple[float, ...]
    #: (target width, first number of invocations with that width or 0 for never, invocations that the variation requires)
    needed: tuple[tuple[float, int, int], ...]


@dataclass(frozen=True)
class Audit:
    """The audit of one experiment."""

    experiment: str
    question: str
    #: method of the rigorous answer: "regatta" or "georges2007"
    method: str
    level: float
    #: factor that alternatives differ in: "collector", "runtime" or "modifiers"; "" without comparisons
    factor: str
    #: requested thresholds, in percent
    thetas_percent: tuple[float, ...]
    #: number of draws that shares are averaged over, and their seed
    draws: int
    seed: int
    #: maximum number of invocations considered
    maximum: int
    pairs: tuple[AuditedPair, ...]
    tallies: tuple[Tally, ...]
    precisions: tuple[Precision, ...]
    #: sentences
    findings: tuple[str, ...]
    #: omissions of the audit, with reasons
    left_out: tuple[str, ...]
    #: families as indices into `pairs`, those with the most wrong claims first
    telling: tuple[tuple[int, ...], ...] = ()

    def by_compilation(self) -> list[Tally]:
        """Return the tallies of the first startup method, the best of a few runs, at the first threshold.

        There is one per kind of compilation; none if the experiment has one kind.
        """
        found = [
            tally
            for tally in self.tallies
            if tally.group == "compilation"
            and tally.method.regime == "startup"
            and tally.theta_percent in self.thetas_percent[:1]
            and tally.comparisons
        ]
        return [tally for tally in found if tally.method == found[0].method]
