"""Changes to finished panels: pivoted and merged tables, columns with links and colours, repetition."""

from __future__ import annotations

from collections.abc import Sequence

from grafana_foundation_sdk.models.dashboard import DataTransformerConfig

from dashboards.influxql import FAILED, OK, PERTURBED, UNITS, Query, chosen, grouped, newest
from dashboards.pieces import BLUE, GREEN, ORANGE, RED, WIDTHS, PanelBuilder, Steps, rows_of, setting, steps

#: share of perturbed invocations -> colour
PERTURBED_STEPS: Steps = ((None, GREEN), (0.05, ORANGE), (0.2, RED))


#: status -> condition; its column in the queries of `counts`, and a column of 0
_STATUSES = {"ok": OK, "perturbed": PERTURBED, "failed": FAILED}
_COUNTED, _ZERO = " counted", "zero"


def unit_columns(panel: PanelBuilder) -> PanelBuilder:
    """Set the units of the columns that `estimates` names."""
    for ending, unit in UNITS.values():
        panel.override_by_regexp(f"/.+{ending}$/", [setting("unit", unit)])
    return panel


def pivot(
    measurement: str,
    field: str | tuple[str, str],
    where: str,
    tag: str,
    tags: Sequence[str],
    rows: Sequence[str | tuple[str, str]] = (),
) -> list[Query]:
    """Return queries for `spread`: the newest value of each series, and the place of each row (with further columns `rows`)."""
    others = tuple(name for name in tags if name != tag)
    values = newest(measurement, (field,), where, tags)
    places = newest(measurement, ("place", *rows), where, others, selected="place")
    return [Query(values, "time_series", f"$tag_{tag}"), Query(places)]


def spread(
    panel: PanelBuilder, tag: str, tags: Sequence[str], x: str, *, order: str = "place"
) -> PanelBuilder:
    """Turn time series into one table with a column for each value of `tag`.

    Args:
        panel: with the queries of `pivot`, or with time series only.
        tag: its values become columns.
        tags: all tags of the queries; they and `place` are hidden, except `x`.
        x: the column that names the rows.
        order: the column by which rows are sorted; "" for none.
    """
    hidden = dict.fromkeys([*(name for name in (*tags, "place") if name not in (x, tag))], True)
    # Rows with equal texts become one row, whenever they were measured. Tables of one value of the tag lose it.
    excluded = dict.fromkeys(("Time", "time", tag), True)
    chain: list[tuple[str, dict[str, object]]] = [
        ("labelsToFields", {"valueLabel": tag}),
        ("organize", {"excludeByName": excluded, "indexByName": {}, "renameByName": {}}),
        ("merge", {}),
    ]
    if order:
        chain.append(("sortBy", {"fields": {}, "sort": [{"field": order, "desc": False}]}))
    chain.append(("organize", {"excludeByName": hidden, "indexByName": {x: 0}, "renameByName": {}}))
    return steps(panel, chain)


def repeated(panel: PanelBuilder, variable: str) -> PanelBuilder:
    """Repeat the panel for each selected value of a variable, side by side."""
    return panel.repeat(variable).repeat_direction("h")


def linked(panel: PanelBuilder, column: str, name: str, title: str, time: str) -> PanelBuilder:
    """Link the cells of a column to another dashboard, with their value as its variable. `time`: the time range of the link."""
    given = f"var-datasource=${{datasource:percentencode}}&var-{column}=${{__value.text:percentencode}}"
    link = {"title": title, "url": f"/d/regatta-{name}?{given}&{time}", "targetBlank": False}
    return panel.override_by_name(column, [setting("links", [link])])


def shaded(panel: PanelBuilder, column: str, limits: Steps) -> PanelBuilder:
    """Colour the background of a table column by its values."""
    return panel.override_by_name(
        column, [setting("custom.displayMode", "color-background-solid"), *_by_value(limits)]
    )


def gauged(panel: PanelBuilder, column: str, limits: Steps = ((None, BLUE),)) -> PanelBuilder:
    """Show a table column as bars from 0 to 100 %."""
    return panel.override_by_name(
        column,
        [setting("custom.displayMode", "basic"), setting("unit", "percentunit"), setting("min", 0), setting("max", 1),
         *_by_value(limits), setting("decimals", 0), setting("custom.width", WIDTHS[column]), setting("noValue", "–")],
    )  # fmt: skip


def _by_value(limits: Steps) -> list[object]:
    values = {"mode": "absolute", "steps": [{"color": shade, "value": value} for value, shade in limits]}
    return [setting("color", {"mode": "thresholds"}), setting("thresholds", values)]


def counts(variables: Sequence[str], also: Sequence[str], tags: Sequence[str] = ()) -> list[Query]:
    """Return queries of the numbers of invocations: all, and by status, for `with_share_perturbed`."""

    def asked(name: str, *status: str) -> Query:
        number, where = 'count("iteration_rows")', chosen(*variables, also=(*also, *status))
        # `merge` joins only tables with a common column.
        columns = f'{number} AS "{name}", {number} - {number} AS "{_ZERO}"'
        return Query(f'SELECT {columns} FROM "invocation" WHERE {where}{grouped(tags)}')

    return [asked("invocations"), *(asked(f"{name}{_COUNTED}", status) for name, status in _STATUSES.items())]


def with_share_perturbed(panel: PanelBuilder) -> PanelBuilder:
    """Add the columns `ok`, `perturbed`, `failed` and `share perturbed` to the merged table of `counts`.

    A query that counts nothing has no column. Therefore each number is the sum of what was counted and of 0.
    """
    sums = [
        {
            "mode": "reduceRow",
            "alias": name,
            "reduce": {"include": [f"{name}{_COUNTED}", _ZERO], "reducer": "sum"},
        }
        for name in _STATUSES
    ]
    binary = {"left": "perturbed", "operator": "/", "right": "invocations"}
    share = {"mode": "binary", "alias": "share perturbed", "binary": binary}
    added = [DataTransformerConfig(id_val="calculateField", options=options) for options in (*sums, share)]
    chain = panel._internal.transformations
    place = next(place for place, step in enumerate(chain, 1) if step.id_val == "merge")
    chain[place:place] = added
    return panel


def host_table(title: str, how: str, empty: str, variables: Sequence[str], *also: str) -> PanelBuilder:
    """Return one row per host: the share of perturbed invocations, and counts by status."""
    columns = ("host", "share perturbed", "invocations", "ok", "perturbed", "failed")
    panel = rows_of(
        title, how, empty, counts(variables, also, ("host",)), "none", columns=columns, sort="host"
    )
    with_share_perturbed(panel)
    shaded(panel, "failed", ((None, "transparent"), (1, RED)))
    shaded(panel, "perturbed", ((None, "transparent"), (1, ORANGE)))
    return gauged(panel, "share perturbed", PERTURBED_STEPS)
