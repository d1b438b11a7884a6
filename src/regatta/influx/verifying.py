"""Whether the database holds what the journal does: points counted on both sides, series by series."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from regatta.influx.client import Client
from regatta.influx.cursor import Cursor, Cursors
from regatta.influx.event_points import event_point
from regatta.influx.ingesting import Progress
from regatta.influx.journal import any_of, experiment_names, journal_hosts, new_lines, segment_of
from regatta.influx.labels import HostLabels, read_labels
from regatta.influx.lines import encode, escaped, identifier
from regatta.influx.points import COUNTED, EVENT, HOST_STATE, INVOCATION, ITERATION, TAGS, Point
from regatta.influx.records import RecordLines
from regatta.influx.retention import retention
from regatta.model.record import DamagedLine, decode_record
from regatta.store.events import events_path, read_events
from regatta.store.folder import Folder

#: what the journal becomes
JOURNAL = (ITERATION, INVOCATION, HOST_STATE)
#: differences that are named; the number of all is told
_NAMED = 20

#: Key and time of a line: its fields lie between two bare spaces, in quotes where they hold spaces.
_LINE = re.compile(rb'((?:[^ \\\n]|\\.)+) (?:"(?:[^"\\]|\\.)*"|[^" ])+ (\d+)\n', re.DOTALL)
_KIND = re.compile(r",kind=((?:[^,\\]|\\.)*)$")


@dataclass(frozen=True)
class Difference:
    """A series whose counts differ."""

    #: measurement and tags, as line protocol has them
    series: str
    journal: int
    database: int

    def sentence(self) -> str:
        """In words."""
        return f"{self.series}: {self.journal} points in the journal, {self.database} in the database"


@dataclass
class Verified:
    """Both sides."""

    experiment: str
    #: points by measurement
    journal: dict[str, int] = field(default_factory=dict)
    database: dict[str, int] = field(default_factory=dict)
    series: int = 0
    #: the first of the series that differ, and how many do
    differences: list[Difference] = field(default_factory=list)
    differing: int = 0
    #: points that the database keeps no longer: its retention policy, and how many of the journal's are older
    retention: str = ""
    expired: int = 0

    @property
    def holds(self) -> bool:
        """Whether both sides agree."""
        return not self.differing

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return {**asdict(self), "holds": self.holds}


def verify(
    folder: Folder,
    client: Client,
    hosts: Sequence[str] | None = None,
    others: Iterable[Point] = (),
    progress: Progress = lambda size: None,
) -> Verified:
    """Count both sides.

    Args:
        folder: of the experiment.
        client: who may read.
        hosts: these alone, without events; None: everything of the experiment.
        others: points of one time that should be there beside those of journal and events.
        progress: told how many bytes of the journal were read.

    Raises:
        StoreError: the database does not answer, the account may not read, or the journal is another one than was written.
    """
    cursors = Cursors(folder, client.settings)
    kept, horizon_ns = retention(client)
    of_journal, of_events, of_others = (_Counts(horizon_ns) for _ in range(3))
    for host in journal_hosts(folder) if hosts is None else hosts:
        _count_host(folder, host, Cursor(cursors.directory, host), of_journal, progress)
    scope = _Scope(experiment_names(folder), hosts)
    database: dict[str, int] = {}
    for measurement in JOURNAL:
        database.update(_ask(client, measurement, scope))
    if hosts is None:
        for event in read_events(events_path(folder.path)):
            of_events.add(encode(event_point(folder.name, event)))
        if of_events.kinds:
            database.update(_ask(client, EVENT, replace(scope, kinds=of_events.kinds)))
    since: dict[str, int] = {}
    for point in others:
        of_others.add(encode(point))
        since[point.measurement] = min(since.get(point.measurement, point.time_ns), point.time_ns)
    for measurement, since_ns in since.items():
        kinds = of_others.kinds if measurement == EVENT else ()
        for key, count in _ask(client, measurement, replace(scope, kinds=kinds, since_ns=since_ns)):
            # What was answered before, by the same records and another plan, is there as well.
            if key in of_others.series:
                database[key] = min(count, of_others.series[key])
    found = Verified(folder.name, retention=kept)
    found.expired = of_journal.expired + of_events.expired + of_others.expired
    _compare(found, of_journal.series + of_events.series + of_others.series, database)
    return found


class _Counts:
    """Points by series, and how many are older than the database keeps them."""

    def __init__(self, horizon_ns: int) -> None:
        self.series: Counter[str] = Counter()
        self.expired = 0
        self._horizon_ns = horizon_ns
        self._keys: dict[bytes, str] = {}

    def add(self, lines: bytes) -> None:
        """Count lines, each with its newline."""
        at = 0
        while at < len(lines):
            # Lines without strings, which are nearly all, are told apart much faster.
            quote = lines.find(b'"', at)
            end = len(lines) if quote < 0 else lines.rfind(b"\n", at, quote) + 1
            if end > at:
                self._add_plain(lines[at : end - 1].split(b"\n"))
                at = end
                continue
            match = _LINE.match(lines, at)
            if match is None:
                raise ValueError(f"no line: {lines[at : at + 200]!r}")
            self._add({match[1]: 1}, [match[2]])
            at = match.end()

    def _add_plain(self, lines: list[bytes]) -> None:
        parts = [line.rsplit(b" ", 2) for line in lines]
        self._add(Counter(part[0] for part in parts), (part[2] for part in parts))

    def _add(self, counted: Mapping[bytes, int], times: Iterable[bytes]) -> None:
        for key, count in counted.items():
            if key not in self._keys:
                self._keys[key] = key.decode()
            self.series[self._keys[key]] += count
        if self._horizon_ns:
            self.expired += sum(int(time) < self._horizon_ns for time in times)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of the events that were counted, as tags have them."""
        marks = (_KIND.search(key) for key in self.series if key.startswith(f"{EVENT},"))
        return tuple(sorted({mark[1] for mark in marks if mark}))


