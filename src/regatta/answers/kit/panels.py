"""Group cells into panels: cells that share host, benchmark, metric and unit, and so can share a figure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from regatta.answers.spine.groups import grouped
from regatta.answers.spine.parts import Sample, shared_heap
from regatta.answers.spine.result import Answer, CellAnswer, Comparison
from regatta.figures.axes import Trace
from regatta.figures.looks import Look
from regatta.figures.text import (
    Scale,
    choose_scale,
    hover,
    joined,
    parameters_key,
    parameters_text,
    shorten,
    show_heap,
)
from regatta.host.values.counters import METRIC_PREFIX as COUNTERS_PREFIX
from regatta.host.values.events import METRIC_PREFIX
from regatta.host.values.experiment import Better, Scalar

#: Key of one series inside an answer: host, cell, metric and parameters. Hosts of one platform share cells.
SeriesKey = tuple[str, str, str, tuple[tuple[str, str], ...]]
#: With at least this many values, a numeric parameter becomes an axis instead of a table column.
_SERIES_VALUES = 3
#: The percentile parameter of a distribution: always an axis, in a separate kind of figure.
PERCENTILE = "percentile"
#: With more points, hover texts are of no use and would dominate the size of the file.
TEXTS_AT_MOST = 2000


@dataclass(frozen=True)
class Panel:
    """Cells of one host, benchmark and metric. `title` is unique in the report."""

    host: str
    benchmark: str
    metric: str
    unit: str
    better: Better
    title: str
    cells: tuple[CellAnswer, ...]

    @cached_property
    def scale(self) -> Scale:
        """Return the scale for all values of the panel."""
        return choose_scale([cell.estimate for cell in self.cells], self.unit)

    @cached_property
    def series_parameter(self) -> str:
        """Return the numeric parameter that the metric is a curve over; "" if none."""
        return _series_parameter(self.cells)

    @cached_property
    def varying(self) -> frozenset[str]:
        """Return the names of parameters with different values inside the panel."""
        names = {name for cell in self.cells for name in cell.parameters}
        return frozenset(n for n in names if len({str(cell.parameters.get(n)) for cell in self.cells}) > 1)

    @property
    def axis(self) -> str:
        """Return the title of an axis of values: metric, unit, and better direction."""
        unit = f" ({self.scale.unit})" if self.scale.unit else ""
        return f"{shorten(self.metric, 24)}{unit}, {self.better} is better"

    def by_heap(self) -> list[tuple[str, list[CellAnswer]]]:
        """Return heap labels with their cells, smallest heap first."""
        return by_heap(self.cells)

    def name(self, cell: CellAnswer) -> str:
        """Return the name of a cell among those of one heap: configuration and varying parameters."""
        shown = frozenset(cell.parameters) - self.varying
        return ", ".join(
            part for part in (cell.place.configuration, parameters_text(cell.parameters, shown)) if part
        )


def panels_of(answer: Answer) -> list[Panel]:
    """Split the cells of an answer into panels, in the answer's order. Measures of event traces and counters have tables in their sections."""
    groups: dict[tuple[str, str, str, str], list[CellAnswer]] = {}
    metrics: dict[str, set[tuple[str, str]]] = {}
    for cell in answer.cells:
        if cell.metric.startswith((METRIC_PREFIX, COUNTERS_PREFIX)):
            continue
        groups.setdefault((cell.place.benchmark, cell.metric, cell.unit, cell.place.host), []).append(cell)
        metrics.setdefault(cell.place.benchmark, set()).add((cell.metric, cell.unit))
    hosts = {cell.place.host for cell in answer.cells}
    panels = []
    for (benchmark, metric, unit, host), cells in groups.items():
        several = len(metrics[benchmark]) > 1
        parts = (benchmark, metric if several else "", f"on {host}" if len(hosts) > 1 else "")
        title = joined(*parts)
        panels.append(Panel(host, benchmark, metric, unit, cells[0].better, title, tuple(cells)))
    return panels


