"""Tables and figures of predicted collections."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from regatta.figures.axes import Figure, Group, Trace, axis, layout, log_axis
from regatta.figures.looks import LegendEntry, Look
from regatta.figures.section import Section, Table
from regatta.figures.text import ABSENT, hover, significant
from regatta.models.gc.collection_log import CYCLE, FULL, YOUNG
from regatta.models.gc.costs import Costs
from regatta.models.gc.forecast import Comparison, GcForecast
from regatta.models.gc.measured import Vm
from regatta.models.gc.prediction import ALL
from regatta.models.gc.work import CPU
from regatta.stats.estimate import Interval

_MS = 1e6
_MIB = 2.0**20
_PREDICTED = Look("@c0", "diamond", "solid")
_MEASURED = Look("@ink", "circle", "solid")
_FIGURE_PX = 260
_NAMES = {
    YOUNG: "young collections",
    FULL: "full collections",
    CYCLE: "concurrent cycles",
    CPU: "concurrent cycles in processor time",
}
#: feature of a size -> column of the costs by size
_SIZED = {
    "moved": "C_live moved, ns",
    "promoted": "C_live promoted, ns",
    "live": "C_live in place, ns",
    "dead_new": "C_dead new, ns",
    "dead": "C_dead seen, ns",
}
TOTALS = (
    "application",
    "host",
    "JVM",
    "heap MiB",
    "collections",
    "predicted n",
    "measured n",
    "predicted ms",
    "CI",
    "measured ms",
    "measured CI",
    "error",
)


def totals_table(comparisons: Sequence[Comparison], title: str = "Collections per iteration") -> Table:
    """Return the predicted and the measured totals, as in table 5-5 of the thesis."""
    several_hosts = len({one.vm.host for one in comparisons}) > 1
    rows = [
        (
            one.application,
            one.vm.host if several_hosts else "",
            one.vm.name,
            one.heap_text,
            row.kind,
            significant(row.predicted_count, 3),
            _number(row.measured_count),
            _ms(row.predicted.point),
            _ends(row.predicted),
            _ms(row.measured.point) if row.measured else ABSENT,
            _ends(row.measured) if row.measured else ABSENT,
            f"{100 * row.error:+.1f} %" if math.isfinite(row.error) else ABSENT,
        )
        for one in comparisons
        for row in one.rows
        if not (row.kind == ALL and len([other for other in one.rows if other.kind != CPU]) == 2)
    ]
    return Table(title, TOTALS, rows, frozenset(range(3, len(TOTALS))) - {4}).without_empty()


def costs_table(costs: Costs, vm: Vm, kind: str) -> Table:
    """Return each cost with the range over invocations."""
    rows = []
    for name, each in costs.named().items():
        rows.append(
            (
                name,
                significant(float(each.mean()), 3),
                f"{significant(float(each.min()), 3)} to {significant(float(each.max()), 3)}",
            )
        )
    return Table(f"{vm.name}: costs of {_NAMES[kind]}, ns", ("work", "mean", "range"), rows, frozenset({1}))


def size_costs_table(costs: Costs, vm: Vm, kind: str) -> Table:
    """Return the costs by the size of objects, as in table 5-4 of the thesis; each is a mean over invocations.

    A column is left out if no size of it costs anything, as that of objects that a kind of collection never meets.
    """
    mean = dict(zip(costs.knots.names, costs.per.mean(axis=0).tolist(), strict=True))
    sized = {
        name: [mean[f"{feature} {size:g}"] for size in costs.knots.sizes] for feature, name in _SIZED.items()
    }
    columns = {
        "C_fixed, ms": [mean["fixed"] / _MS] * len(costs.knots.sizes),
        "C_fixed per MiB, ms": [mean["heap"] / _MS] * len(costs.knots.sizes),
        **sized,
    }
    shown = {name: values for name, values in columns.items() if any(values)}
    rows = [
        (f"{size:,.0f}", *(significant(values[at], 3) for values in shown.values()))
        for at, size in enumerate(costs.knots.sizes)
    ]
    title = f"{vm.name}: costs of {_NAMES[kind]} by object size"
    return Table(title, ("object bytes", *shown), rows, frozenset(range(len(shown) + 1)))


def size_costs_tables(found: GcForecast) -> list[Table]:
    """Return the table of each JVM and kind of collection."""
    return [
        size_costs_table(costs, vm, kind)
        for vm, kinds in found.measured.costs.items()
        for kind, costs in kinds.items()
    ]


def sections_of(found: GcForecast) -> list[Section]:
    """Return the sections of the page."""
    words = (
        "Mean of the counted iterations. The intervals of predictions are over the invocations of the microbenchmarks: they do not "
        "include the error of the model."
    )
    totals = Section(
        "totals", "Collections per iteration", words, tuple(found.notes), [totals_table(found.comparisons)]
    )
    single = Section(
        "collections",
        "Single collections",
        "Each collection of the counted iterations in order, as in figure 5-9 of Zhang's thesis.",
        groups=[
            Group(
                f"{one.application} on {one.vm.name}, {one.heap_text} MiB",
                [_collections_figure(one)],
                _legend(),
            )
            for one in found.comparisons
            if one.pairs
        ],
    )
    costs = [(vm, kind, each) for vm, kinds in found.measured.costs.items() for kind, each in kinds.items()]
    fits = Section(
        "costs",
        "Costs of the collectors",
        "Fitted to the microbenchmarks. Each point is a case; a perfect fit is on the line at 0.",
        tables=[*size_costs_tables(found), *(costs_table(each, vm, kind) for vm, kind, each in costs)],
        groups=[
            Group(f"{vm.name}, {kind}: residuals", [residual_figure(each)], []) for vm, kind, each in costs
        ],
    )
    return [each for each in (totals, single, fits) if each.tables or each.groups]


def residual_figure(costs: Costs) -> Figure:
    """Draw the relative error of the fit at each case over its measured time."""
    x = [each.measured_ns / _MS for each in costs.residuals]
    y = [100 * each.error for each in costs.residuals]
    texts = [
        hover(
            each.label, f"measured {each.measured_ns / _MS:.3g} ms", f"fitted {each.fitted_ns / _MS:.3g} ms"
        )
        for each in costs.residuals
    ]
    points: Trace = {
        "type": "scatter", "mode": "markers", "x": x, "y": y, "hovertext": texts, "hoverinfo": "text",
        "marker": {"size": 6, "color": "@c0"},
    }  # fmt: skip
    ends = [min(x), max(x)]
    zero: Trace = {
        "type": "scatter", "mode": "lines", "x": ends, "y": [0, 0], "hoverinfo": "skip",
        "line": {"color": "@muted", "width": 1, "dash": "dash"},
    }  # fmt: skip
    return Figure(
        "",
        _FIGURE_PX,
        [zero, points],
        layout(log_axis("measured time, ms", ends[0], ends[1]), axis("error of the fit, %")),
    )


def _collections_figure(one: Comparison) -> Figure:
    at = np.arange(1, len(one.pairs) + 1)
    traces: list[Trace] = []
    for look, name in ((_MEASURED, "measured"), (_PREDICTED, "predicted")):
        values = [getattr(pair, f"{name}_ns") / _MS for pair in one.pairs]
        texts = [
            hover(f"{name} {value:.3g} ms", f"{pair.kind}, iteration {pair.iteration}")
            for pair, value in zip(one.pairs, values, strict=True)
        ]
        traces.append(
            {
                "type": "scatter", "mode": "lines+markers", "x": at.tolist(), "y": values, "hovertext": texts,
                "hoverinfo": "text", "line": {"color": look.colour, "width": 1},
                "marker": {"size": 7, "color": look.colour, "symbol": look.mark},
            }
        )  # fmt: skip
    return Figure(
        "",
        _FIGURE_PX,
        traces,
        layout(axis("collection", dtick=max(1, len(one.pairs) // 10)), axis("time, ms", rangemode="tozero")),
    )


def _legend() -> list[LegendEntry]:
    return [LegendEntry("predicted", _PREDICTED), LegendEntry("measured", _MEASURED)]


def answer_of(one: Comparison) -> str:
    """Return the sentence that answers for an application."""
    where = f"{one.application} with {one.vm.name} in {one.heap_text} MiB"
    rows = [row for row in one.rows if row.kind not in (ALL, CPU) and row.predicted_count > 0]
    if not rows:
        return f"{where}: no collections"
    parts = "; ".join(
        f"{row.predicted_count:.3g} {_NAMES[row.kind]}, {_ms(row.predicted.point)} ms ({_ends(row.predicted)})"
        for row in rows
    )
    return f"{where}, per {one.per}: {parts}"


def _number(value: float) -> str:
    return significant(value, 3) if math.isfinite(value) else ABSENT


def _ms(ns: float) -> str:
    return _number(ns / _MS)


def _ends(interval: Interval) -> str:
    if not (math.isfinite(interval.low) and math.isfinite(interval.high)):
        return ABSENT
    return f"{_ms(interval.low)} to {_ms(interval.high)}"
