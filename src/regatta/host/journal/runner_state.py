"""Current state of the runner, for `regatta status`, the progress bar, and the next start after a crash.

One short line, rewritten in place between invocations in 10 us. No sync: it must survive the runner, not the machine.
"""

from __future__ import annotations

import calendar
import contextlib
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regatta.host.files import parse_object
from regatta.host.processes import process_start

_WIDTH = 1024
_SHORT_LABEL = 100
_to_json = json.JSONEncoder(ensure_ascii=False).encode


class StateFile:
    """The state of one segment on one host."""

    def __init__(self, path: Path, constant: dict[str, Any]) -> None:
        """Open or create the file.

        Args:
            path: the file; its directory is created.
            constant: entries that do not change while the runner runs.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        if os.fstat(self._fd).st_size > _WIDTH:
            # Writing in place would leave the end of a longer line.
            os.ftruncate(self._fd, 0)
        self._constant = {**constant, "pid": os.getpid(), "pid_start": process_start(os.getpid())}

    def write(self, **changing: Any) -> None:
        """Write the state."""
        state = {**self._constant, **changing, "written_utc_s": int(time.time())}
        data = _encode(state)
        if len(data) >= _WIDTH:
            for key in ("cell", "tests"):
                if state.get(key):
                    state[key] = state[key][:_SHORT_LABEL] + "..."
            data = _encode(state)
        # The state is only informative, so a full disk must not stop a measurement; the journal reports it.
        with contextlib.suppress(OSError):
            os.pwrite(self._fd, data.ljust(_WIDTH - 1) + b"\n", 0)

    def close(self) -> None:
        """Close the file without removing it."""
        os.close(self._fd)


def _encode(state: dict[str, Any]) -> bytes:
    return _to_json(state).encode("utf-8", "backslashreplace")


def read_state(path: Path) -> dict[str, Any] | None:
    """Return the state that a runner wrote, with `alive` added; None if it is missing or unreadable."""
    try:
        state = parse_object(path)
    except (OSError, ValueError):
        return None
    if not isinstance(state.get("pid"), int):
        return None
    start = process_start(state["pid"])
    state["alive"] = start is not None and start == state.get("pid_start")
    return state


def waits_for(state: Mapping[str, Any]) -> str:
    """Describe what delays the first invocation; "" for nothing.

    The holder of the lock: `waiting for host local, used by demo (ada@lab) since 20:41` (local time). Or the test of a host:
    `testing loop on the halves of host local`.
    """
    if isinstance(state.get("tests"), str):
        return f"testing {state['tests']} on the halves of host {state.get('host')}"
    holder = state.get("waiting_for")
    if not isinstance(holder, dict):
        return ""
    told = {key: str(holder[key]) for key in ("pid", "experiment", "holder", "since") if key in holder}
    who = told.get("experiment") or (f"process {told['pid']}" if "pid" in told else "another process")
    if "holder" in told:
        who += f" ({told['holder']})"
    since = f" since {_local(told['since'])}" if "since" in told else ""
    return f"waiting for host {state.get('host')}, used by {who}{since}"


def _local(since: str) -> str:
    """Format the time from a lock holder in local time, with the date if it is not today. Return other text unchanged."""
    try:
        then = time.localtime(calendar.timegm(time.strptime(since, "%Y-%m-%dT%H:%M:%SZ")))
    except (ValueError, OverflowError, OSError):
        return since
    today = time.localtime()[:3] == then[:3]
    return time.strftime("%H:%M" if today else "%Y-%m-%d %H:%M", then)


def node_is_here(states: Path, host: str) -> bool:
    """Return whether the Slurm node of a host is this machine: the process of its runner then exists here."""
    state = read_state(states / f"{host}.node.json")
    return state is not None and bool(state["alive"])
