"""Backup: the database as line protocol in one file. InfluxQL alone is used, so that it works with InfluxDB 1, 2 and 3.

Points written during a backup may be missing from it. Rows are read in chunks and written at once, so that memory does not
depend on their number. A restore reads the whole file before it writes, and verifies the content of the database afterwards.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from regatta.host.errors import StoreError, VerificationError
from regatta.influx.backup_file import Backup, Contents, Reader, Writer, whole_or_not_at_all
from regatta.influx.client import Client
from regatta.influx.lines import escaped, field_text, identifier
from regatta.influx.responses import Series
from regatta.influx.settings import Settings

#: called with points done and points in total
Progress = Callable[[int, int], None]

#: rows per chunk of an answer; fewer with strings, because one can have 64 KiB
_ROWS, _ROWS_OF_STRINGS = 5_000, 200
#: a count, or the first row of many, can take long
LEAST_TIMEOUT_S = 600.0
#: line protocol cannot represent these in a name or a tag
_UNWRITABLE = re.compile(r"\n|\\(?=[,= ]|$)")
_TYPES: dict[str, Callable[[Any], str]] = {
    "float": lambda value: field_text(float(value)),
    "integer": lambda value: field_text(int(value)),
    "unsigned": lambda value: f"{int(value)}u",
    "boolean": lambda value: field_text(bool(value)),
    "string": lambda value: field_text(str(value)),
}
_MODULUS = 1 << 128
_NOTHING = Contents(0, {}, "0" * 32)


def patient(settings: Settings) -> Settings:
    """Return the settings with a timeout that is long enough for queries over the whole database."""
    return replace(settings, timeout_s=max(settings.timeout_s, LEAST_TIMEOUT_S))


def back_up(client: Client, path: Path, progress: Progress = lambda done, total: None) -> Backup:
    """Write the whole database to a file, which appears only when it is complete.

    Args:
        client: an account that may read.
        path: the file; an existing one stays until the new one is complete.
        progress: called from time to time.

    Returns:
        the header and the counts of the file.

    Raises:
        StoreError: the database cannot be read, or the file cannot be written.
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
                "run the backup again while nothing deletes points",
            )  # fmt: skip


def _lines(client: Client, measurement: Measurement, tally: Tally) -> Iterator[list[bytes]]:
    """Yield the lines of a measurement in chunks; tally each series when it is complete."""
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
    """Return for each field the beginning of its value in a line, and the encoder of its type."""
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
            "names and tags that line protocol can represent",
            repr(name),
            "rename or drop that series",
        )
    return name


def restore(
    writer: Client, reader: Client, path: Path, progress: Progress = lambda done, total: None
) -> Backup:
    """Write a backup into the database and keep the points there; a point that exists already is overwritten.

    Args:
        writer: an account that may write.
        reader: an account that may read.
        path: the file.
        progress: called from time to time, in bytes.

    Returns:
        the header and the counts of the file.

    Raises:
        StoreError: the file is incomplete, or the database cannot be reached; a retry is safe.
        VerificationError: the database refused points, or lacks points of the backup afterwards.
    """
    try:
        stream = path.open("rb")
    except OSError as error:
        raise StoreError(str(path), "a backup", error.strerror or str(error)) from error
    with stream:
        file = Reader(stream, path)
        backup = file.check()
        before = _held(reader, backup)
        total = path.stat().st_size
        for block in file.blocks():
            writer.write([block])
            progress(stream.tell(), total)
    _tell_refused(writer)
    _compare(path, backup, before, _held(reader, backup))
    return backup


def _held(reader: Client, backup: Backup) -> dict[str, Contents]:
    """Return the contents of the database for the measurements of a backup."""
    return {
        one.name: count_values(reader, one) for one in measurements(reader) if one.name in backup.measurements
    }


