"""Values far from the others of their cell, and what the answer would be without them. Frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from regatta.host.values.experiment import Scalar
from regatta.stats.estimate import Interval


@dataclass(frozen=True)
class FarOut:
    """One invocation whose value lies far from the others of its cell. It is in every estimate."""

    host: str
    cell_id: str
    cell: str
    invocation_id: str
    metric: str
    parameters: Mapping[str, Scalar]
    value: float
    unit: str
    #: value over the median of its cell
    times_median: float


@dataclass(frozen=True)
class Sensitivity:
    """One comparison as it is, without what lies far out, and with what was perturbed: ratios a/b."""

    host: str
    a: str
    b: str
    place: str
    ratio: Interval
    without_far_out: Interval
    with_perturbed: Interval
    #: does one of the two say something else: shown or not shown, or the other way round?
    changes: bool


@dataclass(frozen=True)
class Outliers:
    """All of an experiment. `comparisons` only where a value of either side is far out or perturbed."""

    far_out: tuple[FarOut, ...] = ()
    comparisons: tuple[Sensitivity, ...] = ()
