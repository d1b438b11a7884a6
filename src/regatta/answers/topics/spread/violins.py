"""Violins of values relative to their mean, one row per benchmark: figures 2 and 3 of Georges et al.

Source: Georges, Buytaert and Eeckhout (OOPSLA 2007), section 6.1; the marks are those of Hintze and Nelson, Violin Plots, The
American Statistician 52 (1998).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from regatta.answers.kit.panels import SeriesKey, group_heap_label, series_key
from regatta.answers.kit.view import View
from regatta.answers.spine.context import Context
from regatta.answers.spine.iterations import steady_iterations
from regatta.answers.spine.result import CellAnswer
from regatta.figures.axes import Figure, Group, Trace, layout, row_label, value_axis
from regatta.figures.curves import segment
from regatta.figures.looks import Look
from regatta.figures.text import (
    finite,
    joined,
    parameters_key,
    parameters_text,
    shorten,
    show_percent,
    show_ratio,
    tidy,
)
from regatta.host.values.experiment import Heap
from regatta.stats.dispersion import dispersion
from regatta.stats.estimate import Floats

#: more cells have no such figure
_CELLS_READ_AT_MOST = 500
#: invocations per cell, evenly spread over time
_INVOCATIONS_AT_MOST = 30
#: of more iterations per cell, this number of quantiles is kept
_VALUES_AT_MOST = 600

_QUERY = """
with chosen as (
    select record, cell from (
        select record, cell, row_number() over (partition by cell order by started_utc_ns, record) - 1 as place,
               count(*) over (partition by cell) as many
        from counted where status = 'ok' and not discarded
    ) where place * $most % many < $most
)
select c.cell, count(distinct i.record), avg(i.value),
       case when count(*) > $values then quantile_cont(i.value, $quantiles) else list(i.value order by i.record, i.iteration) end
from iterations i join chosen c using (record)
join planned p on p.cell = c.cell and p.metric = i.metric and p.twin_of = '' {join}
where isfinite(i.value) and coalesce(i.parameters, '') = '' and {steady}
group by c.cell having count(*) > count(distinct i.record) and avg(i.value) > 0
order by c.cell
"""


@dataclass(frozen=True)
class CellIterations:
    """Iterations of one cell's own metric after warm-up. `values`: relative to the mean of all of them."""

    host: str
    cell_id: str
    metric: str
    invocations: int
    values: tuple[float, ...]


def collect_iterations(context: Context) -> tuple[CellIterations, ...]:
    """Return the iterations of each cell with several per invocation, in plan order.

    Returns:
        Empty with `startup` and `replay`, for metrics with parameters, and in experiments with very many cells.
    """
    steady, cells = context.facts.steady, context.samples.cells
    if steady.method in ("startup", "replay") or len(cells) > _CELLS_READ_AT_MOST:
        return ()
    join, condition = steady_iterations(steady)
    parameters = {
        "most": _INVOCATIONS_AT_MOST,
        "values": _VALUES_AT_MOST,
        "quantiles": np.linspace(0.0, 1.0, _VALUES_AT_MOST).tolist(),
    }
    rows = context.connection.execute(_QUERY.format(join=join, steady=condition), parameters).fetchall()
    by_number = {cell.number: cell for cell in cells}
    return tuple(
        CellIterations(
            by_number[number].place.host,
            by_number[number].cell_id,
            by_number[number].metric,
            invocations,
            tuple(value / mean for value in values),
        )
        for number, invocations, mean, values in rows
    )


#: with fewer values a density is misleading
DENSITY_FROM = 5
_ROW_PX = 46
_FRAME_PX = 78
#: more cells are in the figures of single benchmarks only
_CELLS_DRAWN_AT_MOST = 2000
_MARKS = "Shape: density. Point: median. Thick line: quartiles. Thin line: values within 1.5 interquartile ranges of the quartiles."

#: (name of the row, look, values relative to their mean)
_Row = tuple[str, Look, Floats]


