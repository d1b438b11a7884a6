"""Hosts that were left out: the plan says why of those that were never ready, a receipt of those that were lost later."""

from __future__ import annotations

from regatta.host.files import read_object
from regatta.store.folder import Folder

LEFT_OUT = "left_out"
_REASON_CHARACTERS = 300


def hosts_left_out(folder: Folder) -> dict[str, str]:
    """Host -> why it was left out; nothing of hosts that were not. What cannot be read says nothing."""
    planned = read_object(folder.experiment).get(LEFT_OUT)
    found = {str(host): _told(why) for host, why in planned.items()} if isinstance(planned, dict) else {}
    for host in folder.planned_hosts():
        for path in sorted((folder.receipts / host).glob("*.json")):
            if why := read_object(path).get(LEFT_OUT):
                found[host] = _told(why)
                break
    return found


def _told(why: object) -> str:
    """In one line, and no longer than a person reads."""
    return " ".join(str(why).split())[:_REASON_CHARACTERS]
