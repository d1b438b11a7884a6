"""Parts of dashboards: panels, their columns and colours. They need only features of Grafana 9.3."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from grafana_foundation_sdk.builders import (
    barchart,
    common,
    dashboard,
    stat,
    statushistory,
    table,
    timeseries,
    xychart,
)
from grafana_foundation_sdk.models.common import (
    GraphDrawStyle,
    GraphTresholdsStyleMode,
    LegendDisplayMode,
    LegendPlacement,
    ScaleDistribution,
    SortOrder,
    TooltipDisplayMode,
    VisibilityMode,
    VizOrientation,
)
from grafana_foundation_sdk.models.dashboard import (
    DataTransformerConfig,
    DynamicConfigValue,
    FieldColorModeId,
    Threshold,
    ThresholdsMode,
)
from grafana_foundation_sdk.models.xychart import ScatterShow, SeriesMapping

from dashboards.influxql import SOURCE, UNITS, Query

#: Readers with a colour vision deficiency can distinguish these, and all but the light cyan and grey stand out from a light and a
#: dark page. A test checks both.
BLUE, CYAN, ORANGE, GREY, RED, GREEN = "#4477AA", "#66CCEE", "#D97D21", "#BBBBBB", "#CC1F1F", "#00A685"
#: status of an invocation -> colour. Running out of memory in a small heap is a result.
STATUS_COLOURS = {
    "ok": GREEN, "perturbed": ORANGE, "failed": RED, "timeout": RED, "crashed": RED, "oom": BLUE, "skipped": GREY,
}  # fmt: skip
#: collector -> its colour in every dashboard
COLLECTOR_COLOURS = {
    "serial": BLUE, "parallel": CYAN, "g1": "#CCBB44", "z": "#AA3377", "shenandoah": "#EE6677", "epsilon": GREY,
}  # fmt: skip
#: mode of the chat server -> its colour
MODE_COLOURS = {"platform": BLUE, "virtual": ORANGE, "selector": "#AA3377"}
#: column of a table -> its width in px; the last column of a table takes the rest
WIDTHS = {
    "Time": 160, "experiment": 170, "host": 110, "benchmark": 190, "configuration": 190, "alternative": 190,
    "runtime": 110, "collector": 100, "modifiers": 100, "heap": 70, "status": 90, "kind": 170, "segment": 80,
    "metric": 130, "parameters": 190, "baseline": 120, "primitive": 130, "system": 150, "quantity": 90,
    "n": 50, "low": 85, "high": 85, "ratio": 85, "mean": 85, "p": 90, "adj. p": 80, "theta": 70, "significant": 100, "practical": 100,
    "drifts": 100, "rank": 60, "predicted": 95, "measured": 95, "measured low": 125, "measured high": 130,
    "error": 70, "count": 90, "cost": 90, "share": 150, "rule": 260,
    "elapsed": 90, "user": 90, "system time": 100, "invocations": 100, "ok": 70, "failed": 70, "perturbed": 90,
    "done": 160, "time left": 90, "planned": 80, "begun": 170, "newest": 170, "percentile": 130,
    "kind of pause": 250,
    **{f"{name}{ending}": width for ending, _ in UNITS.values() for name, width in (("mean", 100), ("low", 95), ("high", 95))},
    "false shifts": 110, "latency": 90, "latency low": 110, "latency high": 115, "bandwidth": 95, "bandwidth low": 130, "bandwidth high": 135, "cell": 330,
    "share perturbed": 170, "compared": 110, "relative to": 170, "leader": 70, "suite": 110, "holds for": 175, "measured on": 110, "drift": 85,
}  # fmt: skip
#: columns of texts. Grafana gives a text that is a number the unit of the panel, unless it has this unit.
TEXTS = frozenset((
    "experiment", "host", "benchmark", "configuration", "alternative", "runtime", "collector", "modifiers", "heap", "status",
    "kind", "metric", "parameters", "baseline", "primitive", "system", "quantity", "significant", "practical", "drifts",
    "rule", "reason", "text", "percentile", "kind of pause", "compared", "relative to", "leader", "suite", "holds for",
    "measured on",
))  # fmt: skip
#: A line is not drawn across a longer gap, in ms: from Grafana 10.1 on, which has `insertNulls`.
_LONGEST_GAP_MS = 3_600_000

PanelBuilder = Any
Steps = Sequence[tuple[float | None, str]]


def steps(panel: PanelBuilder, chain: Iterable[tuple[str, Mapping[str, object]]]) -> PanelBuilder:
    """Add transformations: their names and options."""
    for name, options in chain:
        panel.with_transformation(DataTransformerConfig(id_val=name, options=options))
    return panel


def common_parts(
    panel: PanelBuilder, title: str, how: str, empty: str, queries: Sequence[Query], in_panel: bool = True
) -> PanelBuilder:
    """Set title, description and queries.

    Args:
        panel: its builder.
        title: a question.
        how: how to read the panel.
        empty: what to run if the panel is empty.
        queries: at most ten.
        in_panel: whether the empty panel shows `empty`. Grafana would print it in each gauge without a value, and at each tick
            that it omits from a logarithmic axis.
    """
    panel.title(title).description(f"{how}\n\nEmpty? {empty}").datasource(SOURCE)
    if in_panel:
        panel.no_value(empty)
    for letter, query in zip("ABCDEFGHIJ", queries, strict=False):
        panel.with_target(query.named(letter))
    return panel


def over_time(
    title: str,
    how: str,
    empty: str,
    queries: Sequence[Query],
    unit: str,
    *,
    points: bool = False,
    log: bool = False,
    least: float | None = 0,
    most: float | None = None,
    limits: Steps = (),
) -> PanelBuilder:
    """Return lines over time. `limits`: values at which a line is drawn."""
    panel = common_parts(timeseries.Panel(), title, how, empty, queries, not log)
    panel.unit(unit).line_width(1).show_points(VisibilityMode.ALWAYS).point_size(4).fill_opacity(0)
    panel.legend(_legend()).insert_nulls(_LONGEST_GAP_MS).span_nulls(_LONGEST_GAP_MS)
    panel.tooltip(common.VizTooltipOptions().mode(TooltipDisplayMode.MULTI).sort(SortOrder.DESCENDING))
    if points:
        panel.draw_style(GraphDrawStyle.POINTS).point_size(5)
    if least is not None and not log:
        panel.axis_soft_min(least)
    if most is not None:
        panel.max(most)
    if log:
        panel.scale_distribution(_log())
    if limits:
        panel.thresholds(thresholds(((None, GREEN), *limits)))
        panel.thresholds_style(common.GraphThresholdsStyleConfig().mode(GraphTresholdsStyleMode.DASHED))
    return panel


def banded(panel: PanelBuilder, endings: Mapping[str, str], shown: str) -> PanelBuilder:
    """Draw the series low and high as a band around the series point.

    Args:
        panel: lines over time.
        endings: ending of the names -> unit.
        shown: name of the point in the legend.
    """
    for ending, unit in endings.items():
        own = setting("unit", unit)
        # A single interval has no band, but points at its ends.
        edge = [
            colour(BLUE),
            setting("custom.lineWidth", 0),
            setting("custom.pointSize", 3),
            hidden_from(legend=True),
        ]
        band = [setting("custom.fillBelowTo", f"low{ending}"), setting("custom.fillOpacity", 25)]
        panel.override_by_name(f"high{ending}", [*edge, *band, own])
        panel.override_by_name(f"low{ending}", [*edge, own])
        line = [
            colour(BLUE),
            setting("custom.lineWidth", 2),
            setting("custom.pointSize", 6),
            setting("displayName", shown),
        ]
        panel.override_by_name(f"point{ending}", [*line, own])
    return panel


def states(
    title: str, how: str, empty: str, queries: Sequence[Query], unit: str, steps: Steps, columns: int = 90
) -> PanelBuilder:
    """Return a row of coloured states per series. `columns`: number of steps of the time axis."""
    panel = common_parts(statushistory.Panel(), title, how, empty, queries)
    panel.unit(unit).decimals(0).thresholds(thresholds(steps)).show_value(VisibilityMode.NEVER)
    panel.color_scheme(dashboard.FieldColor().mode(FieldColorModeId.THRESHOLDS))
    return panel.legend(_legend()).max_data_points(columns).fill_opacity(85)


def bars(
    title: str,
    how: str,
    empty: str,
    queries: Sequence[Query],
    x: str,
    unit: str,
    *,
    shorten: str = "",
    shown: str = "$1",
    log: bool = False,
    wide: bool = False,
) -> PanelBuilder:
    """Return bars over the texts of a column. `shorten`: a regular expression; `shown` replaces its match in the texts."""
    panel = common_parts(barchart.Panel(), title, how, empty, queries, not log)
    panel.unit(unit).x_field(x).legend(_legend()).group_width(0.7).bar_width(0.9).fill_opacity(80)
    panel.orientation(VizOrientation.HORIZONTAL if wide else VizOrientation.VERTICAL)
    panel.show_value(VisibilityMode.NEVER).x_tick_label_max_length(40)
    if not wide:
        panel.x_tick_label_rotation(-30)
    elif unit != "percentunit":
        # Of horizontal bars, these are the texts of values: their ticks are closer than `150 µs` is wide.
        panel.x_tick_label_rotation(-20)
    panel.tooltip(common.VizTooltipOptions().mode(TooltipDisplayMode.MULTI).sort(SortOrder.NONE))
    if log:
        panel.scale_distribution(_log())
    mappings = [setting("mappings", [shortened(shorten, shown)])] if shorten else []
    return panel.override_by_name(x, [setting("unit", "string"), *mappings])


def curve(
    title: str, how: str, empty: str, queries: Sequence[Query], x: str, x_label: str, y_label: str
) -> PanelBuilder:
    """Return lines over the numeric column `x`. XY charts of Grafana 9 have no units and no logarithmic axes."""
    panel = common_parts(xychart.Panel(), title, how, empty, queries)
    panel.unit("none").series_mapping(SeriesMapping.AUTO).show(ScatterShow.POINTS_AND_LINES)
    panel.dims(xychart.XYDimensionConfig().frame(0).x(x)).axis_label(y_label).legend(_legend())
    panel.tooltip(common.VizTooltipOptions().mode(TooltipDisplayMode.SINGLE).sort(SortOrder.NONE))
    return panel.override_by_name(x, [setting("custom.axisLabel", x_label), setting("decimals", 0)])


def show_ratios(panel: PanelBuilder) -> PanelBuilder:
    """Show ratios and their intervals with four decimals."""
    for name in ("low", "ratio", "high"):
        panel.override_by_name(name, [setting("decimals", 4)])
    return panel


def rows_of(
    title: str,
    how: str,
    empty: str,
    queries: Sequence[Query],
    unit: str,
    *,
    columns: Sequence[str],
    units: Mapping[str, str] | None = None,
    names: Mapping[str, str] | None = None,
    order: str = "",
    sort: str = "",
    descending: bool = False,
) -> PanelBuilder:
    """Return a table of exactly these columns. Those of `TEXTS` are texts.

    Args:
        title, how, empty, queries: see `common_parts`. The rows of several queries are merged.
        unit: of all numbers.
        columns: in their order, the answer first.
        units: shown name of a column -> its unit, if different.
        names: column -> shown name, if different.
        order: column to sort by that is not shown.
        sort: shown column to sort by.
        descending: sort direction.
    """
    panel = common_parts(table.Panel(), title, how, empty, queries)
    panel.unit(unit)
    if unit != "none":
        panel.decimals(2)
    shown = [(names or {}).get(name, name) for name in columns]
    for name in shown:
        # Grafana shows points in time to the millisecond, which the column has no room for.
        own = "string" if name in TEXTS else {"Time": "dateTimeAsIso", **(units or {})}.get(name)
        width = [setting("custom.width", WIDTHS[name])] if name in WIDTHS and name != shown[-1] else []
        other = [setting("unit", own), *([setting("decimals", 0)] if own == "none" else [])] if own else []
        # Grafana shows a column without any value as `null`, unless its cells are text.
        panel.override_by_name(name, [*width, *other, *_text_cells()])
    arranged(panel, columns, order=order, names=names, merged=len(queries) > 1)
    if sort:
        panel.sort_by([common.TableSortByFieldState().display_name(sort).desc(descending)])
    return panel


def _text_cells() -> list[DynamicConfigValue]:
    return [setting("custom.displayMode", "color-text"), colour("text"), setting("noValue", "–")]


def arranged(
    panel: PanelBuilder,
    columns: Sequence[str],
    *,
    order: str = "",
    names: Mapping[str, str] | None = None,
    merged: bool = False,
) -> PanelBuilder:
    """Keep these columns in this order, with the rows sorted by the column `order`. `merged`: rows of all queries as one table."""
    chain: list[tuple[str, dict[str, object]]] = []
    if merged:
        # Rows that are equal in all common columns become one row, whenever they were measured.
        without = {} if "Time" in columns else {"Time": True, "time": True}
        chain += [
            ("organize", {"excludeByName": without, "indexByName": {}, "renameByName": {}}),
            ("merge", {}),
        ]
    if order:
        chain.append(("sortBy", {"fields": {}, "sort": [{"field": order, "desc": False}]}))
    chain.append(("filterFieldsByName", {"include": {"names": list(columns)}}))
    places = {name: place for place, name in enumerate(columns)}
    chain.append(
        ("organize", {"excludeByName": {}, "indexByName": places, "renameByName": dict(names or {})})
    )
    return steps(panel, chain)


def number(
    title: str, how: str, empty: str, queries: Sequence[Query], unit: str, steps: Steps
) -> PanelBuilder:
    """Return one large number."""
    panel = common_parts(stat.Panel(), title, how, empty, queries)
    panel.unit(unit).reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]).values(False))
    return panel.thresholds(thresholds(steps))


def alerts(title: str, how: str) -> PanelBuilder:
    """Return the list of Regatta's firing alerts."""
    panel = dashboard.Panel().type("alertlist").title(title).description(f"{how}\n\nEmpty? no alert fires")
    return panel.options(
        {
            "viewMode": "list",
            "groupMode": "default",
            "groupBy": [],
            "maxItems": 20,
            "sortOrder": 3,
            "alertInstanceLabelFilter": '{source="regatta"}',
            "stateFilter": {"firing": True, "pending": True, "error": True, "noData": False, "normal": False},
        }
    )


