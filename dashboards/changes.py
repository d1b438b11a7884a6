"""What is done to panels after they are made: tables turned and joined, columns with links and colours, repetition."""

from __future__ import annotations

from collections.abc import Sequence

from grafana_foundation_sdk.models.dashboard import DataTransformerConfig

from dashboards.influxql import UNITS
from dashboards.pieces import GREEN, PanelBuilder, setting


def joined(panel: PanelBuilder) -> PanelBuilder:
    """The tables of all queries as one, in their order; rows that are equal in all common columns are one row."""
    merge = DataTransformerConfig(id_val="merge", options={})
    panel._internal.transformations = [merge, *panel._internal.transformations]
    return panel


def unit_columns(panel: PanelBuilder) -> PanelBuilder:
    """The units of the columns that `estimates` names, and its tables as one."""
    for ending, unit in UNITS.values():
        panel.override_by_regexp(f"/.+{ending}$/", [setting("unit", unit)])
    return joined(panel)


def spread(panel: PanelBuilder, tag: str, columns: Sequence[str] = ()) -> PanelBuilder:
    """Time series become one table: a column for each value of `tag`, a row for each value of the other tags (`columns` first)."""
    panel.with_transformation(DataTransformerConfig(id_val="labelsToFields", options={"valueLabel": tag}))
    # Rows with equal texts are one row, whenever they were measured.
    panel.with_transformation(_organized(excluded=("Time", "time")))
    panel.with_transformation(DataTransformerConfig(id_val="merge", options={}))
    return panel.with_transformation(_organized(columns=columns))


def _organized(columns: Sequence[str] = (), excluded: Sequence[str] = ()) -> DataTransformerConfig:
    options = {
        "excludeByName": dict.fromkeys(excluded, True),
        "indexByName": {name: place for place, name in enumerate(columns)},
        "renameByName": {},
    }
    return DataTransformerConfig(id_val="organize", options=options)


def repeated(panel: PanelBuilder, variable: str) -> PanelBuilder:
    """The panel once for each chosen value of a variable, side by side."""
    return panel.repeat(variable).repeat_direction("h")


def linked(
    panel: PanelBuilder, column: str, name: str, title: str, time: str = "${__url_time_range}"
) -> PanelBuilder:
    """Cells of a column lead to another board, with their value as its variable of that name. `time`: what it shows."""
    given = f"var-{column}=${{__value.text:percentencode}}"
    link = {"title": title, "url": f"/d/regatta-{name}?{given}&{time}", "targetBlank": False}
    return panel.override_by_name(column, [setting("links", [link])])


def shaded(panel: PanelBuilder, column: str, steps: Sequence[tuple[float | None, str]]) -> PanelBuilder:
    """A table's column whose background tells how bad it is."""
    values = {"mode": "absolute", "steps": [{"color": colour, "value": value} for value, colour in steps]}
    return panel.override_by_name(
        column,
        [setting("custom.displayMode", "color-background"), setting("color", {"mode": "thresholds"}), setting("thresholds", values)],
    )  # fmt: skip


def gauged(panel: PanelBuilder, column: str, unit: str = "percentunit") -> PanelBuilder:
    """A table's column as a bar from 0 to 1."""
    return panel.override_by_name(
        column,
        [setting("custom.displayMode", "gradient-gauge"), setting("unit", unit), setting("min", 0), setting("max", 1),
         setting("color", {"mode": "fixed", "fixedColor": GREEN}), setting("decimals", 0), setting("custom.width", 180),
         setting("noValue", "–")],
    )  # fmt: skip
