"""The dashboard of one experiment: ratios, means, excluded invocations, and order of execution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grafana_foundation_sdk.models.dashboard import Dashboard, DataTransformerConfig

from dashboards.changes import repeated, unit_columns
from dashboards.influxql import (
    CELL,
    EXCLUDED,
    OK,
    PERTURBED,
    TIMES,
    Query,
    chosen,
    estimates,
    grouped,
    newest,
    of_units,
    one_of,
    without,
)
from dashboards.intervals import difference_bars, mean_bars
from dashboards.layout import (
    Row,
    Section,
    board,
    differing,
    experiments,
    hidden,
    many,
    one,
    settings,
    with_estimates,
)
from dashboards.pieces import (
    GREEN,
    GREY,
    ORANGE,
    STATUS_COLOURS,
    PanelBuilder,
    colour,
    coloured,
    hidden_from,
    over_time,
    p_value,
    rows_of,
    setting,
    show_ratios,
)

CELLS = ("experiment", "platform", "benchmark", "runtime", "collector", "modifiers", "heap")
_WHERE = chosen(*CELLS)
_METRIC = chosen(*CELLS, "metric")
#: short names name a cell of a benchmark, but no host and no parameters of a metric
_OF_ONE = (*CELLS, "host", "metric", "parameters")
#: tags that name a cell of a benchmark
_NAMED = ("runtime", "collector", "modifiers", "heap")
_ONLY, _DIFFERING = differing(*_NAMED)
#: Versions of Grafana name a tag that a query is not grouped by `$tag_...` or `undefined`, and a tag without a value is `none`: names
#: have none of them. A regular expression is replaced once.
_NAMELESS = r"^(.*?)(?: (?:none|undefined|\$tag_\w+)(?= |$))+(.*)$"
_RENAMED = ((_NAMELESS, "$1$2"), (_NAMELESS, "$1$2"), ("^ok: (.*)$", "$1"), ("^ok:$", "ok"))
INGEST = "estimates come at the end of the run; afterwards, run `regatta ingest EXPERIMENT`, or choose another metric"


def experiment() -> Dashboard:
    """Return the dashboard."""
    mean, ratio = "\"kind\" = 'mean'", "\"kind\" = 'ratio'"
    return board(
        "experiment",
        "Which alternative is better, by how much, and how certain is this?",
        (
            experiments("estimate", mean),
            hidden(many("platform")),
            one("host", within=("experiment", "platform")),
            *(hidden(many(name)) if name == "modifiers" else many(name) for name in CELLS[2:]),
            one("metric", "estimate", also=mean),
            *settings(("experiment", "metric"), mean),
            with_estimates("benchmark_ratio", "benchmark", _OF_ONE, ratio),
            with_estimates("benchmark_mean", "benchmark", _OF_ONE, mean),
            *_ONLY,
        ),
        (
            Row(9, ((24, ratio_table("ratio", _WHERE)),)),
            Row(10, ((24, repeated(_ratios(), "benchmark_ratio")),)),
            Row(7, ((24, _excluded()),)),
            Section("Details: means and their intervals", (
                Row(10, ((24, repeated(_means(), "benchmark_mean")),)),
                Row(10, ((24, _table()),)),
            )),
            Section("Details: ranking over a suite", (Row(8, ((24, _suites()),)),)),
            Section("Details: order of execution", (Row(9, ((24, repeated(_order(), "benchmark")),)),)),
        ),
        since="now-24h",
        own_time=True,
    )  # fmt: skip


def _each(variable: str) -> str:
    """Return the conditions of a panel that is repeated for the benchmarks of a variable."""
    return f"{chosen(*without('benchmark', of=_OF_ONE))} AND {one_of('benchmark', variable)}"


def _ratios() -> PanelBuilder:
    return difference_bars(
        "$benchmark_ratio: how far from the baseline is each alternative on $host?",
        "The $metric of each alternative over that of the baseline, less 1, with its interval: 0 % is the baseline. Solid: the part "
        "that is certain. Faint: the part that is possible. A bar without a solid part shows no significant difference after adjustment, as in the table. Grey: an "
        "estimate without an interval. Names have only what differs within the experiment.",
        f"{INGEST}; an experiment with one configuration has no ratios",
        f"\"kind\" = 'ratio' AND {_each('benchmark_ratio')}",
    )


def ratio_table(kind: str, where: str) -> PanelBuilder:
    """Return the table of ratios. `kind`: `ratio` or `runtime`; `where`: further conditions."""
    columns = (
        ("point", "ratio"), "low", "high", "significant", "practical", "p_holm", "n", "theta_percent", ("short", "alternative"), "setting", "reason",
    )  # fmt: skip
    query = newest("estimate", columns, f"\"kind\" = '{kind}' AND {where}")
    panel = rows_of(
        "Which alternatives differ from the baseline, by how much?",
        "The metric of the alternative over that of the baseline, with its interval; `adj. p`: adjusted by Holm over all comparisons "
        "of the experiment. `significant`: the interval excludes 1, also after adjustment. `practical`: significant, and the interval exceeds "
        "`theta`, the least difference of interest (`inconclusive`: both are possible; `disturbed`: measured on a busy machine, no conclusion). Host `none`: over all hosts of the platform. If there is no ratio, "
        "`reason` says why.",
        f"{INGEST}; an experiment with one configuration has no ratios",
        [Query(query)],
        "none",
        columns=("benchmark", "alternative", "baseline", "ratio", "low", "high", "significant", "practical", "p_holm", "host", "metric", "setting",
                 "n", "theta_percent", "reason"),
        units={"n": "none", "theta": "percent"},
        names={"p_holm": "adj. p", "theta_percent": "theta", "setting": "parameters"},
        sort="adj. p",
    )  # fmt: skip
    panel.override_by_name(
        "practical", coloured({"yes": ORANGE, "no": "transparent", "open": GREY, "disturbed": GREY})
    )
    return show_ratios(panel).override_by_name("adj. p", p_value())


def rank_table(
    kind: str,
    title: str,
    how: str,
    empty: str,
    where: str,
    names: Mapping[str, str],
    more: Sequence[str] = (),
) -> PanelBuilder:
    """Return the table of alternatives, by benchmark and with the best first, or by `rank` with further columns.

    Args:
        kind: start of the kind of estimates: `platform` or `suite`.
        title: a question.
        how: what is ranked.
        empty: what to do if the table is empty.
        where: further conditions.
        names: column -> shown name, if different.
        more: further columns.
    """
    columns = (
        ("point", "ratio"), "low", "high", "p", "n", "alternative", "rank", "leader", "setting", "reason", "place",
    )  # fmt: skip
    panel = rows_of(
        title,
        f"{how} `ratio`: relative to the best, with an interval that is simultaneous for all pairs. `leader`: the best, and those that do "
        "not differ significantly from it. `adj. p`: adjusted over the pairs (Šidák).",
        empty,
        [Query(newest("estimate", columns, f"\"kind\" = '{kind}-rank' AND {where}"))],
        "none",
        columns=("benchmark", "rank", "alternative", "leader", "ratio", "low", "high", "p", *more, "setting", "n", "reason"),
        units={"rank": "none", "n": "none"},
        names={"p": "adj. p", "setting": "parameters", **names},
        # The places of platforms and hosts on a benchmark follow their rank; those of configurations do not.
        order="" if more else "place",
        sort="rank" if more else "",
    )  # fmt: skip
    panel.override_by_name("leader", coloured({"yes": GREEN, "no": "transparent"}))
    return show_ratios(panel).override_by_name("adj. p", p_value())


def _suites() -> PanelBuilder:
    return rank_table(
        "suite",
        "Which alternatives lead over a suite?",
        "Geometric mean over the benchmarks that all alternatives completed, for exactly these benchmarks.",
        "run `regatta ingest EXPERIMENT`; a ranking needs three alternatives with two common benchmarks",
        chosen("experiment", "platform", "host", "heap", "metric"),
        {"benchmark": "suite", "baseline": "relative to"},
        ("heap", "metric", "baseline"),
    )


def _means() -> PanelBuilder:
    return mean_bars(
        "$benchmark_mean: what is the mean $metric of each configuration on $host?",
        "The mean of each configuration and heap with its interval: solid from the lower end to the mean, faint from the mean to the upper "
        "end. Invocations are the replicates; perturbed ones are excluded, unless fewer than 2 others are left. Grey: without an interval. Parameters "
        "of the metric: $parameters.",
        INGEST,
        f"\"kind\" = 'mean' AND {_each('benchmark_mean')}",
    )


def _table() -> PanelBuilder:
    panel = rows_of(
        "What was estimated, and how certain is it?",
        "Every mean with its interval. `n`: number of invocations. If there is no interval, `reason` says why.",
        INGEST,
        estimates(_METRIC, more=(("short", "configuration"), "setting", "n", "place", "reason")),
        "short",
        columns=(
            "benchmark",
            "configuration",
            *of_units("mean", "low", "high"),
            "n",
            "setting",
            "host",
            "reason",
        ),
        units={"n": "none"},
        names={"setting": "parameters"},
        order="place",
    )
    return unit_columns(panel)


def _order() -> PanelBuilder:
    def asked(status: str, name: str) -> Query:
        where = chosen(*CELLS, "host", also=(status, TIMES))
        query = f'SELECT max("elapsed_ns") FROM "invocation" WHERE {where} GROUP BY time($__interval), {_DIFFERING} fill(none)'
        return Query(query, "time_series", " ".join([f"{name}:", *(f"$tag_{tag}" for tag in _NAMED)]))

    panel = over_time(
        "$benchmark: did anything change while it ran?",
        "Time of each invocation on $host in the order of measurement, from start to end of the process (not the metric), on a logarithmic axis. "
        "Points of one cell should lie on a level; a trend or a step means that the host or the program changed. If a step of the axis "
        "has several invocations of a cell, the longest is shown. Perturbed invocations are small and grey. Names have only what differs "
        "within the experiment.",
        "choose a longer time or the link `Time range of this experiment`, or run `regatta ingest EXPERIMENT`",
        [asked(OK, "ok"), asked(PERTURBED, "perturbed")],
        "ns",
        points=True,
        log=True,
    )
    for pattern, shown in _RENAMED:
        options = {"regex": pattern, "renamePattern": shown}
        panel.with_transformation(DataTransformerConfig(id_val="renameByRegex", options=options))
    return panel.override_by_regexp(
        "/^perturbed: /", [colour(GREY), setting("custom.pointSize", 3), hidden_from(legend=True)]
    )


def _excluded() -> PanelBuilder:
    query = (
        'SELECT count("iteration_rows") AS "invocations", last("reason") AS "reason"'
        f' FROM "invocation" WHERE {chosen(*CELLS, also=EXCLUDED)}{grouped((*CELL, "status"))}'
    )
    panel = rows_of(
        "Which invocations were excluded, and why?",
        "Cells with invocations that are in no estimate, with the newest reason. `perturbed`: other work used the host; they were "
        "repeated as often as the spec allows. `failed`, `timeout`, `crashed`: failures; `regatta verify EXPERIMENT` lists them. `oom`: "
        "out of memory, a result at a small heap. `skipped`: not run.",
        "none was excluded",
        [Query(query)],
        "none",
        columns=(
            "status",
            "invocations",
            "benchmark",
            "runtime",
            "collector",
            "heap",
            "modifiers",
            "host",
            "reason",
        ),
        sort="invocations",
        descending=True,
    )
    return panel.override_by_name("status", coloured(STATUS_COLOURS))
