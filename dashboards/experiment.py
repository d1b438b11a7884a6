"""The results of one experiment."""

from __future__ import annotations

from grafana_foundation_sdk.models.dashboard import Dashboard, DynamicConfigValue

from dashboards.changes import repeated, shaded, unit_columns
from dashboards.influxql import FAILED, OK, PERTURBED, TIMES, Query, chosen, estimates, grouped, newest
from dashboards.pieces import (
    GREEN,
    GREY,
    ORANGE,
    PanelBuilder,
    Row,
    board,
    colour,
    interval_bars,
    many,
    one,
    over_time,
    rows_of,
    setting,
)

CELLS = ("experiment", "platform", "benchmark", "runtime", "collector", "heap")
_WHERE = chosen(*CELLS)
_METRIC = chosen(*CELLS, "metric")
#: Of `vm/lusearch:small · temurin-21 g1 · 64 MiB (2x) / temurin-21 serial` what tells one bar of a benchmark from others
#: (`temurin-21 g1 2x`), as two groups. The baseline is in the table.
AFTER_BENCHMARK = r"^[^·]*· (.*?)(?: · (?:[^(]*\()?([^()/]*?)\)?)?(?: / .*)?$"
SHORT = "$1 $2"
INGEST = "run `regatta ingest EXPERIMENT`, which writes the estimates too, or choose another metric"
RATIOS = (("low", "low"), ("point", "ratio"), ("high", "high"))


def differences(where: str) -> str:
    """Ratios to the baseline as differences: 0 is the baseline."""
    tags = ("benchmark", "runtime", "collector", "modifiers", "heap", "parameters", "host", "baseline")
    inner = newest("estimate", ("low", "point", "high", "label"), where, tags)
    shown = '"low" - 1 AS "low", "point" - 1 AS "difference", "high" - 1 AS "high", "label"'
    return f"SELECT {shown} FROM ({inner}){grouped(tags)}"


def experiment() -> Dashboard:
    """The board."""
    return board(
        "experiment",
        "Which alternative is better, by how much, and how sure is that?",
        (
            one("experiment", within=()),
            *(many(name) for name in CELLS[1:]),
            one("metric", "estimate", also="\"kind\" = 'mean'", first="elapsed"),
        ),
        (
            Row(10, ((24, ratio_table(_WHERE)),)),
            Row(9, ((24, repeated(_ratios(), "benchmark")),)),
            Row(9, ((24, repeated(_means(), "benchmark")),)),
            Row(10, ((24, _table()),)),
            Row(10, ((24, _order()),)),
            Row(8, ((12, _failures()), (12, _perturbed()))),
        ),
    )


def _ratios() -> PanelBuilder:
    return interval_bars(
        "How far from the baseline is each alternative in $benchmark?",
        "Each alternative's metric over the baseline's, less 1: 0 % is the same as the baseline (ratio 1). Three bars each: "
        "the interval's lower end, the estimate, the upper end. A difference is shown where all three are on one side of 0.",
        INGEST,
        [Query(differences(f"\"kind\" = 'ratio' AND {_WHERE}"))],
        "label",
        "percentunit",
        shorten=AFTER_BENCHMARK,
        shown=SHORT,
        columns=("low", "difference", "high"),
    )


def ratio_table(where: str) -> PanelBuilder:
    """The ratios with their digits."""
    columns = (*RATIOS, "n", "p_holm", "practical", "theta_percent")
    tags = ("benchmark", "runtime", "collector", "modifiers", "heap", "parameters", "host", "baseline")
    query = newest("estimate", columns, f"\"kind\" = 'ratio' AND {where}", tags)
    panel = rows_of(
        "Which alternatives differ from the baseline, by how much?",
        "The metric of the alternative over that of the baseline; an interval without 1 shows a difference. `matters`: whether it is "
        "beyond `theta`, the least difference of interest (`open`: the interval allows both). `p` is Holm's, over all "
        "comparisons of the experiment.",
        INGEST,
        [Query(query)],
        "none",
        columns=("benchmark", "runtime", "collector", "heap", "baseline", "low", "ratio", "high", "practical",
                 "p_holm", "n", "theta_percent", "parameters", "modifiers", "host"),
        units={"n": "none", "theta_percent": "percent"},
        names={"practical": "matters", "p_holm": "p", "theta_percent": "theta"},
    )  # fmt: skip
    for name in ("low", "ratio", "high"):
        panel.override_by_name(name, [_decimals(4)])
    return panel


