"""Cache of reproducible artifacts: runtimes, builds, inputs, answers of JVMs. Content-addressed, with atomic writes."""

from __future__ import annotations

import errno
import grp
import hashlib
import json
import os
import pwd
import shlex
import shutil
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from regatta.host.errors import HostError
from regatta.host.files import SETTLED_NS, locked, parse_object, write_object

_CHUNK_BYTES = 1 << 20
_MODE = 0o755
_KINDS = {stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket", stat.S_IFDIR: "folder"}


def cache_dir() -> Path:
    """Return `$REGATTA_CACHE`, or `regatta` in `$XDG_CACHE_HOME` or `~/.cache`.

    Raises:
        HostError: another user can write to the cache, or this user cannot access it. Files in the cache are executed,
            so an untrusted cache is refused.
    """
    own = os.environ.get("REGATTA_CACHE")
    try:
        if own:
            found = Path(own).resolve()
        else:
            found = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").resolve() / "regatta"
        _refuse_foreign(found)
    except (OSError, RuntimeError) as error:
        # HOME belongs to another user (sudo), or is not set.
        where, fix = own or "cache", "set HOME or REGATTA_CACHE to a folder of this user"
        raise HostError(where, f"a folder of user {os.geteuid()}", str(error), fix) from error
    return found


def cache_folder(name: str) -> Path:
    """Return a folder of the cache; create it if missing.

    Raises:
        HostError: another user can write to the folder or to the cache.
    """
    folder = cache_dir() / name
    make_folder(folder)
    _refuse_foreign(folder)
    return folder


def make_folder(folder: Path) -> None:
    """Create a folder and its parents, writable only by the owner, regardless of the umask."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(mode=_MODE, exist_ok=True)


def _refuse_foreign(folder: Path) -> None:
    try:
        found = folder.stat()
    except (FileNotFoundError, NotADirectoryError):
        return
    user = os.geteuid()
    # Root can change any file. Under sudo, the cache belongs to the calling user.
    trusted = {str(user), "0", *([os.environ.get("SUDO_UID", "")] if user == 0 else [])}
    if str(found.st_uid) not in trusted:
        fix = f"remove it, give it to user {user}, or set REGATTA_CACHE to another folder"
        raise HostError(str(folder), f"a folder of user {user}", f"a folder of user {found.st_uid}", fix)
    if found.st_mode & stat.S_IWGRP and found.st_uid == user and _is_private(found.st_gid):
        # The umask is 002 on systems where every user has a private group.
        folder.chmod(stat.S_IMODE(found.st_mode) & ~stat.S_IWGRP)
        found = folder.stat()
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        mode = oct(stat.S_IMODE(found.st_mode))[2:]
        fix = f"remove it, or if you trust its contents, run `chmod -R go-w {shlex.quote(str(folder))}`"
        raise HostError(str(folder), "a folder writable only by its owner", f"mode {mode}", fix)


def _is_private(group: int) -> bool:
    """Return whether a group is private to this user: it has the user's name and no other member."""
    try:
        name, found = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(group)
    except KeyError:
        return False
    return found.gr_name == name and set(found.gr_mem) <= {name}


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    make_folder(path.parent)
    with locked(path.with_name(path.name + ".lock"), mode=0o600):
        yield


def made_directory(path: Path, make: Callable[[Path], None], files: Iterable[str] = ()) -> Path:
    """Return the directory. If it is missing or damaged, create it with `make(temporary)` and rename it when complete.

    Args:
        path: the directory.
        make: called with an empty directory to fill.
        files: paths in the directory of files that must be there; without one, it is damaged.

    Raises:
        HostError: the directory exists, and another user can write to it.
    """
    needed = list(files)
    if not _is_whole(path, needed):
        with _alone(path):
            if not _is_whole(path, needed):
                _refuse_foreign(path)
                temporary = path.with_name(path.name + ".tmp")
                shutil.rmtree(temporary, ignore_errors=True)
                temporary.mkdir(mode=_MODE)
                try:
                    make(temporary)
                    temporary.chmod(stat.S_IMODE(temporary.stat().st_mode) & ~(stat.S_IWGRP | stat.S_IWOTH))
                    shutil.rmtree(path, ignore_errors=True)
                    os.replace(temporary, path)
                except BaseException:
                    shutil.rmtree(temporary, ignore_errors=True)
                    raise
    _refuse_foreign(path)
    return path


def _is_whole(path: Path, files: Iterable[str]) -> bool:
    return path.is_dir() and all((path / name).is_file() for name in files)


def remembered(kind: str, key: object, ask: Callable[[], Any]) -> Any:
    """Return the cached answer for `key`, or call `ask()` and store its result as JSON under the hash of `key`."""
    text = json.dumps([kind, key], sort_keys=True)
    folder = cache_folder("answers")
    path = folder / f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"
    try:
        kept = parse_object(path)
        if kept["key"] == json.loads(text):
            return kept["answer"]
    except (OSError, ValueError, KeyError, TypeError):
        pass
    answer = ask()
    write_object(path, {"key": json.loads(text), "answer": answer}, 0o644)
    return answer


def stream_sha256(stream: BinaryIO) -> str:
    """Return the SHA-256 of the rest of an open file."""
    # `hashlib.file_digest` requires Python 3.11; hosts may have Python 3.9.
    digest = hashlib.sha256()
    while chunk := stream.read(_CHUNK_BYTES):
        digest.update(chunk)
    return digest.hexdigest()


def bytes_sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes.

    Raises:
        OSError: the file cannot be read, or is not a regular file.
    """
    regular_status(path)
    with path.open("rb") as stream:
        return stream_sha256(stream)


def regular_status(path: Path) -> os.stat_result:
    """Return the status of a regular file. Follow links. Refuse other files: reading them can block or never end.

    Raises:
        OSError: the status cannot be read, or the file is not a regular file.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "device")
        raise OSError(errno.EINVAL, f"a {kind}, not a regular file", str(path))
    return status


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file, cached by path, size, inode, modification time and change time.

    A file that has just changed is not cached: its next change can have the same times.
    """
    path = path.resolve()
    stat = path.stat()
    if time.time_ns() - stat.st_ctime_ns < SETTLED_NS:
        return bytes_sha256(path)
    key = [str(path), stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino]
    return str(remembered("sha256", key, lambda: bytes_sha256(path)))
