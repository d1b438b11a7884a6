"""Means over a number, such as the size of the heap: one line per alternative, and faint lines at the ends of its interval.

XY charts of Grafana 9 have neither units nor logarithmic axes: the queries convert values, and the titles of the axes name units.
"""

from __future__ import annotations

from collections.abc import Mapping

from dashboards.changes import pivot, spread
from dashboards.influxql import SERIES, Query, newest
from dashboards.pieces import PanelBuilder, by_collector, colour, curve, hidden_from, setting, steps

#: opacity of the ends of intervals, as the last two digits of a colour
_FAINT = "88"
_MS = "/ 1000000"


def milliseconds(field: str) -> str:
    """Return a time in ms."""
    return f'"{field}" {_MS}'


def logarithm_of_ms(field: str) -> str:
    """Return the decimal logarithm of a time in ms. The lower end of an interval can be negative: it is at least a tenth of the mean."""
    if field != "low":
        return f'log10("{field}" {_MS})'
    least = '"point" / 10'
    return f'log10(("low" + {least} + abs("low" - {least})) / 2 {_MS})'


def over_heap(
    title: str, how: str, empty: str, where: str, y_label: str, collectors: Mapping[str, str]
) -> PanelBuilder:
    """Return times in ms over the heap in MiB, one line per collector. `collectors`: those with ends of intervals, and their colours."""
    means = pivot(
        "estimate", (milliseconds("point"), "mean"), where, "collector", SERIES, rows=(("heap_mib", "MiB"),)
    )
    ends = [
        Query(
            newest(
                "estimate",
                ((milliseconds("low"), f"{name} low"), (milliseconds("high"), f"{name} high")),
                f"{where} AND \"collector\" = '{name}'",
            )
        )
        for name in collectors
    ]
    panel = curve(title, how, empty, [*means, *ends], "MiB", "heap in MiB", y_label)
    by_collector(spread(panel, "collector", SERIES, "MiB", order="MiB"))
    return _ends(panel, collectors)


def over_number(
    title: str,
    how: str,
    empty: str,
    where: str,
    y_label: str,
    groups: Mapping[str, tuple[str, str]],
    value: str = "",
) -> PanelBuilder:
    """Return means over the binary logarithm of the field `number`.

    Args:
        title, how, empty: see `common_parts`.
        where: conditions; they choose means of one metric.
        y_label: title of the axis of values, with the unit.
        groups: name of a line -> further conditions, which leave one estimate per number, and colour.
        value: `ms`, `log ms`, or "" for the values as they are.
    """
    of = {"ms": milliseconds, "log ms": logarithm_of_ms, "": '"{}"'.format}[value]
    queries = [
        Query(
            newest(
                "estimate",
                ((of("point"), name), (of("low"), f"{name} low"), (of("high"), f"{name} high"), ('log2("number")', "log2")),
                where + condition,
            )
        )
        for name, (condition, _) in groups.items()
    ]  # fmt: skip
    panel = curve(
        title, how, empty, queries, "log2", "connections, log2 (5: 32, 7: 128, 9: 512, 11: 2048)", y_label
    )
    if value != "log ms":
        panel.axis_soft_min(0)
    # Lines differ in these tags, and each has its own column.
    steps(panel, (("organize", _without("Time", "time", "benchmark", "parameters")), ("merge", {})))
    steps(panel, (("sortBy", {"fields": {}, "sort": [{"field": "log2", "desc": False}]}),))
    steps(panel, (("organize", {**_without(*SERIES), "indexByName": {"log2": 0}}),))
    return _ends(panel, {name: shade for name, (_, shade) in groups.items()})


def _without(*names: str) -> dict[str, object]:
    return {"excludeByName": dict.fromkeys(names, True), "indexByName": {}, "renameByName": {}}


def _ends(panel: PanelBuilder, colours: Mapping[str, str]) -> PanelBuilder:
    for name, shade in colours.items():
        # Since Grafana 11.1, the words that all names share are not shown: the line itself needs one more than they.
        own = [colour(shade), setting("custom.lineWidth", 2), setting("displayName", f"{name} mean")]
        panel.override_by_name(name, own)
        for end in ("low", "high"):
            points = setting("custom.pointSize.fixed", 2)
            faint = [setting("custom.lineWidth", 1), points, hidden_from(legend=True)]
            panel.override_by_name(f"{name} {end}", [colour(f"{shade}{_FAINT}"), *faint])
    return panel
