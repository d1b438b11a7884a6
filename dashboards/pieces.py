"""What the boards are made of: variables, panels, places on the grid, links. Nothing that Grafana 9.3 has not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from grafana_foundation_sdk.builders import (
    barchart,
    bargauge,
    common,
    dashboard,
    stat,
    table,
    text,
    timeseries,
)
from grafana_foundation_sdk.models.common import (
    GraphDrawStyle,
    LegendDisplayMode,
    LegendPlacement,
    ScaleDistribution,
    SortOrder,
    TooltipDisplayMode,
    VisibilityMode,
    VizOrientation,
)
from grafana_foundation_sdk.models.dashboard import (
    AnnotationQuery,
    Dashboard,
    DashboardCursorSync,
    DashboardLinkType,
    DataTransformerConfig,
    DynamicConfigValue,
    FieldColorModeId,
    GridPos,
    Threshold,
    ThresholdsMode,
    VariableModel,
    VariableOption,
    VariableRefresh,
    VariableSort,
)
from grafana_foundation_sdk.models.text import TextMode

from dashboards.influxql import SOURCE, Query, chosen, tag_values

TAG = "regatta"
#: every board, in the order of their links
TITLES = {
    "fleet-now": "Fleet now",
    "experiment": "Experiment",
    "compare-runtimes": "Compare runtimes",
    "collectors": "Collectors",
    "vectors": "Vectors",
    "chat": "Chat",
    "host-health": "Host health",
    "history": "History",
}
#: boards that take any experiment, and say so where it has nothing for them
_TAKE_ANY = ("fleet-now", "experiment", "compare-runtimes", "collectors", "host-health", "history")
WIDTH = 24
#: colours that are told apart by people who do not see all colours
BLUE, ORANGE, GREY, RED, GREEN = "#4477AA", "#EE7733", "#BBBBBB", "#CC3311", "#228833"

PanelBuilder = Any


@dataclass(frozen=True)
class Row:
    """Panels side by side. `panels`: their widths (24 in all) and builders."""

    height: int
    panels: tuple[tuple[int, PanelBuilder], ...]


def board(
    name: str,
    question: str,
    variables: Sequence[dashboard.QueryVariable],
    rows: Iterable[Row],
    *,
    since: str = "now-7d",
    refresh: str = "",
    annotations: Iterable[AnnotationQuery] = (),
) -> Dashboard:
    """A whole board: its UID is `regatta-<name>`, panels are numbered and placed row by row."""
    built = (
        dashboard.Dashboard(f"Regatta · {TITLES[name]}")
        .uid(f"regatta-{name}")
        .description(question)
        .tags([TAG])
        .time(since, "now")
        .refresh(refresh)
        .tooltip(DashboardCursorSync.CROSSHAIR)
        .with_variable(dashboard.DatasourceVariable("datasource").label("data source").type("influxdb"))
        .links([_link(other, variables) for other in TITLES if other != name])
    )
    for each in variables:
        built = built.with_variable(each)
    number = y = 0
    for row in rows:
        x = 0
        for width, panel in row.panels:
            number += 1
            panel.id(number).grid_pos(GridPos(h=row.height, w=width, x=x, y=y))
            built = built.with_panel(panel)
            x += width
        y += row.height
    whole = built.build()
    whole.annotations.list_val = list(annotations)
    return whole


def _link(name: str, variables: Sequence[dashboard.QueryVariable]) -> dashboard.DashboardLink:
    """To another board, with the experiment where one is chosen. No more: what is `All` here may be a single choice there."""
    chooses_one = any(v.build().name == "experiment" and not v.build().multi for v in variables)
    given = "?var-experiment=${experiment:percentencode}" if chooses_one and name in _TAKE_ANY else ""
    link = dashboard.DashboardLink(TITLES[name]).type(DashboardLinkType.LINK).icon("dashboard")
    return link.url(f"/d/regatta-{name}{given}").keep_time(True).include_vars(False)


# Variables


def many(
    name: str, measurement: str = "invocation", within: Sequence[str] = ("experiment",)
) -> dashboard.QueryVariable:
    """Several values of a tag, all of them at first."""
    return (
        variable(name, tag_values(name, measurement, chosen(*within)))
        .multi(True)
        .include_all(True)
        .all_value(".*")
        .current(VariableOption(selected=True, text=["All"], value=["$__all"]))
    )


def one(
    name: str,
    measurement: str = "invocation",
    within: Sequence[str] = ("experiment",),
    *,
    also: str | tuple[str, ...] = (),
    first: str = "",
) -> dashboard.QueryVariable:
    """One value of a tag: `first` where there is such a one."""
    chooser = variable(name, tag_values(name, measurement, chosen(*within, also=also)))
    return chooser.current(VariableOption(selected=True, text=first, value=first)) if first else chooser


def variable(name: str, query: str) -> dashboard.QueryVariable:
    sort = VariableSort.NUMERICAL_ASC if name == "heap" else VariableSort.ALPHABETICAL_ASC
    return (
        dashboard.QueryVariable(name)
        .datasource(SOURCE)
        .query(query)
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(sort)
    )


# Panels


def _common(
    panel: PanelBuilder, title: str, how: str, empty: str, queries: Sequence[Query], in_panel: bool = True
) -> PanelBuilder:
    """`in_panel`: whether the panel itself says why it is empty. Grafana prints that text in each gauge without a value, and
    at each tick that it leaves out of a logarithmic axis."""
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
    bars: bool = False,
    band: bool = False,
    log: bool = False,
    least: float | None = 0,
) -> PanelBuilder:
    """Lines over time; `band`: the columns low and high of one series become a band around its point."""
    panel = _common(timeseries.Panel(), title, how, empty, queries, not log)
    panel.unit(unit).line_width(1).show_points(VisibilityMode.AUTO).fill_opacity(0).legend(_legend())
    panel.tooltip(common.VizTooltipOptions().mode(TooltipDisplayMode.MULTI).sort(SortOrder.DESCENDING))
    if points:
        panel.draw_style(GraphDrawStyle.POINTS).point_size(5).show_points(VisibilityMode.ALWAYS)
    if bars:
        panel.draw_style(GraphDrawStyle.BARS).fill_opacity(70)
    if least is not None and not log:
        panel.axis_soft_min(least)
    if log:
        panel.scale_distribution(common.ScaleDistributionConfig().type(ScaleDistribution.LOG).log(10))
    if band:
        panel.show_points(VisibilityMode.ALWAYS).point_size(5)
        panel.override_by_name(
            "high", [*faint(), setting("custom.fillBelowTo", "low"), setting("custom.fillOpacity", 25)]
        )
        panel.override_by_name("low", faint())
        panel.override_by_name("point", [colour(BLUE), setting("custom.lineWidth", 2)])
    return panel


def faint() -> list[DynamicConfigValue]:
    return [colour(BLUE), setting("custom.lineWidth", 0), setting("custom.showPoints", "never")]


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
    """Bars over the texts of a column. `shorten`: a regular expression, of which `shown` is shown of each."""
    panel = _common(barchart.Panel(), title, how, empty, queries, not log)
    panel.unit(unit).x_field(x).legend(_legend()).group_width(0.8).bar_width(0.95).fill_opacity(80)
    panel.orientation(VizOrientation.HORIZONTAL if wide else VizOrientation.VERTICAL)
    panel.show_value(VisibilityMode.NEVER).x_tick_label_max_length(40)
    if not wide:
        panel.x_tick_label_rotation(-30)
    panel.tooltip(common.VizTooltipOptions().mode(TooltipDisplayMode.MULTI).sort(SortOrder.NONE))
    if log:
        panel.scale_distribution(common.ScaleDistributionConfig().type(ScaleDistribution.LOG).log(10))
    if shorten:
        panel.override_by_name(x, [setting("mappings", [shortened(shorten, shown)])])
    return panel


def interval_bars(
    title: str,
    how: str,
    empty: str,
    queries: Sequence[Query],
    x: str,
    unit: str,
    *,
    shorten: str = "",
    shown: str = "$1",
    columns: Sequence[str] = ("low", "mean", "high"),
    wide: bool = False,
) -> PanelBuilder:
    """The two ends of each interval as light bars beside the estimate's."""
    panel = bars(title, how, empty, queries, x, unit, shorten=shorten, shown=shown, wide=wide)
    low, middle, high = columns
    for name, shade in ((low, GREY), (middle, BLUE), (high, GREY)):
        panel.override_by_regexp(f"/^{name}( .*)?$/", [colour(shade)])
    return panel


