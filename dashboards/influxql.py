"""Queries of the boards: InfluxQL as the InfluxDB data source of Grafana 9.3 and later takes it, with the boards' variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.cog.variants import Dataquery
from grafana_foundation_sdk.models.dashboard import DataSourceRef

#: every board has a variable that chooses among the data sources of type InfluxDB
SOURCE = DataSourceRef(type_val="influxdb", uid="${datasource}")

#: tags of an estimate that are not the same for all estimates of one experiment and metric
SERIES = ("benchmark", "runtime", "collector", "modifiers", "heap", "parameters", "host")

#: invocations that gave a number as it should be, and those that were measured but disturbed
OK, PERTURBED = "\"status\" = 'ok'", "\"status\" = 'perturbed'"
#: neither is a failure; nor is what could not be run
FAILED = '"status" !~ /^(ok|perturbed|skipped)$/'

TIMES = "$timeFilter"

#: unit tag -> what its columns end in, and Grafana's unit; "": all others
UNITS: dict[str, tuple[str, str]] = {
    "ns": (" time", "ns"),
    "bytes": (" bytes", "bytes"),
    "": (" value", "short"),
}


@dataclass(frozen=True)
class Query(Builder[Dataquery], Dataquery):
    """One query of a panel. `format`: `table` (tags and fields are columns) or `time_series` (each tag set is a series).

    `alias` names a series: `$tag_collector`, `$col`. It is for time series alone.
    """

    text: str
    format: str = "table"
    alias: str = ""
    ref_id: str = "A"

    def build(self) -> Dataquery:
        """It builds itself: the SDK has no query of InfluxDB."""
        return self

    def named(self, ref_id: str) -> Query:
        """The same with its letter in the panel."""
        return replace(self, ref_id=ref_id)

    def to_json(self) -> dict[str, object]:
        """As the data source reads it."""
        target: dict[str, object] = {
            "datasource": SOURCE,
            "orderByTime": "ASC",
            "policy": "default",
            "query": self.text,
            "rawQuery": True,
            "refId": self.ref_id,
            "resultFormat": self.format,
        }
        return {**target, "alias": self.alias} if self.alias else target


def chosen(*variables: str, also: str | tuple[str, ...] = ()) -> str:
    """Conditions: each tag is one of those chosen for the variable of its name; and others."""
    others = (also,) if isinstance(also, str) else also
    return " AND ".join([*(f'"{name}" =~ /^${name}$/' for name in variables), *others])


def newest(
    measurement: str,
    columns: Sequence[str | tuple[str, str]],
    where: str,
    tags: Sequence[str] = SERIES,
    first: str = "point",
) -> str:
    """The newest point of each series that has the field `first`, with others of its fields.

    Estimates are written again while an experiment goes on, each time as of its newest record.

    Args:
        columns: fields, or (field, name); `first` is one of them.
        where: conditions.
        tags: what tells series apart.
    """
    pairs = [(column, column) if isinstance(column, str) else column for column in columns]
    fields = ", ".join(
        (f'last("{field}")' if field == first else f'"{field}"')
        + (f' AS "{name}"' if name != field or field == first else "")
        for field, name in pairs
    )
    return f'SELECT {fields} FROM "{measurement}" WHERE {where}{grouped(tags)}'


def grouped(tags: Sequence[str], every: bool = False) -> str:
    """`GROUP BY`: tags, and (`every`) the steps of a panel's time axis; steps without a point are left out."""
    parts = [*(["time($__interval)"] if every else []), *(f'"{tag}"' for tag in tags)]
    return f" GROUP BY {', '.join(parts)}{' fill(none)' if every else ''}" if parts else ""


def estimates(where: str, tags: Sequence[str] = SERIES, more: Sequence[str] = ("label",)) -> list[Query]:
    """Means with their intervals, one query a unit: its columns end in the unit's name, for a panel has one unit a column."""
    known = "|".join(unit for unit in UNITS if unit)
    queries = []
    for unit, (ending, _) in UNITS.items():
        columns: list[str | tuple[str, str]] = [
            ("low", f"low{ending}"),
            ("point", f"mean{ending}"),
            ("high", f"high{ending}"),
            *more,
        ]
        of_unit = f"\"unit\" = '{unit}'" if unit else f'"unit" !~ /^({known})$/'
        queries.append(
            Query(newest("estimate", columns, f"\"kind\" = 'mean' AND {where} AND {of_unit}", tags))
        )
    return queries


def tag_values(tag: str, measurement: str, where: str = "") -> str:
    """What a variable may be."""
    condition = f" WHERE {where}" if where else ""
    return f'SHOW TAG VALUES FROM "{measurement}" WITH KEY = "{tag}"{condition}'
