"""Vectors after HBench: costs of primitives on a system, and their counts in an application. Frozen values.

Source: X. Zhang, "Application-Specific Benchmarking", PhD thesis, Harvard University, 2001, sections 3.1.1 and 6.2.
Costs are in the `time_unit` of their system vector, per operation or unit (`Primitive.unit`). Counts are per unit of work
of the application (`ApplicationVector.per`). An undefined number is NaN, with a `reason`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from regatta.stats.estimate import Interval

TimeUnit = Literal["ns", "us", "ms", "s"]
#: one count of a primitive: an operation, or a unit of a bandwidth converted to a cost
PrimitiveUnit = Literal["operation", "byte", "object", "page", "MiB"]
#: the unit of a part that another model predicts as a whole, once per unit of the application's work; never in a file
WHOLE: Literal["whole"] = "whole"
#: beyond the measured range of a table or of pieces: the nearest value, or the line through the last two points
Outside = Literal["hold", "extend"]


@dataclass(frozen=True)
class Value:
    """A value with its interval, `low <= value <= high`; all three are equal if it is exact."""

    value: float
    low: float = math.nan
    high: float = math.nan
    #: number of invocations behind it; 0: unknown
    n: int = 0
    reason: str = ""

    @classmethod
    def exact(cls, value: float) -> Value:
        """Return a number without uncertainty."""
        return cls(value, value, value)

    @classmethod
    def of(cls, interval: Interval) -> Value:
        """Return an estimate as a value."""
        return cls(interval.point, interval.low, interval.high, interval.n, interval.reason)

    @property
    def is_exact(self) -> bool:
        """Return whether both ends are the value."""
        return self.low == self.value == self.high

    def times(self, factor: float) -> Value:
        """Return the value times an exact number of at least 0, with its interval."""
        return replace(self, value=self.value * factor, low=self.low * factor, high=self.high * factor)


@dataclass(frozen=True)
class ConstantCost:
    """The same cost for every operation."""

    cost: Value


@dataclass(frozen=True)
class LinearCost:
    """`fixed + per * argument`."""

    argument: str
    fixed: Value
    per: Value


@dataclass(frozen=True)
class TablePoint:
    """The cost at one grid point of the table: a value for each argument, in the order of `TableCost.arguments`."""

    at: tuple[float, ...]
    cost: Value


@dataclass(frozen=True)
class TableCost:
    """Multilinear interpolation between the points of a full grid of one or several arguments."""

    arguments: tuple[str, ...]
    points: tuple[TablePoint, ...]
    outside: Outside = "hold"


@dataclass(frozen=True)
class PiecewiseCost:
    """Lines between breaks (such as the sizes of caches): `pieces[i]` holds from `breaks[i-1]` up to below `breaks[i]`."""

    argument: str
    breaks: tuple[float, ...]
    #: (fixed, per) of each piece; one more than the number of breaks
    pieces: tuple[tuple[Value, Value], ...]


Cost = ConstantCost | LinearCost | TableCost | PiecewiseCost


@dataclass(frozen=True)
class PrimitiveCost:
    """The cost of one primitive on a system."""

    unit: PrimitiveUnit | Literal["whole"]
    cost: Cost
    #: part of the cost in user mode, 0 to 1; the rest is in the kernel. NaN: unknown, so the parts of its time are unknown
    user_share: Value = field(default_factory=lambda: Value.exact(0.0))
    #: argument of the cost -> its measured range; that of a table follows from its points
    measured: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class SystemVector:
    """The cost of each primitive on one system (a host with one configuration)."""

    name: str
    time_unit: TimeUnit
    primitives: Mapping[str, PrimitiveCost]
    level: float = 0.95
    #: experiment, host, platform, configuration, fingerprint, summary and more as text
    provenance: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Share:
    """A part of a distribution: the share of the counts (0 to 1) with these arguments."""

    arguments: Mapping[str, float]
    share: float


@dataclass(frozen=True)
class Count:
    """How often an application uses one primitive, and with which arguments.

    `arguments` and `distribution` are mutually exclusive; a primitive may have several counts with different arguments.
    """

    primitive: str
    count: Value
    arguments: Mapping[str, float] = field(default_factory=dict)
    distribution: tuple[Share, ...] = ()
    #: the calls that this entry approximates by that primitive, and the rule for it ("" otherwise)
    stands_for: tuple[str, ...] = ()
    rule: str = ""


@dataclass(frozen=True)
class ApplicationVector:
    """How often an application uses each primitive, per unit of its work (`per`)."""

    name: str
    per: str
    counts: tuple[Count, ...]
    level: float = 0.95
    #: time in user mode per unit, if measured, in `time_unit`
    user_time: Value | None = None
    time_unit: TimeUnit = "ns"
    #: suite/benchmark of the vector, to find measured times; or ""
    benchmark: str = ""
    #: tool, command, host, fingerprint, units, calls, lost, overhead and more as text
    provenance: Mapping[str, str] = field(default_factory=dict)
    #: the counts with which `user_time` was measured, if `counts` were changed since; never in a file
    traced_counts: tuple[Count, ...] = ()
    #: of `user_time`, the pauses of a garbage collector per unit, in `time_unit`; None: unknown or none
    pause_time: Value | None = None
    #: how many threads did the work at the same time, at least 1: `counts` are of all threads, `user_time` is elapsed time
    parallelism: float = 1.0
    #: metric of `benchmark` that is the elapsed time of a unit; "": the one of `per`
    metric: str = ""


@dataclass(frozen=True)
class Contribution:
    """A row of a contribution table (thesis, tables 6-2 to 6-5): entry, cost, count, time, share."""

    primitive: str
    unit: str
    arguments: Mapping[str, float]
    #: mean cost of one operation or unit at its arguments
    cost: Value
    count: Value
    time: Value
    #: of the whole predicted time, 0 to 1
    share: float
    #: the part of `time` in user mode; NaN if unknown
    user: float = 0.0
    stands_for: tuple[str, ...] = ()
    rule: str = ""


@dataclass(frozen=True)
class Prediction:
    """An application on a system. All times in `time_unit`, per unit of the application's work."""

    application: str
    system: str
    per: str
    time_unit: TimeUnit
    level: float
    #: sum of cost x count, with the interval from both sides
    time: Value
    #: its kernel part, and the part in user mode
    kernel: Value
    user: Value
    contributions: tuple[Contribution, ...]
    #: primitives of the application without a cost on the system; if there are any, the time is NaN
    missing: tuple[str, ...] = ()

    @property
    def times(self) -> dict[str, float]:
        """Return primitive -> its time over all entries with a defined time."""
        found: dict[str, float] = {}
        for row in self.contributions:
            if math.isfinite(row.time.value):
                found[row.primitive] = found.get(row.primitive, 0.0) + row.time.value
        return found


@dataclass(frozen=True)
class Measured:
    """Measured times of an application on a system, per unit of its work; NaN without a measurement."""

    system: str
    elapsed: Value
    kernel: Value
    user: Value
    time_unit: TimeUnit