def relative_groups(iterations: Sequence[CellIterations], view: View) -> list[Group]:
    """Return the figures of invocations, then of iterations; without cells that have too few values."""
    cells = [cell for panel in view.compared if not panel.series_parameter for cell in panel.cells]
    if len(cells) > _CELLS_DRAWN_AT_MOST:
        return []
    invocations = {series_key(cell): _relative(cell) for cell in cells}
    inside = {
        (one.host, one.cell_id, one.metric, parameters_key({})): np.array(one.values) for one in iterations
    }
    found = (
        ("Invocations / mean", "Each violin is one cell.", invocations),
        ("Iterations / mean", "Iterations after warm-up of all invocations of a cell together.", inside),
    )
    return [
        Group(title, figures, note=f"{note} {_MARKS}")
        for title, note, values in found
        if (figures := _figures(cells, values, view))
    ]


def density(values: Sequence[float | None], y: float, look: Look) -> Trace:
    """Return the shape of values around row `y`, from the smallest to the largest."""
    return {
        "type": "violin",
        "orientation": "h",
        "x": values,
        "y": [y] * len(values),
        "width": 0.52,
        "points": False,
        "spanmode": "hard",
        "scalemode": "width",
        "line": {"color": look.colour, "width": 1},
        "fillcolor": look.faint(0.2),
        "hoverinfo": "skip",
    }


def _relative(cell: CellAnswer) -> Floats:
    values = np.array(finite(sample.value for sample in cell.samples))
    mean = float(values.mean()) if values.size else 0.0
    return values / mean if mean > 0 else np.array([])


def _figures(cells: Iterable[CellAnswer], values: Mapping[SeriesKey, Floats], view: View) -> list[Figure]:
    """Return one figure per host, configuration and heap with a row per benchmark, or with one benchmark per host and heap."""
    drawn = [cell for cell in cells if _has_density(values.get(series_key(cell)))]
    several = len({cell.place.benchmark for cell in drawn}) > 1
    groups: dict[tuple[str, str, Heap], list[CellAnswer]] = {}
    for cell in drawn:
        configuration = cell.place.configuration if several else ""
        groups.setdefault((cell.place.host, configuration, cell.place.heap.asked), []).append(cell)
    figures = []
    for (host, configuration, _), own in groups.items():
        heap = group_heap_label(own)
        rows = [(_name(cell, several), view.looks.of(cell), values[series_key(cell)]) for cell in own]
        title = joined(configuration, f"heap {heap}" if heap else "", view.on_host(host))
        figures.append(_figure(title, rows))
    return figures


def _name(cell: CellAnswer, several: bool) -> str:
    name = cell.place.benchmark if several else cell.place.configuration
    return ", ".join(part for part in (name, parameters_text(cell.parameters)) if part)


def _has_density(values: Floats | None) -> bool:
    return values is not None and len(values) >= DENSITY_FROM and float(np.ptp(values)) > 0


def _figure(title: str, rows: Sequence[_Row]) -> Figure:
    traces: list[Trace] = []
    labels = []
    for number, (name, look, values) in enumerate(rows):
        y = -float(number)
        first, median, third = (float(q) for q in np.quantile(values, (0.25, 0.5, 0.75)))
        reach = 1.5 * (third - first)
        inside = values[(values >= first - reach) & (values <= third + reach)]
        traces.append(density([tidy(float(value)) for value in values], y, look))
        traces.append(segment([float(inside.min()), float(inside.max())], [y, y], width=1))
        traces.append(segment([first, third], [y, y], width=5))
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": [tidy(median)],
                "y": [y],
                "marker": {"symbol": "circle", "size": 7, "color": "@paper", "line": {"width": 1.5, "color": "@ink"}},
                "hoverinfo": "text",
                "hovertext": [f"median {show_ratio(median)}"],
            }
        )  # fmt: skip
        found = dispersion(values)
        spread = f"CV {show_percent(found.cv_percent / 100, 2)}, {show_ratio(found.minimum)} to {show_ratio(found.maximum)}"
        labels.append(row_label(y + 0.29, shorten(name)))
        labels.append(row_label(y + 0.29, spread, side="right"))
    everything = [float(value) for _, _, values in rows for value in (values.min(), values.max())]
    y_axis = {"range": [-len(rows) + 0.6, 0.62], "visible": False, "automargin": False}
    height = _FRAME_PX + _ROW_PX * len(rows)
    x_axis = value_axis("value / mean", everything)
    return Figure(title, height, traces, layout(x_axis, y_axis, annotations=labels))