def rows_of(
    title: str,
    how: str,
    empty: str,
    queries: Sequence[Query],
    unit: str,
    *,
    columns: Sequence[str] = (),
    hidden: Sequence[str] = (),
    units: dict[str, str] | None = None,
    show_time: bool = False,
    names: dict[str, str] | None = None,
    sort: str = "",
    descending: bool = False,
) -> PanelBuilder:
    """A table. `columns`: their order; `hidden`: those left out; `units`: column -> unit where it is another one."""
    panel = _common(table.Panel(), title, how, empty, queries)
    panel.unit(unit)
    if unit != "none":
        panel.decimals(2)
    # What is empty in a table says so shortly: the long text is for a table without rows.
    panel.override_by_field_type("number", [setting("noValue", "–")])
    panel.override_by_field_type("string", [setting("noValue", "–")])
    for name, other in (units or {}).items():
        # Columns are overridden by the name that is shown.
        properties = [setting("unit", other), *([setting("decimals", 0)] if other == "none" else [])]
        panel.override_by_name((names or {}).get(name, name), properties)
    out = [*hidden, *([] if show_time else ["Time", "time"])]
    panel.with_transformation(
        DataTransformerConfig(
            id_val="organize",
            options={
                "excludeByName": dict.fromkeys(out, True),
                "indexByName": {name: place for place, name in enumerate(columns)},
                "renameByName": names or {},
            },
        )
    )
    if sort:
        panel.sort_by([common.TableSortByFieldState().display_name(sort).desc(descending)])
    return panel


