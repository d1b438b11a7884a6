"""The same cells over several experiments."""

from __future__ import annotations

from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards.changes import repeated
from dashboards.influxql import TIMES, UNITS, Query, chosen, grouped
from dashboards.pieces import (
    BLUE,
    Annotation,
    PanelBuilder,
    Row,
    board,
    colour,
    faint,
    many,
    one,
    over_time,
    rows_of,
    setting,
)

_CELL = (
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
_WHERE = chosen(*_CELL, also=("\"kind\" = 'mean'", TIMES))
_EMPTY = "choose a longer time, choose more experiments, or measure the same again and run `regatta ingest EXPERIMENT`"
_SHIFTS = f"\"kind\" = 'shift' AND {chosen('experiment', also=TIMES)}"


def history() -> Dashboard:
    """The board."""
    mean = "\"kind\" = 'mean'"
    cell = ("experiment", "benchmark", "runtime")
    return board(
        "history",
        "Has anything become slower or faster, since when, by how much?",
        (
            one("experiment", "estimate", within=(), also=mean).multi(True),
            many("platform", "estimate"),
            one("host", "estimate", also=mean),
            one("benchmark", "estimate", also=mean),
            one("runtime", "estimate", within=("experiment", "benchmark")),
            one("modifiers", "estimate", within=cell, first="none"),
            one("heap", "estimate", within=cell),
            many("collector", "estimate", within=(*cell, "host", "modifiers", "heap")),
            one("metric", "estimate", within=cell, also=mean, first="elapsed"),
            one("parameters", "estimate", within=(*cell, "metric"), also=mean),
        ),
        (
            Row(6, ((24, _shifts()),)),
            Row(9, ((24, repeated(_band(), "collector")),)),
            Row(10, ((24, _all()),)),
        ),
        since="now-1y",
        annotations=(
            Annotation("level shifts", f'SELECT "text", "experiment", "cell" FROM "event" WHERE {_SHIFTS}'),
        ),
    )


def _shifts() -> PanelBuilder:
    return rows_of(
        "What has changed?",
        "Shifts of a level that `regatta history` has found, dated by the first experiment after it. They are drawn into the panels below "
        "as vertical lines.",
        "no shift is known in the chosen time; look for them by `regatta history EXPERIMENT... --ingest`",
        [
            Query(
                f'SELECT "experiment", "host", "cell", "text" FROM "event" WHERE {_SHIFTS} ORDER BY time DESC'
            )
        ],
        "none",
        columns=("Time", "experiment", "host", "cell", "text"),
        show_time=True,
    )


def _band() -> PanelBuilder:
    queries = [
        Query(f'SELECT "low", "point", "high" FROM "estimate" WHERE {_WHERE} AND {chosen("collector")} AND {condition}',
              "time_series", f"$col{ending}")
        for condition, ending in _units()
    ]  # fmt: skip
    panel = over_time(
        "How did $benchmark develop with $collector?",
        "The mean $metric of each chosen experiment on $host at a heap of $heap, with its interval as a band, dated by the experiment's newest "
        "record. All that is chosen becomes one line: choose those that measured the same in the same way, such as every night's. A step that is wider than the bands is a change; a vertical line is a shift that `regatta history` has shown.",
        _EMPTY,
        queries,
        "short",
        least=None,
    )
    return banded(panel)


def banded(panel: PanelBuilder) -> PanelBuilder:
    """The bands of `low`, `point` and `high` of each unit."""
    for ending, unit in UNITS.values():
        panel.override_by_name(
            f"high{ending}",
            [
                *faint(),
                setting("custom.fillBelowTo", f"low{ending}"),
                setting("custom.fillOpacity", 25),
                setting("unit", unit),
            ],
        )
        panel.override_by_name(f"low{ending}", [*faint(), setting("unit", unit)])
        panel.override_by_name(
            f"point{ending}",
            [
                colour(BLUE),
                setting("custom.lineWidth", 2),
                setting("custom.showPoints", "always"),
                setting("unit", unit),
            ],
        )
    return panel


def _all() -> PanelBuilder:
    queries = [
        Query(
            f'SELECT "point" FROM "estimate" WHERE {_WHERE} AND {chosen("collector")} AND {condition}'
            + grouped(("collector",)),
            "time_series",
            f"$tag_collector{ending}",
        )
        for condition, ending in _units()
    ]
    panel = over_time(
        "Do all configurations change together?",
        "Means without their intervals, one line a collector. What changes everywhere at once is the host or the "
        "benchmark, not a configuration.",
        _EMPTY,
        queries,
        "short",
        least=None,
    )
    for ending, unit in UNITS.values():
        panel.override_by_regexp(f"/.+{ending}$/", [setting("unit", unit)])
    return panel


def _units() -> list[tuple[str, str]]:
    """A condition and the ending of names, for each unit."""
    known = "|".join(unit for unit in UNITS if unit)
    return [
        (f"\"unit\" = '{unit}'" if unit else f'"unit" !~ /^({known})$/', ending)
        for unit, (ending, _) in UNITS.items()
    ]
