"""The topic of normality: whether the values of each cell are normally distributed. The result changes no estimate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from regatta.answers.kit.topic import Document, Topic, Words
from regatta.answers.kit.view import View
from regatta.answers.spine.cell_answers import first_of_each_cell
from regatta.answers.spine.names import place_words
from regatta.answers.spine.parts import INLINED
from regatta.answers.spine.result import CellAnswer
from regatta.answers.spine.words import counted
from regatta.figures.section import Column, Section, Table, table_of
from regatta.figures.text import show_brief, show_number
from regatta.host.values.experiment import Scalar
from regatta.stats.normality import Normality, shapiro_wilk
from regatta.stats.proportion import too_often_p


@dataclass(frozen=True)
class CellNormality:
    """The test of one cell's values; NaN with a reason if undefined. `rejected`: p is below 1 - level."""

    host: str
    cell_id: str
    #: readable name of the cell
    place: str
    metric: str
    parameters: Mapping[str, Scalar]
    test: Normality = field(metadata={INLINED: ("n", "w", "p", "reason")})
    rejected: bool


#: significance level for the number of cells with rejected normality if all were normal
_SIGNIFICANT = 0.01


def normalities(cells: Sequence[CellAnswer], level: float) -> tuple[CellNormality, ...]:
    """Test the values of each cell.

    Args:
        cells: cells of the answer; only the first series of each counts.
        level: confidence level, between 0 and 1.

    Returns:
        One per cell, in plan order.
    """
    return tuple(_of(cell, level) for cell in first_of_each_cell(cells))


def normality_words(found: Sequence[CellNormality], level: float) -> tuple[str, ...]:
    """Describe the result; empty if no cell has enough values."""
    defined = [one for one in found if math.isfinite(one.test.p)]
    if not defined:
        return ()
    rejected = [one for one in defined if one.rejected]
    share = (
        f"Shapiro-Wilk p < {1 - level:.2g} in {len(rejected)} of {counted(len(defined), 'cell')}, "
        f"{len(defined) * (1 - level):.2g} expected by chance"
    )
    if not rejected or too_often_p(len(rejected), len(defined), 1 - level) >= _SIGNIFICANT:
        return (f"values of invocations: no significant deviation from normality ({share})",)
    least = min(rejected, key=lambda one: one.test.p)
    return (
        f"normality of the values of invocations rejected ({share}); smallest p = {least.test.p:.2g} ({least.place}, {least.host})",
        "the test changes no estimate; intervals of means do not require normal values, but with few invocations of skewed or "
        "multimodal values they are approximate (see Distribution)",
    )


def _of(cell: CellAnswer, level: float) -> CellNormality:
    test = shapiro_wilk([sample.value for sample in cell.samples])
    place, rejected = place_words(cell.place), test.p < 1 - level
    return CellNormality(cell.place.host, cell.cell_id, place, cell.metric, cell.parameters, test, rejected)


def normality_section(found: Sequence[CellNormality], view: View) -> Section | None:
    """Explain how to read the table; None without a cell that has enough values."""
    if not any(one.test.n for one in found):
        return None
    return Section(
        "normality",
        words="Test of Shapiro and Wilk of the values of each cell. W is 1 for exactly normal quantiles. The test is reported "
        "only: it changes no estimate. With few invocations it detects only large deviations.",
    )


def normality_tables(found: Sequence[CellNormality], view: View) -> list[Table]:
    """Return the test of each cell."""
    columns: list[Column[CellNormality]] = [
        Column("cell", lambda one: one.place + view.host(one.host, ", ")),
        Column("n", lambda one: str(one.test.n), numeric=True),
        Column("W", lambda one: show_number(one.test.w), numeric=True),
        Column("p", lambda one: show_brief(one.test.p, 2), numeric=True),
        Column("verdict", lambda one: "rejected" if one.rejected else ""),
        Column("reason", lambda one: one.test.reason),
    ]
    return [table_of("Shapiro-Wilk test", found, columns)]


#: one value per cell
NORMALITY: Topic[tuple[CellNormality, ...]] = Topic(
    "normality",
    title="Normality",
    empty=(),
    # The test loads scipy.stats, which takes longer than the rest of a small answer.
    slow=True,
    compute=lambda context: normalities(context.cells, context.facts.level),
    words=Words(
        155, "Normality of the values", lambda found, context: normality_words(found, context.facts.level)
    ),
    document=Document(150, "normality"),
    section=normality_section,
    tables=normality_tables,
)