def by_heap(cells: Iterable[CellAnswer]) -> list[tuple[str, list[CellAnswer]]]:
    """Group cells by heap setting, smallest first. A factor is one setting even if runtimes have different minheaps."""
    groups = grouped(cells, lambda cell: cell.place.heap.asked.order)
    return [(group_heap_label(groups[key]), groups[key]) for key in sorted(groups)]


def group_heap_label(cells: Sequence[CellAnswer]) -> str:
    """Return the label of the shared heap; with its size only if all cells have the same."""
    return show_heap(shared_heap(cell.place for cell in cells))


def numeric(parameters: Mapping[str, Scalar], name: str) -> float | None:
    """Return the value of a numeric parameter; None if absent or not a number."""
    value = parameters.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _series_parameter(cells: Sequence[CellAnswer]) -> str:
    if any(numeric(cell.parameters, PERCENTILE) is not None for cell in cells):
        return PERCENTILE
    values: dict[tuple[str, str], set[float]] = {}
    for cell in cells:
        for name in cell.parameters:
            if (value := numeric(cell.parameters, name)) is not None:
                values.setdefault((cell.cell_id, name), set()).add(value)
    widest = max(values.items(), key=lambda item: len(item[1]), default=None)
    return widest[0][1] if widest is not None and len(widest[1]) >= _SERIES_VALUES else ""


def series_key(cell: CellAnswer) -> SeriesKey:
    """Return the key of a series inside an answer."""
    return cell.place.host, cell.cell_id, cell.metric, parameters_key(cell.parameters)


def compared_keys(row: Comparison) -> tuple[SeriesKey, SeriesKey]:
    """Return the keys of the alternative's and the baseline's series."""
    parameters = parameters_key(row.parameters)
    return (row.place.host, row.a, row.metric, parameters), (row.place.host, row.b, row.metric, parameters)


def parameters_but(cell: CellAnswer, shown: frozenset[str], axis: str = "") -> str:
    """Return the cell's parameters among `shown`, without the axis parameter, as text."""
    return parameters_text(cell.parameters, (frozenset(cell.parameters) - shown) | {axis})


def cell_hover(cell: CellAnswer, *lines: str) -> str:
    """Return hover text of a cell: its name, then the given lines."""
    return hover(
        cell.place.configuration,
        show_heap(cell.place.heap, "heap "),
        parameters_text(cell.parameters),
        *lines,
    )


def comparisons_of(comparisons: Sequence[Comparison], panel: Panel) -> list[Comparison]:
    """Return comparisons on the panel's host whose alternative is in the panel."""
    ids = {cell.cell_id for cell in panel.cells}
    return [c for c in comparisons if c.a in ids and (c.place.host, c.metric) == (panel.host, panel.metric)]


def place_of(sample: Sample) -> str:
    """Return the place of an invocation: round, block, position, and whether it was perturbed."""
    return f"round {sample.round}, block {sample.block}, position {sample.position}" + (
        ", perturbed" if sample.perturbed else ""
    )


def invocation_marks(
    x: Iterable[float | None],
    y: Iterable[float | None],
    look: Look,
    hollow: bool,
    opacity: float,
    texts: Sequence[str],
) -> Trace:
    """Return a mark for each invocation; perturbed ones are hollow. `texts`: for the pointer; empty: none."""
    return {
        "type": "scatter",
        "mode": "markers",
        "x": list(x),
        "y": list(y),
        "marker": {
            "symbol": f"{look.mark}-open" if hollow else look.mark,
            "size": 8 if hollow else 6,
            "color": look.colour,
            "opacity": 1 if hollow else opacity,
            "line": {"width": 1.5 if hollow else 0},
        },
        "hoverinfo": "text" if texts else "skip",
        "hovertext": list(texts),
    }


def hollow_words(panels: Sequence[Panel]) -> str:
    """Explain hollow points, if the panels have any."""
    perturbed = any(c.perturbed or any(s.perturbed for s in c.samples) for p in panels for c in p.cells)
    return " Hollow points are perturbed invocations." if perturbed else ""
