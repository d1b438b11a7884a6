"""Receipts show the workflow that a segment is done. They derive from the journal and are removed when it disagrees.

Each segment depends on the previous one, and all steps after measuring depend on the last. So withdrawing the receipt of a
segment also withdraws those of later segments and the final verdict.
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

#: Sources of the plan, in the folder of receipts; and its key that changes only to request a new check.
FINGERPRINT, AGAIN = "fingerprint.json", "again"
#: Receipt of a whole preparation, the steps before the measurements. It is gone while they run.
PLANNED = "plan.json"
#: Key of plans and receipts with the reason why a host was left out.
LEFT_OUT = "left_out"
#: Start of the names of receipts of decisions. They are beside the folders of hosts, because a host can have any name.
_DECIDED = "decided-"
_REASON_CHARACTERS = 300


def decided_name(segment: int) -> str:
    """Return the name of the receipt of what hosts decided together after a segment."""
    return f"{_DECIDED}{segment:05d}.json"


def _receipts(folder: Folder, host: str) -> list[Path]:
    return sorted((folder.receipts / host).glob("*.json"))


def _hosts(folder: Folder) -> list[str]:
    return sorted(path.name for path in folder.receipts.glob("*") if path.is_dir())


def _withdraw_from(folder: Folder, receipt: Path) -> None:
    withdraw_verdict(folder)
    for path in _receipts(folder, receipt.parent.name):
        if path.name >= receipt.name:
            path.unlink(missing_ok=True)
    for path in _decided_receipts(folder):
        if path.name >= _DECIDED + receipt.name:
            path.unlink(missing_ok=True)


def withdraw_verdict(folder: Folder) -> None:
    """Request a new verification of everything."""
    folder.verdict.unlink(missing_ok=True)
    (folder.receipts / "verified.txt").unlink(missing_ok=True)


def withdraw_all_receipts(folder: Folder) -> None:
    """Request a new run of every segment."""
    for host in _hosts(folder):
        for path in _receipts(folder, host)[:1]:
            _withdraw_from(folder, path)


def withdraw_receipts_of_touched_journals(folder: Folder) -> None:
    """Request a new run of segments whose journal file is missing or newer than its receipt (edited or restored)."""
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


def withdraw_receipts_of_perturbed_segments(folder: Folder) -> None:
    """Request a new run of segments with perturbed invocations, if the plan allows to repeat them."""
    for host in _hosts(folder):
        if not read_object(folder.host_plan(host) / "plan.json").get("limits", {}).get("retries"):
            continue
        for path in _receipts(folder, host):
            statuses = read_object(path).get("statuses")
            if isinstance(statuses, dict) and statuses.get("perturbed"):
                _withdraw_from(folder, path)
                break


def write_preparation(path: Path, value: Mapping[str, Any]) -> None:
    """Write the result of a step before the plan, with the hash of its source.

    The workflow treats an input with unchanged contents as unchanged. Without the hash, it would forget a step that was not
    reached.
    """
    try:
        made_from = hashlib.sha256((path.parent / FINGERPRINT).read_bytes()).hexdigest()
    except OSError:
        made_from = ""
    write_json(path, {**value, "made_from": made_from})


def ask_hosts_again(folder: Folder) -> None:
    """Request a new check of the hosts, and a new plan from it. Both depend on this one file.

    Its contents change, because the workflow ignores a new modification time alone.
    """
    path = folder.receipts / FINGERPRINT
    value = read_object(path)
    if value:
        write_json(path, {**value, AGAIN: secrets.token_hex(4)})


def withdraw_unprepared(folder: Folder) -> None:
    """Request a new preparation if the last one failed or was killed.

    The plan is then that of an earlier spec, or is missing.
    """
    if not (folder.receipts / PLANNED).exists() or not folder.experiment.exists():
        ask_hosts_again(folder)


def withdraw_left_out(folder: Folder) -> None:
    """Request a new check of hosts that were left out: they can be available now."""
    left_out = [
        host for host in _hosts(folder) if any(_left_out(path) for path in _receipts(folder, host)[:1])
    ]
    if left_out or _left_out(folder.receipts / "provision.json"):
        ask_hosts_again(folder)
    for host in left_out:
        _withdraw_from(folder, _receipts(folder, host)[0])


def way_of(folder: Folder) -> str:
    """Return the profile that the hosts were prepared for; "" if unknown."""
    return str(read_object(folder.receipts / "provision.json").get("way", ""))


def withdraw_for_another_way(folder: Folder, way: str) -> bool:
    """Request a new check of hosts that were prepared for another profile, because their files are in different places.

    Returns:
        Whether the profile differs.
    """
    other = way_of(folder) not in ("", way)
    if other:
        ask_hosts_again(folder)
    return other


def sent_receipt(folder: Folder, host: str = "", segment: int = 0) -> Path:
    """Return the receipt of the ingest to InfluxDB: after a segment of a host, or at the end (no host).

    It is next to the cursors and not among the receipts of hosts, because a host can have any name.
    """
    sent = folder.path / "influx" / "receipts"
    return sent / host / f"{segment:05d}.json" if host else sent / "all.json"


def sending_hindrance(folder: Folder) -> str:
    """Return why the receipt of the ingest cannot be written; "" if it can."""
    receipts = sent_receipt(folder).parent
    for path in (receipts.parent, receipts, *(p for p in receipts.glob("*") if p.is_dir())):
        if not os.path.lexists(path):
            continue
        if not path.is_dir():
            return f"{path} is not a folder"
        if not os.access(path, os.W_OK | os.X_OK):
            return f"{path} is not writable"
    return ""


def unsent(folder: Folder) -> str:
    """Return why the last ingest to InfluxDB was incomplete; "" if it was complete or not needed."""
    hindrance = sending_hindrance(folder)
    if hindrance:
        return hindrance
    told = _sent(folder)
    if told is None or not (_waits(told) or told.get("refused") or told.get("refused_before")):
        return ""
    if told.get("reason"):
        return str(told["reason"])
    refused = told.get("refused", 0) + told.get("refused_before", 0)
    return (
        f"points rejected: {refused} ({told.get('refusal')})" if refused else "some points are not sent yet"
    )


def _sent(folder: Folder) -> dict[str, Any] | None:
    """Return the content of the last receipt; None without one."""
    try:
        return parse_object(sent_receipt(folder))
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return {"reason": "its receipt is not readable"}


def _waits(told: Mapping[str, Any]) -> bool:
    """Return whether there is data left that a new ingest would send."""
    return told.get("waiting") != 0 or bool(told.get("reason"))


def withdraw_unsent(folder: Folder, identity: str) -> None:
    """Request a new ingest if data is pending, events are newer, or the InfluxDB differs from that of `identity`.

    New measurements are covered by the answer, which is made again.
    """
    receipt, told = sent_receipt(folder), _sent(folder)
    if told is None:
        return
    if _newer(events_path(folder.path), receipt) or _waits(told) or told.get("identity") != identity:
        # If it cannot be removed, nothing is sent: `sending_hindrance` reports the reason.
        with contextlib.suppress(OSError):
            receipt.unlink(missing_ok=True)


def is_sent(folder: Folder) -> bool:
    """Return whether all measurements and events were sent to InfluxDB; estimates are not considered."""
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
    """Return whether the first segment is done but its decisions are missing; a new run recreates them."""
    if not _receipts(folder, host) or folder.decisions(host).exists() or host not in folder.planned_hosts():
        return False
    header = folder.host_header(host)
    if "looks" in (header.get("stopping") or {}) and not _decided_receipts(folder):
        # The hosts have not decided yet.
        return False
    return bool(groups_of(header))


def _decided_receipts(folder: Folder) -> list[Path]:
    return sorted(folder.receipts.glob(f"{_DECIDED}*.json"))


def withdraw_receipts(folder: Folder, segments: Mapping[str, Sequence[int]], before_ns: int) -> None:
    """Request a new run of these segments (host -> numbers), unless their receipts are newer than `before_ns`.

    If the folder is read-only, do nothing: reading the experiment of another user is not an error.
    """
    for host, numbers in segments.items():
        for number in numbers:
            path = folder.receipts / host / f"{number:05d}.json"
            with contextlib.suppress(OSError):
                if path.stat().st_mtime_ns < before_ns:
                    _withdraw_from(folder, path)
                    break


def hosts_left_out(folder: Folder) -> dict[str, str]:
    """Return host -> why it was left out: from the plan for hosts never ready, from a receipt for hosts lost later.

    Unreadable files are ignored.
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
    """Return the reason in one line of readable length."""
    return " ".join(str(why).split())[:_REASON_CHARACTERS]
