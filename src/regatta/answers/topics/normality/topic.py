"""The topic of normality: whether the values of invocations are normally distributed."""

from __future__ import annotations

from collections.abc import Sequence

from regatta.answers.page.view import View
from regatta.answers.topic import Document, Topic, Words
from regatta.answers.topics.normality.compute import CellNormality, normalities, normality_words
from regatta.figures.section import Section, Table
from regatta.figures.text import show_brief, show_number

_COLUMNS = ("cell", "n", "W", "p", "verdict", "reason")


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
    rows: list[tuple[str, ...]] = [
        (
            one.place + view.host(one.host, ", "),
            str(one.test.n),
            show_number(one.test.w),
            show_brief(one.test.p, 2),
            "rejected" if one.rejected else "",
            one.test.reason,
        )
        for one in found
    ]
    return [Table("Shapiro-Wilk test", _COLUMNS, rows, frozenset({1, 2, 3}))]


#: one value per cell
NORMALITY: Topic[tuple[CellNormality, ...]] = Topic(
    "normality",
    title="Normality",
    empty=(),
    compute=lambda context: normalities(context.cells, context.facts.level),
    words=Words(
        155, "Normality of the values", lambda found, context: normality_words(found, context.facts.level)
    ),
    document=Document(150, "normality"),
    section=normality_section,
    tables=normality_tables,
)
