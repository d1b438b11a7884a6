"""The results of one experiment."""

from __future__ import annotations

from grafana_foundation_sdk.models.dashboard import Dashboard, DynamicConfigValue

from dashboards.changes import repeated, shaded, unit_columns
from dashboards.influxql import (
    CELL,
    OK,
    PERTURBED,
    TIMES,
    WITHOUT_NUMBER,
    Query,
    chosen,
    estimates,
    grouped,
    newest,
)
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
#: labels name a cell, but no host and no parameters of a metric
_OF_ONE = chosen(*CELLS, "host", "metric", "parameters")
#: Of `vm/lusearch:small · temurin-21 g1 · 64 MiB (2x) / temurin-21 serial` what tells one bar of a benchmark from others
#: (`temurin-21 g1 2x`), as two groups. The baseline is in the table.
AFTER_BENCHMARK = r"^[^·]*· (.*?)(?: · (?:[^(]*\()?([^()/]*?)\)?)?(?: / .*)?$"
SHORT = "$1 $2"
INGEST = "run `regatta ingest EXPERIMENT`, which writes the estimates too, or choose another metric"
RATIOS = (("low", "low"), ("point", "ratio"), ("high", "high"))


def differences(where: str) -> str:
    """Ratios to the baseline as differences: 0 is the baseline."""
    columns = (('"low" - 1', "low"), ('"point" - 1', "difference"), ('"high" - 1', "high"), "label")
    return newest("estimate", columns, where)


def experiment() -> Dashboard:
    """The board."""
    return board(
        "experiment",
        "Which alternative is better, by how much, and how sure is that?",
        (
            one("experiment", within=()),
            many("platform"),
            one("host", within=("experiment", "platform")),
            *(many(name) for name in CELLS[2:]),
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
            Row(10, ((24, ratio_table(_WHERE)),)),
            Row(9, ((24, repeated(_ratios(), "benchmark")),)),
            Row(9, ((24, repeated(_means(), "benchmark")),)),
            Row(10, ((24, _table()),)),
            Row(10, ((24, _order()),)),
            Row(8, ((12, _without_number()), (12, _perturbed()))),
        ),
    )


def _ratios() -> PanelBuilder:
    return interval_bars(
        "How far from the baseline is each alternative in $benchmark on $host?",
        "Each alternative's $metric over the baseline's, less 1: 0 % is the same as the baseline (ratio 1). Three bars each: "
        "the interval's lower end, the estimate, the upper end. A difference is shown where all three are on one side of 0.",
        INGEST,
        [Query(differences(f"\"kind\" = 'ratio' AND {_OF_ONE}"))],
        "label",
        "percentunit",
        shorten=AFTER_BENCHMARK,
        shown=SHORT,
        columns=("low", "difference", "high"),
    )


def ratio_table(where: str) -> PanelBuilder:
    """The ratios with their digits."""
    columns = (*RATIOS, "n", "p_holm", "practical", "theta_percent", "reason")
    query = newest("estimate", columns, f"\"kind\" = 'ratio' AND {where}")
    panel = rows_of(
        "Which alternatives differ from the baseline, by how much?",
        "The metric of the alternative over that of the baseline; an interval without 1 shows a difference. `matters`: whether it is "
        "beyond `theta`, the least difference of interest (`open`: the interval allows both). Where there is no ratio, `reason` says why. Host `none`: "
        "over all hosts of the platform. `p` is Holm's, over all "
        "comparisons of the experiment.",
        INGEST,
        [Query(query)],
        "none",
        columns=("benchmark", "runtime", "collector", "heap", "baseline", "low", "ratio", "high", "practical",
                 "p_holm", "n", "theta_percent", "metric", "parameters", "modifiers", "host", "platform", "reason"),
        hidden=("unit",),
        units={"n": "none", "theta_percent": "percent"},
        names={"practical": "matters", "p_holm": "p", "theta_percent": "theta"},
    )  # fmt: skip
    for name in ("low", "ratio", "high"):
        panel.override_by_name(name, [_decimals(4)])
    return panel


def _decimals(count: int) -> DynamicConfigValue:
    return setting("decimals", count)


def _means() -> PanelBuilder:
    panel = interval_bars(
        "What is the $metric of $benchmark with each configuration on $host?",
        "The mean $metric (of its parameters: $parameters) of each configuration and heap: lower end of its interval, mean, upper end. Invocations are the "
        "replicates; perturbed ones are not in it.",
        INGEST,
        estimates(_OF_ONE),
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
                 "n", "method", "reason", "host", "platform", "unit"),
        hidden=("metric", "baseline"),
        units={"n": "none"},
    )  # fmt: skip
    return unit_columns(panel)


def _order() -> PanelBuilder:
    def asked(status: str, name: str) -> Query:
        where = chosen(*CELLS, "host", also=(status, TIMES))
        query = f'SELECT max("elapsed_ns") FROM "invocation" WHERE {where}{grouped(CELL, True)}'
        return Query(
            query,
            "time_series",
            f"{name}$tag_benchmark $tag_runtime $tag_collector $tag_modifiers $tag_heap",
        )

    panel = over_time(
        "Did anything change while it ran?",
        "Time of each invocation on $host in the order of measurement, on a logarithmic axis (start to end of the process: not the metric itself). Points of one "
        "cell should lie on a level; a trend or a step means that the host or the program changed meanwhile. Where a step of the "
        "axis holds several invocations of one cell the longest is shown; choose a shorter time to see all. Perturbed invocations are grey.",
        "choose a longer time, or run `regatta ingest EXPERIMENT`",
        [asked(OK, ""), asked(PERTURBED, "perturbed: ")],
        "ns",
        points=True,
        log=True,
    )
    panel.override_by_regexp("/^perturbed: /", [colour(GREY), setting("custom.pointSize", 9)])
    return panel


def _without_number() -> PanelBuilder:
    where = chosen(*CELLS, also=WITHOUT_NUMBER)
    query = (
        'SELECT last("reason") AS "reason", count("iteration_rows") AS "invocations"'
        f' FROM "invocation" WHERE {where}{grouped((*CELL, "status"))}'
    )
    return rows_of(
        "Which invocations gave no number, and why?",
        "Cells with invocations that failed (`failed`, `timeout`, `crashed`), that ran out of memory (`oom`, at a small heap a "
        "result) or were not run (`skipped`), with the newest reason. The output of each is in the journal: `regatta verify EXPERIMENT` names it.",
        "all gave one",
        [Query(query)],
        "none",
        columns=(
            "benchmark",
            "runtime",
            "collector",
            "modifiers",
            "heap",
            "host",
            "status",
            "invocations",
            "reason",
        ),
        hidden=("platform",),
        sort="invocations",
        descending=True,
    )


def _perturbed() -> PanelBuilder:
    query = f'SELECT count("iteration_rows") AS "invocations", last("reason") AS "reason" FROM "invocation" WHERE {chosen(*CELLS, also=PERTURBED)}{grouped(CELL)}'
    panel = rows_of(
        "Which invocations were disturbed, and by what?",
        "Invocations that ran while something else used the host, with the newest reason. They are in no estimate and were "
        "run again, as often as the spec allows.",
        "none was disturbed",
        [Query(query)],
        "none",
        columns=("benchmark", "runtime", "collector", "modifiers", "heap", "host", "invocations", "reason"),
        hidden=("platform",),
        sort="invocations",
        descending=True,
    )
    return shaded(panel, "invocations", ((None, GREEN), (5, ORANGE)))
