"""What every way to a host can do: run, open, put, get, close."""

from __future__ import annotations

import subprocess
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regatta.host.errors import HostError
from regatta.host.values.host import Host


class Unreachable(HostError):
    """The way to the host is broken, now. What runs there goes on."""


@dataclass(frozen=True)
class Answer:
    """A command that ended on a host."""

    returncode: int
    stdout: bytes
    stderr: str

    def last_line(self) -> str:
        """The last line of what it told, for an error's text; not more than a screen is wide."""
        lines = [line.strip() for line in self.stderr.splitlines() if line.strip()]
        return lines[-1][:400] if lines else f"exit {self.returncode}"


class Remote(ABC):
    """A host and the way to it. Commands are lists of words; whatever shell lies between sees them quoted."""

    def __init__(self, host: Host) -> None:
        self.host = host

    @abstractmethod
    def run(self, argv: Sequence[str], stdin: bytes | Path = b"", timeout_s: float = 600.0) -> Answer:
        """Run a command to its end.

        Args:
            argv: its words.
            stdin: what it reads, or the file that it reads.
            timeout_s: after which the host counts as unreachable.

        Raises:
            Unreachable: the way is broken.
            HostError: it printed more than `regatta.fleet.bounds` allows.
        """

    @abstractmethod
    def open(self, argv: Sequence[str]) -> subprocess.Popen[bytes]:
        """Start a command whose output is read while it runs; its standard input is empty."""

    @abstractmethod
    def put(self, source: Path, target: str) -> None:
        """Copy a file to the host, whole or not at all; folders on the way are made.

        Raises:
            Unreachable: the way is broken.
            HostError: it cannot be written there.
        """

    @abstractmethod
    def get(self, source: str, target: Path, maximum_bytes: int) -> None:
        """Copy a file from the host, whole or not at all.

        Raises:
            Unreachable: the way is broken.
            HostError: there is no such file, or it is larger than `maximum_bytes`.
        """

    def close(self) -> None:
        """End what the connection holds; what was started on the host goes on."""
        return
