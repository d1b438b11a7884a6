"""Notice that the program of a role is ready: without a fixed sleep, and without a connection to it."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from regatta.host.errors import HostError

#: A look at a file of the kernel or of the role; only until it is ready, so before anything is measured.
_LOOK_S = 0.005
_LONGEST_LINE_BYTES = 64 * 1024
_LISTENING = {"tcp": "0A", "tcp6": "0A", "udp": "07", "udp6": "07"}

#: called once, with the values that the output of the role gives
Tell = Callable[[Mapping[str, str]], None]


class Output:
    """Searches the lines of standard output."""

    def __init__(self, pattern: str, tell: Tell) -> None:
        self._pattern = re.compile(pattern)
        self._tell: Tell | None = tell
        self._line = b""

    def follow(self, data: bytes) -> None:
        """Take the next bytes."""
        if self._tell is None:
            return
        *lines, self._line = (self._line + data).split(b"\n")
        self._line = self._line[-_LONGEST_LINE_BYTES:]
        for line in lines:
            match = self._pattern.search(line.decode("utf-8", "replace"))
            if match:
                self._tell({name: text or "" for name, text in match.groupdict().items()})
                self._tell = None
                return


class Look:
    """Looks in a thread until something is there."""

    def __init__(self, is_there: Callable[[], bool], tell: Tell) -> None:
        self._is_there = is_there
        self._tell = tell
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="ready", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while not self._over.is_set():
            if self._is_there():
                self._tell({})
                return
            self._over.wait(_LOOK_S)

    def end(self) -> None:
        """Stop to look."""
        self._over.set()
        self._thread.join()


def listens(text: str) -> Callable[[], bool]:
    """Return a function that tells whether a port of this network namespace has a listener, TCP or UDP.

    Source: proc(5), /proc/net/tcp: the local address is hexadecimal, and the state 0A is TCP_LISTEN.

    Raises:
        HostError: the text is not a port.
    """
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 1 << 16):
        raise HostError("`ready: port`", "a number from 1 to 65535", repr(text), "correct the parameter")
    end = f":{int(text):04X}"

    def look() -> bool:
        for name, state in _LISTENING.items():
            try:
                # This thread can be in another network namespace than the process had at its start.
                rows = Path(f"/proc/thread-self/net/{name}").read_text().splitlines()[1:]
            except OSError:
                continue
            if any(fields[1].endswith(end) and fields[3] == state for fields in map(str.split, rows)):
                return True
        return False

    return look


def holds_something(path: Path) -> Callable[[], bool]:
    """Return a function that tells whether a file exists and is not empty."""

    def look() -> bool:
        try:
            return path.stat().st_size > 0
        except OSError:
            return False

    return look
