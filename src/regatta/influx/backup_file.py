"""Write and read the file of a backup: gzip'ed line protocol in blocks, with counts and a checksum at the end.

    # regatta backup {"version": 1, "database": ...}
    # block BYTES                          then BYTES bytes of whole lines, repeated
    # end {"points": ..., "measurements": ..., "sha256": ...}

The reader accepts complete files only. Lines of line protocol that begin with `#` are comments, so that InfluxDB accepts the
output of `zcat FILE` without Regatta. A block has a length because a newline does not always end a line: strings hold newlines
and arbitrary text.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import stat
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from regatta.host.errors import StoreError
from regatta.host.files import sync, take_lock

VERSION = 1
_HEAD, _BLOCK, _END = b"# regatta backup ", b"# block ", b"# end "
#: bytes per request of a restore; InfluxDB accepts 25 MB by default
BLOCK_BYTES = 2 << 20
#: a block ends after a line, and a line can be long
_LARGEST_BLOCK = BLOCK_BYTES + (16 << 20)
_LONGEST_COMMENT = 64 << 20
_LEVEL = 4


@dataclass(frozen=True)
class Contents:
    """Contents of a measurement. Equal contents have the same number of values in the same series."""

    series: int
    #: name -> number of values
    fields: dict[str, int]
    #: of every series and the counts of its fields, in any order
    digest: str


@dataclass(frozen=True)
class Backup:
    """Header and counts of a backup file."""

    database: str
    retention_policy: str
    points: int
    measurements: dict[str, Contents]


class Writer:
    """Writes blocks and the end. A file without an end is not a backup."""

    def __init__(self, stream: IO[bytes], database: str, retention_policy: str) -> None:
        self._stream = gzip.GzipFile("", "wb", _LEVEL, stream, mtime=0)
        self._sha256 = hashlib.sha256()
        self._lines: list[bytes] = []
        self._bytes = 0
        head = {"version": VERSION, "database": database, "retention_policy": retention_policy}
        self._put(_HEAD + json.dumps(head).encode() + b"\n")

    def add(self, line: bytes) -> None:
        """Add one whole line, newline included."""
        self._lines.append(line)
        self._bytes += len(line)
        if self._bytes >= BLOCK_BYTES:
            self._flush()

    def end(self, points: int, measurements: Mapping[str, Contents]) -> None:
        """Write the counts and the checksum."""
        self._flush()
        told = {
            "points": points,
            "measurements": {name: asdict(contents) for name, contents in measurements.items()},
            "sha256": self._sha256.hexdigest(),
        }
        self._put(_END + json.dumps(told).encode() + b"\n")
        self._stream.close()

    def _flush(self) -> None:
        if self._lines:
            self._put(_BLOCK + b"%d\n" % self._bytes)
            self._put(b"".join(self._lines))
            self._lines, self._bytes = [], 0

    def _put(self, data: bytes) -> None:
        self._sha256.update(data)
        self._stream.write(data)


class Reader:
    """Reads an open file, once or several times."""

    def __init__(self, stream: IO[bytes], path: Path) -> None:
        self._stream = stream
        self._path = path

    def check(self) -> Backup:
        """Read the whole file and verify it against its end.

        Raises:
            StoreError: the file is not a backup, is truncated or is corrupted.
        """
        for _ in self.blocks():
            pass
        return self._backup

    def blocks(self) -> Iterator[bytes]:
        """Yield the lines in chunks of some MiB. Raises StoreError, at the end at the latest, if the file is corrupted."""
        self._stream.seek(0)
        try:
            yield from self._blocks()
        except (OSError, EOFError, zlib.error) as error:
            got = getattr(error, "strerror", None) or str(error)
            raise self._bad("a complete gzip file", got) from error
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise self._bad("a file written by `regatta backup`", "another format") from error

    def _blocks(self) -> Iterator[bytes]:
        with gzip.GzipFile("", "rb", fileobj=self._stream) as stream:
            sha256 = hashlib.sha256()
            line = stream.readline(_LONGEST_COMMENT)
            head = _object(line, _HEAD)
            if head["version"] != VERSION:
                raise self._bad(f"a backup of version {VERSION}", f"version {head['version']!r}")
            sha256.update(line)
            while (line := stream.readline(_LONGEST_COMMENT)).startswith(_BLOCK):
                size = int(line[len(_BLOCK) :])
                if not 0 < size <= _LARGEST_BLOCK:
                    raise ValueError(size)
                block = stream.read(size)
                sha256.update(line)
                sha256.update(block)
                yield block
            told = _object(line, _END)
            if told["sha256"] != sha256.hexdigest():
                raise self._bad(f"SHA-256 {told['sha256']}", sha256.hexdigest())
            if stream.read(1):
                raise self._bad("no data after its end", "more data")
        self._backup = Backup(
            str(head["database"]),
            str(head["retention_policy"]),
            int(told["points"]),
            {name: _contents(found) for name, found in told["measurements"].items()},
        )

    def _bad(self, expected: str, got: str) -> StoreError:
        return StoreError(str(self._path), expected, got, "use another backup; nothing was written")


def _object(line: bytes, mark: bytes) -> dict[str, Any]:
    if not line.startswith(mark) or not line.endswith(b"\n"):
        raise ValueError(line[:40])
    found = json.loads(line[len(mark) :])
    if not isinstance(found, dict):
        raise TypeError(found)
    return found


def _contents(found: Mapping[str, Any]) -> Contents:
    fields = {str(name): int(count) for name, count in found["fields"].items()}
    return Contents(int(found["series"]), fields, str(found["digest"]))


@contextmanager
def whole_or_not_at_all(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for writing and rename it when the block succeeds; until then an existing file stays.

    The temporary name is `NAME.part`, with access for this user only. A killed process leaves it; the next backup overwrites
    it.

    Raises:
        StoreError: the file cannot be written, is not a regular file (a device, a pipe, a link), or another process writes it.
    """
    _only_a_file(path)
    part = path.with_name(path.name + ".part")
    try:
        descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            _only_one(part, descriptor)
            try:
                os.ftruncate(descriptor, 0)
                yield stream
                stream.flush()
                os.fsync(descriptor)
                os.rename(part, path)
            except BaseException:
                with contextlib.suppress(OSError):
                    part.unlink()
                raise
        sync(path.parent)
    except OSError as error:
        raise StoreError(str(path), "a writable file", error.strerror or str(error)) from error


def _only_a_file(path: Path) -> None:
    """Reject devices and links, because a rename replaces them."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(path.lstat().st_mode):
            raise StoreError(
                str(path), "a regular file or a new name", "a folder, link or device", "choose another name"
            )


def _only_one(part: Path, descriptor: int) -> None:
    try:
        take_lock(descriptor, patience_s=0)
        same = os.path.samestat(os.stat(part), os.fstat(descriptor))
    except (BlockingIOError, FileNotFoundError):
        same = False
    if not same:
        raise StoreError(
            str(part), "no other process", "another backup writes this file", "wait until it ends"
        )
