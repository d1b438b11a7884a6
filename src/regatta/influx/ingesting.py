"""Ingest: write new lines of the journal to the database, file by file, in batches. Encoding and sending run concurrently.

After a kill it continues at the last acknowledged position. Points sent but not recorded as acknowledged are sent again,
which changes nothing.
"""

from __future__ import annotations

import queue
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from regatta.host.errors import StoreError
from regatta.host.interrupts import uninterrupted
from regatta.host.journal.journal import segment_files
from regatta.host.values.record import Record
from regatta.influx.client import Client, Say
from regatta.influx.cursor import EVENTS, Cursor, Cursors, Position
from regatta.influx.held import LossFinder
from regatta.influx.journal import HostLabels, journal_hosts, new_lines, read_labels, record_of, segment_of
from regatta.influx.lines import encode, split_lines
from regatta.influx.points import Point, event_point
from regatta.influx.records import Piece, RecordLines
from regatta.influx.series import SeriesCount
from regatta.store.events import EVENTS as EVENTS_FILE
from regatta.store.events import events_path, read_events
from regatta.store.folder import Folder

#: InfluxDB 1 accepts 25 MB per request; several waiting batches of this size stay in memory
_BATCH_BYTES = 4 * 1024 * 1024
#: batches that wait during a request
_WAITING_BATCHES = 2
#: The time between two saves of a position is at least this multiple of the time of a save. A sync can cost more than a batch,
#: and a kill only costs sending again.
_SAVE_EVERY = 20

#: called with the bytes of the journal that were read since the last call
Progress = Callable[[int], None]


@dataclass
class Written:
    """Result of an ingest."""

    points: int = 0
    records: int = 0
    #: lines that are not records
    damaged: int = 0
    events: int = 0
    #: cells whose name in the plan differs from their first recorded name
    renamed: set[str] = field(default_factory=set)


@dataclass
class _Batch:
    """Lines of one request, and the state after they are written."""

    blocks: list[bytes] = field(default_factory=list)
    points: int = 0
    size: int = 0
    positions: dict[str, Position] = field(default_factory=dict)


class _Sender:
    """Sends batches in order in a separate thread, and advances the cursor after each."""

    def __init__(self, client: Client, cursor: Cursor) -> None:
        self._client = client
        self._cursor = cursor
        self._queue: queue.Queue[_Batch | None] = queue.Queue(_WAITING_BATCHES)
        self.failure: BaseException | None = None
        #: points that the database accepted
        self.points = 0
        self._save_at = 0.0
        self._thread = threading.Thread(target=self._run, name=f"influx {cursor.name}", daemon=True)
        self._thread.start()

    def put(self, batch: _Batch) -> None:
        """Queue a batch; block while the queue is full. Raises the failure of an earlier batch."""
        self._queue.put(batch)
        if self.failure is not None:
            raise self.failure

    def end(self) -> None:
        """Wait until the queued batches are sent, and save the position."""
        self._queue.put(None)
        self._thread.join()
        self._cursor.save()

    def _run(self) -> None:
        while (batch := self._queue.get()) is not None:
            # After a failure, only drain the queue.
            if self.failure is None:
                try:
                    self._send(batch)
                except BaseException as error:
                    self.failure = error

    def _send(self, batch: _Batch) -> None:
        refused = self._client.refusals.count
        self._client.write(batch.blocks)
        refused = self._client.refusals.count - refused
        if refused:
            self._cursor.refused += refused
            self._cursor.refusal = self._client.refusals.reason
        self.points += batch.points - refused
        self._cursor.positions.update(batch.positions)
        began = time.monotonic()
        if began >= self._save_at:
            self._cursor.save()
            now = time.monotonic()
            self._save_at = now + _SAVE_EVERY * (now - began)


