"""Reading what a runner says of itself. Standard library only, for the runner carries it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def process_start(pid: int) -> int | None:
    """Start time of a process in ticks since boot, which with its number is its identity.

    None when it is gone, or is dead and only waits for a parent that may never ask about it.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            words = file.read().rpartition(b")")[2].split()
        return None if words[0] in (b"Z", b"X") else int(words[19])
    except (OSError, IndexError, ValueError):
        return None


def read_state(path: Path) -> dict[str, Any] | None:
    """The state that a runner left, with `alive` added; None when there is none or it cannot be read."""
    try:
        state = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(state, dict) or not isinstance(state.get("pid"), int):
        return None
    start = process_start(state["pid"])
    state["alive"] = start is not None and start == state.get("pid_start")
    return state
