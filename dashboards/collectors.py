"""The dashboard of garbage collectors: time over heap size, pauses, stalls, and lower-bound overhead of one benchmark and runtime."""

from __future__ import annotations

from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards.changes import unit_columns
from dashboards.curves import over_heap
from dashboards.experiment import CELLS, INGEST
from dashboards.influxql import Query, chosen, estimates, newest, of_units, without
from dashboards.intervals import difference_bars, mean_bars, percentile_bars
from dashboards.layout import Row, Section, board, experiments, hidden, many, one
from dashboards.pieces import COLLECTOR_COLOURS, PanelBuilder, rows_of

_WHERE = chosen(*CELLS, "host")
_JAVA = "`regatta run configs/experiments/collectors.yml`"
_PAUSES = f"run a Java benchmark whose collector pauses: {_JAVA}"


def collectors() -> Dashboard:
    """Return the dashboard."""
    overhead = "\"kind\" = 'overhead'"
    return board(
        "collectors",
        "What is the lower-bound cost of each collector at each heap size, in time, in pauses and in stalls?",
        (
            experiments("estimate", overhead),
            hidden(many("platform")),
            one("host", within=("experiment", "platform")),
            one("benchmark", "estimate", also=overhead),
            one("runtime", within=("experiment", "benchmark")),
            one("modifiers", within=("experiment", "benchmark", "runtime"), first="none"),
            many("collector", within=("experiment", "benchmark")),
            many("heap", within=("experiment", "benchmark")),
        ),
        (
            Section(f"Time over heap (experiments with several collectors: {_JAVA})", (
                Row(9, ((12, _over_heap("elapsed", "How long does $benchmark take at each heap on $host?",
                                        "Wall time of the measured part")),
                        (12, _over_heap("cpu", "How much processor time does it take at each heap?",
                                        "Processor time of all threads in the measured part, the collector's included")))),
                Row(10, ((8, _intervals()), (8, _overhead("wall", "elapsed")), (8, _overhead("cpu", "processor")))),
            ), collapsed=False),
            Section(f"Pauses and stalls (Java experiments with logs of the collector: {_JAVA})", (
                Row(9, ((12, _pauses()), (12, _stalls()))),
                Row(9, ((24, _kinds()),)),
            ), collapsed=False),
            Section("Details: work of the collectors", (Row(10, ((24, _work()),)),)),
        ),
    )  # fmt: skip


def _mean(metric: str, *also: str) -> str:
    return " AND ".join(["\"kind\" = 'mean'", f"\"metric\" = '{metric}'", _WHERE, *also])


def _over_heap(metric: str, title: str, what: str) -> PanelBuilder:
    return over_heap(
        title,
        f"{what}, mean in ms over the size of the heap, one line per collector. Faint lines: the ends of its interval. A collector costs "
        "more the smaller the heap is.",
        INGEST,
        _mean(metric),
        "ms",
        COLLECTOR_COLOURS,
    )


def _intervals() -> PanelBuilder:
    return mean_bars(
        "How certain is the time with each collector and heap?",
        "Mean wall time with its interval: solid from the lower end to the mean, faint from the mean to the upper end.",
        INGEST,
        _mean("elapsed"),
        unit="ns",
    )


def _overhead(metric: str, what: str) -> PanelBuilder:
    return difference_bars(
        f"What is the lower-bound overhead in {what} time?",
        "Ratio of the time with the collector to the distilled cost, less 1. The distilled cost is the lowest time of all collectors and "
        "heaps after subtraction of the known cost of collection. The overhead is at least this large. Solid: certain. Faint: possible. A concurrent collector shows in processor time "
        "rather than in elapsed time. Grey: without an interval (fewer than 5 invocations).",
        _PAUSES,
        f"\"kind\" = 'overhead' AND {_WHERE} AND \"metric\" = '{metric}'",
        without("metric"),
        judged=False,
    )


def _pauses() -> PanelBuilder:
    return _percentiles(
        "How long does each collector stop the program?",
        "Pauses in the log of the JVM: percentiles of each invocation, mean over invocations, on a logarithmic axis. The maximum is "
        "the longest time in which no thread ran. A thread can wait longer for memory: see the stalls.",
        "gc_pause",
        _PAUSES,
    )


def _stalls() -> PanelBuilder:
    return _percentiles(
        "How long does a thread wait for memory while the collector works?",
        "Allocation stalls in the log of Z: percentiles of each invocation, mean over the invocations with a stall, on a logarithmic "
        "axis. They are in no pause. Shenandoah logs none while it paces the program.",
        "gc_stall",
        f"run a Java benchmark that stalls (Z in a small heap): {_JAVA}",
    )


def _percentiles(title: str, description: str, metric: str, otherwise: str) -> PanelBuilder:
    shares = {"median": 50, "90 %": 90, "99 %": 99, "maximum": 100}
    wheres = {
        name: _mean(metric, f'"parameters" = \'{{"percentile":{share}}}\'') for name, share in shares.items()
    }
    return percentile_bars(title, description, otherwise, wheres, "short")


def _kinds() -> PanelBuilder:
    total = _mean("gc_pause_total")
    return rows_of(
        "What kinds of pauses are there, and how much time do they take?",
        "Total time of each kind of pause in one invocation, mean with its interval. Collectors have different kinds.",
        _PAUSES,
        [Query(newest("estimate", (("point", "mean"), "low", "high", "n", "setting"), total))],
        "ns",
        columns=("collector", "heap", "setting", "mean", "low", "high", "n"),
        units={"n": "none"},
        names={"setting": "kind of pause"},
        sort="mean",
        descending=True,
    )


def _work() -> PanelBuilder:
    metrics = "gc_count|gc_time|gc_stall_count|gc_stall_time|gc_concurrent|collections|collection_time|allocated|heap_after"
    panel = rows_of(
        "How often and how long do they work?",
        "Mean of an invocation with its interval, from the log of the JVM: collections, their time, allocation stalls and their sum over all threads, time in concurrent phases, "
        "allocated bytes, heap in use after the last collection.",
        _PAUSES,
        estimates(f'{_WHERE} AND "metric" =~ /^({metrics})$/', more=("n", "setting", "place", "reason")),
        "short",
        columns=("metric", "collector", "heap", *of_units("mean", "low", "high"), "n", "setting", "reason"),
        units={"n": "none"},
        names={"setting": "parameters"},
        order="place",
    )
    return unit_columns(panel)
