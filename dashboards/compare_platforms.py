"""The dashboard that compares platforms, or the hosts of one platform."""

from __future__ import annotations

from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards.changes import repeated
from dashboards.experiment import rank_table
from dashboards.influxql import SERIES, Query, chosen, newest, one_of
from dashboards.intervals import difference_bars, mean_bars
from dashboards.layout import (
    Row,
    Section,
    board,
    every,
    experiments,
    hidden,
    one,
    settings,
    variable,
    with_estimates,
)
from dashboards.pieces import GREY, ORANGE, PanelBuilder, coloured, p_value, rows_of, setting, show_ratios

_PLATFORM = "\"kind\" = 'platform'"
#: a mean over benchmarks has no benchmark
_OF_ALL, _OF_EACH = "\"benchmark\" = 'none'", "\"benchmark\" <> 'none'"
_CONFIGURATION = ("experiment", "runtime", "collector", "modifiers", "heap", "metric")
_CONFIGURED, _CHOSEN = chosen(*_CONFIGURATION), chosen(*_CONFIGURATION, "baseline")
#: all kinds of ratios, which `label` distinguishes
_RATIOS = '"kind" =~ /^platform(-hosts|-benchmarks)?$/'
_NOTHING = (
    "no platforms compared in this experiment: add `platform` to `compare` in its spec, measure it on several platforms or hosts, and run "
    "`regatta ingest EXPERIMENT`; estimates come at the end of the run"
)
_SEVERAL = f"{_NOTHING}; a mean needs at least two benchmarks that the chosen configuration ran on both sides"
_PARTS = "Solid: the part that is certain. Faint: the part that is possible. Grey: an estimate without an interval."
_BARS = f"{_PARTS} A bar without a solid part shows no significant difference after adjustment."


def compare_platforms() -> Dashboard:
    """Return the dashboard."""
    return board(
        "compare-platforms",
        "Which platform or host is better, over all benchmarks and on each?",
        (
            experiments("estimate", _PLATFORM),
            one("baseline", "estimate", also=_PLATFORM),
            one("runtime", "estimate", also=_PLATFORM),
            one("collector", "estimate", within=("experiment", "runtime"), also=_PLATFORM),
            one("heap", "estimate", within=("experiment", "runtime", "collector"), also=_PLATFORM),
            one("modifiers", "estimate", within=("experiment", "runtime", "collector", "heap"), also=_PLATFORM, first="none"),
            one("metric", "estimate", within=("experiment", "runtime"), also=_PLATFORM),
            *settings(("experiment", "runtime", "metric"), _PLATFORM),
            hidden(every(variable("alternative", _alternatives())).label("compared")),
            with_estimates("benchmark_mean", "benchmark", (*_CONFIGURATION, "parameters"), "\"kind\" = 'mean'"),
        ),
        (
            Section("Ratios (experiments that compare platforms or hosts: `compare: [platform]` in the spec)", (
                Row(6, ((24, _leading()),)),
                Row(6, ((24, _ranking()),)),
                Row(6, ((24, _means()),)),
                Row(9, ((24, repeated(_each(), "alternative")),)),
            ), collapsed=False),
            Section("Times of measurement", (Row(7, ((16, _times()), (8, _drift()))),), collapsed=False),
            Section("Details: all ratios, and the means of each host", (
                Row(10, ((24, _table()),)),
                Row(8, ((24, _pairs()),)),
                Row(8, ((24, repeated(_hosts(), "benchmark_mean")),)),
            )),
        ),
    )  # fmt: skip


def _alternatives() -> str:
    return f'SELECT "alternative" FROM "estimate" WHERE {_PLATFORM} AND {_OF_EACH} AND {_CHOSEN} AND {chosen("parameters")}'


def _leading() -> PanelBuilder:
    return rank_table(
        "platform",
        "Which platforms or hosts lead, over all benchmarks and on each?",
        "Ranking for exactly these benchmarks and hosts. Benchmark `none`: the geometric mean over the benchmarks that all completed.",
        _NOTHING,
        _CONFIGURED,
        {"alternative": "compared"},
    )


def _ranking() -> PanelBuilder:
    columns = (
        "rank",
        ("point", "ratio"),
        "low",
        "high",
        "practical",
        "n",
        "alternative",
        ("label", "holds for"),
        "reason",
    )
    where = f"{_RATIOS} AND {_OF_ALL} AND {_CHOSEN}"
    panel = rows_of(
        "What is the ranking, and for which benchmarks and hosts does it hold?",
        "Geometric mean over the benchmarks relative to $baseline, with an interval for each statement: for exactly these benchmarks and "
        "hosts, for similar benchmarks, and for similar hosts. The variation between hosts of a platform is part of the last one, which "
        "needs two hosts on each side. `rank`: 1 is the best. `practical`: significant after adjustment, and beyond the least difference of interest. "
        "`n`: number of benchmarks, or of hosts. If there is no interval, `reason` says why.",
        _SEVERAL,
        [Query(newest("estimate", columns, where, (*SERIES, "kind")))],
        "none",
        columns=("rank", "alternative", "holds for", "ratio", "low", "high", "practical", "n", "reason"),
        units={"rank": "none", "n": "none"},
        names={"alternative": "compared"},
        sort="rank",
    )  # fmt: skip
    # This table has room for `these benchmarks and hosts`.
    return _judged(panel.override_by_name("holds for", [setting("custom.width", 220)]))


