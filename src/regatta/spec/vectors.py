"""Vectors after HBench: what primitives cost on a system, how often an application uses them. Frozen values.

Source: X. Zhang, "Application-Specific Benchmarking", PhD thesis, Harvard University, 2001, sections 3.1.1 and 6.2.
Costs are in the `time_unit` of their system vector, an operation or a unit (`Primitive.unit`) each; counts are
per unit of work of the application (`ApplicationVector.per`). An undefined number is NaN and its `reason` says why.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

TimeUnit = Literal["ns", "us", "ms", "s"]
#: what one count of a primitive is: an operation, or a unit of a bandwidth turned into a cost
PrimitiveUnit = Literal["operation", "byte", "object", "page", "MiB"]
#: beyond the measured range of a table or of pieces: the nearest value, or the line through the last two points
Outside = Literal["hold", "extend"]


@dataclass(frozen=True)
class Value:
    """A value with its interval, `low <= value <= high`; all three are equal where it is exact."""

    value: float
    low: float = math.nan
    high: float = math.nan
    #: how many invocations it is made of; 0: not told
    n: int = 0
    reason: str = ""

    @classmethod
    def exact(cls, value: float) -> Value:
        """A number without uncertainty."""
        return cls(value, value, value)


@dataclass(frozen=True)
class ConstantCost:
    """The same for every operation."""

    cost: Value


@dataclass(frozen=True)
class LinearCost:
    """`fixed + per * argument`."""

    argument: str
    fixed: Value
    per: Value


@dataclass(frozen=True)
class TablePoint:
    """The cost at one point of the table's grid: a value for each argument, in the order of `TableCost.arguments`."""

    at: tuple[float, ...]
    cost: Value


@dataclass(frozen=True)
class TableCost:
    """Interpolated between the points of a full grid of one or several arguments, multilinearly."""

    arguments: tuple[str, ...]
    points: tuple[TablePoint, ...]
    outside: Outside = "hold"


@dataclass(frozen=True)
class PiecewiseCost:
    """Lines between breaks (such as the sizes of caches): `pieces[i]` holds from `breaks[i-1]` up to below `breaks[i]`."""

    argument: str
    breaks: tuple[float, ...]
    #: (fixed, per) of each piece; one more than there are breaks
    pieces: tuple[tuple[Value, Value], ...]


Cost = ConstantCost | LinearCost | TableCost | PiecewiseCost


@dataclass(frozen=True)
class PrimitiveCost:
    """What one primitive costs on a system."""

    unit: PrimitiveUnit
    cost: Cost
    #: which part of the cost is spent in user mode, 0 to 1; the rest is the kernel's. NaN: nobody knows, and what it takes is of unknown parts
    user_share: Value = field(default_factory=lambda: Value.exact(0.0))
    #: argument of the cost -> the least and the largest at which it was measured; of those of a table its points tell it
    measured: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class SystemVector:
    """The cost of each primitive on one system (a host with one configuration)."""

    name: str
    time_unit: TimeUnit
    primitives: Mapping[str, PrimitiveCost]
    level: float = 0.95
    #: experiment, host, platform, configuration, fingerprint, summary ... as text
    provenance: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Share:
    """A part of a distribution: so much of the counts (0 to 1) have these arguments."""

    arguments: Mapping[str, float]
    share: float


@dataclass(frozen=True)
class Count:
    """How often an application uses one primitive, with the arguments it uses it with.

    `arguments` and `distribution` exclude each other; a primitive may have several counts with different arguments.
    """

    primitive: str
    count: Value
    arguments: Mapping[str, float] = field(default_factory=dict)
    distribution: tuple[Share, ...] = ()
    #: the calls that this stands for, where it is not that primitive itself, and the rule that says so ("" otherwise)
    stands_for: tuple[str, ...] = ()
    rule: str = ""


@dataclass(frozen=True)
class ApplicationVector:
    """How often an application uses each primitive, for one unit of its work (`per`)."""

    name: str
    per: str
    counts: tuple[Count, ...]
    level: float = 0.95
    #: time in user mode for one unit, where it was measured, in `time_unit`
    user_time: Value | None = None
    time_unit: TimeUnit = "ns"
    #: suite/benchmark that it is the vector of, so that measured times can be found; ""
    benchmark: str = ""
    #: tool, command, host, fingerprint, units, calls, lost, overhead ... as text
    provenance: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Contribution:
    """A row of a contribution table (thesis, tables 6-2 to 6-5): entry, cost, count, time, share."""

    primitive: str
    unit: str
    arguments: Mapping[str, float]
    #: mean cost of one operation or unit, as its arguments have it
    cost: Value
    count: Value
    time: Value
    #: of the whole predicted time, 0 to 1
    share: float
    #: the part of `time` spent in user mode; NaN where it is not known
    user: float = 0.0
    stands_for: tuple[str, ...] = ()
    rule: str = ""


@dataclass(frozen=True)
class Prediction:
    """An application on a system. All times in `time_unit`, for one unit of the application's work."""

    application: str
    system: str
    per: str
    time_unit: TimeUnit
    level: float
    #: sum of cost x count, with the interval from both sides
    time: Value
    #: the kernel's part of it, and the part in user mode
    kernel: Value
    user: Value
    contributions: tuple[Contribution, ...]
    #: primitives of the application that the system has no cost for; the time is NaN where there are some
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Measured:
    """What was measured of an application on a system, for one unit of its work; NaN where it was not."""

    system: str
    elapsed: Value
    kernel: Value
    user: Value
    time_unit: TimeUnit
