"""Interface of all connections to a host: run, open, put, get, close."""

from __future__ import annotations

import subprocess
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regatta.host.errors import HostError
from regatta.host.values.host import Host


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
        lines = [line.strip() for line in self.stderr.splitlines() if line.strip()]
        return lines[-1][:400] if lines else f"exit {self.returncode}"


class Remote(ABC):
    """A host and its connection. Commands are lists of words, quoted for any shell in between."""

    def __init__(self, host: Host) -> None:
        self.host = host

    @abstractmethod
    def run(self, argv: Sequence[str], stdin: bytes | Path = b"", timeout_s: float = 600.0) -> Answer:
        """Run a command and wait for its end.

        Args:
            argv: the words of the command.
            stdin: its standard input, or a file with it.
            timeout_s: after this time the host counts as unreachable.

        Raises:
            Unreachable: the connection is broken.
            HostError: the output exceeds the limits of `regatta.fleet.bounds`.
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