def _means() -> PanelBuilder:
    return difference_bars(
        "How far is each from the baseline, over all benchmarks?",
        "Geometric mean over the benchmarks of the $metric over that of $baseline, less 1, with its interval for exactly these "
        f"benchmarks and hosts: 0 % is $baseline. {_BARS} The best is first.",
        _SEVERAL,
        f"{_PLATFORM} AND {_OF_ALL} AND {_CHOSEN}",
        x="alternative",
    )


def _each() -> PanelBuilder:
    return difference_bars(
        "$alternative: how far from the baseline on each benchmark?",
        "The $metric over that of $baseline, less 1, with its interval for exactly these hosts (runtime: $runtime, collector: "
        f"$collector, heap: $heap). {_BARS} Hosts share no blocks: the samples are independent, and a change of the conditions between the times "
        "of measurement is part of the ratio. Parameters of the metric: $parameters.",
        _NOTHING,
        f"{_PLATFORM} AND {_OF_EACH} AND {_CHOSEN} AND {chosen('alternative', 'parameters')}",
        x="benchmark",
    )


def _times() -> PanelBuilder:
    columns = (
        "alternative", ('"first_utc_ns" / 1000000', "begun"), ('"last_utc_ns" / 1000000', "newest"), ('"point" - 1', "drift"),
        ('"low" - 1', "low"), ('"high" - 1', "high"), "n", "reason", "place",
    )  # fmt: skip
    return rows_of(
        "When was each measured, and did its values change meanwhile?",
        "Start of the first and of the last invocation. `drift`: second half of each series in time relative to the first, less 1; "
        "geometric mean over all series with its interval. `n`: number of series.",
        _NOTHING,
        [Query(newest("estimate", columns, f"\"kind\" = 'platform-drift' AND {chosen('experiment')}"))],
        "percentunit",
        columns=("alternative", "begun", "newest", "drift", "low", "high", "n", "reason"),
        units={"begun": "dateTimeAsIso", "newest": "dateTimeAsIso", "n": "none"},
        names={"alternative": "measured on"},
        order="place",
    )


def _drift() -> PanelBuilder:
    return difference_bars(
        "How far did the values drift?",
        "Second half of each series in time relative to the first, less 1; geometric mean over all series with its interval: 0 % is no "
        f"drift. {_PARTS} A ratio that is not far beyond the drift may come from the times of measurement.",
        _NOTHING,
        f"\"kind\" = 'platform-drift' AND {chosen('experiment')}",
        x="alternative",
        judged=False,
    )


def _table() -> PanelBuilder:
    columns = (
        ("point", "ratio"), "low", "high", "practical", "p", "n", "alternative", ("label", "holds for"), ("short", "configuration"),
        "setting", "reason", "place",
    )  # fmt: skip
    where = f"{_RATIOS} AND {chosen('experiment', 'baseline', 'alternative')}"
    panel = rows_of(
        "What is the ratio in every configuration?",
        "All ratios, and their means over benchmarks (benchmark `none`), with intervals for these hosts (in parentheses: their numbers) "
        "and for similar hosts. If there is no interval, `reason` says why. `p` is not adjusted.",
        _NOTHING,
        [Query(newest("estimate", columns, where, (*SERIES, "kind")))],
        "none",
        columns=("benchmark", "alternative", "baseline", "holds for", "ratio", "low", "high", "practical", "p", "configuration", "metric",
                 "setting", "n", "reason"),
        units={"n": "none"},
        names={"alternative": "compared", "setting": "parameters"},
        order="place",
    )  # fmt: skip
    return _judged(panel)


def _pairs() -> PanelBuilder:
    columns = (
        ("point", "ratio"), "low", "high", "p", "n", "alternative", ("short", "configuration"), "setting", "reason", "place",
    )  # fmt: skip
    panel = rows_of(
        "Which pairs differ?",
        "The ratio of each pair, also without the baseline, for exactly these hosts and benchmarks (benchmark `none`: the geometric mean). "
        "Intervals are simultaneous for all pairs, and `adj. p` is adjusted over them (Šidák). With more than ten "
        "hosts or platforms, InfluxDB has only the ranking; `regatta report` shows all pairs.",
        _NOTHING,
        [Query(newest("estimate", columns, f"\"kind\" = 'platform-pair' AND {_CONFIGURED}"))],
        "none",
        columns=("benchmark", "alternative", "baseline", "ratio", "low", "high", "p", "configuration", "metric", "setting", "n", "reason"),
        units={"n": "none"},
        names={"alternative": "compared", "baseline": "relative to", "p": "adj. p", "setting": "parameters"},
        order="place",
    )  # fmt: skip
    return show_ratios(panel).override_by_name("adj. p", p_value())


def _judged(panel: PanelBuilder) -> PanelBuilder:
    panel.override_by_name("practical", coloured({"yes": ORANGE, "no": "transparent", "open": GREY}))
    return show_ratios(panel).override_by_name("p", p_value())


def _hosts() -> PanelBuilder:
    return mean_bars(
        "$benchmark_mean: how much do the hosts differ?",
        "Mean $metric on each host (runtime: $runtime, collector: $collector, heap: $heap): solid from the lower end of the interval to the mean, "
        "faint up to the upper end. Parameters of the metric: $parameters.",
        _NOTHING,
        f"\"kind\" = 'mean' AND {chosen(*_CONFIGURATION, 'parameters')} AND {one_of('benchmark', 'benchmark_mean')}",
        x="host",
    )
