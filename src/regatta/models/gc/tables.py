"""Tables and figures of predicted collections."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from regatta.figures.axes import Figure, Group, Trace, axis, layout, log_axis
from regatta.figures.curves import segment
from regatta.figures.looks import LegendEntry, Look
from regatta.figures.section import Column, Section, Table, table_of
from regatta.figures.text import ABSENT, ends_or_absent, hover, show_number, significant
from regatta.models.gc.collection_log import CYCLE, FULL, YOUNG
from regatta.models.gc.costs import Costs
from regatta.models.gc.forecast import Comparison, GcForecast, Row
from regatta.models.gc.heap_policy import Policy
from regatta.models.gc.measured import Vm
from regatta.models.gc.prediction import ALL
from regatta.models.gc.work import CPU
from regatta.stats.estimate import Floats, Interval

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


def heap_text(policy: Policy) -> str:
    """Return the size of a heap in MiB, as `256`; of one that grows, as `32 to 256`."""
    return " to ".join(f"{size / _MIB:g}" for size in dict.fromkeys((policy.heap, policy.most_heap)))


def totals_table(comparisons: Sequence[Comparison]) -> Table:
    """Return the predicted and the measured totals, as in table 5-5 of the thesis."""
    several_hosts = len({one.vm.host for one in comparisons}) > 1
    rows = [
        (one, row)
        for one in comparisons
        for row in one.rows
        # With one kind, the total of all kinds says nothing more.
        if not (row.kind == ALL and len([other for other in one.rows if other.kind != CPU]) == 2)
    ]
    columns: list[Column[tuple[Comparison, Row]]] = [
        Column("application", lambda at: at[0].application),
        Column("host", lambda at: at[0].vm.host if several_hosts else ""),
        Column("JVM", lambda at: at[0].vm.name),
        Column("heap MiB", lambda at: heap_text(at[0].policy), True),
        Column("collections", lambda at: at[1].kind),
        Column("predicted n", lambda at: show_number(at[1].predicted_count, 3), True),
        Column("measured n", lambda at: show_number(at[1].measured_count, 3), True),
        Column("predicted ms", lambda at: _ms(at[1].predicted.point), True),
        Column("CI", lambda at: ends_or_absent(at[1].predicted, _ms), True),
        Column("measured ms", lambda at: _ms(at[1].measured.point) if at[1].measured else ABSENT, True),
        Column(
            "measured CI", lambda at: ends_or_absent(at[1].measured, _ms) if at[1].measured else ABSENT, True
        ),
        Column(
            "error", lambda at: f"{100 * at[1].error:+.1f} %" if math.isfinite(at[1].error) else ABSENT, True
        ),
    ]
    return table_of("Collections per iteration", rows, columns).without_empty()


def costs_table(costs: Costs, vm: Vm, kind: str) -> Table:
    """Return each cost with the range over invocations."""
    columns: list[Column[tuple[str, Floats]]] = [
        Column("work", lambda cost: cost[0]),
        Column("mean", lambda cost: significant(float(cost[1].mean()), 3), True),
        Column(
            "range",
            lambda cost: " to ".join(significant(float(end), 3) for end in (cost[1].min(), cost[1].max())),
        ),
    ]
    return table_of(f"{vm.name}: costs of {_NAMES[kind]}, ns", costs.named().items(), columns)


def size_costs_table(costs: Costs, vm: Vm, kind: str) -> Table:
    """Return the costs by object size, as in table 5-4 of the thesis; each is a mean over invocations.

    A column is left out if no size of it costs anything, as that of objects that a kind of collection never
    meets.
    """
    mean = dict(zip(costs.knots.names, costs.per.mean(axis=0).tolist(), strict=True))
    sizes = costs.knots.sizes
    columns = {
        "C_fixed, ms": [mean["fixed"] / _MS] * len(sizes),
        "C_fixed per MiB, ms": [mean["heap"] / _MS] * len(sizes),
        **{name: [mean[f"{feature} {size:g}"] for size in sizes] for feature, name in _SIZED.items()},
    }
    shown = {name: values for name, values in columns.items() if any(values)}
    rows = [
        (f"{size:,.0f}", *(significant(values[at], 3) for values in shown.values()))
        for at, size in enumerate(sizes)
    ]
    title = f"{vm.name}: costs of {_NAMES[kind]} by object size"
    return Table(title, ("object bytes", *shown), rows, frozenset(range(len(shown) + 1)))


def _costs_of(found: GcForecast) -> Iterator[tuple[Costs, Vm, str]]:
    """Yield the costs of each JVM and kind of collection."""
    for vm, kinds in found.measured.costs.items():
        for kind, costs in kinds.items():
            yield costs, vm, kind


def size_costs_tables(found: GcForecast) -> list[Table]:
    """Return the table of each JVM and kind of collection."""
    return [size_costs_table(*each) for each in _costs_of(found)]


def sections_of(found: GcForecast) -> list[Section]:
    """Return the sections of the page."""
    totals = Section(
        "totals",
        "Collections per iteration",
        "Mean of the counted iterations. The intervals of predictions are over the invocations of the "
        "microbenchmarks: they do not include the error of the model.",
        tuple(found.notes),
        [totals_table(found.comparisons)],
    )
    legend = [LegendEntry("predicted", _PREDICTED), LegendEntry("measured", _MEASURED)]
    single = Section(
        "collections",
        "Single collections",
        "Each collection of the counted iterations in order, as in figure 5-9 of Zhang's thesis.",
        groups=[
            Group(
                f"{one.application} on {one.vm.name}, {heap_text(one.policy)} MiB",
                [_collections_figure(one)],
                legend,
            )
            for one in found.comparisons
            if one.pairs
        ],
    )
    fits = Section(
        "costs",
        "Costs of the collectors",
        "Fitted to the microbenchmarks. Each point is a case; a perfect fit is on the line at 0.",
        tables=[*size_costs_tables(found), *(costs_table(*each) for each in _costs_of(found))],
        groups=[
            Group(f"{vm.name}, {kind}: residuals", [_residual_figure(costs)], [])
            for costs, vm, kind in _costs_of(found)
        ],
    )
    return [each for each in (totals, single, fits) if each.tables or each.groups]


def _residual_figure(costs: Costs) -> Figure:
    """Draw the relative error of the fit at each case over its measured time."""
    x = [each.measured_ns / _MS for each in costs.residuals]
    points: Trace = {
        "type": "scatter",
        "mode": "markers",
        "x": x,
        "y": [100 * each.error for each in costs.residuals],
        "hovertext": [
            hover(each.label, f"measured {at:.3g} ms", f"fitted {each.fitted_ns / _MS:.3g} ms")
            for each, at in zip(costs.residuals, x, strict=True)
        ],
        "hoverinfo": "text",
        "marker": {"size": 6, "color": "@c0"},
    }
    zero = segment([min(x), max(x)], [0, 0], "@muted", dash="dash")
    axes = layout(log_axis("measured time, ms", min(x), max(x)), axis("error of the fit, %"))
    return Figure("", _FIGURE_PX, [zero, points], axes)


def _collections_figure(one: Comparison) -> Figure:
    def trace(look: Look, name: str, times_ns: Sequence[float]) -> Trace:
        places = [at for at, ns in enumerate(times_ns) if math.isfinite(ns)]
        values = [times_ns[at] / _MS for at in places]
        return {
            "type": "scatter",
            "mode": "lines+markers",
            "x": [at + 1 for at in places],
            "y": values,
            "hovertext": [
                hover(f"{name} {value:.3g} ms", f"{one.pairs[at].kind}, iteration {one.pairs[at].iteration}")
                for at, value in zip(places, values, strict=True)
            ],
            "hoverinfo": "text",
            "line": {"color": look.colour, "width": 1},
            "marker": {"size": 7, "color": look.colour, "symbol": look.mark},
        }

    traces = [
        trace(_MEASURED, "measured", [pair.measured_ns for pair in one.pairs]),
        trace(_PREDICTED, "predicted", [pair.predicted_ns for pair in one.pairs]),
    ]
    every = max(1, len(one.pairs) // 10)
    axes = layout(axis("collection", dtick=every), axis("time, ms", rangemode="tozero"))
    return Figure("", _FIGURE_PX, traces, axes)


def answer_of(one: Comparison) -> str:
    """Return the sentence that answers for an application."""
    where = f"{one.application} with {one.vm.name} in {heap_text(one.policy)} MiB"
    rows = [row for row in one.rows if row.kind not in (ALL, CPU) and row.predicted_count > 0]
    if not rows:
        return f"{where}: no collections"
    parts = "; ".join(f"{row.predicted_count:.3g} {_NAMES[row.kind]}, {_time(row.predicted)}" for row in rows)
    return f"{where}, per {one.per}: {parts}"


def _time(predicted: Interval) -> str:
    if math.isnan(predicted.point):
        return "of unknown time"
    ends = "" if math.isnan(predicted.low) else f" {ends_or_absent(predicted, _ms)}"
    return f"{_ms(predicted.point)} ms{ends}"


def _ms(ns: float) -> str:
    return show_number(ns / _MS, 3)
