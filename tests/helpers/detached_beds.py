"""One experiment, and a host that is this machine behind the interface of another."""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers.runner_plans import HOST, cell, sh, write_plan
from regatta.fleet.agent import Agent
from regatta.fleet.detached import DetachedSegment
from regatta.fleet.remote.here import Here
from regatta.host.journal.journal import Damage, read_journal
from regatta.host.journal.record import decode_record, encode_record
from regatta.host.values.host import Host
from regatta.store.folder import Folder

SLOW = cell("slow", ["/bin/sleep", "0.2"])


@dataclass
class Bed:
    """One experiment, and a host that is this machine behind the interface of another."""

    folder: Folder
    root: Path

    def agent(self, remote: type[Here] = Here) -> Agent:
        """The way to the host."""
        return Agent(remote(Host(HOST, "local", python=sys.executable, root=str(self.root))))

    def segment(self, remote: type[Here] = Here) -> DetachedSegment:
        """The first segment, from the controller's side."""
        return DetachedSegment(self.folder, self.agent(remote), 0, False)

    def measure(self, remote: type[Here] = Here) -> dict[str, Any]:
        """Measure it to its end; returns the receipt."""
        return self.segment(remote).run()

    @property
    def there(self) -> Path:
        """The experiment's folder on the host."""
        (found,) = (self.root / "experiments").iterdir()
        return found

    @property
    def journal_there(self) -> Path:
        return self.there / "journal" / "00000.jsonl"

    def invocations(self) -> list[str]:
        """Of all records here, sorted; a damaged line fails."""
        found = []
        for item in read_journal(self.folder.path):
            assert not isinstance(item, Damage), item
            found.append(f"{item['invocation_id']}-a{item['attempt']}")
        return sorted(found)

    def complete_records(self) -> int:
        """How many records are here while somebody else appends: the last line may be incomplete."""
        return sum(not isinstance(item, Damage) for item in read_journal(self.folder.path))

    def planned(self, rounds: int) -> list[str]:
        return planned(SLOW, rounds)

    def plan_held(self, rounds: int) -> tuple[dict[str, Any], Path]:
        """Plan a cell whose third invocation waits for a file; return both."""
        go_on = self.folder.path.parent / "go-on"
        wait = f"until test -e {go_on}; do sleep 0.05; done"
        held = sh("held", f'case "$REGATTA_INVOCATION" in *-r0 | *-r1) ;; *) {wait} ;; esac', timeout_s=600)
        write_plan(self.folder, [held], rounds=rounds)
        return held, go_on

    def kill_runner(self) -> None:
        """As the kernel does when memory runs out."""
        os.kill(int(json.loads((self.there / "running.lock").read_text())["pid"]), signal.SIGKILL)


def planned(cell: dict[str, Any], rounds: int) -> list[str]:
    """The first attempts of all invocations of a cell, sorted."""
    return sorted(f"{cell['cell_id']}-r{number}-a0" for number in range(rounds))


def changed(line: bytes, **keys: Any) -> bytes:
    """A record with other values, its checksum right."""
    record = {key: value for key, value in decode_record(line).items() if key != "crc32"}
    return encode_record({**record, **keys}).rstrip(b"\n")
