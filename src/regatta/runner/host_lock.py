"""One measurement at a time on a host: a lock that dies with its holder and says who it is."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import stat
import sys
import time
from pathlib import Path
from typing import Any

from regatta.errors import HostError
from regatta.printable import printable

DEFAULT_LOCK = "/tmp/regatta-measuring.lock"
#: characters of the text about the holder, which every user of the host can write
_LONGEST_HOLDER = 300


class HostLock:
    """An exclusive flock on a file that every user of the host can reach. Waits for the one who holds it."""

    def __init__(self, path: Path, holder: dict[str, Any], wait: bool = True) -> None:
        """Take the lock.

        Args:
            path: the lock file.
            holder: what to write into it: who holds it.
            wait: wait for another holder, or raise.

        Raises:
            HostError: the file cannot be used, or it is held and `wait` is false.
        """
        self.path = path
        self._fd = self._open()
        self.waited_for: str = ""
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            self.waited_for = self._holder()
            if not wait:
                os.close(self._fd)
                raise HostError(str(path), "no other measurement", self.waited_for, "wait for it") from error
            print(f"waiting: {self.waited_for} measures on this host", file=sys.stderr, flush=True)
            fcntl.flock(self._fd, fcntl.LOCK_EX)
        #: what the holder before wrote, who may have been killed and have left a process behind
        self.previous = self._read()
        text = json.dumps(
            {"pid": os.getpid(), "since": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), **holder}
        )
        try:
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, text.encode(), 0)
        except OSError:
            pass  # somebody else's file: the lock holds all the same, only its text is theirs

    def _open(self) -> int:
        for flags in (os.O_RDWR | os.O_CREAT, os.O_RDWR, os.O_RDONLY):
            try:
                fd = os.open(self.path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
            except OSError as error:
                last = error
                continue
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
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

    def _read(self) -> dict[str, Any]:
        try:
            holder = json.loads(os.pread(self._fd, 4096, 0))
        except (OSError, ValueError):
            return {}
        return holder if isinstance(holder, dict) else {}

    def _holder(self) -> str:
        holder = self._read()
        if not holder:
            return "another process"
        who = f" of {holder['holder']}" if holder.get("holder") else ""
        text = f"process {holder.get('pid')}{who} ({holder.get('experiment')}, since {holder.get('since')})"
        return printable(text, _LONGEST_HOLDER)

    def release(self) -> None:
        """Give the lock up."""
        os.close(self._fd)
