"""The dashboard that compares runtimes."""

from __future__ import annotations

from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards.changes import pivot, repeated, spread
from dashboards.experiment import CELLS, INGEST, ratio_table
from dashboards.influxql import CELL, OK, SERIES, Query, chosen, grouped, one_of, without
from dashboards.intervals import difference_bars, mean_bars
from dashboards.layout import Row, Section, board, experiments, hidden, many, one, settings, with_estimates
from dashboards.pieces import PanelBuilder, bars, rows_of

_OF_ONE = (*CELLS, "host")
_SERIES = chosen(*_OF_ONE, "metric", "parameters")
_RELATIVE = f"\"kind\" = 'runtime' AND {chosen('baseline')} AND {_SERIES}"
_OTHER = "choose a collector and a heap that all runtimes were measured with, or run an experiment with several runtimes"


def compare_runtimes() -> Dashboard:
    """Return the dashboard."""
    mean, runtime = "\"kind\" = 'mean'", "\"kind\" = 'runtime'"
    shown = (*_OF_ONE, "metric", "parameters")
    return board(
        "compare-runtimes",
        "Which runtime is better, on which benchmark, at what cost in memory and processor time?",
        (
            experiments("estimate", runtime),
            hidden(many("platform")),
            one("host", within=("experiment", "platform")),
            many("benchmark"),
            hidden(many("runtime")),
            one("collector"),
            one("heap", within=("experiment", "collector")),
            one("modifiers", within=("experiment", "collector", "heap"), first="none"),
            one("metric", "estimate", also=mean),
            *settings(("experiment", "metric"), mean),
            hidden(one("baseline", "estimate", also=runtime)),
            with_estimates("benchmark_runtime", "benchmark", (*shown, "baseline"), runtime),
            with_estimates("benchmark_mean", "benchmark", shown, mean),
        ),
        (
            Row(9, ((24, _relative()),)),
            Row(8, ((24, repeated(_intervals(), "benchmark_runtime")),)),
            Section("Costs in memory and processor time", (Row(9, ((10, _memory()), (14, _processors()))),), collapsed=False),
            Section("Details: ratios at every heap, and means with their intervals", (
                Row(9, ((24, ratio_table("runtime", chosen("experiment", "platform", "benchmark", "runtime", "baseline"))),)),
                Row(8, ((24, repeated(_means(), "benchmark_mean")),)),
            )),
        ),
    )  # fmt: skip


def _relative() -> PanelBuilder:
    panel = bars(
        "How far is each runtime from $baseline, on which benchmark?",
        "The $metric of each runtime over that of $baseline, less 1, on $host (collector: $collector, heap: $heap), one bar per runtime: 0 % "
        "is $baseline, which has no bar. The intervals below show which differences are significant. The experiment must compare "
        "the metric. Parameters of the metric: $parameters.",
        f"choose the metric that the experiment compares, or {_OTHER}",
        pivot("estimate", ('"point" - 1', "difference"), _RELATIVE, "runtime", SERIES),
        "benchmark",
        "percentunit",
    )
    # Small differences look small.
    panel.group_width(0.5).axis_soft_min(-0.05).axis_soft_max(0.05)
    return spread(panel, "runtime", SERIES, "benchmark")


def _each(variable: str) -> str:
    """Return the conditions of a panel that is repeated for the benchmarks of a variable."""
    return f"{chosen(*without('benchmark', of=_OF_ONE), 'metric', 'parameters')} AND {one_of('benchmark', variable)}"


def _intervals() -> PanelBuilder:
    return difference_bars(
        "$benchmark_runtime: how certain are the differences from $baseline?",
        "The $metric of each runtime over that of $baseline, less 1, with its interval, on $host (collector: $collector, heap: $heap). "
        "Solid: the part that is certain. Faint: the part that is possible. A bar without a solid part shows no significant "
        "difference after adjustment. Grey: an estimate without an interval. The details have adjusted p values.",
        f"choose the metric that the experiment compares, or {_OTHER}",
        f"\"kind\" = 'runtime' AND {chosen('baseline')} AND {_each('benchmark_runtime')}",
        x="runtime",
    )


def _means() -> PanelBuilder:
    return mean_bars(
        "$benchmark_mean: how certain are the means?",
        "Mean $metric of each runtime on $host (collector: $collector, heap: $heap): solid from the lower end of the interval to the mean, "
        "faint up to the upper end. Parameters of the metric: $parameters.",
        INGEST,
        f"\"kind\" = 'mean' AND {_each('benchmark_mean')}",
        x="runtime",
    )


def _memory() -> PanelBuilder:
    query = f'SELECT mean("max_rss_kib") / 1024 FROM "invocation" WHERE {chosen(*_OF_ONE, also=OK)}{grouped(CELL)}'
    panel = bars(
        "How much memory does each runtime take?",
        "Largest resident set of the process, mean over its invocations, on $host (collector: $collector, heap: $heap). It includes code, "
        "the compiler and the memory of the collector.",
        f"run `regatta ingest EXPERIMENT`, or {_OTHER}",
        [Query(query, "time_series", "$tag_runtime")],
        "benchmark",
        # Ticks of Grafana's unit of KiB are multiples of 1000 KiB.
        "suffix:MiB",
    )
    return spread(panel, "runtime", CELL, "benchmark", order="")


def _processors() -> PanelBuilder:
    query = (
        'SELECT mean("elapsed_ns") / 1000000000 AS "elapsed", mean("user_s") AS "user", mean("system_s") AS "system time",'
        f' count("iteration_rows") AS "invocations" FROM "invocation" WHERE {chosen(*_OF_ONE, also=OK)}{grouped(CELL)}'
    )
    return rows_of(
        "How much processor time does it take?",
        "Means over invocations, start and end of the process included. More user and system time than elapsed time is work of other "
        "processors, such as compiling and collecting.",
        f"run `regatta ingest EXPERIMENT`, or {_OTHER}",
        [Query(query)],
        "s",
        columns=("benchmark", "runtime", "elapsed", "user", "system time", "invocations"),
        units={"invocations": "none"},
        sort="benchmark",
    )
