"""The folder of one experiment on a host that is measured from elsewhere: what lies where."""

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