def gauges(
    title: str,
    how: str,
    empty: str,
    queries: Sequence[Query],
    unit: str,
    steps: Sequence[tuple[float | None, str]],
) -> PanelBuilder:
    """The newest value of each series as a bar."""
    panel = _common(bargauge.Panel(), title, how, empty, queries, False)
    panel.unit(unit).orientation(VizOrientation.HORIZONTAL).reduce_options(
        common.ReduceDataOptions().calcs(["lastNotNull"]).values(False)
    )
    return panel.thresholds(thresholds(steps)).min(0)


def number(
    title: str, how: str, empty: str, queries: Sequence[Query], unit: str, steps: Sequence[tuple[float | None, str]],
    calc: str = "lastNotNull",
) -> PanelBuilder:  # fmt: skip
    """One large number."""
    panel = _common(stat.Panel(), title, how, empty, queries)
    panel.unit(unit).reduce_options(common.ReduceDataOptions().calcs([calc]).values(False))
    return panel.thresholds(thresholds(steps))


def words(title: str, content: str) -> PanelBuilder:
    """Text in Markdown."""
    return text.Panel().title(title).mode(TextMode.MARKDOWN).content(content)


def thresholds(steps: Sequence[tuple[float | None, str]]) -> dashboard.ThresholdsConfig:
    """Colours from values on; the first begins at None."""
    return (
        dashboard.ThresholdsConfig()
        .mode(ThresholdsMode.ABSOLUTE)
        .steps([Threshold(value=value, color=colour) for value, colour in steps])
    )


def shortened(pattern: str, shown: str = "$1") -> dict[str, object]:
    """A value mapping: what is shown of texts that are as a regular expression says."""
    return {"type": "regex", "options": {"pattern": pattern, "result": {"text": shown, "index": 0}}}


def _legend() -> common.VizLegendOptions:
    return (
        common.VizLegendOptions()
        .display_mode(LegendDisplayMode.LIST)
        .placement(LegendPlacement.BOTTOM)
        .show_legend(True)
        .calcs([])
    )


def colour(name: str) -> DynamicConfigValue:
    return setting("color", {"mode": FieldColorModeId.FIXED.value, "fixedColor": name})


def setting(name: str, value: object) -> DynamicConfigValue:
    return DynamicConfigValue(id_val=name, value=value)


class Annotation(AnnotationQuery):
    """Events drawn into every panel over time. Where the query stands has moved between versions of Grafana: both are given."""

    def __init__(self, name: str, query: str, colour: str = RED) -> None:
        super().__init__(name=name, datasource=SOURCE, enable=True, icon_color=colour)
        self.query = query

    def to_json(self) -> dict[str, object]:
        """As Grafana reads it."""
        columns = {"textColumn": "text", "tagsColumn": "experiment"}
        target = {"refId": "Anno", "query": self.query, "fromAnnotations": True, "name": self.name, **columns}
        return {**super().to_json(), "query": self.query, "rawQuery": True, **columns, "target": target}


def variables_of(built: Dashboard) -> list[VariableModel]:
    """The variables of a board that are asked of InfluxDB."""
    return [variable for variable in built.templating.list_val or [] if variable.type_val == "query"]
