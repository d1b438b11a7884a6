"""The topic of dependence of invocations on previous ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from regatta.answers.kit.looks import Looks
from regatta.answers.kit.panels import TEXTS_AT_MOST, Panel, cell_hover, place_of
from regatta.answers.kit.topic import Document, Topic, Words
from regatta.answers.kit.view import View
from regatta.answers.spine.cell_answers import first_of_each_cell
from regatta.answers.spine.names import place_words
from regatta.answers.spine.parts import INLINED
from regatta.answers.spine.result import CellAnswer
from regatta.answers.spine.words import counted
from regatta.figures.axes import Figure, Group, Trace, axis, layout, row_label
from regatta.figures.curves import segment
from regatta.figures.section import Column, Section, Table, table_of
from regatta.figures.text import ABSENT, shorten, show_percent, significant, tidy
from regatta.host.values.experiment import Scalar
from regatta.stats.dependence import LEAST, Autocorrelation, lag_1
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


_ROW_PX = 64
_FRAME_PX = 78
_LAG_PX = 340
#: Distance of a row's extreme values from its middle, in rows; the label of the row is above them.
_REACH = 0.25
_TICKS = 10

Found = Mapping[tuple[str, str], Dependence]


def dependence_section(dependences: Sequence[Dependence], view: View) -> Section | None:
    """Return each cell's invocations in sequence, and each over the previous one."""
    found = {(one.host, one.cell_id): one for one in dependences}
    groups = [group for panel in view.panels if (group := _group(panel, found, view.looks)) is not None]
    if not groups:
        return None
    return Section(
        "runs",
        words="Sequence: the invocations of each cell in time order, relative to the cell's mean, with a separate scale per row. "
        "Lag: each invocation over the previous one, both divided by the cell's mean. Independent invocations form a round cloud, "
        "dependent ones a slanted one. If invocations are independent, the lag-1 autocorrelation is within the limits in "
        f"{show_percent(view.answer.level)} of all cells. Perturbed invocations are excluded. Cells with fewer than "
        f"{LEAST} values have no figure.",
        groups=[group for group in groups if group.figures],
    )


def dependence_tables(dependences: Sequence[Dependence], view: View) -> list[Table]:
    """Return the lag-1 autocorrelation of each cell."""

    def limits(one: Dependence) -> str:
        lag = one.lag_1
        return f"[{_signed(lag.low)}, {_signed(lag.high)}]" if math.isfinite(lag.low) else lag.reason

    columns: list[Column[Dependence]] = [
        Column("cell", lambda one: one.place + view.host(one.host, ", ")),
        Column("n", lambda one: str(one.lag_1.n), numeric=True),
        Column("lag-1 autocorrelation", lambda one: _signed(one.lag_1.autocorrelation), numeric=True),
        Column("limits", limits),
        Column("verdict", lambda one: "beyond" if one.lag_1.beyond else ""),
    ]
    return [table_of("Lag-1 autocorrelation", dependences, columns)]


def _group(panel: Panel, found: Found, looks: Looks) -> Group | None:
    if panel.series_parameter:
        return None
    figures = []
    any_known = False
    texts = sum(len(cell.samples) for cell in panel.cells) <= TEXTS_AT_MOST
    for heap, cells in panel.by_heap():
        where = f"heap {heap}" if heap else ""
        known = [cell for cell in cells if _judged(cell, found) and _relative(cell)]
        any_known = any_known or bool(known)
        if shown := [cell for cell in known if len(cell.samples) >= LEAST]:
            figures.append(_sequence(_titled(where, "sequence"), shown, panel, found, looks, texts))
            figures.append(_lag(_titled(where, "lag"), shown, looks))
    return Group(panel.title, figures, looks.legend(panel.cells)) if any_known else None


def _titled(where: str, what: str) -> str:
    return f"{where} · {what}" if where else what


def _judged(cell: CellAnswer, found: Found) -> bool:
    """Return whether the answer has the dependence of this metric, not of another metric of the cell."""
    one = found.get((cell.place.host, cell.cell_id))
    return one is not None and (one.metric, dict(one.parameters)) == (cell.metric, dict(cell.parameters))


def _relative(cell: CellAnswer) -> list[float]:
    """Return the values in time order relative to their mean; empty if the ratio is meaningless."""
    values = [sample.value for sample in cell.samples]
    if len(values) < 2 or not all(math.isfinite(value) for value in values):
        return []
    mean = fmean(values)
    return [value / mean for value in values] if mean > 0 else []


def _sequence(
    title: str, cells: Sequence[CellAnswer], panel: Panel, found: Found, looks: Looks, texts: bool
) -> Figure:
    traces: list[Trace] = []
    labels = []
    longest = max(len(cell.samples) for cell in cells)
    for number, cell in enumerate(cells):
        y, look = -float(number), looks.of(cell)
        deviations = [value - 1 for value in _relative(cell)]
        widest = max(abs(deviation) for deviation in deviations)
        traces.append(segment([1, longest], [y, y], "@grid"))
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "x": list(range(1, len(deviations) + 1)),
                "y": [tidy(y + _REACH * d / widest) if widest > 0 else y for d in deviations],
                "line": {"color": look.colour, "width": 1},
                "marker": {"symbol": look.mark, "size": 7, "color": look.colour},
                "hoverinfo": "text" if texts else "skip",
                "hovertext": [
                    cell_hover(cell, panel.scale.with_unit(s.value), place_of(s)) for s in cell.samples
                ]
                if texts
                else [],
            }
        )
        one = found[cell.place.host, cell.cell_id]
        labels.append(row_label(y + 0.33, shorten(panel.name(cell))))
        labels.append(
            row_label(
                y + 0.33,
                f"±{significant(100 * widest, 2)} %, lag-1 {_signed(one.lag_1.autocorrelation)}",
                side="right",
            )
        )
    return Figure(
        title,
        _FRAME_PX + _ROW_PX * len(cells),
        traces,
        layout(
            axis(
                "invocation of the cell, in time order",
                range=[0.3, longest + 0.7],
                tick0=1,
                dtick=math.ceil(longest / _TICKS),
            ),
            axis(range=[-len(cells) + 0.55, 0.65], visible=False),
            annotations=labels,
        ),
    )


def _lag(title: str, cells: Sequence[CellAnswer], looks: Looks) -> Figure:
    traces: list[Trace] = []
    for cell in cells:
        look, values = looks.of(cell), _relative(cell)
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": [tidy(value) for value in values[:-1]],
                "y": [tidy(value) for value in values[1:]],
                "marker": {"symbol": look.mark, "size": 7, "color": look.colour, "opacity": 0.75},
                "hoverinfo": "skip",
            }
        )
    x = axis("invocation / mean of the cell")
    return Figure(title, _LAG_PX, traces, layout(x, axis("next invocation / mean")))


def _signed(value: float) -> str:
    return f"{value:+.2f}" if math.isfinite(value) else ABSENT


#: one value per cell
DEPENDENCE: Topic[tuple[Dependence, ...]] = Topic(
    "dependence",
    title="Independence of invocations",
    empty=(),
    compute=lambda context: dependences(context.cells, context.facts.level),
    words=Words(
        160, "Order of the invocations", lambda found, context: dependence_words(found, context.facts.level)
    ),
    document=Document(140, "dependences"),
    section=dependence_section,
    tables=dependence_tables,
)
