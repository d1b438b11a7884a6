"""The folder of one experiment on a host that is measured from elsewhere: what lies where."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any


class HostFolder:
    """`<root>/experiments/<name>-<id>/` on the host."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.plan = path / "plan"
        self.journal = path / "journal"
        self.scratch = path / "scratch"
        self.state = path / "state.json"
        #: held by whoever measures here, for as long as it lives
        self.lock = path / "running.lock"

    def receipt(self, segment: int) -> Path:
        """What the runner leaves when a segment is done."""
        return self.path / "receipts" / f"{segment:05d}.json"

    def ended(self, segment: int) -> Path:
        """How the last run of a segment ended."""
        return self.path / "ended" / f"{segment:05d}.json"

    def log(self, segment: int) -> Path:
        """What the runner said."""
        return self.path / "logs" / f"{segment:05d}.log"

    def errors(self, segment: int) -> Path:
        """Errors of the runner, a JSON line each."""
        return self.path / "logs" / f"{segment:05d}.errors.jsonl"


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object of ours; empty when it is not there or is none."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def write_durably(path: Path, value: dict[str, Any]) -> None:
    """Write JSON so that it is there whole after a crash, or not at all.

    Raises:
        OSError: no room.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            json.dump(value, file)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        fd = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
