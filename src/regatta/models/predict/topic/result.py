"""The predictions of an experiment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regatta.models.predict.forecast import Forecast


@dataclass(frozen=True)
class Predictions:
    """`forecast`: None if nothing is predicted. `problem`: why not; "": nothing was asked."""

    forecast: Forecast | None = None
    problem: str = ""
