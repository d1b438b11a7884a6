"""Interface of all connections to a host: run, open, put, get, close."""

from __future__ import annotations

import subprocess
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regatta.host.errors import HostError
from regatta.host.values.host import Host

# Limits on data from a host, which may be broken or untrusted. Larger data is refused, so that it cannot fill this machine.
#: answer on standard output
MAXIMUM_ANSWER_BYTES = 64 << 20
#: messages on standard error besides an answer; the end is kept
MAXIMUM_TOLD_BYTES = 64 << 20
KEPT_TOLD_BYTES = 65_536
#: line of a journal: a record holds two capped outputs and its iterations
LONGEST_LINE_BYTES = 64 << 20
#: state of a runner
LONGEST_STATE_BYTES = 65_536
#: journal file that is fetched as a whole
LARGEST_JOURNAL_BYTES = 16 << 30
#: one file that a suite keeps, and all files fetched at the end of one segment
LARGEST_KEPT_BYTES = 1 << 30
MOST_KEPT_BYTES = 64 << 30
MOST_ATTEMPTS = 100_000
#: maximum number of invalid lines before reading stops
MOST_REFUSED_LINES = 1000


class Unreachable(HostError):
    """The connection to the host is broken. Processes on the host continue."""


@dataclass(frozen=True)
class Answer:
    """Result of a command on a host."""

    returncode: int
    stdout: bytes
    stderr: str

    def last_line(self) -> str:
        """Return the last line of standard error for a message, at most one screen wide."""
        return last_line(self.stderr) or f"exit {self.returncode}"


def last_line(text: str) -> str:
    """Return the last line of an output for a message; "" without any."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:400] if lines else ""


def distrusted(where: str, expected: str, got: str) -> HostError:
    """Return the error of a host whose data is not as expected."""
    return HostError(where, expected, got, "find the cause before you trust this host")


class Remote(ABC):
    """A host and its connection. Commands are lists of words, quoted for any shell in between."""

    def __init__(self, host: Host) -> None:
        self.host = host

    @abstractmethod
    def run(self, argv: Sequence[str], stdin: bytes | Path = b"", timeout_s: float = 600.0) -> Answer:
        """Run a command and wait for its end.

        Args:
            stdin: its standard input, or a file with it.
            timeout_s: after this time the host counts as unreachable.

        Raises:
            Unreachable: the connection is broken.
            HostError: the output exceeds the limits of this module.
        """

    @abstractmethod
    def open(self, argv: Sequence[str]) -> subprocess.Popen[bytes]:
        """Start a command and read its output while it runs; its standard input is empty."""

    @abstractmethod
    def words(self, argv: Sequence[str]) -> list[str]:
        """Return a command of this machine that executes one on the host, with its standard input and output."""

    @abstractmethod
    def put(self, source: Path, target: str) -> None:
        """Copy a file to the host atomically; create missing folders.

        Raises:
            Unreachable: the connection is broken.
            HostError: the file cannot be written there.
        """

    @abstractmethod
    def get(self, source: str, target: Path, maximum_bytes: int) -> None:
        """Copy a file from the host atomically.

        Raises:
            Unreachable: the connection is broken.
            HostError: the file does not exist, or exceeds `maximum_bytes`.
        """

    def close(self) -> None:
        """Close the connection; processes on the host continue."""
        return
