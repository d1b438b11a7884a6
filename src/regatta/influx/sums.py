"""Sums over the points of a series, computed from the records of the journal alone, for comparison with the database.

The code does not use the encoding of points, so that the encoding is verified as well.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from regatta.influx.labels import HostLabels
from regatta.influx.lines import series_key
from regatta.influx.points import COUNTED, HOST_STATE, INVOCATION, ITERATION
from regatta.influx.records import PIECE_POINTS, STEP_NS, RecordLines, foreign_record
from regatta.store.columns import canonical_json

#: measurement -> function and field, in InfluxQL: integers, minima and maxima are exact; a sum of floats is as exact as possible
ASKED: dict[str, tuple[tuple[str, str], ...]] = {
    ITERATION: (
        ("count", COUNTED[ITERATION]), ("sum", "line"), ("sum", "sequence"), ("min", "value"), ("max", "value"),
        ("sum", "value"),
    ),
    INVOCATION: (
        ("count", COUNTED[INVOCATION]), ("sum", "elapsed_ns"), ("min", "started_utc_ns"), ("max", "started_utc_ns"),
    ),
    HOST_STATE: (("count", COUNTED[HOST_STATE]),),
}  # fmt: skip
#: names of the first and last time of a series
FIRST, LAST = "first time", "last time"
SUM_OF_VALUES = "sum(value)"
#: Larger sums do not fit into a float, and InfluxDB 1 then gives no answer.
_LARGEST_SUM = sys.float_info.max / 4
_INT64 = range(-(2**63), 2**63)
_WRAPS = 2**64

#: function or time -> value; None: the field is absent
Sums = Mapping[str, int | float | None]


def name_of(function: str, field: str) -> str:
    """Return the name of a difference."""
    return "points" if function == "count" else f"{function}({field})"


class SeriesSums:
    """One series, record by record."""

    __slots__ = ("_fields", "_sizes", "count", "first_ns", "last_ns")

    def __init__(self) -> None:
        self.count = 0
        self.first_ns: int | None = None
        self.last_ns: int | None = None
        self._fields: dict[str, int | float] = {}
        #: sum of the absolute values
        self._sizes = 0.0

    def add(self, times: tuple[int, int], count: int) -> None:
        """Count points, given their first and last time."""
        self.count += count
        self.first_ns = times[0] if self.first_ns is None else min(times[0], self.first_ns)
        self.last_ns = times[1] if self.last_ns is None else max(times[1], self.last_ns)

    def total(self, field: str, sum_of_some: int) -> None:
        """Add integers to the sum of a field."""
        name = f"sum({field})"
        self._fields[name] = self._fields.get(name, 0) + sum_of_some

    def ends(self, field: str, values: Sequence[int | float]) -> None:
        """Extend minimum and maximum of a field."""
        if not values:
            return
        low, high = f"min({field})", f"max({field})"
        self._fields[low] = min(self._fields.get(low, values[0]), *values)
        self._fields[high] = max(self._fields.get(high, values[0]), *values)

    def values(self, values: Sequence[object]) -> None:
        """Add the values of iterations."""
        numbers = [one for one in map(_number, values) if one is not None]
        self.ends("value", numbers)
        if numbers:
            self._fields[SUM_OF_VALUES] = self._fields.get(SUM_OF_VALUES, 0.0) + sum(numbers)
            self._sizes += sum(map(abs, numbers))

    @property
    def can_be_summed(self) -> bool:
        """Return whether the sum of the values fits into a float."""
        return self._sizes < _LARGEST_SUM

    def difference(self, theirs: Sums) -> tuple[str, int | float | None, int | float | None] | None:
        """Return the first difference and both values; None if both sides agree."""
        for name, there in theirs.items():
            own = {"points": self.count, FIRST: self.first_ns, LAST: self.last_ns}
            here = own[name] if name in own else self._fields.get(name)
            if here is None or there is None:
                same = here is there
            elif name == SUM_OF_VALUES:
                # Both sides round at each addition; the order of additions is unknown.
                same = abs(here - there) <= 2 * self.count * sys.float_info.epsilon * self._sizes
            elif name.startswith("sum"):
                same = (int(here) - int(there)) % _WRAPS == 0
            else:
                same = here == there
            if not same:
                return name, here, there
        return None


class HostSums:
    """The series of one host, or of several in sequence."""

    def __init__(self, horizon_ns: int) -> None:
        """`horizon_ns`: points before it count as expired; 0: none."""
        self.series: dict[str, SeriesSums] = {}
        self.expired = 0
        self._horizon_ns = horizon_ns

    def add(self, record: Mapping[str, Any], times: RecordLines, labels: HostLabels) -> None:
        """Add the next record of a journal file.

        Args:
            record: result of `decode_record`.
            times: lines of this file; it advances.
            labels: labels of the host for the record.

        Raises:
            StoreError: the record violates docs/protocol.md.
        """
        base = times.pass_over(record)
        host = (record.get("experiment"), record.get("host"), record.get("platform"))
        tags = (*host, *labels.of(record).tags)
        status = record.get("status")
        try:
            one = self._of(INVOCATION, (*tags, status))
            one.add((base, base), 1)
            elapsed_ns = record.get("elapsed_ns")
            if isinstance(elapsed_ns, int) and elapsed_ns in _INT64:
                one.total("elapsed_ns", elapsed_ns)
            started_ns = record.get("started_utc_ns")
            one.ends("started_utc_ns", [started_ns] if isinstance(started_ns, int) else [])
            self._of(HOST_STATE, host).add((base, base), 1)
            rows = record.get("iterations") or ()
            for start in range(0, len(rows), PIECE_POINTS):
                self._add_rows(record, rows[start : start + PIECE_POINTS], start, base, (tags, status))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise foreign_record(record, error) from error
        if base < self._horizon_ns:
            self.expired += 2 + min(len(rows), -(-(self._horizon_ns - base) // STEP_NS))

    def _add_rows(
        self,
        record: Mapping[str, Any],
        rows: Sequence[Any],
        start: int,
        base: int,
        around: tuple[tuple[Any, ...], Any],
    ) -> None:
        groups: dict[tuple[Any, ...], tuple[list[int], list[Any], Any]] = {}
        for number, (_, metric, value, unit, _, parameters) in enumerate(rows, start):
            key = (metric, unit, repr(parameters) if parameters else None)
            group = groups.get(key)
            if group is None:
                group = groups[key] = ([], [], parameters)
            group[0].append(number)
            group[1].append(value)
        tags, status = around
        for (metric, unit, _), (numbers, values, parameters) in groups.items():
            text = canonical_json(parameters) if parameters else ""
            one = self._of(ITERATION, (*tags, metric, unit, text, status))
            one.add((base + numbers[0] * STEP_NS, base + numbers[-1] * STEP_NS), len(numbers))
            one.total("line", sum(numbers))
            sequence = record.get("sequence")
            if isinstance(sequence, int) and sequence in _INT64:
                one.total("sequence", sequence * len(numbers))
            one.values(values)

    def _of(self, measurement: str, tags: Iterable[object]) -> SeriesSums:
        key = series_key(measurement, tuple("" if tag is None else str(tag) for tag in tags))
        found = self.series.get(key)
        if found is None:
            found = self.series[key] = SeriesSums()
        return found


def _number(value: object) -> float | None:
    """Convert the value to a float that a field can hold; None if impossible."""
    if not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
