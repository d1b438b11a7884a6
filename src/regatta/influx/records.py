"""Convert the records of one journal file to lines. The same file gives the same bytes, even if reading is interrupted and continued.

Each record has a unique time: its start in us, plus the number of its journal file in ns. It is always later
than the last point of the previous record in its file. The lines of its iterations follow, 1 us apart.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import copysign
from typing import Any, NamedTuple

from regatta.host.errors import StoreError
from regatta.influx.journal import HostLabels
from regatta.influx.lines import clean_bytes, encode_text, field_text, plain_fields, series_key
from regatta.influx.points import FIELDS, HOST_STATE, INVOCATION, ITERATION, TAGS, make_point
from regatta.influx.series import SeriesCount
from regatta.store.columns import canonical_json, invocation_values

#: maximum points per piece: about 1.5 MB
PIECE_POINTS = 5_000
#: 1 us: distance between the lines of a record
STEP_NS = 1_000
#: Times end in 2262; later clock values are rejected.
_LATEST_NS = 2**62
#: cached keys of series, about 300 bytes each
_KEPT_KEYS = 50_000
#: upper bound (exclusive) of InfluxDB integers
_END = 2**63
#: the first whole number that is no finite float has 309 digits
_LARGEST = 10**308

Record = Mapping[str, Any]


class Piece(NamedTuple):
    """Lines with their newlines, and their number."""

    data: bytes
    points: int


@dataclass
class _Known:
    """Common parts of the records of one cell, host and status."""

    #: measurement -> tags
    tags: Mapping[str, tuple[object, ...]]
    fields: Mapping[str, Any]
    #: beginning of the lines of both measurements; "": a tag is too long
    invocation: str = ""
    host_state: str = ""
    #: metric, unit and parameters -> beginning of the lines of iterations
    rows: dict[tuple[Any, ...], str] = field(default_factory=dict)


class RecordLines:
    """The lines of one journal file, record by record."""

    def __init__(
        self, labels: HostLabels, segment: int, carry: int = 0, series: SeriesCount | None = None
    ) -> None:
        """Begin, or continue after the record that left `carry`.

        Args:
            carry: last time used by the previous records, in ns; 0: no records.
            series: counter of series, possibly shared by several files.
        """
        self.carry = carry
        self.series = SeriesCount() if series is None else series
        self._labels = labels
        self._digits = segment % STEP_NS
        self._same: dict[tuple[str, ...], _Known] = {}
        self._kept = 0

    def of(self, record: Record) -> Iterator[Piece]:
        """Yield the lines of the next record in pieces; `carry` is updated at once.

        Raises:
            StoreError: the record violates docs/protocol.md.
        """
        try:
            rows = record.get("iterations") or ()
            base = self._base(record)
            first = self._first(record, base)
            self.carry = base + max(0, len(rows) - 1) * STEP_NS
            return self._pieces(record, rows, base, first)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise foreign_record(record, error) from error

    def pass_over(self, record: Record) -> int:
        """Return the time of the next record without making its lines; `carry` is updated.

        Raises:
            StoreError: the record violates docs/protocol.md.
        """
        try:
            base = self._base(record)
            self.carry = base + max(0, len(record.get("iterations") or ()) - 1) * STEP_NS
        except (AttributeError, TypeError) as error:
            raise foreign_record(record, error) from error
        return base

    def _base(self, record: Record) -> int:
        started = record.get("started_utc_ns")
        if not isinstance(started, int) or not 0 <= started < _LATEST_NS:
            started = 0
        least = self.carry - self.carry % STEP_NS + STEP_NS if self.carry else 0
        return max(started - started % STEP_NS, least) + self._digits

    def _first(self, record: Record, base: int) -> Piece:
        """Return `invocation` and `host_state` of the record."""
        known = self._known(record)
        values = invocation_values(record)
        if values["cores"] is not None:
            values["cores"] = json.dumps(values["cores"])
        values.update(known.fields)
        state = _host_state(values, self._labels.cpus)
        text = ""
        for measurement, key, fields in (
            (INVOCATION, known.invocation, values),
            (HOST_STATE, known.host_state, state),
        ):
            plain = plain_fields(fields, FIELDS[measurement]) if key else None
            if plain is None:
                text += encode_text(make_point(measurement, known.tags[measurement], fields, base))
            else:
                text += f"{key} {plain} {base}\n"
        return Piece(clean_bytes(text), 2)

    def _pieces(self, record: Record, rows: Any, base: int, first: Piece) -> Iterator[Piece]:
        data, points = [first.data], first.points
        try:
            for start in range(0, len(rows), PIECE_POINTS):
                if points and start:
                    yield Piece(b"".join(data), points)
                    data, points = [], 0
                part = rows[start : start + PIECE_POINTS]
                data.append(self._iterations(record, part, start, base))
                points += len(part)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise foreign_record(record, error) from error
        yield Piece(b"".join(data), points)

    def _iterations(self, record: Record, rows: Any, start: int, base: int) -> bytes:
        """Return the lines of some rows; this is the hot loop of an ingest."""
        keys = self._known(record).rows
        place = _place(record)
        lines = []
        time_ns = base + start * STEP_NS
        for number, (iteration, metric, value, unit, operations, parameters) in enumerate(rows, start):
            key = keys.get((metric, unit, repr(parameters) if parameters else None))
            if key is None:
                key = self._new_key(record, keys, metric, unit, parameters)
            kind = type(value)
            if kind is float:
                # NaN and infinity minus themselves are NaN; 0.0 would lose its sign.
                plain = value - value == 0 and (value or copysign(1.0, value) > 0)
            else:
                plain = kind is int and -_LARGEST < value < _LARGEST
            if operations is not None:
                plain = plain and type(operations) is int and -_END <= operations < _END
                done = f",operations={operations}i"
            else:
                done = ""
            if plain and type(iteration) is int and -_END <= iteration < _END:
                lines.append(f"{key}value={value!r},iteration={iteration}i{done}{place}{number}i {time_ns}\n")
            else:
                lines.append(self._unusual(record, rows[number - start], number, time_ns))
            time_ns += STEP_NS
        return clean_bytes("".join(lines))

    def _unusual(self, record: Record, row: Any, number: int, time_ns: int) -> str:
        """Return a line with numbers that a field cannot hold."""
        iteration, metric, value, unit, operations, parameters = row
        fields = {
            "value": value, "iteration": iteration, "operations": operations, "line": number,
            "segment": record.get("segment"), "sequence": record.get("sequence"),
        }  # fmt: skip
        return encode_text(
            make_point(ITERATION, self._tags(record, metric, unit, parameters), fields, time_ns)
        )

    def _known(self, record: Record) -> _Known:
        """Return the cached parts of the lines of this record."""
        same = tuple(
            str(record.get(name)) for name in ("cell_id", "experiment", "host", "platform", "status")
        )
        known = self._same.get(same)
        if known is None:
            if self._kept > _KEPT_KEYS:
                self._same.clear()
                self._kept = 0
            label = self._labels.of(record)
            host = tuple(record.get(name) for name in TAGS[HOST_STATE])
            tags = {INVOCATION: (*host, *label.tags, record.get("status")), HOST_STATE: host}
            known = self._same[same] = _Known(tags, label.fields)
            points = [make_point(measurement, own, {}, 0) for measurement, own in tags.items()]
            for point in points:
                self.series.add(series_key(point.measurement, point.tags))
            if not any(point.fields for point in points):
                known.invocation, known.host_state = (series_key(p.measurement, p.tags) for p in points)
        return known

    def _new_key(
        self, record: Record, keys: dict[tuple[Any, ...], str], metric: Any, unit: Any, parameters: Any
    ) -> str:
        """Return the beginning of the lines of a new series: measurement, tags, a space, and which tags were too long."""
        point = make_point(ITERATION, self._tags(record, metric, unit, parameters), {}, 0)
        key = series_key(ITERATION, point.tags)
        self.series.add(key)
        self._kept += 1
        key += " " + "".join(f"{name}={field_text(value)}," for name, value in point.fields.items())
        keys[(metric, unit, repr(parameters) if parameters else None)] = key
        return key

    def _tags(self, record: Record, metric: Any, unit: Any, parameters: Any) -> tuple[object, ...]:
        host = (record.get("experiment"), record.get("host"), record.get("platform"))
        text = canonical_json(parameters) if parameters else ""
        return (*host, *self._labels.of(record).tags, metric, unit, text, record.get("status"))


def _place(record: Record) -> str:
    """Return the location of the record: journal file and line number."""
    fields = {name: record.get(name) for name in ("segment", "sequence")}
    plain = plain_fields(fields, FIELDS[ITERATION])
    if plain is None:
        held = make_point(ITERATION, (), fields, 0).fields
        plain = ",".join(f"{name}={field_text(value)}" for name, value in held.items())
    return f",{plain},line=" if plain else ",line="


def _host_state(values: Record, cpus: int | None) -> dict[str, Any]:
    """Return the host state over one invocation: shares of the time of all CPUs, or of the wall time (pressure), in per cent.

    Load, frequency and temperature are from before it, because its own work affects them afterwards; counts are differences.
    """
    elapsed_s = (values["elapsed_ns"] or 0) / 1e9

    def grown(name: str, divisor: float) -> float | None:
        a, b = values[f"before_{name}"], values[f"after_{name}"]
        return None if a is None or b is None or not divisor else (b - a) / divisor

    def scaled(name: str, factor: float) -> float | None:
        a = values[f"before_{name}"]
        return None if a is None else a * factor

    pressure = elapsed_s * 1e6 / 100
    return {
        "load1": values["before_load1"],
        "steal_percent": grown("steal_s", elapsed_s * (cpus or 0) / 100),
        "busy_percent": grown("busy_s", elapsed_s * (cpus or 0) / 100),
        "psi_cpu_percent": grown("psi_cpu_some_us", pressure),
        "psi_memory_percent": grown("psi_memory_some_us", pressure),
        "psi_io_percent": grown("psi_io_some_us", pressure),
        "frequency_mhz": scaled("frequency_khz", 1e-3),
        "temperature_c": scaled("temperature_mc", 1e-3),
        "swap_pages": grown("swap_pages", 1),
        "throttle_events": grown("throttle_events", 1),
        "perturbed": values["status"] == "perturbed" or values["perturbation"] not in (None, "[]"),
    }


def foreign_record(record: Record, error: Exception) -> StoreError:
    """Return the error for a record that violates the protocol."""
    where = f"record {record.get('invocation_id')} of {record.get('host')}, sequence {record.get('sequence')}"
    return StoreError(
        where,
        "a record as in docs/protocol.md",
        f"{type(error).__name__}: {error}",
        "use the version of Regatta that wrote it",
    )
