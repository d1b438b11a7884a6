"""Backup: the database as line protocol in one file, by InfluxQL alone, so that it is the same for InfluxDB 1, 2 and 3.

What is written meanwhile may be in it or not. Rows are read piece by piece and written at once, so that memory does not
depend on how many there are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from regatta.host.errors import StoreError
from regatta.influx.backup_file import Backup, Contents, Writer, whole_or_not_at_all
from regatta.influx.client import Client
from regatta.influx.contents import Measurement, Tally, count_values, measurements
from regatta.influx.lines import escaped, field_text, identifier
from regatta.influx.responses import Series
from regatta.influx.settings import Settings

#: told while it goes on: how many points of how many are done
Progress = Callable[[int, int], None]

#: rows of a piece of an answer; where there are strings fewer, because one may have 64 KiB
_ROWS, _ROWS_OF_STRINGS = 5_000, 200
#: a count or the first row of many may take long
LEAST_TIMEOUT_S = 600.0
#: in a name or a tag, line protocol has no way to write these
_UNWRITABLE = re.compile(r"\n|\\(?=[,= ]|$)")
_TYPES: dict[str, Callable[[Any], str]] = {
    "float": lambda value: field_text(float(value)),
    "integer": lambda value: field_text(int(value)),
    "unsigned": lambda value: f"{int(value)}u",
    "boolean": lambda value: field_text(bool(value)),
    "string": lambda value: field_text(str(value)),
}


def patient(settings: Settings) -> Settings:
    """The settings with enough time for questions about the whole database."""
    return replace(settings, timeout_s=max(settings.timeout_s, LEAST_TIMEOUT_S))


def back_up(client: Client, path: Path, progress: Progress = lambda done, total: None) -> Backup:
    """Write everything that the database holds into a file, which is there when all of it is.

    Args:
        client: an account that may read.
        path: the file; what it was before stays until the new one is whole.
        progress: told now and then.

    Returns:
        what the file says of itself.

    Raises:
        StoreError: the database cannot be read, or the file not be written.
    """
    settings = client.settings
    with whole_or_not_at_all(path) as stream:
        found = [(one, count_values(client, one)) for one in measurements(client)]
        total = sum(max(held.fields.values(), default=0) for _, held in found)
        writer = Writer(stream, settings.database, settings.retention_policy)
        points = 0
        taken: dict[str, Contents] = {}
        for measurement, held in found:
            tally = Tally()
            for lines in _lines(client, measurement, tally):
                for line in lines:
                    writer.add(line)
                points += len(lines)
                progress(points, total)
            taken[measurement.name] = tally.contents
            _refuse_less(settings.url, measurement, held, tally)
        writer.end(points, taken)
    return Backup(settings.database, settings.retention_policy, points, taken)


def _refuse_less(url: str, measurement: Measurement, held: Contents, read: Tally) -> None:
    for name, count in held.fields.items():
        if read.fields.get(name, 0) < count:
            raise StoreError(
                f"{url}: field {name} of {measurement.name}", f"{count} values", str(read.fields.get(name, 0)),
                "try again when nothing is being deleted",
            )  # fmt: skip


def _lines(client: Client, measurement: Measurement, tally: Tally) -> Iterator[list[bytes]]:
    """The lines of a measurement, piece by piece; each series is tallied when all of it was there."""
    names = list(measurement.fields)
    encoders = _encoders(measurement)
    fields = ", ".join(f"{identifier(name)}::field" for name in names)
    rows = _ROWS_OF_STRINGS if "string" in measurement.fields.values() else _ROWS
    tags: dict[str, str] | None = None
    counts = [0] * len(names)
    for series in client.query(
        f"SELECT {fields} FROM {measurement.source} GROUP BY *", chunked=True, rows=rows
    ):
        if series.columns[1:] != names:
            raise StoreError(
                client.settings.url, f"columns {names} of {measurement.name}", str(series.columns[1:])
            )
        if tags is not None and series.tags != tags:
            tally.add(tags, dict(zip(names, counts, strict=True)))
            counts = [0] * len(names)
        tags = series.tags
        try:
            lines = _encoded(series, _key(measurement.name, series.tags), encoders, counts)
        except (TypeError, ValueError, OverflowError) as error:
            where = f"{client.settings.url}: {measurement.name}"
            raise StoreError(where, "values of the types of their fields", str(error)) from error
        yield lines
    if tags is not None:
        tally.add(tags, dict(zip(names, counts, strict=True)))


def _encoders(measurement: Measurement) -> list[tuple[str, Callable[[Any], str]]]:
    """For each field what its value begins with in a line, and what its type is written by."""
    found = []
    for name, kind in measurement.fields.items():
        if kind not in _TYPES:
            raise StoreError(f"field {name} of {measurement.name}", f"one of {', '.join(_TYPES)}", kind)
        found.append((f"{escaped(_writable(name))}=", _TYPES[kind]))
    return found


def _encoded(
    series: Series, key: str, encoders: Sequence[tuple[str, Callable[[Any], str]]], counts: list[int]
) -> list[bytes]:
    lines = []
    for time_ns, *values in series.values:
        fields = []
        for place, value in enumerate(values):
            if value is not None:
                begins, encode = encoders[place]
                fields.append(begins + encode(value))
                counts[place] += 1
        if fields:
            lines.append(f"{key} {','.join(fields)} {time_ns}\n".encode())
    return lines


def _key(measurement: str, tags: dict[str, str]) -> str:
    name = _writable(measurement).replace(",", "\\,").replace(" ", "\\ ")
    pairs = (f",{escaped(_writable(k))}={escaped(_writable(v))}" for k, v in tags.items() if v)
    return name + "".join(pairs)


def _writable(name: str) -> str:
    if _UNWRITABLE.search(name):
        raise StoreError(
            "the backup",
            "names and tags that line protocol can write",
            repr(name),
            "rename or drop that series",
        )
    return name
