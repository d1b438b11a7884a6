"""Read counters at the borders of iterations, when the measured program asks for it.

The program writes `begin N` or `end N` as a line to a FIFO and waits for one byte from another one. Meanwhile the runner reads
the counters. So a program needs neither rights nor a library, in any language, and what it asks costs nothing between the borders.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from regatta.host.counters.perf_events import out_of_the_way

T = TypeVar("T")

_REQUEST = re.compile(rb"(begin|end) (\d{1,9})")
_LONGEST_REQUEST = 64
#: of a program without end
_MOST_WINDOWS = 100_000
_ANSWER = b"\n"
_CHUNK_BYTES = 4096


class Borders(Generic[T]):
    """The two FIFOs of an invocation, and what was read at the borders. `drain` is called when `fd` is readable."""

    def __init__(self, path: Path, read: Callable[[bool], T]) -> None:
        """Make the FIFOs `path.ask` and `path.answer`.

        Args:
            path: in a folder that is emptied before each invocation.
            read: returns what is kept of a border; its argument tells whether an iteration begins.

        Raises:
            OSError: they cannot be made.
        """
        self.path = path
        #: iteration -> at its begin, at its end
        self.windows: dict[int, tuple[T, T]] = {}
        #: the first request that could not be answered; "": none
        self.refused = ""
        self._read = read
        self._begun: dict[int, T] = {}
        self._rest = b""
        self._asker = ""
        opened = []
        for name in ("ask", "answer"):
            fifo = f"{path}.{name}"
            os.mkfifo(fifo, 0o600)
            # Open for both, it never blocks and has no end.
            opened.append(out_of_the_way(os.open(fifo, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)))
        self.fd, self._answers = opened

    def drain(self) -> bool:
        """Answer all complete requests. Return True: the FIFO has no end."""
        try:
            data = os.read(self.fd, _CHUNK_BYTES)
        except BlockingIOError:
            return True
        *requests, self._rest = (self._rest + data).split(b"\n")
        for request in requests:
            self.mark(request)
            try:
                os.write(self._answers, _ANSWER)
            except BlockingIOError:
                # The program asks without reading answers.
                self._refuse(request)
        if len(self._rest) > _LONGEST_REQUEST:
            self._refuse(self._rest)
            self._rest = b""
        return True

    def mark(self, request: bytes, asker: str = "the program") -> None:
        """Read at a border: `begin N` or `end N`. Only the first asker's iterations count."""
        self._asker = self._asker or asker
        if asker != self._asker:
            self.refused = self.refused or f"{self._asker} and {asker} both mark iterations"
            return
        match = _REQUEST.fullmatch(request)
        number = int(match[2]) if match else 0
        if match is None or (match[1] == b"end" and number not in self._begun):
            self._refuse(request)
        elif match[1] == b"begin" and len(self._begun) < _MOST_WINDOWS:
            self._begun[number] = self._read(True)
            self.windows.pop(number, None)
        elif match[1] == b"end":
            self.windows[number] = (self._begun[number], self._read(False))

    def _refuse(self, request: bytes) -> None:
        text = request[:_LONGEST_REQUEST].decode("utf-8", "backslashreplace")
        self.refused = self.refused or f"expected `begin N`, then `end N` · got {text!r}"

    def close(self) -> None:
        """Close the FIFOs; requests can no longer be made."""
        for fd in (self.fd, self._answers):
            os.close(fd)
