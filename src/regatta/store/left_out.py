"""Hosts that were left out: the plan says why of those that were never ready, a receipt of those that were lost later."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from regatta.store.folder import Folder

LEFT_OUT = "left_out"
_REASON_CHARACTERS = 300


def hosts_left_out(folder: Folder) -> dict[str, str]:
    """Host -> why it was left out; nothing of hosts that were not. What cannot be read says nothing."""
    planned = _object(folder.experiment).get(LEFT_OUT)
    found = {str(host): _told(why) for host, why in planned.items()} if isinstance(planned, dict) else {}
    for host in folder.planned_hosts():
        for path in sorted((folder.receipts / host).glob("*.json")):
            if why := _object(path).get(LEFT_OUT):
                found[host] = _told(why)
                break
    return found


def _object(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _told(why: object) -> str:
    """In one line, and no longer than a person reads."""
    return " ".join(str(why).split())[:_REASON_CHARACTERS]