class Ingest:
    """Writes new points of the journal and the events of an experiment, any number of times."""

    def __init__(
        self,
        folder: Folder,
        client: Client,
        *,
        reader: Client | None = None,
        say: Say = lambda text: None,
        progress: Progress = lambda size: None,
        lock_patience_s: float = float("inf"),
    ) -> None:
        """Create an ingest of one experiment.

        Args:
            reader: client that checks whether the database still holds the written points; None: no check.
            say: called with messages for the user.
            progress: called with the number of bytes of the journal that were read.
            lock_patience_s: how long to wait for another process that ingests the same.
        """
        self.folder = folder
        self.written = Written()
        self.cursors = Cursors(folder, client.settings)
        self._client = client
        self._reader = reader
        self._held = LossFinder(folder, reader, say)
        self._settings = client.settings
        self._say = say
        self._progress = progress
        self._lock_patience_s = lock_patience_s

    def last_time(self, patience_s: float) -> None:
        """Write once more after an interruption, with short patience."""
        for client in (self._client, self._reader):
            if client is not None:
                client.stop.clear()
                client.patience_s = patience_s

    def ask_again(self) -> None:
        """Check the database again before the last look: it may have lost points meanwhile."""
        self._held.ask_again()

    def hosts(self) -> list[str]:
        """Return hosts with a journal, now or at the last ingest."""
        kept = [name for name in self.cursors.names() if name != EVENTS]
        return sorted({*journal_hosts(self.folder), *kept})

    def waiting(self, hosts: Iterable[str] | None = None) -> int:
        """Return the bytes of the journal that are not in the database yet."""
        size = 0
        for host in self.hosts() if hosts is None else hosts:
            positions = Cursor(self.cursors.directory, host).positions
            for path in self.files(host):
                size += _waiting(path, positions.get(path.name, Position()).offset)
        return size

    def files(self, host: str) -> list[Path]:
        """Return the journal files of a host, by segment."""
        return segment_files(self.folder.journal / host)

    def host(self, host: str) -> None:
        """Write new points of a host.

        Raises:
            Unreachable: the database does not answer; the acknowledged position is saved.
            StoreError: the account is refused, the journal was replaced, or there would be too many series.
        """
        with self._cursor(host) as cursor:
            for name, position in cursor.positions.items():
                position.check(self.folder.journal / host / name)
            again = self._begin_again(host, cursor)
            series = SeriesCount(cursor.series())
            known, elsewhere = len(series), self.cursors.series_elsewhere(host)
            before = list(cursor.positions.values())
            encoding = _HostEncoding(self.folder, host, cursor, series)
            sender = _Sender(self._client, cursor)
            try:
                for path in self.files(host):
                    for batch in encoding.batches(path, self._settings.batch_points, self._progress):
                        self._check_series(len(series) + elsewhere)
                        sender.put(batch)
                sender.end()
            except BaseException:
                self._client.stop.set()
                sender.end()
                raise
            finally:
                self._add(before, cursor.positions.values(), sender.points)
                self.written.renamed |= encoding.renamed
            if sender.failure is not None:
                raise sender.failure
            if len(series) > known:
                cursor.keep_series(series.seen)
            if again:
                self._check_again(host, cursor)

    def events(self) -> None:
        """Write new events of the experiment. Raises the errors of `host`."""
        path = events_path(self.folder.path)
        with self._cursor(EVENTS) as cursor:
            if loss := self._held.loss(EVENTS, cursor):
                self._say(f"{self._settings.url} has only {loss}: writing them again")
                self._forget(cursor)
            position = cursor.positions.get(EVENTS_FILE, Position())
            if position.offset:
                position.check(path)
            found = list(read_events(path, position.offset))
            if not found:
                return
            refused = self._client.refusals.count
            kept = (event for event in found if event.utc_ns >= cursor.since_ns)
            self.points(event_point(self.folder.name, event) for event in kept)
            if self._client.refusals.count > refused:
                cursor.refused += self._client.refusals.count - refused
                cursor.refusal = self._client.refusals.reason
            with path.open("rb") as file:
                file.seek(found[-1].offset)
                line = file.read(found[-1].end - found[-1].offset)
            cursor.positions[EVENTS_FILE] = Position(
                found[-1].end, len(line), zlib.crc32(line), 0, position.records + len(found)
            )
            # An interruption between the two would leave these events out of the count: no later call sees them.
            with uninterrupted():
                cursor.save()
                self.written.events += len(found)

    def points(self, points: Iterable[Point]) -> int:
        """Write points that are not from the journal; return their number. Raises the errors of `host`."""
        lines: list[bytes] = []
        size = count = 0
        refused = self._client.refusals.count
        for point in points:
            line = encode(point)
            if lines and (len(lines) >= self._settings.batch_points or size + len(line) > _BATCH_BYTES):
                self._client.write(lines)
                lines, size = [], 0
            lines.append(line)
            size += len(line)
            count += 1
        self._client.write(lines)
        self.written.points += count - (self._client.refusals.count - refused)
        return count

    @contextmanager
    def _cursor(self, name: str) -> Iterator[Cursor]:
        with self.cursors.locked(name, patience_s=self._lock_patience_s, say=self._say) as cursor:
            yield cursor

    def _check_series(self, count: int) -> None:
        limit = self._settings.series_limit
        if count > limit:
            raise StoreError(
                self._settings.where("series_limit"),
                f"at most {limit} series",
                f"{count} in {self.folder.name}; each series uses memory of InfluxDB",
                "raise the limit, or measure with fewer benchmarks, configurations, heaps or parameters",
            )

    def _begin_again(self, host: str, cursor: Cursor) -> bool:
        """Reset the cursor if the database lacks written points; return whether it does.

        Causes: the database was dropped, emptied, replaced at the same address, or restored from an older backup.
        """
        loss = self._held.loss(host, cursor)
        if not loss:
            return False
        self._say(f"{self._settings.url} has only {loss}: writing all points again")
        # The events are lost, too; reset them first, in case of an interruption.
        with self._cursor(EVENTS) as events:
            self._forget(events)
        self._forget(cursor)
        return True

    def _forget(self, cursor: Cursor) -> None:
        """Reset a cursor; expired records are not sent again."""
        cursor.forget()
        cursor.since_ns = self._held.since_ns()
        if cursor.since_ns:
            cursor.save()

    def _check_again(self, host: str, cursor: Cursor) -> None:
        """Check after a rewrite: the database does not keep the records that are still missing."""
        lacking = self._held.lacking(host, cursor)
        if lacking:
            self._say(
                f"{self._settings.url} still lacks {lacking} records of {host}; list them with --verify"
            )
            cursor.lacking = lacking
            cursor.save()

    def _add(self, before: Iterable[Position], after: Iterable[Position], points: int) -> None:
        for sign, positions in ((-1, before), (1, after)):
            for position in positions:
                self.written.records += sign * position.records
                self.written.damaged += sign * position.damaged
        self.written.points += points


