"""What an audit of prevalent methods finds: what each would have claimed, against the intervals. Frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from regatta.answers.parts import HEAP, INLINED, Place
from regatta.answers.result import CellAnswer
from regatta.host.values.experiment import Scalar
from regatta.stats.estimate import Interval

#: which comparisons a tally holds: all of them, or those of one host, benchmark or alternative
Group = Literal["all", "platform", "host", "benchmark", "alternative"]


@dataclass(frozen=True)
class PrevalentMethod:
    """One prevalent way to report a number.

    `startup`: over the numbers of so many invocations (0: all there are), as in figure 4. `steady`: over the first
    `iterations` iterations of so many invocations, as in figure 12.
    """

    regime: Literal["startup", "steady"]
    statistic: str
    invocations: int
    iterations: int = 0

    @property
    def name(self) -> str:
        """`best of 3`, `median of all`, `best of median (3, 10)`."""
        if self.regime == "steady":
            return f"{self.statistic} ({self.invocations}, {self.iterations})"
        return f"{self.statistic} of {self.invocations or 'all'}"


@dataclass(frozen=True)
class AuditedPair:
    """One comparison: alternative `a` over `b`, as the rigorous method sees it."""

    place: Place = field(
        metadata={
            INLINED: (
                "host", "platform", "benchmark", "runtime", "collector", "modifiers", *HEAP,
            )
        }
    )  # fmt: skip
    metric: str
    parameters: Mapping[str, Scalar]
    #: the alternatives; the field that they are values of holds `a`
    a: str
    b: str
    n_a: int
    n_b: int
    #: a/b with its simultaneous interval
    ratio: Interval
    #: -1: a is shown to have the lower value, +1: the higher, 0: neither
    verdict: int


@dataclass(frozen=True)
class Tally:
    """Into which classes a method's claims fell, at one threshold, over the comparisons of one group.

    `shares`: fractions in the order of `regatta.stats.prevalent.CLASSES`, averaged over draws of the runs and over the
    comparisons. `first`: how many comparisons, when the runs that were measured first are taken.
    """

    method: PrevalentMethod
    group: Group
    #: which host, benchmark, alternative; "" for all
    of: str
    theta_percent: float
    comparisons: int
    shares: tuple[float, ...]
    first: tuple[int, ...]


@dataclass(frozen=True)
class Precision:
    """How narrow a series' interval became: widths of the whole interval in per cent of the mean."""

    cell: CellAnswer
    #: after each further invocation in order of time; NaN for the first
    widths_percent: tuple[float, ...]
    #: (wanted width, invocations after which it was first that narrow and 0 for never, invocations that the variation asks for)
    needed: tuple[tuple[float, int, int], ...]


@dataclass(frozen=True)
class Audit:
    """The whole audit of one experiment."""

    experiment: str
    question: str
    #: how the rigorous answer was made: "regatta" or "georges2007"
    method: str
    level: float
    #: what the alternatives are values of: "collector", "runtime" or "modifiers"; "" where nothing is compared
    factor: str
    #: thresholds that were asked for, in per cent
    thetas_percent: tuple[float, ...]
    #: draws of the runs over which shares are averaged, and their seed
    draws: int
    seed: int
    #: most of what may be asked of an invocation: invocations at most
    maximum: int
    pairs: tuple[AuditedPair, ...]
    tallies: tuple[Tally, ...]
    precisions: tuple[Precision, ...]
    #: to be read aloud
    findings: tuple[str, ...]
    #: what the audit cannot say, and why
    left_out: tuple[str, ...]
    #: families in which the methods went astray most first: indices into `pairs`
    telling: tuple[tuple[int, ...], ...] = ()
