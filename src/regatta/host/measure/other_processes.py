"""Name the busiest process that is not measured, after a perturbation: readers need to know what to end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from regatta.host.values.record import Record

#: the limit whose excess these processes explain
_LIMIT = "other_cpu_percent"


class OtherProcesses:
    """The processor times of all visible processes, some milliseconds per look; no look without a perturbation."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        """Take the first look. `proc`: another tree in tests."""
        self._proc = proc
        self._seen = self._look()

    def name_in(self, record: Record) -> None:
        """Add `process` to the exceeded limit of other processes in a record, if there is one.

        It is the name of the process that used most processor time since the last look: since the last such record, or
        the start of the segment.
        """
        for one in record["perturbation"]:
            if one["limit"] == _LIMIT and (name := self.busiest()):
                one["process"] = name
                record["reason"] = f"{record['reason']} (busiest other process: {name})"

    def busiest(self) -> str:
        """Return the name of the process with most processor time since the last look; "" without one."""
        before, self._seen = self._seen, self._look()
        used = {key: (ticks - before.get(key, (0, ""))[0], name) for key, (ticks, name) in self._seen.items()}
        ticks, name = max(used.values(), default=(0, ""))
        return name if ticks > 0 else ""

    def _look(self) -> dict[tuple[str, bytes], tuple[int, str]]:
        """Return (pid, start) -> ticks in user and kernel mode, and name; without this process."""
        return dict(self._read())

    def _read(self) -> Iterator[tuple[tuple[str, bytes], tuple[int, str]]]:
        own = str(os.getpid())
        for pid in os.listdir(self._proc):
            if not pid.isdigit() or pid == own:
                continue
            try:
                text = (self._proc / pid / "stat").read_bytes()
            except OSError:
                continue  # it has ended
            # pid (name) state ppid ...; a name can contain spaces and parentheses.
            head, _, rest = text.rpartition(b")")
            words = rest.split()
            if len(words) > 19:
                name = head.partition(b"(")[2].decode("utf-8", "replace")
                yield (pid, words[19]), (int(words[11]) + int(words[12]), name)
