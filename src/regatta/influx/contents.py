"""What a database holds, asked of it in InfluxQL: measurements, fields with their types, values counted series by series."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from regatta.host.errors import StoreError
from regatta.influx.backup_file import Contents
from regatta.influx.client import Client
from regatta.influx.lines import identifier

_MODULUS = 1 << 128


@dataclass(frozen=True)
class Measurement:
    """A measurement with its fields."""

    name: str
    #: as InfluxQL has it, with the retention policy
    source: str
    #: name -> float, integer, string, boolean or unsigned
    fields: dict[str, str]


@dataclass
class Tally:
    """Counts series of one measurement in whatever order they come, in a few bytes."""

    series: int = 0
    fields: dict[str, int] = field(default_factory=dict)
    _sum: int = 0

    def add(self, tags: Mapping[str, str], counts: Mapping[str, int]) -> None:
        """Take one whole series: how many values each field has in it."""
        some = {name: count for name, count in counts.items() if count}
        key = [sorted((k, v) for k, v in tags.items() if v), sorted(some.items())]
        digest = hashlib.sha256(json.dumps(key).encode()).digest()
        self._sum = (self._sum + int.from_bytes(digest[:16], "big")) % _MODULUS
        self.series += 1
        for name, count in some.items():
            self.fields[name] = self.fields.get(name, 0) + count

    @property
    def contents(self) -> Contents:
        """What was counted."""
        return Contents(self.series, dict(sorted(self.fields.items())), f"{self._sum:032x}")


def measurements(client: Client) -> list[Measurement]:
    """Every measurement that has fields. Raises StoreError."""
    names = [str(row[0]) for series in client.query("SHOW MEASUREMENTS") for row in series.values]
    found = (_measurement(client, name) for name in sorted(set(names)))
    return [one for one in found if one.fields]


def _measurement(client: Client, name: str) -> Measurement:
    policy = client.settings.retention_policy
    source = f"{identifier(policy)}.{identifier(name)}" if policy else identifier(name)
    fields: dict[str, str] = {}
    for series in client.query(f"SHOW FIELD KEYS FROM {source}"):
        for key, kind in _columns(series.columns, series.values, "fieldKey", "fieldType"):
            if fields.setdefault(key, kind) != kind:
                raise StoreError(
                    f"{client.settings.url}: field {key} of {name}", "one type", f"{fields[key]} and {kind}",
                    "write the measurement anew (`regatta ingest --rebuild`): which of the values are meant is not known",
                )  # fmt: skip
    return Measurement(name, source, dict(sorted(fields.items())))


def _columns(columns: Sequence[str], rows: Sequence[Sequence[Any]], *wanted: str) -> list[list[str]]:
    if not {*wanted} <= {*columns}:
        raise StoreError("an answer of InfluxDB", f"the columns {', '.join(wanted)}", ", ".join(columns))
    places = [columns.index(name) for name in wanted]
    return [[str(row[place]) for place in places] for row in rows]


def count_values(client: Client, measurement: Measurement) -> Contents:
    """Count the values of every field in every series. Raises StoreError."""
    names = list(measurement.fields)
    counts = ", ".join(f"count({identifier(name)}::field) AS c{i}" for i, name in enumerate(names))
    tally = Tally()
    query = f"SELECT {counts} FROM {measurement.source} GROUP BY *"
    for series in client.query(query, chunked=True, width=1 + len(names), numbers=True):
        for row in series.values:
            tally.add(
                series.tags, {name: int(value or 0) for name, value in zip(names, row[1:], strict=True)}
            )
    return tally.contents
