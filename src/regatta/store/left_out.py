"""Hosts that were planned and left out: their first receipt says why."""

from __future__ import annotations

import json

from regatta.store.folder import Folder

LEFT_OUT = "left_out"
_REASON_CHARACTERS = 300


def hosts_left_out(folder: Folder) -> dict[str, str]:
    """Planned host -> why it was left out; nothing of hosts that were not. A receipt that cannot be read says nothing."""
    found = {}
    for host in folder.planned_hosts():
        for path in sorted((folder.receipts / host).glob("*.json")):
            try:
                value = json.loads(path.read_bytes())
            except (OSError, ValueError):
                continue
            if isinstance(value, dict) and value.get(LEFT_OUT):
                found[host] = " ".join(str(value[LEFT_OUT]).split())[:_REASON_CHARACTERS]
                break
    return found
