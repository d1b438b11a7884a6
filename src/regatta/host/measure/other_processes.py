"""Name the busiest process that is not measured, after a perturbation: readers need to know what to end."""

from __future__ import annotations

import os
import time
from pathlib import Path

from regatta.host.processes import START, stat_fields
from regatta.host.values.record import Record

#: the limit whose excess these processes explain
_LIMIT = "other_cpu_percent"
#: indexes in `stat_fields`: ticks in user and in kernel mode
_USER, _SYSTEM = 11, 12
#: A look takes some milliseconds, so invocations within this time share one.
_SHARED_S = 5.0


class OtherProcesses:
    """The processor times of all visible processes."""

    def __init__(self, proc: str = "/proc") -> None:
        """Look at nothing yet. `proc`: another tree in tests."""
        self._proc = proc
        self._seen: dict[tuple[str, str], int] = {}
        self._at = -_SHARED_S

    def look(self, shared_s: float = _SHARED_S) -> None:
        """Look before an invocation, unless the last look is at most `shared_s` old."""
        if time.monotonic() - self._at >= shared_s:
            self._seen, self._at = self._ticks(), time.monotonic()

    def name_in(self, record: Record) -> None:
        """Add `process` to the exceeded limit of other processes in a record, if there is one.

        It is the name of the process that used most processor time since the last look.
        """
        for one in record["perturbation"]:
            if one["limit"] == _LIMIT and (name := self.busiest()):
                one["process"] = name
                record["reason"] = f"{record['reason']} (busiest other process: {name})"

    def busiest(self) -> str:
        """Return the name of the process with most processor time since the last look; "" without one."""
        used = {key: ticks - self._seen.get(key, 0) for key, ticks in self._ticks().items()}
        (pid, _), ticks = max(used.items(), key=lambda one: one[1], default=(("", ""), 0))
        try:
            return Path(self._proc, pid, "comm").read_text(errors="replace").strip() if ticks > 0 else ""
        except OSError:
            return ""

    def _ticks(self) -> dict[tuple[str, str], int]:
        """Return (pid, start) -> ticks in user and kernel mode, without this process."""
        own = str(os.getpid())
        found = {}
        for pid in os.listdir(self._proc):
            if pid.isdigit() and pid != own and len(fields := stat_fields(int(pid), self._proc)) > START:
                found[pid, fields[START]] = int(fields[_USER]) + int(fields[_SYSTEM])
        return found
