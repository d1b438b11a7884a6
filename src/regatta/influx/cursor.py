"""Cursor: how far the journal of a host is in the database. It is durable and advances only with acknowledged points.

Files are in `results/<experiment>/influx/<identity of the database>/`. `<host>.json` holds the position in each journal file,
with a checksum of the line before it, which detects a replaced journal. `<host>.series` holds digests of the series of the
host. `_events` is the cursor of the events. All files may be deleted: then everything is written again, which changes nothing.
"""

from __future__ import annotations

import array
import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from regatta.host.errors import StoreError
from regatta.host.files import locked, read_object, sync, write_whole
from regatta.influx.journal import CellLabel
from regatta.influx.settings import Settings
from regatta.store.folder import Folder

#: name of the cursor of the events, in place of a host; names of hosts do not begin with `_`
EVENTS = "_events"
_VERSION = 1
_REBUILD = "write the experiment again: `regatta ingest EXPERIMENT --rebuild`"
_DIGEST_BYTES = 8


@dataclass(frozen=True)
class Position:
    """A place between two lines of a file; everything before it is in the database."""

    #: of the first byte of the next line
    offset: int = 0
    #: length of the previous line, newline included
    last: int = 0
    #: CRC-32 of that line
    crc: int = 0
    #: `RecordLines.carry`
    carry: int = 0
    #: points written so far, and lines that are not records
    records: int = 0
    points: int = 0
    damaged: int = 0

    def after(self, line: bytes, *, carry: int | None = None, points: int = 0) -> Position:
        """Return the position after the next line; `carry` is None for a line that is not a record."""
        return Position(
            self.offset + len(line), len(line), zlib.crc32(line),
            self.carry if carry is None else carry,
            self.records + (carry is not None), self.points + points, self.damaged + (carry is None),
        )  # fmt: skip

    def check(self, path: Path) -> None:
        """Check that the file is unchanged up to this position.

        Raises:
            StoreError: the file was replaced or deleted.
        """
        try:
            with path.open("rb") as file:
                file.seek(self.offset - self.last)
                line = file.read(self.last)
        except OSError as error:
            raise self._replaced(path, str(error.strerror or error)) from error
        if len(line) != self.last or zlib.crc32(line) != self.crc:
            raise self._replaced(path, "another journal")

    def _replaced(self, path: Path, got: str) -> StoreError:
        return StoreError(
            str(path), f"the journal whose first {self.records} records are in the database", got, _REBUILD
        )


class Cursor:
    """Positions in the files of one host, or in the events. Only the owner of its lock uses it."""

    def __init__(self, directory: Path, name: str) -> None:
        """Read the cursor; a missing one is not created."""
        self.directory = directory
        self.name = name
        self.path = directory / f"{name}.json"
        self.positions: dict[str, Position] = {}
        #: points that the database refused permanently, and the reason of the last refusal
        self.refused = 0
        self.refusal = ""
        #: cell ids -> names written by versions before 0.2, which their points still have
        self.former_cells: dict[str, CellLabel] = {}
        #: records that the database still lacks after a rewrite, so that rewrites do not repeat forever
        self.lacking = 0
        #: start of the retention period at the last rewrite: older records were skipped; 0: none
        self.since_ns = 0
        self._read()

    def _read(self) -> None:
        """Read the files. An unreadable cursor counts as missing: everything is written again, which changes nothing."""
        kept = read_object(self.path)
        with suppress(TypeError):
            former = read_object(self.directory / f"{self.name}.cells.json")
            self.former_cells = {cell_id: CellLabel(*label) for cell_id, label in former.items()}
        with suppress(KeyError, TypeError, ValueError, AttributeError):
            if kept["v"] == _VERSION:
                positions = {name: Position(**one) for name, one in kept["files"].items()}
                self.refused, self.refusal = int(kept["refused"]), str(kept["refusal"])
                self.lacking, self.since_ns = int(kept.get("lacking", 0)), int(kept.get("since_ns", 0))
                self.positions = positions

    @property
    def _series_path(self) -> Path:
        return self.directory / f"{self.name}.series"

    def save(self) -> None:
        """Write the positions durably.

        Raises:
            StoreError: no space left.
        """
        value = {
            "v": _VERSION,
            "refused": self.refused,
            "refusal": self.refusal,
            "lacking": self.lacking,
            "since_ns": self.since_ns,
            "files": {name: asdict(one) for name, one in sorted(self.positions.items())},
        }
        _write(self.path, json.dumps(value, separators=(",", ":")).encode())

    def series(self) -> Iterable[int]:
        """Return digests of the written series; incomplete if the process was killed before saving them."""
        kept = array.array("Q")
        with suppress(OSError, ValueError):
            kept.frombytes(self._series_path.read_bytes())
        return kept

    def keep_series(self, digests: Iterable[int]) -> None:
        """Save the digests of all series of this host."""
        _write(self._series_path, array.array("Q", sorted(digests)).tobytes())

    def forget(self) -> None:
        """Reset: nothing is in the database."""
        self.positions, self.refused, self.refusal = {}, 0, ""
        self.lacking = self.since_ns = 0
        try:
            for path in (self.path, self._series_path):
                path.unlink(missing_ok=True)
            sync(self.directory)
        except OSError as error:
            raise _no_room(self.directory, error) from error


class Cursors:
    """All cursors of an experiment for one database."""

    def __init__(self, folder: Folder, settings: Settings) -> None:
        self.directory = folder.path / "influx" / settings.identity
        self._settings = settings

    def names(self) -> list[str]:
        """Return the names of all cursors."""
        return sorted(
            path.name.removesuffix(".json")
            for path in self.directory.glob("*.json")
            # Older versions stored names of cells here.
            if not path.name.endswith(".cells.json")
        )

    @contextmanager
    def locked(
        self, name: str, *, patience_s: float = float("inf"), say: Callable[[str], None] = lambda text: None
    ) -> Iterator[Cursor]:
        """Yield the current cursor of a host and lock it against other processes.

        Raises:
            StoreError: no space left, or another process holds the lock longer than the patience.
        """
        waiting = f"waiting: another process ingests {name.removeprefix('_')}"
        with ExitStack() as stack:
            try:
                self.directory.mkdir(parents=True, exist_ok=True)
                stack.enter_context(locked(self.directory / f"{name}.lock", patience_s, lambda: say(waiting)))
            except BlockingIOError:
                raise StoreError(
                    f"ingest of {name}",
                    "no other process",
                    "another process writes the same points",
                    "wait until it ends",
                ) from None
            except OSError as error:
                raise _no_room(self.directory, error) from error
            yield Cursor(self.directory, name)

    def refused(self) -> tuple[int, str]:
        """Return the number of permanently refused points, and the reason of the last refusal."""
        kept = [Cursor(self.directory, name) for name in self.names()]
        return sum(one.refused for one in kept), next((one.refusal for one in kept if one.refused), "")

    def series_elsewhere(self, name: str) -> int:
        """Return the number of series of the other hosts."""
        sizes = (path.stat().st_size for path in self.directory.glob("*.series") if path.stem != name)
        return sum(sizes) // _DIGEST_BYTES


def _write(path: Path, data: bytes) -> None:
    """Replace a file durably: after a power loss it is either the old or the new one."""
    try:
        write_whole(path, data, durable=True)
    except OSError as error:
        raise _no_room(path, error) from error


def _no_room(path: Path, error: OSError) -> StoreError:
    return StoreError(
        str(path),
        "a writable file",
        str(error.strerror or error),
        "free disk space, and run the same command again; no data is lost",
    )
