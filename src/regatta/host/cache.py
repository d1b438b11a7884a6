"""The user's cache of what can be made again: runtimes, builds, inputs, answers of JVMs. Content-addressed, made whole or not at all."""

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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from regatta.host.errors import HostError
from regatta.host.files import locked, parse_object, write_object

_CHUNK_BYTES = 1 << 20
_MODE = 0o755
_KINDS = {stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket", stat.S_IFDIR: "folder"}


def cache_dir() -> Path:
    """`$REGATTA_CACHE`, or `regatta` in `$XDG_CACHE_HOME` or `~/.cache`.

    Raises:
        HostError: another user can write in it, or this user cannot look at it. What is in the cache is executed, so
            nothing there is believed then.
    """
    own = os.environ.get("REGATTA_CACHE")
    try:
        if own:
            found = Path(own).resolve()
        else:
            found = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").resolve() / "regatta"
        _refuse_foreign(found)
    except (OSError, RuntimeError) as error:
        # HOME is of another user (sudo), or there is none.
        where, fix = own or "the cache", "set HOME or REGATTA_CACHE to a folder of this user"
        raise HostError(where, f"a folder of user {os.geteuid()}", str(error), fix) from error
    return found


def cache_folder(name: str) -> Path:
    """A folder of the cache, made where it is missing.

    Raises:
        HostError: another user can write in it, or in the cache.
    """
    folder = cache_dir() / name
    make_folder(folder)
    _refuse_foreign(folder)
    return folder


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, writable for their owner alone, whatever the umask."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(mode=_MODE, exist_ok=True)


def _refuse_foreign(folder: Path) -> None:
    try:
        found = folder.stat()
    except (FileNotFoundError, NotADirectoryError):
        return
    user = os.geteuid()
    # Root can change any file anyway; with sudo, whoever asked for it has the cache.
    trusted = {str(user), "0", *([os.environ.get("SUDO_UID", "")] if user == 0 else [])}
    if str(found.st_uid) not in trusted:
        fix = f"remove it, let user {user} own it, or set REGATTA_CACHE to another folder"
        raise HostError(str(folder), f"a folder of user {user}", f"one of user {found.st_uid}", fix)
    if found.st_mode & stat.S_IWGRP and found.st_uid == user and _is_private(found.st_gid):
        # Made under the umask 002 of systems where every user has a group.
        folder.chmod(stat.S_IMODE(found.st_mode) & ~stat.S_IWGRP)
        found = folder.stat()
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        mode = oct(stat.S_IMODE(found.st_mode))[2:]
        fix = f"remove it, or if you trust what is in it: chmod -R go-w {shlex.quote(str(folder))}"
        raise HostError(str(folder), "a folder that its owner alone writes", f"mode {mode}", fix)


def _is_private(group: int) -> bool:
    """Whether a group is this user's own: it has the user's name, and nobody else is in it."""
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


def made_directory(path: Path, make: Callable[[Path], None]) -> Path:
    """Give the directory, made by `make(temporary)` and renamed when it is whole, unless it is there already.

    Raises:
        HostError: it is there, and another user can write in it.
    """
    if not path.is_dir():
        with _alone(path):
            if not path.is_dir():
                temporary = path.with_name(path.name + ".tmp")
                shutil.rmtree(temporary, ignore_errors=True)
                temporary.mkdir(mode=_MODE)
                try:
                    make(temporary)
                    temporary.chmod(stat.S_IMODE(temporary.stat().st_mode) & ~(stat.S_IWGRP | stat.S_IWOTH))
                    os.replace(temporary, path)
                except BaseException:
                    shutil.rmtree(temporary, ignore_errors=True)
                    raise
    _refuse_foreign(path)
    return path


def remembered(kind: str, key: object, ask: Callable[[], Any]) -> Any:
    """The answer to a question that was asked before, or `ask()`, kept as JSON under the hash of `key`."""
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
    """SHA-256 of what is left of an open file."""
    # Not hashlib.file_digest: hosts may have Python 3.9.
    digest = hashlib.sha256()
    while chunk := stream.read(_CHUNK_BYTES):
        digest.update(chunk)
    return digest.hexdigest()


def bytes_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes.

    Raises:
        OSError: it cannot be read, or is no regular file.
    """
    regular_status(path)
    with path.open("rb") as stream:
        return stream_sha256(stream)


def regular_status(path: Path) -> os.stat_result:
    """What the system knows of a regular file; links are followed. Anything else may block its reader, or never end.

    Raises:
        OSError: it cannot be looked at, or is no regular file.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "device")
        raise OSError(errno.EINVAL, f"a {kind}, no regular file", str(path))
    return status


def file_sha256(path: Path) -> str:
    """SHA-256 of a file, remembered by its path, size, inode and time of change."""
    path = path.resolve()
    stat = path.stat()
    key = [str(path), stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino]

    return str(remembered("sha256", key, lambda: bytes_sha256(path)))
