"""One measurement at a time on a host: a lock that dies with its holder and says who it is.

It is two locks. A Unix socket of an abstract name excludes everybody on the host's network, and no one can delete it. A file
excludes those who see it, in other network namespaces too. What the file says was written by any user of the host: it is shown,
bounded and printable, and decides nothing. What the next holder must know to end leftovers is in a file of each user's own.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import socket
import stat
import struct
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from regatta.host.errors import HostError
from regatta.host.printable import printable

DEFAULT_LOCK = "/tmp/regatta-measuring.lock"
_TEXT_BYTES = 4096
#: a path has at most 4096 bytes, each of which JSON may write as six
_OWN_BYTES = 1 << 16
#: for people: names of experiments, users and hosts
_SHOWN = 80
_SHOWN_KEYS = ("pid", "experiment", "holder", "since")
#: between looks at a socket that is bound but on which nobody listens yet
_SHORTEST_PAUSE_S, _LONGEST_PAUSE_S = 0.005, 1.0


class HostLock:
    """An exclusive lock that every user of the host can take. Waits for the one who holds it."""

    def __init__(
        self,
        path: Path,
        holder: Mapping[str, Any],
        own: Mapping[str, Any] | None = None,
        wait: bool = True,
        waiting: Callable[[dict[str, str]], None] = lambda holder: None,
    ) -> None:
        """Take the lock.

        Args:
            path: the lock file.
            holder: what others are told: who holds it.
            own: what this user's next holder is told, as `previous`.
            wait: wait for another holder, or raise.
            waiting: called before each wait with those of `pid`, `experiment`, `holder` and `since` that are known of who
                holds it; all are printable.

        Raises:
            HostError: the file cannot be used, or it is held and `wait` is false.
        """
        self.path = path
        self.waited_for: str = ""
        self._wait = wait
        self._waiting = waiting
        self._socket = -1
        self._file = self._open()
        try:
            self._take_socket()
            self._take_file()
            #: what the holder before of the same user wrote, who may have been killed and have left a process behind
            self.previous = self._read_own()
            self._write_own({} if own is None else own)
            self._write({"pid": os.getpid(), "since": _now(), **holder})
            self._listen()
        except BaseException:
            self.release()
            raise

    def _open(self) -> int:
        for flags in (os.O_RDWR | os.O_CREAT, os.O_RDWR, os.O_RDONLY):
            try:
                fd = os.open(self.path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
            except OSError as error:
                last = error
                continue
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
                os.close(fd)
                raise HostError(
                    str(self.path), "a plain file of its own", "a link or something else", "remove it"
                )
            if status.st_uid == os.geteuid() and status.st_size == 0:
                # For every user of the host, whatever the umask of the first.
                with contextlib.suppress(OSError):
                    os.fchmod(fd, 0o666)
            return fd
        raise HostError(str(self.path), "a lock file", str(last.strerror), "see who made it, and remove it")

    def _take_socket(self) -> None:
        """Bind the abstract name; what the system has no such sockets for, the file does alone."""
        name = (
            "\0regatta-measuring-" + hashlib.sha256(os.fsencode(os.path.abspath(self.path))).hexdigest()[:32]
        )
        pause_s = _SHORTEST_PAUSE_S
        while True:
            try:
                taken = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            except OSError:
                return
            with taken:
                try:
                    taken.bind(name)
                except OSError as error:
                    if error.errno != errno.EADDRINUSE:
                        return
                else:
                    self._socket = taken.detach()
                    return
                try:
                    taken.connect(name)
                except OSError:
                    # It is gone, or does not listen yet.
                    if pause_s == _LONGEST_PAUSE_S:
                        self._must_wait({})
                    time.sleep(pause_s)
                    pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
                    continue
                pause_s = _SHORTEST_PAUSE_S
                self._must_wait(_peer(taken))
                # The holder never answers: the connection ends with it.
                with contextlib.suppress(OSError):
                    taken.recv(1)

    def _take_file(self) -> None:
        """Lock the file that has the path's name now; one that was deleted locks out nobody any more."""
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno not in (errno.EAGAIN, errno.EACCES):
                    raise
                self._must_wait({})
                # Those who wait for the socket wait for the file's holder, too.
                self._listen()
                fcntl.flock(self._file, fcntl.LOCK_EX)
            with contextlib.suppress(OSError):
                if os.path.samestat(os.fstat(self._file), os.lstat(self.path)):
                    return
            os.close(self._file)
            self._file = -1
            self._file = self._open()

    def _listen(self) -> None:
        """Let others connect, who so learn at once when this one is gone."""
        if self._socket >= 0:
            with contextlib.suppress(OSError), socket.socket(fileno=os.dup(self._socket)) as bound:
                bound.listen()

    def _must_wait(self, known: dict[str, str]) -> None:
        """Say for whom.

        Raises:
            HostError: this one does not wait.
        """
        holder = {**known, **self._told()}
        name = _named(holder)
        if not self._wait:
            raise HostError(str(self.path), "no other measurement", name, "wait for it")
        if name != self.waited_for:
            self.waited_for = name
            print(f"waiting: {name} measures on this host", file=sys.stderr, flush=True)
            self._waiting(holder)

    def _told(self) -> dict[str, str]:
        """What the file says of its holder, who may be any user."""
        told = _object(self._file, _TEXT_BYTES)
        return {
            key: printable(str(told[key]), _SHOWN)
            for key in _SHOWN_KEYS
            if isinstance(told.get(key), (str, int)) and told[key] != ""
        }

    def _write(self, holder: Mapping[str, Any]) -> None:
        # Where it is somebody else's file, the lock holds all the same; only its text is theirs.
        with contextlib.suppress(OSError):
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, json.dumps(holder).encode(), 0)

    def _open_own(self, flags: int) -> int:
        """This user's own file beside the lock, which nobody else can have written.

        Raises:
            OSError: there is none, or it is no such file.
        """
        path = f"{self.path}.{os.geteuid()}"
        fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
        status = os.fstat(fd)
        its_own = status.st_uid == os.geteuid() and status.st_nlink == 1 and not status.st_mode & 0o022
        if not its_own or not stat.S_ISREG(status.st_mode):
            os.close(fd)
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), path)
        return fd

    def _read_own(self) -> dict[str, Any]:
        try:
            fd = self._open_own(os.O_RDONLY)
        except OSError:
            return {}
        try:
            return _object(fd, _OWN_BYTES)
        finally:
            os.close(fd)

    def _write_own(self, own: Mapping[str, Any]) -> None:
        # Where it cannot be written, leftovers of this run are found by the next of the same experiment only.
        with contextlib.suppress(OSError):
            fd = self._open_own(os.O_RDWR | os.O_CREAT)
            try:
                text = json.dumps(dict(own)).encode()
                os.pwrite(fd, text, 0)
                os.ftruncate(fd, len(text))
            finally:
                os.close(fd)

    def release(self) -> None:
        """Give the lock up."""
        # The file first: who waits for the socket finds it free.
        for fd in (self._file, self._socket):
            if fd >= 0:
                os.close(fd)
        self._file = self._socket = -1


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _object(fd: int, longest: int) -> dict[str, Any]:
    """The JSON object at the beginning of a file; {} where it has another text."""
    try:
        value = json.loads(os.pread(fd, longest, 0))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _peer(connected: socket.socket) -> dict[str, str]:
    """The process that listens, as the kernel tells it; {} where it is not in this process' namespace."""
    with contextlib.suppress(OSError):
        pid, _, _ = struct.unpack("3i", connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        return {"pid": str(pid)} if pid else {}
    return {}


def _named(holder: Mapping[str, str]) -> str:
    if not holder:
        return "another process"
    name = f"process {holder.get('pid', 'unknown')}"
    if "holder" in holder:
        name += f" of {holder['holder']}"
    details = [holder.get("experiment", ""), f"since {holder['since']}" if "since" in holder else ""]
    known = ", ".join(filter(None, details))
    return f"{name} ({known})" if known else name
