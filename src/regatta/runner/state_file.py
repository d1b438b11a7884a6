"""What the runner is doing now, for `regatta status`, the progress bar, and the next start after a crash.

One short line, rewritten in place between invocations: 10 us, no sync, for it must only outlive the runner, not the machine.
"""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

from regatta.store.runner_state import process_start

_WIDTH = 1024


class StateFile:
    """The state of one segment on one host."""

    def __init__(self, path: Path, constant: dict[str, Any]) -> None:
        """Args:
        path: the file; its directory is made.
        constant: what does not change while the runner runs.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._constant = {**constant, "pid": os.getpid(), "pid_start": process_start(os.getpid())}

    def write(self, **changing: Any) -> None:
        """Write the state."""
        text = json.dumps(
            {**self._constant, **changing, "written_utc_s": int(time.time())}, ensure_ascii=False
        )
        data = text.encode()[: _WIDTH - 1]
        os.pwrite(self._fd, data.ljust(_WIDTH - 1) + b"\n", 0)

    def close(self) -> None:
        """Close the file; it stays."""
        os.close(self._fd)


def end_orphans(results_file: str) -> int:
    """Kill processes whose REGATTA_RESULTS is this file: they outlived a runner that was killed.

    The host's lock must be held, so that no living runner's processes are among them.

    Returns:
        How many were killed.
    """
    wanted = b"REGATTA_RESULTS=" + os.fsencode(results_file)
    killed = 0
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                if wanted not in file.read().split(b"\0"):
                    continue
            os.kill(int(entry), signal.SIGKILL)
            killed += 1
        except OSError:
            continue
    return killed
