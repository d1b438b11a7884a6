"""Allow one measurement at a time on a host, with a lock that is released when its holder dies.

It consists of two locks. An abstract Unix socket excludes every process in the host's network namespace and cannot be
deleted. A file excludes every process that sees it, also in other network namespaces. Any user of the host can write the file:
its text is shown, bounded and printable, and decides nothing. Each user has a private file with the data that the next holder
needs to end leftovers.
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
#: A path has at most 4096 bytes, and JSON may need six per byte.
_OWN_BYTES = 1 << 16
#: for users: names of experiments, users and hosts
_SHOWN = 80
_SHOWN_KEYS = ("pid", "experiment", "holder", "since")
#: between attempts to connect to a socket that is bound but does not listen yet
_SHORTEST_PAUSE_S, _LONGEST_PAUSE_S = 0.005, 1.0


class HostLock:
    """An exclusive lock that every user of the host can take. Waits for the current holder."""

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
            holder: shown to other users: who holds the lock.
            own: for the next holder of the same user, as `previous`.
            wait: wait for another holder, or raise.
            waiting: called before each wait with the known values of `pid`, `experiment`, `holder` and `since` of the
                current holder; all are printable.

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
            #: data of the same user's previous holder, which may have been killed and left a process behind
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
                    str(self.path), "a regular file without other links", "another kind of file", "remove it"
                )
            if status.st_uid == os.geteuid() and status.st_size == 0:
                # Writable for every user of the host, independent of the creator's umask.
                with contextlib.suppress(OSError):
                    os.fchmod(fd, 0o666)
            return fd
        raise HostError(str(self.path), "a lock file", str(last.strerror), "check its owner, and remove it")

    def _take_socket(self) -> None:
        """Bind the abstract name. Without support for such sockets, the file is the only lock."""
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
                    # The holder has ended, or does not listen yet.
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
        """Lock the file that currently has the path's name; locking a deleted file has no effect."""
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno not in (errno.EAGAIN, errno.EACCES):
                    raise
                self._must_wait({})
                # Processes that wait for the socket then wait for the file's holder, too.
                self._listen()
                fcntl.flock(self._file, fcntl.LOCK_EX)
            with contextlib.suppress(OSError):
                if os.path.samestat(os.fstat(self._file), os.lstat(self.path)):
                    return
            os.close(self._file)
            self._file = -1
            self._file = self._open()

    def _listen(self) -> None:
        """Let others connect, so that they notice immediately when this process ends."""
        if self._socket >= 0:
            with contextlib.suppress(OSError), socket.socket(fileno=os.dup(self._socket)) as bound:
                bound.listen()

    def _must_wait(self, known: dict[str, str]) -> None:
        """Report the holder.

        Raises:
            HostError: waiting is disabled.
        """
        told = self._told()
        # Another file of this name has another text: in a chroot or a container with its own /tmp.
        is_its_text = told.get("pid") == known.get("pid") or "pid" not in known or self._is_held()
        holder = {**known, **(told if is_its_text else {})}
        name = _named(holder)
        if not self._wait:
            raise HostError(str(self.path), "an unused host", f"in use by {name}", "wait until it ends")
        if name != self.waited_for:
            self.waited_for = name
            print(f"waiting: the host is in use by {name}", file=sys.stderr, flush=True)
            self._waiting(holder)

    def _is_held(self) -> bool:
        """Return whether some visible process has locked the file, without locking it; True if that is unknown."""
        status = os.fstat(self._file)
        device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
        try:
            locks = Path("/proc/locks").read_text()
        except OSError:
            return True
        # `1: FLOCK  ADVISORY  WRITE 4680 08:01:1234 0 EOF`; the line of a waiting process has an arrow.
        lines = (line.split() for line in locks.splitlines())
        return any(words[1] == "FLOCK" and device in words for words in lines if len(words) > 5)

    def _told(self) -> dict[str, str]:
        """Return the file's description of its holder, which any user may have written."""
        told = _object(self._file, _TEXT_BYTES)
        return {
            key: printable(str(told[key]), _SHOWN)
            for key in _SHOWN_KEYS
            if isinstance(told.get(key), (str, int)) and told[key] != ""
        }

    def _write(self, holder: Mapping[str, Any]) -> None:
        # If another user owns the file, the lock is still effective, but the text stays unchanged.
        with contextlib.suppress(OSError):
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, json.dumps(holder).encode(), 0)

    def _open_own(self, flags: int) -> int:
        """Open this user's private file next to the lock, which no other user can have written.

        Raises:
            OSError: the file does not exist or is not private.
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
        except FileNotFoundError:
            return {}
        except OSError as error:
            reason = f"{printable(str(error.filename))} is not a private file of this user"
            print(f"note: {reason}: what a killed run left was not ended; remove the file", file=sys.stderr)
            return {}
        try:
            return _object(fd, _OWN_BYTES)
        finally:
            os.close(fd)

    def _write_own(self, own: Mapping[str, Any]) -> None:
        # If it cannot be written, only the next run of the same experiment finds the leftovers of this run.
        with contextlib.suppress(OSError):
            fd = self._open_own(os.O_RDWR | os.O_CREAT)
            try:
                text = json.dumps(dict(own)).encode()
                os.pwrite(fd, text, 0)
                os.ftruncate(fd, len(text))
            finally:
                os.close(fd)

    def release(self) -> None:
        """Release the lock."""
        # The file first, so that processes waiting for the socket find it free.
        for fd in (self._file, self._socket):
            if fd >= 0:
                os.close(fd)
        self._file = self._socket = -1


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _object(fd: int, longest: int) -> dict[str, Any]:
    """Return the JSON object at the beginning of a file; {} for any other text."""
    try:
        value = json.loads(os.pread(fd, longest, 0))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _peer(connected: socket.socket) -> dict[str, str]:
    """Return the listening process as the kernel reports it; {} if it is not in this process's namespace."""
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
