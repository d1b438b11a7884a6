"""Receipts: what tells the workflow that a segment is done. Derived from the journal, and taken back when it says otherwise.

Each segment waits for the one before it, and everything after measuring for the last: so with the receipt of a segment go
those of the segments after it, and the verdict over all.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from regatta.host.files import parse_object, read_object
from regatta.host.journal.decisions import groups_of
from regatta.host.journal.journal import journal_files
from regatta.store.events import events_path
from regatta.store.folder import Folder, write_json

#: what the plan was made from, in the folder of receipts; and its key that only says how often that was asked for
FINGERPRINT, AGAIN = "fingerprint.json", "again"
#: the key of a plan and of receipts that says why a host was left out
LEFT_OUT = "left_out"
_REASON_CHARACTERS = 300


def _receipts(folder: Folder, host: str) -> list[Path]:
    return sorted((folder.receipts / host).glob("*.json"))


def _hosts(folder: Folder) -> list[str]:
    return sorted(path.name for path in folder.receipts.glob("*") if path.is_dir())


def _withdraw_from(folder: Folder, receipt: Path) -> None:
    withdraw_verdict(folder)
    for path in _receipts(folder, receipt.parent.name):
        if path.name >= receipt.name:
            path.unlink(missing_ok=True)


def withdraw_verdict(folder: Folder) -> None:
    """Have everything verified again."""
    folder.verdict.unlink(missing_ok=True)
    (folder.receipts / "verified.txt").unlink(missing_ok=True)


def withdraw_all_receipts(folder: Folder) -> None:
    """Have every segment walked again."""
    for host in _hosts(folder):
        for path in _receipts(folder, host)[:1]:
            _withdraw_from(folder, path)


def withdraw_receipts_of_touched_journals(folder: Folder) -> None:
    """Have segments walked again whose journal file is gone or was written after its receipt: somebody edited or restored it."""
    if set(folder.planned_hosts()) - set(_hosts(folder)):
        withdraw_verdict(folder)
    for host in _hosts(folder):
        if _decisions_are_gone(folder, host):
            _withdraw_from(folder, _receipts(folder, host)[0])
        for path in _receipts(folder, host):
            journal = folder.journal / host / f"{path.stem}.jsonl"
            if _left_out(path):
                continue
            try:
                touched = journal.stat().st_mtime_ns > path.stat().st_mtime_ns
            except FileNotFoundError:
                touched = True
            if touched:
                _withdraw_from(folder, path)
                break


def write_preparation(path: Path, value: Mapping[str, Any]) -> None:
    """Write what a step before the plan has found, with what it was made from.

    The workflow takes an input for unchanged where its contents are: a step that was not reached would be forgotten else.
    """
    try:
        made_from = hashlib.sha256((path.parent / FINGERPRINT).read_bytes()).hexdigest()
    except OSError:
        made_from = ""
    write_json(path, {**value, "made_from": made_from})


def ask_hosts_again(folder: Folder) -> None:
    """Have hosts asked what they are and have, and the plan made of it: all of that comes from this one file.

    Its contents change, for the workflow takes no notice of a new time alone.
    """
    path = folder.receipts / FINGERPRINT
    value = read_object(path)
    if value:
        write_json(path, {**value, AGAIN: secrets.token_hex(4)})


def withdraw_left_out(folder: Folder) -> None:
    """Have hosts that were left out asked again: they may be there now."""
    left_out = [
        host for host in _hosts(folder) if any(_left_out(path) for path in _receipts(folder, host)[:1])
    ]
    if left_out or _left_out(folder.receipts / "provision.json"):
        ask_hosts_again(folder)
    for host in left_out:
        _withdraw_from(folder, _receipts(folder, host)[0])


def way_of(folder: Folder) -> str:
    """The profile that the hosts were made ready for; empty where nothing says so."""
    return str(read_object(folder.receipts / "provision.json").get("way", ""))


def withdraw_for_another_way(folder: Folder, way: str) -> bool:
    """Have hosts asked again that were made ready for another profile: what was brought lies elsewhere there.

    Returns:
        Whether it was another one.
    """
    other = way_of(folder) not in ("", way)
    if other:
        ask_hosts_again(folder)
    return other


def sent_receipt(folder: Folder, host: str = "", segment: int = 0) -> Path:
    """Where it is written what was sent to InfluxDB: after a segment of a host, or in the end (no host).

    Beside the cursors and not among the receipts of hosts, one of which may have any name.
    """
    sent = folder.path / "influx" / "receipts"
    return sent / host / f"{segment:05d}.json" if host else sent / "all.json"


def sending_hindrance(folder: Folder) -> str:
    """Why it cannot be written down what was sent to InfluxDB; empty where it can."""
    receipts = sent_receipt(folder).parent
    for path in (receipts.parent, receipts, *(p for p in receipts.glob("*") if p.is_dir())):
        if not os.path.lexists(path):
            continue
        if not path.is_dir():
            return f"{path} is no folder"
        if not os.access(path, os.W_OK | os.X_OK):
            return f"{path} cannot be written"
    return ""


def unsent(folder: Folder) -> str:
    """Why what is recorded is not all in InfluxDB, as it was tried last; empty where it is, or where there was nothing to send."""
    hindrance = sending_hindrance(folder)
    if hindrance:
        return hindrance
    told = _sent(folder)
    if told is None or not (_waits(told) or told.get("refused") or told.get("refused_before")):
        return ""
    if told.get("reason"):
        return str(told["reason"])
    refused = told.get("refused", 0) + told.get("refused_before", 0)
    return f"it refused {refused} points: {told.get('refusal')}" if refused else "some of it waits"


def _sent(folder: Folder) -> dict[str, Any] | None:
    """What the last receipt says; None where there is none."""
    try:
        return parse_object(sent_receipt(folder))
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return {"reason": "its receipt cannot be read"}


def _waits(told: Mapping[str, Any]) -> bool:
    """Whether there is something left that sending again would bring."""
    return told.get("waiting") != 0 or bool(told.get("reason"))


def withdraw_unsent(folder: Folder, identity: str) -> None:
    """Have sent what waits still, happened since, or went to another InfluxDB than that of `identity`.

    What was measured since is told by the answer, which is made again.
    """
    receipt, told = sent_receipt(folder), _sent(folder)
    if told is None:
        return
    if _newer(events_path(folder.path), receipt) or _waits(told) or told.get("identity") != identity:
        # Where it cannot be taken away nothing is sent: `sending_hindrance` says so.
        with contextlib.suppress(OSError):
            receipt.unlink(missing_ok=True)


def is_sent(folder: Folder) -> bool:
    """Whether all that was measured and that happened was sent to InfluxDB, the estimates aside."""
    receipt, told = sent_receipt(folder), _sent(folder)
    return (
        told is not None
        and not _waits(told)
        and not any(_newer(path, receipt) for path in (events_path(folder.path), *journal_files(folder.path)))
    )


def _newer(path: Path, receipt: Path) -> bool:
    try:
        return path.stat().st_mtime_ns > receipt.stat().st_mtime_ns
    except OSError:
        return False


def _left_out(receipt: Path) -> bool:
    return bool(read_object(receipt).get(LEFT_OUT))


def _decisions_are_gone(folder: Folder, host: str) -> bool:
    """Whether the first segment was done and what it decided is not there: walking it again makes it anew."""
    if not _receipts(folder, host) or folder.decisions(host).exists():
        return False
    return host in folder.planned_hosts() and bool(groups_of(folder.host_header(host)))


def withdraw_receipts(folder: Folder, segments: Mapping[str, Sequence[int]], before_ns: int) -> None:
    """Have these segments (host -> numbers) walked again, unless their receipts are newer than `before_ns`.

    Where the folder may not be written, nothing is: reading an experiment of somebody else is no error.
    """
    for host, numbers in segments.items():
        for number in numbers:
            path = folder.receipts / host / f"{number:05d}.json"
            with contextlib.suppress(OSError):
                if path.stat().st_mtime_ns < before_ns:
                    _withdraw_from(folder, path)
                    break


def hosts_left_out(folder: Folder) -> dict[str, str]:
    """Host -> why it was left out: the plan says so of those that were never ready, a receipt of those that were lost later.

    Nothing of hosts that were not left out. What cannot be read says nothing.
    """
    planned = read_object(folder.experiment).get(LEFT_OUT)
    found = {str(host): _told(why) for host, why in planned.items()} if isinstance(planned, dict) else {}
    for host in folder.planned_hosts():
        for path in _receipts(folder, host):
            if why := read_object(path).get(LEFT_OUT):
                found[host] = _told(why)
                break
    return found


def _told(why: object) -> str:
    """In one line, and no longer than a person reads."""
    return " ".join(str(why).split())[:_REASON_CHARACTERS]
