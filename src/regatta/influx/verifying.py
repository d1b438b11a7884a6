"""Verify that the database holds the journal: count, sum and compare both sides, series by series.

The sums are computed from the records alone, without the encoding of points, so that the encoding is verified as well.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from regatta.host.journal.journal import segment_files
from regatta.influx.client import Client
from regatta.influx.cursor import Cursor, Cursors
from regatta.influx.held import retention
from regatta.influx.ingesting import Progress
from regatta.influx.journal import (
    HostLabels,
    experiment_names,
    journal_hosts,
    new_lines,
    read_labels,
    record_of,
    segment_of,
    tagged,
)
from regatta.influx.lines import escaped, identifier, series_key
from regatta.influx.points import COUNTED, EVENT, HOST_STATE, INVOCATION, ITERATION, TAGS, Point, event_point
from regatta.influx.records import PIECE_POINTS, STEP_NS, RecordLines, foreign_record
from regatta.influx.responses import Series
from regatta.store.columns import canonical_json
from regatta.store.events import events_path, read_events
from regatta.store.folder import Folder

#: measurements made from the journal
JOURNAL = (ITERATION, INVOCATION, HOST_STATE)
#: maximum number of reported differences; all are counted
_NAMED = 20
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


@dataclass(frozen=True)
class Difference:
    """A series that differs between both sides."""

    #: measurement and tags in line protocol
    series: str
    journal: int | float | None
    database: int | float | None
    #: the difference: the number of points, or with equal numbers a sum, a minimum, a maximum or a time
    what: str = "points"

    def sentence(self) -> str:
        """Return the difference as a sentence."""
        if self.what == "points":
            return f"{self.series}: {self.journal} points in the journal, {self.database} in the database"
        ours, theirs = ("none" if one is None else one for one in (self.journal, self.database))
        return f"{self.series}: {self.what}: {ours} in the journal, {theirs} in the database"


@dataclass
class Verified:
    """Result of a comparison."""

    experiment: str
    #: points by measurement
    journal: dict[str, int] = field(default_factory=dict)
    database: dict[str, int] = field(default_factory=dict)
    series: int = 0
    #: the first differing series, and their number
    differences: list[Difference] = field(default_factory=list)
    differing: int = 0
    #: expired points: the retention policy, and how many points of the journal are older
    retention: str = ""
    expired: int = 0
    #: hosts with records but without a cursor
    without_cursor: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Return whether both sides agree."""
        return not self.differing

    def add(self, difference: Difference) -> None:
        """Add a series that differs."""
        self.differing += 1
        if len(self.differences) < _NAMED:
            self.differences.append(difference)

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON."""
        return {**asdict(self), "holds": self.holds}


def verify(
    folder: Folder,
    client: Client,
    hosts: Sequence[str] | None = None,
    others: Iterable[Point] = (),
    progress: Progress = lambda size: None,
) -> Verified:
    """Compare both sides.

    Args:
        hosts: only these, without events; None: the whole experiment.
        others: expected points of one time besides those of journal and events. They are counted.
        progress: called with the number of bytes of the journal that were read.

    Raises:
        StoreError: the database does not answer, the account may not read, or the journal was replaced.
    """
    cursors = Cursors(folder, client.settings)
    kept, horizon_ns = retention(client)
    found = Verified(folder.name, retention=kept)
    sums = HostSums(horizon_ns)
    of_events, of_others = _Counts(horizon_ns), _Counts(horizon_ns)
    for host in journal_hosts(folder) if hosts is None else hosts:
        cursor = Cursor(cursors.directory, host)
        _sum_host(folder, host, cursor, sums, progress)
        if not cursor.positions:
            found.without_cursor.append(host)
    scope = _Scope(experiment_names(folder), hosts)
    for measurement in JOURNAL:
        _compare_sums(found, measurement, sums, _ask_sums(client, measurement, scope, sums))
    database: dict[str, int] = {}
    if hosts is None:
        for event in read_events(events_path(folder.path)):
            of_events.add(event_point(folder.name, event))
        if of_events.kinds:
            database.update(_ask(client, EVENT, replace(scope, kinds=of_events.kinds)))
    since: dict[str, int] = {}
    for point in others:
        of_others.add(point)
        since[point.measurement] = min(since.get(point.measurement, point.time_ns), point.time_ns)
    for measurement, since_ns in since.items():
        kinds = of_others.kinds if measurement == EVENT else ()
        for key, count in _ask(client, measurement, replace(scope, kinds=kinds, since_ns=since_ns)):
            # An earlier answer from the same records and another plan is present as well.
            if key in of_others.series:
                database[key] = min(count, of_others.series[key])
    found.expired = sums.expired + of_events.expired + of_others.expired
    _compare_counts(found, of_events.series + of_others.series, database)
    return found


class _Counts:
    """Points by series, and the number of expired ones."""

    def __init__(self, horizon_ns: int) -> None:
        self.series: Counter[str] = Counter()
        self.expired = 0
        self._horizon_ns = horizon_ns
        self._kinds: set[str] = set()

    def add(self, point: Point) -> None:
        """Count a point."""
        self.series[series_key(point.measurement, point.tags)] += 1
        self.expired += point.time_ns < self._horizon_ns
        if point.measurement == EVENT:
            self._kinds.add(point.tags[TAGS[EVENT].index("kind")])

    @property
    def kinds(self) -> tuple[str, ...]:
        """Return the kinds of the counted events."""
        return tuple(sorted(self._kinds))


@dataclass(frozen=True)
class _Scope:
    """Selects the points of a measurement to count."""

    experiments: list[str]
    hosts: Sequence[str] | None
    kinds: tuple[str, ...] = ()
    since_ns: int | None = None

    def condition(self) -> str:
        """Return the InfluxQL condition."""
        told = tagged(experiment=self.experiments, host=self.hosts, kind=self.kinds or None)
        return told if self.since_ns is None else f"{told} AND time >= {self.since_ns}"


def _sum_host(folder: Folder, host: str, cursor: Cursor, sums: HostSums, progress: Progress) -> None:
    labels = read_labels(folder, host)
    labels = replace(labels, cells={**labels.cells, **cursor.former_cells})
    for name, position in cursor.positions.items():
        position.check(folder.journal / host / name)
    for path in segment_files(folder.journal / host):
        times = RecordLines(labels, segment_of(path))
        for line in new_lines(path, 0):
            progress(len(line))
            if (record := record_of(line)) is not None:
                sums.add(record, times, labels)


def _ask(client: Client, measurement: str, scope: _Scope) -> Iterator[tuple[str, int]]:
    """Yield the series of a measurement and the number of points of each."""
    for series in _grouped(client, measurement, f"count({identifier(COUNTED[measurement])})", scope):
        yield _key(measurement, series), sum(int(row[1] or 0) for row in series.values)


def _ask_sums(
    client: Client, measurement: str, scope: _Scope, ours: HostSums
) -> dict[str, dict[str, int | float | None]]:
    """Yield the series of a measurement and the sums of each."""
    summed = all(one.can_be_summed for one in ours.series.values())
    asked = [pair for pair in ASKED[measurement] if summed or name_of(*pair) != SUM_OF_VALUES]
    names = [name_of(*pair) for pair in asked]
    chosen = ", ".join(f"{function}({identifier(field)})" for function, field in asked)
    found: dict[str, dict[str, int | float | None]] = {}
    for series in _grouped(client, measurement, chosen, scope, 1 + len(names)):
        for row in series.values:
            found[_key(measurement, series)] = dict(zip(names, row[1:], strict=True))
    for name, function in ((FIRST, "first"), (LAST, "last")):
        one = f"{function}({identifier(COUNTED[measurement])})"
        for series in _grouped(client, measurement, one, scope, numbers=False):
            for row in series.values:
                found.setdefault(_key(measurement, series), {"points": 0})[name] = row[0]
    return found


def _grouped(
    client: Client, measurement: str, chosen: str, scope: _Scope, width: int = 2, numbers: bool = True
) -> Iterator[Series]:
    query = f"SELECT {chosen} FROM {identifier(measurement)} WHERE {scope.condition()} GROUP BY *"
    return client.query(query, chunked=True, width=width, numbers=numbers)


def _key(measurement: str, series: Series) -> str:
    """Return a series in line protocol."""
    names = [*TAGS[measurement], *sorted(series.tags.keys() - set(TAGS[measurement]))]
    tags = ((name, series.tags.get(name, "")) for name in names)
    return ",".join((measurement, *(f"{name}={escaped(value)}" for name, value in tags if value)))


def _compare_sums(
    found: Verified, measurement: str, ours: HostSums, theirs: Mapping[str, Mapping[str, int | float | None]]
) -> None:
    own = {key: one for key, one in ours.series.items() if key.startswith(f"{measurement},")}
    _compare_counts(
        found,
        {key: one.count for key, one in own.items()},
        {key: int(one["points"] or 0) for key, one in theirs.items()},
    )
    for key in sorted(own.keys() & theirs.keys()):
        difference = own[key].difference(theirs[key])
        if difference is not None and difference[0] != "points":
            what, here, there = difference
            found.add(Difference(key, here, there, what))


def _compare_counts(found: Verified, journal: Mapping[str, int], database: Mapping[str, int]) -> None:
    found.series += len(journal)
    for key in sorted(journal.keys() | database.keys()):
        measurement = key.partition(",")[0]
        ours, theirs = journal.get(key, 0), database.get(key, 0)
        found.journal[measurement] = found.journal.get(measurement, 0) + ours
        found.database[measurement] = found.database.get(measurement, 0) + theirs
        if ours != theirs:
            found.add(Difference(key, ours, theirs))


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
        """Add the next record of a journal file. `times`: lines of this file; it advances.

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
