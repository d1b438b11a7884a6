"""Test whether invocations depend on previous ones. On a drifting or warming machine, neighbours are similar."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from regatta.answers.spine.cell_answers import first_of_each_cell
from regatta.answers.spine.names import place_words
from regatta.answers.spine.parts import INLINED
from regatta.answers.spine.result import CellAnswer
from regatta.answers.spine.words import counted
from regatta.figures.text import show_percent
from regatta.host.values.experiment import Scalar
from regatta.stats.dependence import Autocorrelation, lag_1
from regatta.stats.proportion import too_often_p


@dataclass(frozen=True)
class Dependence:
    """The lag-1 autocorrelation of one cell's values in time order; NaN with a reason if undefined."""

    host: str
    cell_id: str
    #: readable name of the cell
    place: str
    metric: str
    parameters: Mapping[str, Scalar]
    lag_1: Autocorrelation = field(
        metadata={INLINED: ("n", "autocorrelation", "low", "high", "beyond", "reason")}
    )


#: significance level for the number of cells beyond the limits if all were independent
_SIGNIFICANT = 0.01


def dependences(cells: Sequence[CellAnswer], level: float) -> tuple[Dependence, ...]:
    """Compute the lag-1 autocorrelation of each cell's values in time order.

    Args:
        cells: cells of the answer; only the first series of each counts.
        level: probability of the limits, between 0 and 1.

    Returns:
        One per cell, in plan order.
    """
    return tuple(_of(cell, level) for cell in first_of_each_cell(cells))


def dependence_words(found: Sequence[Dependence], level: float) -> tuple[str, ...]:
    """Describe the result; empty if no cell has enough values."""
    defined = [one for one in found if math.isfinite(one.lag_1.autocorrelation)]
    if not defined:
        return ()
    beyond = [one for one in defined if one.lag_1.beyond]
    share = (
        f"lag-1 autocorrelation beyond the {show_percent(level)} limits in {len(beyond)} of {counted(len(defined), 'cell')}, "
        f"{len(defined) * (1 - level):.2g} expected by chance"
    )
    if not beyond or too_often_p(len(beyond), len(defined), 1 - level) >= _SIGNIFICANT:
        return (f"successive invocations: no significant dependence ({share})",)
    above = [one for one in beyond if one.lag_1.autocorrelation > one.lag_1.high]
    alike = 2 * len(above) >= len(beyond)
    most = max(
        (one for one in beyond if (one in above) == alike), key=lambda one: abs(one.lag_1.autocorrelation)
    )
    return (
        f"successive invocations: significant dependence ({share}; {len(above)} above, {len(beyond) - len(above)} below); "
        f"strongest {most.lag_1.autocorrelation:+.2f} ({most.place}, {most.host})",
        f"intervals of means assume independence and may be too {'narrow' if alike else 'wide'}; "
        "effects common to a block cancel in comparisons paired by block",
    )


def _of(cell: CellAnswer, level: float) -> Dependence:
    found = lag_1([sample.value for sample in cell.samples], level)
    return Dependence(
        cell.place.host, cell.cell_id, place_words(cell.place), cell.metric, cell.parameters, found
    )
