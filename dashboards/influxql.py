"""Queries of the boards: InfluxQL as the InfluxDB data source of Grafana 9.3 and later takes it, with the boards' variables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.cog.variants import Dataquery
from grafana_foundation_sdk.models.dashboard import DataSourceRef

#: every board has a variable that chooses among the data sources of type InfluxDB
SOURCE = DataSourceRef(type_val="influxdb", uid="${datasource}")

#: What tells the estimates, vectors and invocations of one experiment apart. A query that leaves one out must hold it to one
#: value: what InfluxDB would choose among several is not for a board to show.
SERIES = (
    "host", "platform", "benchmark", "runtime", "collector", "modifiers", "heap", "metric", "unit", "parameters", "baseline",
)  # fmt: skip
COSTS = ("host", "platform", "runtime", "primitive", "parameters", "unit")
CELL = ("host", "platform", "benchmark", "runtime", "collector", "modifiers", "heap")

#: invocations that gave a number as it should be, and those that were measured but disturbed
OK, PERTURBED = "\"status\" = 'ok'", "\"status\" = 'perturbed'"
#: `oom` is a result, `skipped` was not run, `perturbed` is run again: none is a failure
FAILED = '"status" =~ /^(failed|timeout|crashed)$/'
#: all that are in no estimate and were not disturbed
WITHOUT_NUMBER = '"status" !~ /^(ok|perturbed)$/'

TIMES = "$timeFilter"

_QUOTED = re.compile(r'"(\w+)"')

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


def escaped(name: str) -> str:
    """Return what stands in a regular expression for the values of a variable.

    The data source of Grafana 9 puts a variable of one value in as it is, where a name with a `/` ends the expression.
    """
    return f"${{{name}:regex}}"


def chosen(*variables: str, also: str | tuple[str, ...] = ()) -> str:
    """Return conditions: each tag is one of those chosen for the variable of its name; and others."""
    others = (also,) if isinstance(also, str) else also
    return " AND ".join([*(f'"{name}" =~ /^{escaped(name)}$/' for name in variables), *others])


def newest(
    measurement: str,
    columns: Sequence[str | tuple[str, str]],
    where: str,
    tags: Sequence[str] = SERIES,
    selected: str = "n",
) -> str:
    """Of each series its newest point: the fields that it has, and nothing where it has them not.

    Estimates are written again while an experiment goes on, each time as of its newest record. One that has become undefined
    has no `point`; it must not be hidden by an older one that has.

    Args:
        columns: fields, (field, name), or (arithmetic of quoted fields, name).
        where: conditions.
        tags: what tells series apart; `without` leaves out those that `where` holds to one value.
        selected: a field that every point has.
    """
    pairs = [(column, column) if isinstance(column, str) else column for column in columns]
    shown = ", ".join(f'{_field(of)} AS "{name}"' if of != name else f'"{of}"' for of, name in pairs)
    used = [name for of, _ in pairs for name in (_QUOTED.findall(of) if '"' in of else [of])]
    others = "".join(f', "{name}"' for name in dict.fromkeys(used) if name != selected)
    inner = (
        f'SELECT last("{selected}") AS "{selected}"{others} FROM "{measurement}" WHERE {where}{grouped(tags)}'
    )
    return f"SELECT {shown} FROM ({inner}){grouped(tags)}"


def _field(text: str) -> str:
    return text if '"' in text else f'"{text}"'


def without(*tags: str, of: Sequence[str] = SERIES) -> tuple[str, ...]:
    """All tags but those that a query holds to one value each."""
    return tuple(tag for tag in of if tag not in tags)


def grouped(tags: Sequence[str], every: bool = False) -> str:
    """`GROUP BY`: tags, and (`every`) the steps of a panel's time axis; steps without a point are left out."""
    parts = [*(["time($__interval)"] if every else []), *(f'"{tag}"' for tag in tags)]
    return f" GROUP BY {', '.join(parts)}{' fill(none)' if every else ''}" if parts else ""


def estimates(where: str, more: Sequence[str] = ("label",)) -> list[Query]:
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
        queries.append(Query(newest("estimate", columns, f"\"kind\" = 'mean' AND {where} AND {of_unit}")))
    return queries


def tag_values(tag: str, measurement: str, where: str = "") -> str:
    """What a variable may be."""
    condition = f" WHERE {where}" if where else ""
    return f'SHOW TAG VALUES FROM "{measurement}" WITH KEY = "{tag}"{condition}'
