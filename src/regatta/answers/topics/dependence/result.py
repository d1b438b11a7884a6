"""Whether a cell's invocations depend on those before them. Frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from regatta.host.values.experiment import Scalar


@dataclass(frozen=True)
class Dependence:
    """The lag-1 autocorrelation of one cell's values in the order of time; NaN with a reason when undefined."""

    host: str
    cell_id: str
    #: the cell, as a person names it
    place: str
    metric: str
    parameters: Mapping[str, Scalar]
    n: int
    #: -1 to 1; above 0 when a value resembles the one before it
    autocorrelation: float
    #: independent values keep within `low` and `high` as often as the answer's level says
    low: float
    high: float
    #: whether it lies outside of them
    beyond: bool
    reason: str = ""
