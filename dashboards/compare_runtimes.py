"""Runtimes side by side."""

from __future__ import annotations

from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards.changes import repeated, spread, unit_columns
from dashboards.experiment import AFTER_BENCHMARK, CELLS, INGEST, SHORT, ratio_table
from dashboards.influxql import CELL, OK, Query, chosen, estimates, grouped, newest
from dashboards.pieces import PanelBuilder, Row, bars, board, interval_bars, many, one, rows_of

_OF_ONE = (*CELLS, "host", "modifiers")
_WHERE = chosen(*_OF_ONE, "metric", "parameters")


def compare_runtimes() -> Dashboard:
    """The board."""
    return board(
        "compare-runtimes",
        "Which runtime is better, on which benchmark, at what cost in memory and processor time?",
        (
            one("experiment", within=()),
            many("platform"),
            one("host", within=("experiment", "platform")),
            many("benchmark"),
            many("runtime"),
            one("collector"),
            one("heap", within=("experiment", "collector")),
            one("modifiers", within=("experiment", "collector", "heap"), first="none"),
            one("metric", "estimate", also="\"kind\" = 'mean'", first="elapsed"),
            one(
                "parameters",
                "estimate",
                within=("experiment", "metric"),
                also="\"kind\" = 'mean'",
                first="none",
            ),
        ),
        (
            Row(9, ((24, _means()),)),
            Row(9, ((24, repeated(_intervals(), "benchmark")),)),
            Row(8, ((24, ratio_table(chosen("experiment", "platform", "benchmark", "runtime"))),)),
            Row(9, ((12, _memory()), (12, _processors()))),
        ),
    )


def _means() -> PanelBuilder:
    query = newest(
        "estimate",
        ("point",),
        f"\"kind\" = 'mean' AND \"unit\" = 'ns' AND {_WHERE}",
    )
    panel = bars(
        "Which runtime is fastest, on which benchmark?",
        "Mean $metric (of its parameters: $parameters) on $host with $collector at a heap of $heap, one bar a runtime. Whether two bars differ is not to be seen here: "
        "see the intervals below. For metrics that are times.",
        "choose a metric that is a time, and a collector and heap that all runtimes were measured with",
        [Query(query, "time_series", "$tag_runtime")],
        "benchmark",
        "ns",
    )
    return spread(panel, "runtime")


def _intervals() -> PanelBuilder:
    panel = interval_bars(
        "How sure are the means of $benchmark?",
        "Lower end of the interval, mean, upper end of the $metric (of its parameters: $parameters), for each runtime, on $host with "
        "$collector at a heap of $heap.",
        INGEST,
        estimates(_WHERE),
        "label",
        "short",
        shorten=AFTER_BENCHMARK,
        shown=SHORT,
    )
    return unit_columns(panel)


def _memory() -> PanelBuilder:
    query = f'SELECT mean("max_rss_kib") FROM "invocation" WHERE {chosen(*_OF_ONE, also=OK)}{grouped(CELL)}'
    panel = bars(
        "How much memory does each runtime take?",
        "Largest resident set of the process, mean over its invocations, on $host with $collector at a heap of $heap. It holds the "
        "code, the compiler and the collector's own memory beside the heap.",
        "run `regatta ingest EXPERIMENT`, or choose another heap",
        [Query(query, "time_series", "$tag_runtime")],
        "benchmark",
        "kbytes",
    )
    return spread(panel, "runtime")


def _processors() -> PanelBuilder:
    query = (
        'SELECT mean("user_s") AS "user", mean("system_s") AS "system", mean("elapsed_ns") / 1000000000 AS "elapsed",'
        f' count("iteration_rows") AS "invocations" FROM "invocation" WHERE {chosen(*_OF_ONE, also=OK)}{grouped(CELL)}'
    )
    return rows_of(
        "How much processor time does it take?",
        "Means over invocations, start and end of the process included. More user and system time than elapsed time: work "
        "that other processors do meanwhile, such as compiling and collecting.",
        "run `regatta ingest EXPERIMENT`, or choose another heap",
        [Query(query)],
        "s",
        columns=("benchmark", "runtime", "elapsed", "user", "system", "invocations"),
        hidden=("host", "platform", "collector", "modifiers", "heap"),
        units={"invocations": "none"},
    )