def thresholds(steps: Steps) -> dashboard.ThresholdsConfig:
    """Return colours by value; the first step starts at None."""
    return (
        dashboard.ThresholdsConfig()
        .mode(ThresholdsMode.ABSOLUTE)
        .steps([Threshold(value=value, color=shade) for value, shade in steps])
    )


def shortened(pattern: str, shown: str = "$1") -> dict[str, object]:
    """Return a value mapping: `shown` replaces the match of the regular expression."""
    return {"type": "regex", "options": {"pattern": pattern, "result": {"text": shown, "index": 0}}}


def p_value() -> list[DynamicConfigValue]:
    """Return settings of a table column with p values: four decimals, and `<0.0001` instead of 0.0000."""
    tiny = {"from": 0, "to": 0.0001, "result": {"text": "<0.0001", "index": 0}}
    return [setting("decimals", 4), setting("mappings", [{"type": "range", "options": tiny}])]


def coloured(colours: Mapping[str, str]) -> list[DynamicConfigValue]:
    """Return settings of a table column with a background colour by text. `open` reads as in reports: inconclusive."""
    options = {
        text: {"color": shade, "index": place, **({"text": "inconclusive"} if text == "open" else {})}
        for place, (text, shade) in enumerate(colours.items())
    }
    return [
        setting("mappings", [{"type": "value", "options": options}]),
        setting("custom.displayMode", "color-background-solid"),
        setting("color", {"mode": "thresholds"}),
        setting("thresholds", {"mode": "absolute", "steps": [{"color": "transparent", "value": None}]}),
    ]


def by_collector(panel: PanelBuilder) -> PanelBuilder:
    """Give each collector its colour."""
    for name, shade in COLLECTOR_COLOURS.items():
        panel.override_by_regexp(f"/^{name}( .*)?$/", [colour(shade)])
    return panel


def _log() -> common.ScaleDistributionConfig:
    return common.ScaleDistributionConfig().type(ScaleDistribution.LOG).log(10)


def _legend() -> common.VizLegendOptions:
    return (
        common.VizLegendOptions()
        .display_mode(LegendDisplayMode.LIST)
        .placement(LegendPlacement.BOTTOM)
        .show_legend(True)
        .calcs([])
    )


def colour(name: str) -> DynamicConfigValue:
    """Return a fixed colour."""
    return setting("color", {"mode": FieldColorModeId.FIXED.value, "fixedColor": name})


def hidden_from(*, legend: bool = False, tooltip: bool = False, viz: bool = False) -> DynamicConfigValue:
    """Hide a series from parts of its panel."""
    return setting("custom.hideFrom", {"legend": legend, "tooltip": tooltip, "viz": viz})


def setting(name: str, value: object) -> DynamicConfigValue:
    """Return a property of an override."""
    return DynamicConfigValue(id_val=name, value=value)
