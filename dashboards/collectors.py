"""Collectors of one benchmark and runtime: time against heap, pauses, what they cost at least."""

from __future__ import annotations

from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards.changes import repeated, spread, unit_columns
from dashboards.experiment import AFTER_BENCHMARK, CELLS, INGEST, SHORT
from dashboards.influxql import Query, chosen, estimates, newest, without
from dashboards.pieces import (
    GREY,
    PanelBuilder,
    Row,
    bars,
    board,
    colour,
    interval_bars,
    many,
    one,
    rows_of,
    setting,
    shortened,
)

_WHERE = chosen(*CELLS, "host", "modifiers")
_PAUSES = "run a benchmark in Java whose collector pauses: `regatta run configs/experiments/collectors.yml`"


def collectors() -> Dashboard:
    """The board."""
    return board(
        "collectors",
        "What does each collector cost at each heap, in time, in pauses, at least?",
        (
            one("experiment", "estimate", within=(), also="\"kind\" = 'overhead'"),
            many("platform"),
            one("host", within=("experiment", "platform")),
            one("benchmark", "estimate", also="\"kind\" = 'overhead'"),
            one("runtime", within=("experiment", "benchmark")),
            one("modifiers", within=("experiment", "benchmark", "runtime"), first="none"),
            many("collector", within=("experiment", "benchmark")),
            many("heap", within=("experiment", "benchmark")),
        ),
        (
            Row(9, ((12, _over_heap("elapsed", "How long does $benchmark take at each heap on $host?",
                                    "Wall time of the measured part")),
                    (12, _over_heap("cpu", "How much processor time does it take at each heap?",
                                    "Processor time of all threads in the measured part, the collector's included")))),
            Row(8, ((24, repeated(_intervals(), "collector")),)),
            Row(9, ((12, _pauses()), (12, _share()))),
            Row(9, ((24, _overheads()),)),
            Row(9, ((24, _work()),)),
        ),
    )  # fmt: skip


def _mean(metric: str, *also: str) -> str:
    return " AND ".join(["\"kind\" = 'mean'", f"\"metric\" = '{metric}'", _WHERE, *also])


def _over_heap(metric: str, title: str, what: str) -> PanelBuilder:
    panel = bars(
        title,
        f"{what}, mean, by heap (as a factor of the least heap that the benchmark runs in, or in MiB), one bar a collector. "
        "A collector costs more the smaller the heap is; the way it rises tells them apart. Intervals are below.",
        INGEST,
        [Query(newest("estimate", ("point",), _mean(metric)), "time_series", "$tag_collector")],
        "heap",
        "ns",
    )
    return spread(panel, "collector")


def _intervals() -> PanelBuilder:
    panel = interval_bars(
        "How sure is the time with $collector?",
        "Lower end of the interval, mean, upper end, at each heap.",
        INGEST,
        estimates(f"{_WHERE} AND \"metric\" = 'elapsed'", more=()),
        "heap",
        "ns",
    )
    return unit_columns(panel)


def _pauses() -> PanelBuilder:
    shares = ((50, "half are shorter"), (90, "90 % are shorter"), (99, "99 % are shorter"), (100, "longest"))
    queries = [
        Query(newest("estimate", (("point", name), "label"),
                     _mean("gc_pause", f"\"parameters\" = '{{\"percentile\":{share}}}'"), without("parameters")))
        for share, name in shares
    ]  # fmt: skip
    panel = bars(
        "How long does each collector stop the program?",
        "Pauses, from the JVM's own log: percentiles of each invocation, mean over invocations, on a logarithmic axis. The "
        "longest one is what a user of a server may have to wait.",
        _PAUSES,
        queries,
        "label",
        "ns",
        shorten=AFTER_BENCHMARK,
        shown=SHORT,
        log=True,
    )
    return unit_columns(panel)


def _share() -> PanelBuilder:
    panel = rows_of(
        "What kinds of pauses are there, and how much time do they take?",
        "Total time of each kind of pause in one invocation, mean with its interval. Not all collectors have the same kinds.",
        _PAUSES,
        [Query(newest("estimate", ("low", ("point", "mean"), "high", "n"), _mean("gc_pause_total")))],
        "ns",
        columns=("collector", "heap", "parameters", "low", "mean", "high", "n"),
        hidden=("host", "platform", "benchmark", "runtime", "modifiers", "metric", "unit", "baseline"),
        units={"n": "none"},
        names={"parameters": "kind of pause"},
        sort="mean",
        descending=True,
    )
    mapping = shortened('^\\{"kind":"(.*)"\\}$')
    return panel.override_by_name("kind of pause", [setting("mappings", [mapping])])


def _overheads() -> PanelBuilder:
    where = f"\"kind\" = 'overhead' AND {_WHERE}"
    wall, cpu = (
        newest("estimate", (("low", f"low {name}"), ("point", f"at least {name}"), ("high", f"high {name}"), "label"),
               f"{where} AND \"metric\" = '{name}'", without("metric"))
        for name in ("wall", "cpu")
    )  # fmt: skip
    panel = bars(
        "What does each collector cost at least?",
        "Cost with the collector over the least cost that remains, over all collectors and heaps, when what is surely the "
        "collector's is taken away: a lower bound (1: no overhead found), in elapsed (`wall`) and in processor time (`cpu`), with the ends of "
        "the interval. The true overhead is not smaller; a concurrent collector hides in `wall` and shows in `cpu`.",
        _PAUSES,
        [Query(wall), Query(cpu)],
        "label",
        "short",
        shorten=AFTER_BENCHMARK,
        shown=SHORT,
    )
    panel.override_by_regexp("/^(low|high) /", [colour(GREY)])
    return unit_columns(panel)


def _work() -> PanelBuilder:
    metrics = "gc_count|gc_time|gc_concurrent|collections|collection_time|allocated|heap_after"
    where = f'{_WHERE} AND "metric" =~ /^({metrics})$/'
    panel = rows_of(
        "How often and how long do they work?",
        "What the JVM tells of its collectors, mean of an invocation with its interval: collections, their time, time in "
        "concurrent phases, bytes allocated, heap in use after the last collection.",
        _PAUSES,
        estimates(where, more=("n", "reason")),
        "short",
        columns=("metric", "parameters", "collector", "heap",
                 *(f"{name}{ending}" for ending in (" time", " bytes", " value") for name in ("low", "mean", "high")), "n", "reason"),
        hidden=("host", "platform", "benchmark", "runtime", "modifiers", "unit", "baseline"),
        units={"n": "none"},
    )  # fmt: skip
    return unit_columns(panel)
