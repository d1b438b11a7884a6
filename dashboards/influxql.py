"""Queries of the dashboards: InfluxQL for the InfluxDB data source of Grafana 9.3 and later."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.cog.variants import Dataquery
from grafana_foundation_sdk.models.dashboard import DataSourceRef

#: each dashboard has a variable for the data source
SOURCE = DataSourceRef(type_val="influxdb", uid="${datasource}")

#: Tags that distinguish the estimates, vectors and invocations of an experiment. A query without one of them must restrict it to
#: one value, because InfluxDB would choose one of several arbitrarily.
SERIES = (
    "host", "platform", "benchmark", "runtime", "collector", "modifiers", "heap", "metric", "unit", "parameters", "baseline",
)  # fmt: skip
COSTS = ("host", "platform", "runtime", "primitive", "parameters", "unit")
CELL = ("host", "platform", "benchmark", "runtime", "collector", "modifiers", "heap")

#: invocations whose numbers are used, and those that other work disturbed
OK, PERTURBED = "\"status\" = 'ok'", "\"status\" = 'perturbed'"
#: `oom` is a result, `skipped` was not run, `perturbed` is run again: none is a failure
FAILED = '"status" =~ /^(failed|timeout|crashed)$/'
#: in no estimate
EXCLUDED = "\"status\" <> 'ok'"

TIMES = "$timeFilter"

_QUOTED = re.compile(r'"(\w+)"')

#: tag `unit` -> ending of its columns, and unit of Grafana; "": all others
UNITS: dict[str, tuple[str, str]] = {
    "ns": (" time", "ns"),
    "bytes": (" bytes", "bytes"),
    "": (" value", "short"),
}


@dataclass(frozen=True)
class Query(Builder[Dataquery], Dataquery):
    """A query of a panel. `format`: `table` (tags and fields are columns) or `time_series` (each tag set is a series).

    `alias` names a time series: `$tag_collector`, `$col`.
    """

    text: str
    format: str = "table"
    alias: str = ""
    ref_id: str = "A"

    def build(self) -> Dataquery:
        """Return itself: the SDK has no InfluxDB query."""
        return self

    def named(self, ref_id: str) -> Query:
        """Return the query with its letter in the panel."""
        return replace(self, ref_id=ref_id)

    def to_json(self) -> dict[str, object]:
        """Return the JSON that the data source reads."""
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
    """Return the reference to a variable in a regular expression.

    The data source of Grafana 9 does not escape a variable with one value: a name with a `/` would end the expression.
    """
    return f"${{{name}:regex}}"


def chosen(*variables: str, also: str | tuple[str, ...] = ()) -> str:
    """Return conditions: each tag has a selected value of the variable of its name; and further ones."""
    others = (also,) if isinstance(also, str) else also
    return " AND ".join([*(one_of(name, name) for name in variables), *others])


def one_of(tag: str, variable: str) -> str:
    """Return the condition that a tag has a selected value of a variable."""
    return f'"{tag}" =~ /^{escaped(variable)}$/'


def newest(
    measurement: str,
    columns: Sequence[str | tuple[str, str]],
    where: str,
    tags: Sequence[str] = SERIES,
    selected: str = "n",
    having: str = "",
) -> str:
    """Return a query for the newest point of each series. A field that this point lacks is empty.

    Estimates are written again during an experiment, each time as of its newest record. An estimate that became undefined has no
    `point`; an older point must not replace it.

    Args:
        columns: fields, (field, name), or (arithmetic of quoted fields, name).
        where: conditions.
        tags: tags that distinguish the series, without those that `where` restricts to one value.
        selected: a field of every point.
        having: conditions on quoted fields of the newest points.
    """
    pairs = [(column, column) if isinstance(column, str) else column for column in columns]
    shown = ", ".join(f'{_field(of)} AS "{name}"' if of != name else f'"{of}"' for of, name in pairs)
    used = [name for of, _ in pairs for name in (_QUOTED.findall(of) if '"' in of else [of])]
    points = _points(measurement, [*used, *_QUOTED.findall(having)], where, tags, selected)
    return f"SELECT {shown} FROM ({points}){f' WHERE {having}' if having else ''}{grouped(tags)}"


def _points(measurement: str, fields: Sequence[str], where: str, tags: Sequence[str], selected: str) -> str:
    others = "".join(f', "{name}"' for name in dict.fromkeys(fields) if name != selected)
    return (
        f'SELECT last("{selected}") AS "{selected}"{others} FROM "{measurement}" WHERE {where}{grouped(tags)}'
    )


def without_interval(value: str, name: str, texts: Sequence[str], where: str, tags: Sequence[str]) -> str:
    """Return a query for the newest estimates that have no interval; for all others the value is 0.

    InfluxQL cannot test whether a field is empty, but with `fill(0)` it counts 0 values.

    Args:
        value: arithmetic of `last("point")`.
        name: of the value.
        texts: further fields of each estimate.
        where: conditions.
        tags: tags that distinguish the estimates.
    """
    shown = "".join(f', last("{text}") AS "{text}"' for text in texts)
    inner = _points("estimate", ("point", "low", *texts), where, tags, "n")
    return f'SELECT {value} * (1 - count("low")) AS "{name}"{shown} FROM ({inner}){grouped(tags)} fill(0)'


def _field(text: str) -> str:
    return text if '"' in text else f'"{text}"'


def without(*tags: str, of: Sequence[str] = SERIES) -> tuple[str, ...]:
    """Return the tags without those that a query restricts to one value."""
    return tuple(tag for tag in of if tag not in tags)


def grouped(tags: Sequence[str], every: bool = False) -> str:
    """Return `GROUP BY` with tags and (`every`) the steps of the time axis; steps without a point are omitted."""
    parts = [*(["time($__interval)"] if every else []), *(f'"{tag}"' for tag in tags)]
    return f" GROUP BY {', '.join(parts)}{' fill(none)' if every else ''}" if parts else ""


def by_unit(where: str) -> list[tuple[str, str]]:
    """Return conditions and endings of column names, one per unit: a column of a panel has one unit."""
    known = "|".join(unit for unit in UNITS if unit)
    return [
        (f"{where} AND " + (f"\"unit\" = '{unit}'" if unit else f'"unit" !~ /^({known})$/'), ending)
        for unit, (ending, _) in UNITS.items()
    ]


def estimates(where: str, more: Sequence[str | tuple[str, str]] = ()) -> list[Query]:
    """Return queries of means with their intervals, one per unit."""
    return [
        Query(
            newest(
                "estimate",
                (("point", f"mean{ending}"), ("low", f"low{ending}"), ("high", f"high{ending}"), *more),
                of_unit,
            )
        )
        for of_unit, ending in by_unit(f"\"kind\" = 'mean' AND {where}")
    ]


def of_units(*names: str) -> tuple[str, ...]:
    """Return the columns of these names in each unit."""
    return tuple(f"{name}{ending}" for ending, _ in UNITS.values() for name in names)


#: measurement -> a field of all its points
_EVERY = {"invocation": "iteration_rows", "estimate": "n", "vector": "n"}
#: metrics that are selected first, the best known first
PREFERRED = ("elapsed", "latency", "delivered_rate")


def newest_experiments(measurement: str, where: str = "") -> str:
    """Return the query for the names of the experiments with such points, each once, the one with the newest point first.

    InfluxQL can sort points by time, but not the values of a tag. Therefore the newest point of each experiment is read. The result
    has one column: versions of Grafana take different columns of a variable's query.
    """
    condition = f" WHERE {where}" if where else ""
    points = f'SELECT "experiment", "{_EVERY[measurement]}" FROM "{measurement}"{condition} GROUP BY "experiment" LIMIT 1'
    return f'SELECT "experiment" FROM ({points}) ORDER BY time DESC'


def metrics(where: str) -> str:
    """Return the query for the metrics of estimates: first the preferred ones, then all by name.

    A count has the time of the first possible point: it sorts the counts.
    """
    counts = 'SELECT count("n") FROM "estimate" WHERE'
    preferred = [
        f'({counts} {where} AND "metric" = \'{name}\' AND time >= {len(PREFERRED) - place}s GROUP BY "metric")'
        for place, name in enumerate(PREFERRED)
    ]
    every = f'({counts} {where} GROUP BY "metric")'
    return f'SELECT "metric" FROM {", ".join([*preferred, every])} ORDER BY time DESC'


def tag_values(tag: str, measurement: str, where: str = "") -> str:
    """Return the query for the values of a variable."""
    condition = f" WHERE {where}" if where else ""
    return f'SHOW TAG VALUES FROM "{measurement}" WITH KEY = "{tag}"{condition}'
