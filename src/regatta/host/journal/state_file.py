"""What the runner is doing now, for `regatta status`, the progress bar, and the next start after a crash.

One short line, rewritten in place between invocations: 10 us, no sync, for it must only outlive the runner, not the machine.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

from regatta.host.processes import process_start

_WIDTH = 1024
_SHORT_LABEL = 100
_ORPHANS_S = 10.0
_to_json = json.JSONEncoder(ensure_ascii=False).encode


class StateFile:
    """The state of one segment on one host."""

    def __init__(self, path: Path, constant: dict[str, Any]) -> None:
        """Args:
        path: the file; its directory is made.
        constant: what does not change while the runner runs.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        if os.fstat(self._fd).st_size > _WIDTH:
            # What is written in place would leave the end of a longer line.
            os.ftruncate(self._fd, 0)
        self._constant = {**constant, "pid": os.getpid(), "pid_start": process_start(os.getpid())}

    def write(self, **changing: Any) -> None:
        """Write the state."""
        state = {**self._constant, **changing, "written_utc_s": int(time.time())}
        data = _encode(state)
        if len(data) >= _WIDTH and state.get("cell"):
            state["cell"] = state["cell"][:_SHORT_LABEL] + "..."
            data = _encode(state)
        # A full disk must not stop a measurement for the sake of a line that only informs; the journal will tell.
        with contextlib.suppress(OSError):
            os.pwrite(self._fd, data.ljust(_WIDTH - 1) + b"\n", 0)

    def close(self) -> None:
        """Close the file; it stays."""
        os.close(self._fd)


def _encode(state: dict[str, Any]) -> bytes:
    return _to_json(state).encode("utf-8", "backslashreplace")


def end_orphans(results_file: str) -> int:
    """Kill processes whose REGATTA_RESULTS is this file: they outlived a runner that was killed.

    The host's lock must be held, so that no living runner's processes are among them.

    Returns:
        How many were killed.
    """
    wanted = b"REGATTA_RESULTS=" + os.fsencode(results_file)
    killed: set[int] = set()
    deadline = time.monotonic() + _ORPHANS_S
    # They may fork while they are looked for, and a killed one needs a moment: so until none is found.
    while time.monotonic() < deadline:
        found = _processes_with(wanted)
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)
        if not found:
            break
        time.sleep(0.002)
    return len(killed)


def _processes_with(variable: bytes) -> list[int]:
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            # Gone, somebody else's, or dead already: none of ours.
            with contextlib.suppress(OSError), open(f"/proc/{entry}/environ", "rb") as file:
                if variable in file.read().split(b"\0"):
                    found.append(int(entry))
    return found