class _HostEncoding:
    """Encodes the journal files of one host, with the first recorded names of its cells."""

    def __init__(self, folder: Folder, host: str, cursor: Cursor, series: SeriesCount) -> None:
        #: labels of cells with new records whose name in the plan differs from their first recorded name
        self.renamed: set[str] = set()
        self._folder = folder
        self._host = host
        self._cursor = cursor
        self._series = series
        labels = read_labels(folder, host)
        self._cells = {**labels.cells, **cursor.former_cells}
        self._labels = HostLabels(self._cells, labels.cpus, labels.renamed)

    def batches(self, path: Path, at_most: int, progress: Progress) -> Iterator[_Batch]:
        """Yield the new lines of a file."""
        position = self._cursor.positions.get(path.name, Position())
        encoder = RecordLines(self._labels, segment_of(path), position.carry, self._series)
        batch = _Batch()
        for line in new_lines(path, position.offset):
            points = 0
            carry = None
            if (record := record_of(line)) is not None:
                self._name(record)
                for piece in self._pieces(encoder, record):
                    for block in smaller(piece, at_most):
                        full = batch.points + block.points > at_most or batch.size > _BATCH_BYTES
                        if batch.points and full:
                            yield batch
                            batch = _Batch()
                        batch.blocks.append(block.data)
                        batch.points += block.points
                        batch.size += len(block.data)
                        points += block.points
                carry = encoder.carry
            position = position.after(line, carry=carry, points=points)
            batch.positions[path.name] = position
            progress(len(line))
        if batch.positions:
            yield batch

    def _pieces(self, encoder: RecordLines, record: Record) -> Iterator[Piece]:
        """Yield the lines of the next record; none if it had expired at the last rewrite."""
        since_ns, started_ns = self._cursor.since_ns, record.get("started_utc_ns")
        if since_ns and isinstance(started_ns, int) and started_ns < since_ns:
            encoder.pass_over(record)
            return iter(())
        return encoder.of(record)

    def _name(self, record: Record) -> None:
        """Look up the name of the cell of a record, and note whether the plan has another."""
        cell_id = str(record.get("cell_id"))
        if cell_id not in self._cells:
            # The journal has grown since its cells were read. A cell that it does not describe is looked up once.
            self._cells.update({**read_labels(self._folder, self._host).cells, **self._cells})
            self._cells.setdefault(cell_id, self._labels.of(record))
        if cell_id in self._labels.renamed:
            self.renamed.add(self._cells[cell_id].label)


def _waiting(path: Path, offset: int) -> int:
    """Return the bytes of a file after an offset; 0 without a complete line."""
    size = path.stat().st_size - offset
    if size <= 0 or next(new_lines(path, offset), None) is None:
        return 0
    return size


def smaller(piece: Piece, at_most: int) -> Iterator[Piece]:
    """Split a piece that exceeds the maximum number of points per request."""
    if piece.points <= at_most:
        yield piece
        return
    lines = split_lines(piece.data)
    for start in range(0, len(lines), at_most):
        part = lines[start : start + at_most]
        yield Piece(b"".join(part), len(part))
