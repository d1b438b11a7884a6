"""Build the table of cells: mean and ratio to the baseline, each with its interval; one unit per table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from regatta.answers.kit.looks import Looks
from regatta.answers.kit.panels import Panel, SeriesKey, compared_keys, parameters_but, series_key
from regatta.answers.kit.view import View
from regatta.answers.spine.methods import method_name
from regatta.answers.spine.result import CellAnswer, Comparison
from regatta.answers.spine.shortfalls import MEANING
from regatta.figures.looks import Look
from regatta.figures.section import Table
from regatta.figures.text import (
    ABSENT,
    Scale,
    parameter_text,
    parameters_text,
    shorten,
    show_ci,
    show_ends,
    show_heap,
    show_percent,
    show_ratio,
    show_significance,
)
from regatta.host.values.experiment import Better

#: All tables are initially open if the report has at most this many rows, else only the first; tables of curves never are.
_OPEN_ROWS = 80


@dataclass(frozen=True)
class Figures:
    """A number with its interval as text. `note`: number of its footnote, 0 without one."""

    value: str
    interval: str
    note: int = 0
    reason: str = ""


@dataclass(frozen=True)
class Bar:
    """A mean and its interval as percentages of the table's widest; the interval may be missing."""

    point: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Row:
    """One cell. `place`: host, benchmark, heap, configuration, metric. `perturbed`: number of perturbed invocations.

    `first` marks the first row of a heap setting. `verdict` is `better`, `worse` or empty.
    `practical`: practical significance: `yes`, `no`, `inconclusive` or empty.
    """

    cell_id: str
    place: tuple[str, ...]
    names: tuple[str, ...]
    n: str
    perturbed: str
    mean: Figures
    #: coefficient of variation
    cv: str
    #: minimum and maximum
    range: str
    ratio: Figures
    verdict: str
    practical: str
    bar: Bar | None
    look: Look
    first: bool


@dataclass(frozen=True)
class CellTable:
    """All cells of a panel as a page shows them. `columns`: headings of the factors that differ between rows."""

    title: str
    heading: str
    unit: str
    columns: tuple[str, ...]
    #: index of the column with the coloured mark
    marked: int
    rows: tuple[Row, ...]
    footnotes: tuple[str, ...]
    has_ratio: bool
    has_perturbed: bool
    same: str
    open: bool


def tables_of(view: View, panels: Sequence[Panel] | None = None) -> list[CellTable]:
    """Return one table per panel, in order; None: all panels."""
    panels = view.panels if panels is None else panels
    ratios: dict[SeriesKey, Comparison] = {}
    baselines: set[SeriesKey] = set()
    for row in view.answer.comparisons:
        alternative, baseline = compared_keys(row)
        ratios.setdefault(alternative, row)
        baselines.add(baseline)
    total = sum(len(panel.cells) for panel in panels)
    first = next((panel for panel in panels if not panel.series_parameter), None)
    return [
        _table(
            panel,
            ratios,
            baselines,
            view.looks,
            (total <= _OPEN_ROWS and not panel.series_parameter)
            or (panel is first and len(panel.cells) <= _OPEN_ROWS),
        )
        for panel in panels
    ]


def texts_of(tables: Sequence[CellTable], level: float) -> Table:
    """Return the same means as one table of text for a terminal; ratios are in the table of comparisons."""
    several = len({row.place[0] for table in tables for row in table.rows}) > 1
    rows = [
        (
            row.place[0] if several else "", *row.place[1:],
            row.n, row.perturbed, row.mean.value, row.mean.interval, row.cv, row.range, table.unit,
            row.mean.reason,
        )
        for table in tables
        for row in table.rows
    ]  # fmt: skip
    columns = (
        "host", "benchmark", "heap", "configuration", "metric", "n", "perturbed", "mean",
        f"{show_percent(level)} CI", "CV", "range", "unit", "reason",
    )  # fmt: skip
    return Table("Cells", columns, rows, frozenset({5, 6, 7, 8, 9})).without_empty()


