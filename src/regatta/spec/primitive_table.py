"""How the costs of a system vector are made from the series of an experiment: the table of primitives. Frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from regatta.host.values.experiment import Scalar
from regatta.spec.vectors import Outside, PrimitiveUnit

#: `constant`: the one series; `fixed`, `per`: that part of the line over an argument; `linear`: the line; `table`: every
#: series as it is; `piecewise`: a line between each two breaks
CostKind = Literal["constant", "fixed", "per", "linear", "table", "piecewise"]


@dataclass(frozen=True)
class SeriesChoice:
    """The series of a benchmark's metric that have these parameters; more than one differ in what is not named here."""

    suite: str
    benchmark: str
    metric: str
    parameters: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True)
class CostRule:
    """What the chosen series become."""

    kind: CostKind = "constant"
    #: parameters of the series that are the cost's arguments; `constant` has none, only `table` may have several
    arguments: tuple[str, ...] = ()
    #: of `piecewise`, ascending
    breaks: tuple[float, ...] = ()
    outside: Outside = "hold"


@dataclass(frozen=True)
class PrimitiveRule:
    """One primitive."""

    unit: PrimitiveUnit
    series: SeriesChoice
    cost: CostRule
    #: a metric between 0 and 1; None: all of the cost is the kernel's
    user_share: SeriesChoice | None = None
    description: str = ""


@dataclass(frozen=True)
class PrimitiveTable:
    """All primitives of a kind of system, in order."""

    primitives: Mapping[str, PrimitiveRule]
    #: the file that says so
    source: str = ""
