"""Layout of an experiment's folder on a remote host."""

from __future__ import annotations

from pathlib import Path


class HostFolder:
    """`<root>/experiments/<name>-<id>/` on the host."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.plan = path / "plan"
        self.journal = path / "journal"
        self.scratch = path / "scratch"
        self.state = path / "state.json"
        #: held by the measuring process during its lifetime
        self.lock = path / "running.lock"

    def receipt(self, segment: int) -> Path:
        """Return the path of the receipt that the runner writes after a segment."""
        return self.path / "receipts" / f"{segment:05d}.json"

    def ended(self, segment: int) -> Path:
        """Return the path of the outcome of a segment's last run."""
        return self.path / "ended" / f"{segment:05d}.json"

    def log(self, segment: int) -> Path:
        """Return the path of the runner's log."""
        return self.path / "logs" / f"{segment:05d}.log"

    def errors(self, segment: int) -> Path:
        """Return the path of the runner's errors, one JSON line each."""
        return self.path / "logs" / f"{segment:05d}.errors.jsonl"
