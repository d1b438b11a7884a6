"""Check that the database still holds the written records of a journal, and none of another experiment with the same name.

Only counts and a few times are queried, so that the cost is small compared with an ingest; `verifying` compares everything.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from regatta.host.errors import StoreError
from regatta.host.journal.journal import segment_files
from regatta.influx.client import Client, NotAllowed, Say, Unreachable
from regatta.influx.cursor import EVENTS, Cursor, Position
from regatta.influx.journal import HostLabels, experiment_names, new_lines, record_of, segment_of, tagged
from regatta.influx.lines import identifier
from regatta.influx.points import COUNTED, EVENT, INVOCATION, ITERATION
from regatta.influx.records import RecordLines
from regatta.store.events import EVENTS as EVENTS_FILE
from regatta.store.events import KINDS, events_path, read_events
from regatta.store.folder import Folder

#: Following a run asks again at this interval: a database can be lost at any time.
_ASK_EVERY_S = 60.0
#: Points that expire soon are neither missed nor sent.
_MARGIN_NS = 600 * 10**9
#: records at either end that are looked up in the journal
_ENDS = 2_000
#: Plans also have the kind `plan` but are not events of the journal.
_KINDS = sorted(KINDS.keys() - {"plan"})
_DURATION = re.compile(r"(\d+)([hms])")
_SECONDS = {"h": 3600, "m": 60, "s": 1}


class LossFinder:
    """Queries the database per host, at intervals."""

    def __init__(self, folder: Folder, reader: Client | None, say: Say) -> None:
        """`reader`: None without an account that may read; `say`: called in that case."""
        self._folder = folder
        self._reader = reader
        self._say = say
        self._asked: dict[str, float] = {}
        self._told_blind = False
        #: host -> InfluxQL condition that selects its points; making it reads the beginning of each of its files
        self._conditions: dict[str, str] = {}

    def ask_again(self) -> None:
        """Check everything again at the next opportunity."""
        self._asked.clear()

    def since_ns(self) -> int:
        """Return the time before which points may have expired; 0: the database keeps everything."""
        horizon_ns = retention(self._reader)[1] if self._reader else 0
        return horizon_ns and horizon_ns + _MARGIN_NS

    def loss(self, name: str, cursor: Cursor) -> str:
        """Return which points of a cursor (of a host or of the events) are missing; "": none.

        Raises:
            Unreachable: the database does not answer.
            StoreError: the database does not exist, or holds records of this experiment and host that the journal lacks.
        """
        now = time.monotonic()
        if now - self._asked.get(name, -_ASK_EVERY_S) < _ASK_EVERY_S:
            return ""
        self._asked[name] = now
        self._conditions.pop(name, None)
        if self._reader is None:
            self._tell_blind("no account with read permission is configured")
            return ""
        try:
            return self._events_loss(cursor) if name == EVENTS else self._host_loss(name, cursor)
        except NotAllowed as error:
            self._reader = None
            self._tell_blind(error.problems[0].got)
            return ""

    def lacking(self, name: str, cursor: Cursor) -> int:
        """Return how many records of a host, written according to its cursor, the database lacks."""
        if self._reader is None:
            return 0
        return self._lacking(self._reader, name, cursor)[0]

    def _host_loss(self, host: str, cursor: Cursor) -> str:
        assert self._reader is not None
        lacking, found = self._lacking(self._reader, host, cursor)
        records = _records(cursor)
        if records and lacking <= cursor.lacking and self._has_newest(self._reader, host, cursor):
            return ""
        if found:
            self._check_own(self._reader, host)
        if not records:
            return ""
        return f"{found} of {records} records of {host}"

    def _events_loss(self, cursor: Cursor) -> str:
        assert self._reader is not None
        position = cursor.positions.get(EVENTS_FILE, Position())
        if not position.records:
            return ""
        where = tagged(experiment=experiment_names(self._folder), kind=_KINDS)
        if _count(self._reader, EVENT, where) >= position.records - cursor.refused:
            return ""
        since_ns = self.since_ns()
        events = read_events(events_path(self._folder.path))
        written = sum(
            event.end <= position.offset and event.kind in _KINDS and event.utc_ns >= since_ns
            for event in events
        )
        found = _count(self._reader, EVENT, f"{where} AND time >= {since_ns}")
        return "" if found >= written - cursor.refused else f"{found} of {written} events"

    def _lacking(self, reader: Client, host: str, cursor: Cursor) -> tuple[int, int]:
        """Return the number of missing records and of present records."""
        written = _records(cursor) - cursor.refused
        found = _count(reader, INVOCATION, self._where(host))
        if found >= written:
            return 0, found
        since_ns = self.since_ns()
        if not since_ns:
            return written - found, found
        written = sum(time_ns >= since_ns for time_ns in self._times(host, cursor)) - cursor.refused
        kept = _count(reader, INVOCATION, f"{self._where(host)} AND time >= {since_ns}")
        return max(0, written - kept), found

    def _has_newest(self, reader: Client, host: str, cursor: Cursor) -> bool:
        """Return whether the last written point is present: an equal count alone does not identify our points."""
        newest_ns = max((one.carry for one in cursor.positions.values()), default=0)
        if not newest_ns or cursor.refused or cursor.lacking or newest_ns < cursor.since_ns:
            return True
        at = f"{self._where(host)} AND time = {newest_ns}"
        if _count(reader, ITERATION, at) or _count(reader, INVOCATION, at):
            return True
        return newest_ns < self.since_ns()

    def _check_own(self, reader: Client, host: str) -> None:
        theirs: set[int] = set()
        for order in ("ASC", "DESC"):
            query = (
                f"SELECT {identifier(COUNTED[INVOCATION])} FROM {identifier(INVOCATION)}"
                f" WHERE {self._where(host)} ORDER BY time {order} LIMIT {_ENDS}"
            )
            theirs.update(row[0] for series in reader.query(query, width=2) for row in series.values)
        for time_ns in self._times(host):
            theirs.discard(time_ns)
            if not theirs:
                return
        settings = reader.settings
        raise StoreError(
            f"{settings.url}, database {settings.database!r}",
            f"only records of {self._folder.path} for host {host} of experiment {self._folder.name!r}",
            f"also records of another experiment with this name ({len(theirs)} of the first and last)",
            f"rename this experiment, or use another `database`; or run `regatta ingest {self._folder.name}"
            " --rebuild`, which deletes the points of that name and writes this experiment",
        )

    def _times(self, host: str, cursor: Cursor | None = None) -> Iterator[int]:
        """Yield the times of the records of a host; with `cursor`, of the written ones."""
        for path in segment_files(self._folder.journal / host):
            encoder = RecordLines(HostLabels(), segment_of(path))
            left = cursor.positions.get(path.name, Position()).offset if cursor else None
            for line in new_lines(path, 0):
                if left is not None:
                    left -= len(line)
                    if left < 0:
                        break
                if (record := record_of(line)) is not None:
                    yield encoder.pass_over(record)

    def _where(self, host: str) -> str:
        if host not in self._conditions:
            names = experiment_names(self._folder, host)
            self._conditions[host] = tagged(experiment=names, host=host)
        return self._conditions[host]

    def _tell_blind(self, why: str) -> None:
        if not self._told_blind:
            self._told_blind = True
            self._say(
                f"cannot check that the database holds all written points, and only those of this experiment: {why}"
            )


def _records(cursor: Cursor) -> int:
    return sum(position.records for position in cursor.positions.values())


def _count(reader: Client, measurement: str, where: str) -> int:
    query = f"SELECT count({identifier(COUNTED[measurement])}) FROM {identifier(measurement)} WHERE {where}"
    try:
        answer = reader.query(query, width=2, numbers=True)
        return sum(int(row[1] or 0) for series in answer for row in series.values)
    except StoreError as error:
        settings = reader.settings
        if "database not found" not in error.problems[0].got:
            raise
        raise StoreError(
            settings.where("database"),
            f"the database {settings.database!r}",
            error.problems[0].got,
            f'CREATE DATABASE "{settings.database}", or correct the settings; Regatta then writes all points again',
        ) from error


def retention(client: Client) -> tuple[str, int]:
    """Return the retention policy as text, and the time before which points may be gone; 0: none.

    Raises:
        Unreachable: the database does not answer.
    """
    settings = client.settings
    try:
        answers = list(client.query(f"SHOW RETENTION POLICIES ON {identifier(settings.database)}"))
    except Unreachable:
        raise
    except StoreError:
        # Some accounts may not ask, and some databases do not support it.
        return "", 0
    for one in answers:
        for values in one.values:
            policy = dict(zip(one.columns, values, strict=False))
            wanted = settings.retention_policy
            if policy.get("name") == wanted or (not wanted and policy.get("default")):
                duration = str(policy.get("duration") or "")
                seconds = sum(int(n) * _SECONDS[unit] for n, unit in _DURATION.findall(duration))
                if seconds:
                    return f"{policy['name']}: {duration}", time.time_ns() - seconds * 10**9
    return "", 0