def _table(
    panel: Panel,
    ratios: Mapping[SeriesKey, Comparison],
    baselines: set[SeriesKey],
    looks: Looks,
    open_: bool,
) -> CellTable:
    columns, same = _columns(panel)
    footnotes: list[str] = []
    widest = max(
        (v for c in panel.cells for v in (c.estimate.point, c.estimate.high) if math.isfinite(v)), default=0.0
    )
    rows = []
    for _, cells in panel.by_heap():
        for number, cell in enumerate(cells):
            comparison = ratios.get(series_key(cell))
            named = _names(cell, panel)
            rows.append(
                Row(
                    cell.cell_id,
                    _place(cell),
                    tuple(named[column] for column in columns),
                    _n(cell),
                    str(len(cell.perturbed) or ""),
                    _mean(cell, panel.scale, footnotes),
                    show_percent(cell.dispersion.cv_percent / 100, 2),
                    _range(cell, panel.scale),
                    _ratio(comparison, series_key(cell) in baselines, footnotes),
                    _verdict(comparison, panel.better),
                    "" if comparison is None else show_significance(comparison.verdict.practical),
                    _bar(cell, widest),
                    looks.of(cell),
                    number == 0,
                )
            )
    heading = f"{shorten(panel.metric, 24)}, {panel.better} is better"
    marked = columns.index("collector") if "collector" in columns else len(columns) - 1
    has_ratio = any(row.ratio.value for row in rows)
    return CellTable(
        panel.title,
        heading,
        panel.scale.unit,
        columns,
        marked,
        tuple(rows),
        tuple(footnotes),
        has_ratio,
        any(row.perturbed for row in rows),
        same,
        # The compared metric answers the question; the other metrics are supplementary.
        open_ and (has_ratio or not ratios),
    )


def _place(cell: CellAnswer) -> tuple[str, ...]:
    given = parameters_text(cell.parameters)
    heap = show_heap(cell.place.heap)
    metric = f"{cell.metric}, {given}" if given else cell.metric
    return cell.place.host, cell.place.benchmark, heap, cell.place.configuration, metric


def _names(cell: CellAnswer, panel: Panel) -> dict[str, str]:
    return {
        "heap": show_heap(cell.place.heap),
        "collector": cell.place.collector,
        "runtime": cell.place.runtime,
        "modifiers": "" if cell.place.modifiers == "none" else cell.place.modifiers,
    } | {
        name: parameter_text(name, cell.parameters[name]) if name in cell.parameters else ""
        for name in sorted(panel.varying)
    }


def _columns(panel: Panel) -> tuple[tuple[str, ...], str]:
    """Return the names of columns with differing values, and the values that all rows share as text."""
    named = [_names(cell, panel) for cell in panel.cells]
    varying = tuple(column for column in named[0] if len({row[column] for row in named}) > 1)
    same = [
        f"{column} {named[0][column]}" for column in named[0] if column not in varying and named[0][column]
    ]
    fixed = parameters_but(panel.cells[0], frozenset(panel.cells[0].parameters) - panel.varying)
    return varying or ("runtime",), ", ".join([*same, *([fixed] if fixed else [])])


def _n(cell: CellAnswer) -> str:
    return str(cell.estimate.n) if cell.estimate.n >= cell.planned else f"{cell.estimate.n} of {cell.planned}"


def _mean(cell: CellAnswer, scale: Scale, footnotes: list[str]) -> Figures:
    estimate = cell.estimate
    text = show_ends(estimate, scale.show)
    undefined = not math.isfinite(estimate.point) or not text
    reason = (estimate.reason or "undefined") if undefined else ""
    if not reason and estimate.is_disturbed:
        reason = MEANING
    if not reason and estimate.within_range:
        reason = f"CI: {method_name(estimate.method)}, because Student's t interval includes values below 0"
    return Figures(scale.show(estimate.point), text or ABSENT, _footnote(reason, footnotes), reason)


def _range(cell: CellAnswer, scale: Scale) -> str:
    """Return the smallest and the largest value; "" without several."""
    low, high = cell.dispersion.minimum, cell.dispersion.maximum
    return f"{scale.show(low)} to {scale.show(high)}" if cell.estimate.n > 1 and math.isfinite(low) else ""


def _ratio(row: Comparison | None, baseline: bool, footnotes: list[str]) -> Figures:
    if row is None:
        return Figures("baseline", "") if baseline else Figures("", "")
    text = show_ci(row.ratio)
    undefined = not math.isfinite(row.ratio.point) or not text
    reason = (row.ratio.reason or "undefined") if undefined else MEANING if row.ratio.is_disturbed else ""
    return Figures(show_ratio(row.ratio.point), text or ABSENT, _footnote(reason, footnotes), reason)


def _footnote(reason: str, footnotes: list[str]) -> int:
    if not reason:
        return 0
    if reason not in footnotes:
        footnotes.append(reason)
    return footnotes.index(reason) + 1


def _verdict(row: Comparison | None, better: Better) -> str:
    """Return `better` or `worse` if the difference is significant."""
    if row is None or row.verdict.significant != "yes":
        return ""
    return "better" if (row.ratio.point < 1) == (better == "lower") else "worse"


def _bar(cell: CellAnswer, widest: float) -> Bar | None:
    point, low, high = cell.estimate.point, cell.estimate.low, cell.estimate.high
    if not math.isfinite(point) or point < 0 or widest <= 0:
        return None
    if not (math.isfinite(low) and math.isfinite(high)):
        return Bar(round(100 * point / widest, 2), None, None)
    return Bar(*(round(100 * max(0.0, v) / widest, 2) for v in (point, low, high)))