def _tell_refused(writer: Client) -> None:
    refusals = writer.refusals
    if refusals.count:
        first = refusals.lines[0]
        raise VerificationError(
            writer.settings.url, "all points of the backup accepted",
            f"{refusals.count} rejected, the first because of {first.reason}: {first.line[:200]!r}",
            "correct the reason; all other points are written",
        )  # fmt: skip


def _compare(path: Path, backup: Backup, before: dict[str, Contents], after: dict[str, Contents]) -> None:
    for name, wanted in backup.measurements.items():
        got = after.get(name, _NOTHING)
        # Points that existed before the restore count, too.
        exactly = not before.get(name, _NOTHING).series
        for what, expected, found in _differences(wanted, got, exactly):
            least = "" if exactly else "at least "
            raise VerificationError(
                f"{path}: {what} of {name}",
                f"{least}{expected}",
                found,
                "check for other clients that write or delete points",
            )


def _differences(wanted: Contents, got: Contents, exactly: bool) -> Iterator[tuple[str, str, str]]:
    def differs(expected: int, found: int) -> bool:
        return found != expected if exactly else found < expected

    if differs(wanted.series, got.series):
        yield "series", str(wanted.series), str(got.series)
    for name in wanted.fields.keys() | (got.fields.keys() if exactly else set()):
        expected, found = wanted.fields.get(name, 0), got.fields.get(name, 0)
        if differs(expected, found):
            yield f"values of {name}", str(expected), str(found)
    if exactly and wanted.digest != got.digest:
        yield "values in each series", "the numbers of the backup", "other numbers with the same sum"


# Contents of a database


@dataclass(frozen=True)
class Measurement:
    """A measurement and its fields."""

    name: str
    #: in InfluxQL, with the retention policy
    source: str
    #: name -> float, integer, string, boolean or unsigned
    fields: dict[str, str]


@dataclass
class Tally:
    """Counts the series of one measurement in any order, in constant memory."""

    series: int = 0
    fields: dict[str, int] = field(default_factory=dict)
    _sum: int = 0

    def add(self, tags: Mapping[str, str], counts: Mapping[str, int]) -> None:
        """Add one complete series: the number of values of each field."""
        some = {name: count for name, count in counts.items() if count}
        key = [sorted((k, v) for k, v in tags.items() if v), sorted(some.items())]
        digest = hashlib.sha256(json.dumps(key).encode()).digest()
        self._sum = (self._sum + int.from_bytes(digest[:16], "big")) % _MODULUS
        self.series += 1
        for name, count in some.items():
            self.fields[name] = self.fields.get(name, 0) + count

    @property
    def contents(self) -> Contents:
        """Return the counts."""
        return Contents(self.series, dict(sorted(self.fields.items())), f"{self._sum:032x}")


def measurements(client: Client) -> list[Measurement]:
    """Return all measurements with fields. Raises StoreError."""
    names = [str(row[0]) for series in client.query("SHOW MEASUREMENTS") for row in series.values]
    found = (_measurement(client, name) for name in sorted(set(names)))
    return [one for one in found if one.fields]


def _measurement(client: Client, name: str) -> Measurement:
    policy = client.settings.retention_policy
    source = f"{identifier(policy)}.{identifier(name)}" if policy else identifier(name)
    fields: dict[str, str] = {}
    for series in client.query(f"SHOW FIELD KEYS FROM {source}"):
        if not {"fieldKey", "fieldType"} <= {*series.columns}:
            raise StoreError(
                "an answer from InfluxDB", "the columns fieldKey, fieldType", ", ".join(series.columns)
            )
        key_at, kind_at = series.columns.index("fieldKey"), series.columns.index("fieldType")
        for key, kind in ((str(row[key_at]), str(row[kind_at])) for row in series.values):
            if fields.setdefault(key, kind) != kind:
                raise StoreError(
                    f"{client.settings.url}: field {key} of {name}", "one type", f"{fields[key]} and {kind}",
                    "write the measurement again (`regatta ingest --rebuild`): the valid type is unknown",
                )  # fmt: skip
    return Measurement(name, source, dict(sorted(fields.items())))


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
