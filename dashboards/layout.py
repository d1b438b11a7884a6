"""Layout of a dashboard: variables, links, rows of panels, and sections that can be collapsed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.models.dashboard import (
    AnnotationQuery,
    Dashboard,
    DashboardCursorSync,
    DashboardLinkType,
    GridPos,
    Panel,
    RowPanel,
    VariableHide,
    VariableOption,
    VariableRefresh,
    VariableSort,
)

from dashboards.influxql import SOURCE, chosen, metrics, newest_experiments, tag_values
from dashboards.pieces import RED, PanelBuilder

TAG = "regatta"
#: all dashboards, in the order of their links
TITLES = {
    "fleet-now": "Fleet now",
    "experiment": "Experiment",
    "compare-runtimes": "Compare runtimes",
    "compare-platforms": "Compare platforms",
    "collectors": "Collectors",
    "vectors": "Vectors",
    "chat": "Chat",
    "host-health": "Host health",
    "history": "History",
}
#: name and UID of the data source in `provisioning/`
SOURCE_NAME, SOURCE_UID = "Regatta", "regatta-influxdb"
#: dashboards with data of every experiment
_TAKE_ANY = (
    "fleet-now", "experiment", "compare-runtimes", "compare-platforms", "collectors", "host-health", "history",
)  # fmt: skip
_SAME_SOURCE = "var-datasource=${datasource:percentencode}"
_SAME_EXPERIMENT = "var-experiment=${experiment:percentencode}"


@dataclass(frozen=True)
class Row:
    """Panels side by side. `panels`: width (24 in all) and builder of each."""

    height: int
    panels: tuple[tuple[int, PanelBuilder], ...]


@dataclass(frozen=True)
class Section:
    """Rows under a heading. The heading of panels that need a certain kind of experiment names it."""

    title: str
    rows: tuple[Row, ...]
    collapsed: bool = True


def board(
    name: str,
    question: str,
    variables: Sequence[dashboard.QueryVariable],
    parts: Iterable[Row | Section],
    *,
    since: str = "now-7d",
    refresh: str = "",
    annotations: Iterable[AnnotationQuery] = (),
    own_time: bool = False,
) -> Dashboard:
    """Return a dashboard with the UID `regatta-<name>`. `own_time`: with a link to the time range of its experiment."""
    source = VariableOption(selected=True, text=SOURCE_NAME, value=SOURCE_UID)
    built = (
        dashboard.Dashboard(f"Regatta · {TITLES[name]}")
        .uid(f"regatta-{name}")
        .description(question)
        .tags([TAG])
        .time(since, "now")
        .refresh(refresh)
        .tooltip(DashboardCursorSync.CROSSHAIR)
        .with_variable(
            dashboard.DatasourceVariable("datasource")
            .label("data source")
            .type("influxdb")
            .current(source)
            .hide(VariableHide.HIDE_VARIABLE)
        )
        .links(
            [
                *([_own_time_link(name)] if own_time else []),
                *(_link(other, variables) for other in TITLES if other != name),
            ]
        )
    )
    for each in (*variables, *(_ends_of_experiment() if own_time else ())):
        built = built.with_variable(each)
    whole = built.build()
    whole.panels = _placed(parts)
    whole.annotations.list_val = list(annotations)
    return whole


def _placed(parts: Iterable[Row | Section]) -> list[Panel | RowPanel]:
    """Number the panels and place them row by row. Panels of a collapsed section are inside of its heading."""
    found: list[Panel | RowPanel] = []
    number = y = 0
    for part in parts:
        into: list[Any] = found
        inner = y
        if isinstance(part, Section):
            number += 1
            heading = RowPanel(collapsed=part.collapsed, title=part.title, id_val=number)
            heading.grid_pos = GridPos(h=1, w=24, x=0, y=y)
            found.append(heading)
            y += 1
            inner = y
            if part.collapsed:
                into = heading.panels
        for row in part.rows if isinstance(part, Section) else (part,):
            x = 0
            for width, panel in row.panels:
                number += 1
                into.append(panel.id(number).grid_pos(GridPos(h=row.height, w=width, x=x, y=inner)).build())
                x += width
            inner += row.height
        if into is found:
            y = inner
    return found


def _link(name: str, variables: Sequence[dashboard.QueryVariable]) -> dashboard.DashboardLink:
    """Link to another dashboard, with the experiment if exactly one is selected: the other may not allow several."""
    chooses_one = any(v.build().name == "experiment" and not v.build().multi for v in variables)
    given = f"&{_SAME_EXPERIMENT}" if chooses_one and name in _TAKE_ANY else ""
    link = dashboard.DashboardLink(TITLES[name]).type(DashboardLinkType.LINK).icon("dashboard")
    return link.url(f"/d/regatta-{name}?{_SAME_SOURCE}{given}").keep_time(True).include_vars(False)


def _own_time_link(name: str) -> dashboard.DashboardLink:
    link = dashboard.DashboardLink("Time range of this experiment").type(DashboardLinkType.LINK).icon("bolt")
    time = "from=${begun}&to=${ended}"
    url = f"/d/regatta-{name}?{_SAME_SOURCE}&{_SAME_EXPERIMENT}&{time}"
    return link.url(url).keep_time(False).include_vars(False)


def _ends_of_experiment() -> tuple[dashboard.QueryVariable, ...]:
    """Return hidden variables: a minute before the first and after the last invocation started, in ms since 1970."""
    times = {"begun": ("first", "- 60000"), "ended": ("last", "+ 60000")}
    return tuple(
        hidden(
            variable(
                name,
                f'SELECT floor({end}("started_utc_ns") / 1000000) {room} AS "ms" FROM "invocation"'
                f" WHERE {chosen('experiment')}",
            )
        )
        for name, (end, room) in times.items()
    )


def experiments(measurement: str = "invocation", also: str = "") -> dashboard.QueryVariable:
    """Return the variable of an experiment, the newest first, which is selected at first.

    A board of estimates lists the experiments that have them: a running one has none. A link can still select it.

    Args:
        measurement: listed are the experiments with points of it.
        also: conditions on these points.
    """
    chooser = variable("experiment", newest_experiments(measurement, also))
    return chooser.sort(VariableSort.DISABLED)


def with_estimates(
    name: str, tag: str, within: Sequence[str], also: str | tuple[str, ...]
) -> dashboard.QueryVariable:
    """Return the hidden variable by which panels are repeated: the values of a tag that have such estimates, all selected.

    Args:
        name: of the variable: `<tag>_<kind of estimates>`.
        tag: the tag.
        within: variables that restrict the estimates.
        also: further conditions.
    """
    return hidden(every(variable(name, tag_values(tag, "estimate", chosen(*within, also=also)))))


def many(
    name: str, measurement: str = "invocation", within: Sequence[str] = ("experiment",)
) -> dashboard.QueryVariable:
    """Return a variable with several values of a tag, at first all of them."""
    return every(variable(name, tag_values(name, measurement, chosen(*within))))


def every(chooser: dashboard.QueryVariable) -> dashboard.QueryVariable:
    """Let a variable have several values, at first all of them."""
    all_of_them = VariableOption(selected=True, text=["All"], value=["$__all"])
    return chooser.multi(True).include_all(True).all_value(".*").current(all_of_them)


def hidden(chooser: dashboard.QueryVariable) -> dashboard.QueryVariable:
    """Hide a variable of detail, so that a dashboard shows at most eight. A link can still set it."""
    return chooser.hide(VariableHide.HIDE_VARIABLE)


def settings(within: Sequence[str], also: str) -> tuple[dashboard.QueryVariable, dashboard.QueryVariable]:
    """Return the variable of the parameters of a metric in words, and the hidden one of the tag that it selects.

    The tag is JSON, and Grafana cannot give values of a tag other texts.
    """
    conditions = chosen(*within, also=also)
    texts = variable("setting", f'SELECT "setting" FROM "estimate" WHERE {conditions}')
    # A tag is selected only with a field.
    points = f'SELECT "parameters", "n" FROM "estimate" WHERE {chosen(*within, "setting", also=also)}'
    tag = variable("parameters", f'SELECT "parameters" FROM ({points}) ORDER BY time DESC')
    first = VariableOption(selected=True, text="none", value="none")
    return texts.label("parameters").current(first), hidden(tag.sort(VariableSort.DISABLED))


def differing(*tags: str) -> tuple[tuple[dashboard.QueryVariable, ...], str]:
    """Return hidden variables, and `GROUP BY` with those of the tags that have several values in the experiment.

    InfluxQL can group by a regular expression of tags. It contains each tag, and after it a variable: `1` if the tag has one value, so that
    the expression matches no tag, else nothing.
    """
    found = tuple(
        hidden(
            variable(
                f"only_{tag}",
                f'SELECT count("one") FROM (SELECT last("iteration_rows") AS "one" FROM "invocation" WHERE {chosen("experiment")} GROUP BY "{tag}")',
            ).regex("/^(1)$/")
        )
        for tag in tags
    )
    names = "|".join(f"{tag}${{only_{tag}:regex}}" for tag in tags)
    return found, f"/^({names})$/"


def one(
    name: str,
    measurement: str = "invocation",
    within: Sequence[str] = ("experiment",),
    *,
    also: str | tuple[str, ...] = (),
    first: str = "",
) -> dashboard.QueryVariable:
    """Return a variable with one value of a tag, at first the value `first` if it exists; of metrics, a preferred one."""
    conditions = chosen(*within, also=also)
    if name == "metric":
        return variable(name, metrics(conditions)).sort(VariableSort.DISABLED)
    chooser = variable(name, tag_values(name, measurement, conditions))
    return chooser.current(VariableOption(selected=True, text=first, value=first)) if first else chooser


def variable(name: str, query: str) -> dashboard.QueryVariable:
    """Return a variable with the values of a query."""
    sort = VariableSort.NUMERICAL_ASC if name == "heap" else VariableSort.ALPHABETICAL_ASC
    return (
        dashboard.QueryVariable(name)
        .datasource(SOURCE)
        .query(query)
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(sort)
    )


class Annotation(AnnotationQuery):
    """Events drawn into every panel over time. Versions of Grafana expect the query in different places: both are given."""

    def __init__(self, name: str, query: str, colour: str = RED) -> None:
        super().__init__(name=name, datasource=SOURCE, enable=True, icon_color=colour)
        self.query = query

    def to_json(self) -> dict[str, object]:
        """Return the form that Grafana reads."""
        columns = {"textColumn": "text", "tagsColumn": "experiment"}
        target = {"refId": "Anno", "query": self.query, "fromAnnotations": True, "name": self.name, **columns}
        return {**super().to_json(), "query": self.query, "rawQuery": True, **columns, "target": target}