def _decimals(count: int) -> DynamicConfigValue:
    return setting("decimals", count)


def _means() -> PanelBuilder:
    where = chosen("experiment", "platform", "benchmark", "runtime", "collector", "heap", "metric")
    panel = interval_bars(
        "What is the $metric of $benchmark with each configuration?",
        "The mean $metric of each configuration and heap: lower end of its interval, mean, upper end. Invocations are the "
        "replicates; perturbed ones are not in it.",
        INGEST,
        estimates(where),
        "label",
        "short",
        shorten=AFTER_BENCHMARK,
        shown=SHORT,
    )
    return unit_columns(panel)


def _table() -> PanelBuilder:
    panel = rows_of(
        "What was estimated, and how sure is it?",
        "Every mean with its interval, whatever the unit. `n` is the number of invocations. Where there is no interval, "
        "`reason` says why.",
        INGEST,
        estimates(_METRIC, more=("n", "method", "reason")),
        "short",
        columns=("benchmark", "runtime", "collector", "modifiers", "heap", "parameters",
                 *(f"{name}{ending}" for ending in (" time", " bytes", " value") for name in ("low", "mean", "high")),
                 "n", "method", "reason", "host"),
        units={"n": "none"},
    )  # fmt: skip
    return unit_columns(panel)


def _order() -> PanelBuilder:
    tags = ("benchmark", "runtime", "collector", "heap")
    ran = f'SELECT mean("elapsed_ns") FROM "invocation" WHERE {_WHERE} AND {OK} AND {TIMES}{grouped(tags, True)}'
    odd = f'SELECT mean("elapsed_ns") FROM "invocation" WHERE {_WHERE} AND {PERTURBED} AND {TIMES}{grouped((), True)}'
    panel = over_time(
        "Did anything change while it ran?",
        "Time of each invocation in the order of measurement, on a logarithmic axis (start to end of the process: not the metric itself). Points of one "
        "cell should lie on a level; a trend or a step means that the host or the program changed meanwhile. Perturbed "
        "invocations are shown apart. Choose a time that holds the run, or one benchmark, to see more.",
        "choose a longer time, or run `regatta ingest EXPERIMENT`",
        [
            Query(ran, "time_series", "$tag_benchmark $tag_runtime $tag_collector $tag_heap"),
            Query(odd, "time_series", "perturbed"),
        ],
        "ns",
        points=True,
        log=True,
    )
    panel.override_by_name("perturbed", [*_grey()])
    return panel


def _grey() -> list[DynamicConfigValue]:
    return [colour(GREY), setting("custom.pointSize", 9)]


def _failures() -> PanelBuilder:
    tags = ("benchmark", "runtime", "collector", "heap", "status", "host")
    query = f'SELECT last("reason") AS "reason", count("iteration_rows") AS "invocations" FROM "invocation" WHERE {chosen(*CELLS, also=FAILED)}{grouped(tags)}'
    return rows_of(
        "Which invocations failed, and why?",
        "Cells with invocations that gave no number, with the newest reason. An `oom` at a small heap is a result. The output of "
        "each is in the journal: `regatta verify EXPERIMENT` names it.",
        "none has failed",
        [Query(query)],
        "none",
        columns=("benchmark", "runtime", "collector", "heap", "host", "status", "invocations", "reason"),
        sort="invocations",
        descending=True,
    )


def _perturbed() -> PanelBuilder:
    tags = ("benchmark", "runtime", "collector", "heap", "host")
    query = f'SELECT count("iteration_rows") AS "invocations", last("reason") AS "reason" FROM "invocation" WHERE {chosen(*CELLS, also=PERTURBED)}{grouped(tags)}'
    panel = rows_of(
        "Which invocations were disturbed, and by what?",
        "Invocations that ran while something else used the host, with the newest reason. They are in no estimate and were "
        "run again, as often as the spec allows.",
        "none was disturbed",
        [Query(query)],
        "none",
        columns=("benchmark", "runtime", "collector", "heap", "host", "invocations", "reason"),
        sort="invocations",
        descending=True,
    )
    return shaded(panel, "invocations", ((None, GREEN), (5, ORANGE)))
