"""The dashboard of the same cells over several experiments."""

from __future__ import annotations

from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards.changes import repeated, unit_columns
from dashboards.influxql import TIMES, UNITS, Query, by_unit, chosen, grouped, one_of
from dashboards.layout import Annotation, Row, Section, board, every, experiments, hidden, many, one, settings
from dashboards.pieces import BLUE, PanelBuilder, banded, by_collector, over_time, rows_of, show_ratios, steps

#: tags of the lines, which differ in the collector
_OF_LINE = (
    "experiment",
    "platform",
    "host",
    "benchmark",
    "runtime",
    "modifiers",
    "heap",
    "metric",
    "parameters",
)
_CELL = (*_OF_LINE, "collector")
_WHERE = chosen(*_CELL, also=("\"kind\" = 'mean'", TIMES))
_EMPTY = (
    "choose a longer time or more experiments, or measure the same again; estimates come at the end of the run, and with "
    "`regatta ingest EXPERIMENT`"
)
#: of programs, and those that their hosts caused
_SHIFT = "(\"kind\" = 'shift' OR \"kind\" = 'host-shift')"
#: of a host, or of all
_ENVIRONMENT = f"\"kind\" = 'environment' AND ({one_of('host', 'host')} OR \"host\" = 'none')"
#: Titles show `no collector` instead of `none collector`: a text is a part of its value.
_WORDED = "/^(?<value>(?<text>no(?=ne$)|.+).*)$/"


def history() -> Dashboard:
    """Return the dashboard."""
    mean = "\"kind\" = 'mean'"
    cell = ("experiment", "benchmark", "runtime")
    # The shift of another cell or metric is no shift of the shown lines.
    shown = chosen(*_CELL, also=(_SHIFT, TIMES))
    drawn = f'SELECT "label" AS "text", "experiment" FROM "estimate" WHERE {shown}'
    changed = f'SELECT "label" AS "text", "experiment" FROM "estimate" WHERE {chosen("experiment", also=(_ENVIRONMENT, TIMES))}'
    return board(
        "history",
        "Has anything become slower or faster, since when, and by how much?",
        (
            experiments("estimate", mean).multi(True),
            hidden(many("platform", "estimate")),
            one("host", "estimate", also=mean),
            one("benchmark", "estimate", also=mean),
            one("runtime", "estimate", within=("experiment", "benchmark")),
            one("modifiers", "estimate", within=cell, first="none"),
            one("heap", "estimate", within=cell),
            one("metric", "estimate", within=cell, also=mean),
            *settings((*cell, "metric"), mean),
            hidden(every(one("collector", "estimate", within=_OF_LINE, also=mean))).regex(_WORDED),
        ),
        (
            Row(6, ((24, _shifts()),)),
            Row(9, ((24, repeated(_band(), "collector")),)),
            Section("Details: all collectors in one panel", (Row(10, ((24, _all()),)),)),
            Section(
                "Details: host or program (`canary` in the spec, and `regatta history EXPERIMENT... --ingest`)",
                (Row(10, ((12, _canary()), (12, _at_one_speed()))),),
            ),
        ),
        since="now-90d",
        annotations=(
            Annotation("level shifts", drawn),
            Annotation("changes of the environment", changed, BLUE),
        ),
    )


def _shifts() -> PanelBuilder:
    columns = ("experiment", "host", "benchmark", "metric")
    fields = '"point" AS "ratio", "low", "high", "false_rate" AS "false shifts", "label" AS "text"'
    tags = ", ".join(f'"{name}"' for name in columns)
    query = f'SELECT {tags}, {fields} FROM "estimate"'
    panel = rows_of(
        "What has changed?",
        "Shifts that `regatta history` found, with the time of the first experiment after them. `ratio`: the level after a shift over that "
        "before it, with its interval. The text ends with the cause, where a canary ran. `false shifts`: the share of unchanged series that show one. "
        "In the panels below, the shifts of their lines are vertical red lines, and changes of the environment are blue ones.",
        "no shift is known in the selected time; `regatta history EXPERIMENT... --ingest` looks for them",
        [Query(f"{query} WHERE {chosen('experiment', also=(_SHIFT, TIMES))} ORDER BY time DESC")],
        "none",
        columns=("Time", *columns, "ratio", "low", "high", "false shifts", "text"),
    )
    return show_ratios(panel)


def _lines(title: str, how: str, fields: str, group: str, name: str, where: str = _WHERE) -> PanelBuilder:
    """Return a line per series and unit. `name`: of a series, without the unit."""
    queries = [
        Query(f'SELECT {fields} FROM "estimate" WHERE {of_unit}{group}', "time_series", f"{name}{ending}")
        for of_unit, ending in by_unit(where)
    ]
    panel = over_time(title, how, _EMPTY, queries, "short", least=None)
    # Nights are further apart than the gaps of other panels.
    return panel.span_nulls(True).insert_nulls(False)


def _band() -> PanelBuilder:
    panel = _lines(
        "$benchmark, $collector collector: how did it develop?",
        "Mean $metric of each selected experiment on $host (heap: $heap), with its interval as a band, at the time of the newest record. "
        "All selected experiments form one line: choose those that measured the same, such as every night's. A band covers the "
        "invocations of one experiment; experiments on the same code differ by more. A vertical line is a shift that `regatta history` found.",
        '"low", "point", "high"',
        "",
        "$col",
    )
    return banded(panel, dict(UNITS.values()), "mean")


def _canary() -> PanelBuilder:
    panel = _lines(
        "How fast was the host?",
        "Mean of the canary on $host in each selected experiment, with its interval as a band. The canary is a program that never "
        "changes, so a change of its time is one of the host.",
        '"low", "point", "high"',
        "",
        "$col",
        where=chosen("experiment", "host", also=("\"kind\" = 'canary'", TIMES)),
    )
    return banded(panel, dict(UNITS.values()), "mean of the canary")


def _at_one_speed() -> PanelBuilder:
    panel = _lines(
        "$benchmark: how did it develop apart from its host?",
        "Means as if $host had always been as fast as in the first experiment with a canary, one line per collector. A change is one of "
        "the program.",
        '"point"',
        grouped(("collector",)),
        "$tag_collector",
        where=chosen(*_CELL, also=("\"kind\" = 'one-speed'", TIMES)),
    )
    return _named_by_collector(panel)


def _all() -> PanelBuilder:
    panel = _lines(
        "Do all configurations change together?",
        "Means without their intervals, one line per collector. A change of all lines is a change of the host or the benchmark, not of a "
        "configuration.",
        '"point"',
        grouped(("collector",)),
        "$tag_collector",
    )
    return _named_by_collector(panel)


def _named_by_collector(panel: PanelBuilder) -> PanelBuilder:
    # Programs without a collector.
    steps(panel, [("renameByRegex", {"regex": "^none (.*)$", "renamePattern": "mean $1"})])
    return unit_columns(by_collector(panel))