@dataclass(frozen=True)
class _Scope:
    """Which points of a measurement are counted."""

    experiments: list[str]
    hosts: Sequence[str] | None
    kinds: tuple[str, ...] = ()
    since_ns: int | None = None

    def condition(self) -> str:
        """In InfluxQL."""
        parts = [any_of("experiment", self.experiments)]
        if self.hosts is not None:
            parts.append(any_of("host", self.hosts))
        if self.kinds:
            parts.append(any_of("kind", self.kinds))
        if self.since_ns is not None:
            parts.append(f"time >= {self.since_ns}")
        return " AND ".join(parts)


def _count_host(folder: Folder, host: str, cursor: Cursor, counts: _Counts, progress: Progress) -> None:
    labels = read_labels(folder, host)
    labels = HostLabels({**labels.cells, **cursor.cells}, labels.cpus)
    for name, position in cursor.positions.items():
        # Another journal may have as many points.
        position.check(folder.journal / host / name)
    for path in sorted((folder.journal / host).glob("*.jsonl")):
        encoder = RecordLines(labels, segment_of(path))
        for line in new_lines(path, 0):
            progress(len(line))
            try:
                record = decode_record(line)
            except DamagedLine:
                continue
            for piece in encoder.of(record):
                counts.add(piece.data)


def _ask(client: Client, measurement: str, scope: _Scope) -> Iterator[tuple[str, int]]:
    """Series of a measurement and how many points each has."""
    query = (
        f"SELECT count({identifier(COUNTED[measurement])}) FROM {identifier(measurement)}"
        f" WHERE {scope.condition()} GROUP BY *"
    )
    for series in client.query(query, chunked=True):
        names = [*TAGS[measurement], *sorted(series.tags.keys() - set(TAGS[measurement]))]
        tags = ((name, series.tags.get(name, "")) for name in names)
        key = ",".join((measurement, *(f"{name}={escaped(value)}" for name, value in tags if value)))
        yield key, sum(int(row[1]) for row in series.values)


def _compare(found: Verified, journal: Mapping[str, int], database: Mapping[str, int]) -> None:
    keys = sorted(journal.keys() | database.keys())
    found.series = len(journal)
    for key in keys:
        measurement = key.partition(",")[0]
        ours, theirs = journal.get(key, 0), database.get(key, 0)
        found.journal[measurement] = found.journal.get(measurement, 0) + ours
        found.database[measurement] = found.database.get(measurement, 0) + theirs
        if ours != theirs:
            found.differing += 1
            if len(found.differences) < _NAMED:
                found.differences.append(Difference(key, ours, theirs))
