"""Files and locks: atomic replacement, bounded reads, exclusive locks.

Use these functions for all writes, locks and reads of small Regatta files.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from regatta.host.errors import FullDisk, RegattaError

_BUSY = (errno.EAGAIN, errno.EACCES)
_FULL = (errno.ENOSPC, errno.EDQUOT)
_NO_SPACE = os.strerror(errno.ENOSPC)
#: A file that needs more than what is left can fail before the disk is full.
_NEXT_TO_NOTHING_BYTES = 64 * 1024
_PAUSE_S = 0.05
_CHUNK_BYTES = 1 << 20
#: limit for a Regatta JSON object; the plan header or receipt of the largest experiment is far smaller
LARGEST_OBJECT_BYTES = 1 << 30
#: length of a line, in characters, above which a file cannot be text
_NO_TEXT = 64 << 20
#: After this time, no later change of a file can have the same change time, even with a coarse file system clock.
SETTLED_NS = 1_000_000_000


@contextlib.contextmanager
def replaced(path: Path, mode: int = 0o666, durable: bool = False) -> Iterator[Path]:
    """Yield a temporary file next to `path`. Rename it to `path` if the block succeeds; remove it otherwise.

    Args:
        path: its folder is created if missing.
        mode: of the new file, before the umask.
        durable: the file survives a power loss after the block ends.

    Raises:
        OSError: the disk is full or the folder is not writable.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    # `os.open` applies the umask to the mode; `tempfile` always creates files with mode 0600.
    os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode))
    try:
        yield temporary
        if durable:
            sync(temporary)
        os.replace(temporary, path)
        if durable:
            sync(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_whole(path: Path, data: bytes | str, mode: int = 0o666, durable: bool = False) -> None:
    """Replace the contents of a file atomically; see `replaced`.

    Raises:
        OSError: the disk is full or the folder is not writable.
    """
    with replaced(path, mode, durable) as temporary:
        temporary.write_bytes(data.encode() if isinstance(data, str) else data)


@contextlib.contextmanager
def written(path: Path) -> Iterator[Path]:
    """Replace a file that a command writes for the user, with any library; see `replaced`.

    Raises:
        RegattaError: the disk is full or the folder is not writable.
    """
    fix = "free disk space, or choose another folder"
    try:
        with replaced(path) as temporary:
            yield temporary
    except RegattaError:
        raise
    except Exception as error:
        if is_full(error, path.parent):
            raise FullDisk(str(path), fix) from error
        if not isinstance(error, OSError):
            raise
        raise RegattaError(str(path), "a writable file", error.strerror or str(error), fix) from error


def write_output(path: Path, text: str) -> None:
    """Replace the contents of a file that a command writes for the user, atomically.

    Raises:
        RegattaError: the disk is full or the folder is not writable.
    """
    with written(path) as temporary:
        temporary.write_bytes(text.encode())


def is_full(error: Exception | None, folder: Path) -> bool:
    """Return whether the disk of a folder is full, or an error comes from a full disk, whatever library raised it.

    Databases wrap the error of the kernel, or report the next one; programs end as if their input had ended.
    """
    if getattr(error, "errno", None) in _FULL or _NO_SPACE in str(error):
        return True
    try:
        found = os.statvfs(folder)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize < _NEXT_TO_NOTHING_BYTES


def check_room(folder: Path) -> None:
    """Raise FullDisk if the disk of a scratch folder is full. Call it after programs that do not report that they cannot write."""
    if is_full(None, folder):
        raise _full_scratch(folder)


def _full_scratch(folder: Path) -> FullDisk:
    return FullDisk(str(folder.parent), "free disk space, or set TMPDIR to a folder on another disk")


@contextlib.contextmanager
def scratch_folder(prefix: str) -> Iterator[Path]:
    """Yield a new folder for temporary files, and remove it at the end.

    Raises:
        FullDisk: the block failed for lack of space in the folder, whatever error it raised.
    """
    # Imported here because the runner does not need it.
    import tempfile

    with tempfile.TemporaryDirectory(prefix=prefix) as name:
        try:
            yield Path(name)
        except FullDisk:
            raise
        except Exception as error:
            if not is_full(error, Path(name)):
                raise
            raise _full_scratch(Path(name)) from error


def write_object(path: Path, value: dict[str, Any], mode: int = 0o666, durable: bool = False) -> None:
    """Write JSON as one line atomically; see `replaced`. Raises OSError."""
    write_whole(path, json.dumps(value) + "\n", mode, durable)


def write_first(path: Path, data: bytes, mode: int = 0o666) -> None:
    """Write a file durably unless it exists. If several processes write, the first one wins, and its file is complete.

    Raises:
        OSError: the disk is full or the folder is not writable.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    write_whole(temporary, data, mode, durable=True)
    try:
        with contextlib.suppress(FileExistsError):
            os.link(temporary, path)
            sync(path.parent)
    finally:
        temporary.unlink()


def sync(path: Path) -> None:
    """Make the contents of a file, or the entries of a folder, durable. Raises OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def take_lock(fd: int, patience_s: float | None = None, say: Callable[[], object] | None = None) -> None:
    """Lock an open file against other processes until its last descriptor is closed.

    Args:
        fd: its descriptor.
        patience_s: longest wait for the lock, in s; None: no limit.
        say: called once, before waiting.

    Raises:
        BlockingIOError: another process still holds the lock.
        OSError: the file system does not support locks.
    """
    began = time.monotonic()
    while True:
        try:
            return fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in _BUSY:
                raise
            if patience_s is not None and time.monotonic() - began >= patience_s:
                raise BlockingIOError(errno.EAGAIN, "another process holds the file") from None
        if say is not None:
            say()
            say = None
        if patience_s is None:
            return fcntl.flock(fd, fcntl.LOCK_EX)
        time.sleep(_PAUSE_S)


@contextlib.contextmanager
def locked(
    path: Path, patience_s: float | None = None, say: Callable[[], object] | None = None, mode: int = 0o666
) -> Iterator[int]:
    """Hold the lock of a file and yield its descriptor. Create the file if missing. See `take_lock`.

    A child process that inherits the descriptor keeps the lock.

    Raises:
        BlockingIOError: another process still holds the lock.
        OSError: the file cannot be created.
    """
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        take_lock(fd, patience_s, say)
        yield fd
    finally:
        os.close(fd)


def read_bounded(path: Path, most_bytes: int) -> bytes:
    """Read a regular file of at most `most_bytes`. Refuse pipes and devices, which can block or never end.

    Raises:
        OSError: the file is missing, unreadable, not regular, or too large.
    """
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(fd, "rb") as file:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        data = bytearray()
        # Read in chunks: a single read would allocate `most_bytes` even for the smallest file. The size is only a first look,
        # because a file can grow, and those of the kernel have none.
        while max(len(data), status.st_size) <= most_bytes and (chunk := file.read(_CHUNK_BYTES)):
            data += chunk
    if max(len(data), status.st_size) > most_bytes:
        raise OSError(errno.EFBIG, f"more than {most_bytes} bytes", str(path))
    return bytes(data)


def bounded_lines(file: IO[str], most: int) -> Iterator[str]:
    """Yield the lines of an open file; of a longer line, its first `most` + 1 characters, so that its length tells that it was cut.

    Iteration over a file would read the longest line into memory, whatever its length.

    Raises:
        ValueError: a line is so long that the file cannot be text.
    """
    while line := file.readline(most + 1):
        yield line
        rest, length = line, len(line)
        while len(rest) > most and not rest.endswith("\n"):
            rest = file.readline(most + 1)
            length += len(rest)
            if length > _NO_TEXT:
                raise ValueError(f"a line of more than {_NO_TEXT} characters")


def parse_json(text: bytes | str, finite: bool = True) -> Any:
    """Parse JSON that another program wrote.

    Args:
        text: of one document.
        finite: refuse NaN and Infinity, which are not JSON.

    Raises:
        ValueError: it is not JSON, an object has a key twice, or it is nested too deeply. Parsers disagree on which of two equal
            keys is valid.
    """
    try:
        return json.loads(
            text, object_pairs_hook=_unique, parse_constant=_refuse_constant if finite else None
        )
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        repeated = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {repeated[:100]!r} occurs twice in one object")
    return found


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def parse_object(path: Path, most_bytes: int = LARGEST_OBJECT_BYTES) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        OSError: the file cannot be read; see `read_bounded`.
        ValueError: the file does not contain a JSON object; see `parse_json`.
    """
    value = parse_json(read_bounded(path, most_bytes), finite=False)
    if not isinstance(value, dict):
        raise ValueError(f"expected a JSON object, got {type(value).__name__}")
    return value


def read_object(path: Path, most_bytes: int = LARGEST_OBJECT_BYTES) -> dict[str, Any]:
    """Read a JSON object. Return an empty one if the file is missing, damaged or not an object."""
    try:
        return parse_object(path, most_bytes)
    except (OSError, ValueError):
        return {}
