"""The topic of ratios: forest plots of each alternative's ratio to the baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from regatta.answers.kit.looks import Looks
from regatta.answers.kit.panels import Panel, SeriesKey, compared_keys, comparisons_of, series_key
from regatta.answers.kit.ratio_rows import RatioRow, band_words, method_note, ratio_group
from regatta.answers.kit.topic import Topic
from regatta.answers.kit.view import View
from regatta.answers.spine.result import Answer, CellAnswer, Comparison
from regatta.figures.axes import Group
from regatta.figures.looks import Look
from regatta.figures.section import Section
from regatta.figures.text import parameters_text, shorten, show_heap, show_percent

_PLAIN = Look("@ink", "circle", "solid")


def ratios_section(_: None, view: View) -> Section | None:
    """Return forest plots of the ratios to the baseline."""
    groups = _groups(view.answer, view.panels, view.looks)
    if not groups:
        return None
    return Section(
        "ratios",
        words=f"Each point is the ratio of an alternative to the baseline, with its {show_percent(view.answer.level)} confidence "
        "interval. If a bar crosses the dashed line at 1, the difference is not significant."
        f"{band_words(view.answer.theta_percent)}",
        groups=groups,
    )


def _groups(answer: Answer, panels: Sequence[Panel], looks: Looks) -> list[Group]:
    """Return one group per panel with comparisons. The topic `series` shows curves over a parameter."""
    groups = []
    for panel in panels:
        rows = [] if panel.series_parameter else comparisons_of(answer.comparisons, panel)
        cells = {series_key(cell): cell for cell in panel.cells}
        baselines = {_baseline(row) for row in rows}
        one = baselines.pop() if len(baselines) == 1 else ""
        what = f"ratio to {shorten(one, 30)}" if one else "ratio to the baseline"
        shown = {
            f"heap {heap}" if heap else "": [_row(row, panel, cells, looks, bool(one)) for row in group]
            for heap, group in _by_heap(rows, panel).items()
        }
        axis, note = f"{what} ({panel.better} is better)", method_note(row.ratio.method for row in rows)
        legend = looks.legend(panel.cells)
        groups.append(ratio_group(panel.title, shown, axis, answer.theta_percent, legend, note))
    return [group for group in groups if group is not None]


def _by_heap(rows: Sequence[Comparison], panel: Panel) -> dict[str, list[Comparison]]:
    by_heap: dict[str, list[Comparison]] = {}
    heaps = panel.by_heap()
    labels = {cell.cell_id: label for label, group in heaps for cell in group}
    place = {cell.cell_id: number for number, cell in enumerate(cell for _, group in heaps for cell in group)}
    for row in sorted(rows, key=lambda row: place[row.a]):
        by_heap.setdefault(labels[row.a], []).append(row)
    return by_heap


def _row(
    row: Comparison, panel: Panel, cells: Mapping[SeriesKey, CellAnswer], looks: Looks, one: bool
) -> RatioRow:
    name = row.a_name if one else f"{row.a_name} vs {_baseline(row)}"
    extra = parameters_text(row.parameters, frozenset(row.parameters) - panel.varying)
    cell = cells.get(compared_keys(row)[0])
    look = _PLAIN if cell is None else looks.of(cell)
    return RatioRow(
        f"{name}, {extra}" if extra else name,
        row.ratio,
        row.p,
        look.colour,
        look.mark,
        (f"{row.a_name} vs {row.b_name}", show_heap(row.place.heap, "heap ")),
    )


def _baseline(row: Comparison) -> str:
    """Return the baseline's name without the words that the alternative shares: `g1` in `jdk-21 z` against `jdk-21 g1`."""
    shared = set(row.a_name.split())
    return " ".join(word for word in row.b_name.split() if word not in shared) or row.b_name


RATIOS: Topic[None] = Topic("ratios", title="Comparisons", empty=None, section=ratios_section)
