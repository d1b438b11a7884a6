"""Reading what a runner says of itself. Standard library only, for the runner carries it."""

from __future__ import annotations

import calendar
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regatta.host.files import parse_object
from regatta.host.processes import process_start


def read_state(path: Path) -> dict[str, Any] | None:
    """The state that a runner left, with `alive` added; None when there is none or it cannot be read."""
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
    """For whom a runner waits: `waiting for host local: demo (ada@lab), since 20:41`, local time; "" when it does not wait."""
    holder = state.get("waiting_for")
    if not isinstance(holder, dict):
        return ""
    told = {key: str(holder[key]) for key in ("pid", "experiment", "holder", "since") if key in holder}
    who = told.get("experiment") or (f"process {told['pid']}" if "pid" in told else "another process")
    if "holder" in told:
        who += f" ({told['holder']})"
    since = f", since {_local(told['since'])}" if "since" in told else ""
    return f"waiting for host {state.get('host')}: {who}{since}"


def _local(since: str) -> str:
    """A time that a lock's holder told, with its day where that is not today; as it is where it is no such time."""
    try:
        then = time.localtime(calendar.timegm(time.strptime(since, "%Y-%m-%dT%H:%M:%SZ")))
    except (ValueError, OverflowError, OSError):
        return since
    today = time.localtime()[:3] == then[:3]
    return time.strftime("%H:%M" if today else "%Y-%m-%d %H:%M", then)
