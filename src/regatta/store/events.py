"""The events of an experiment, logged next to its journal: started, measuring, failed, ended.

The log is `events.jsonl` in the folder of the experiment, one checksummed JSON line per event. Events only record times and
decide nothing. All measurements are in the journal, and a failure to write an event does not fail the work.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regatta.host.errors import StoreError
from regatta.host.files import take_lock
from regatta.host.journal.record import (
    RECORD_VERSION,
    DamagedLine,
    decode_line,
    encode_record,
    without_surrogates,
)

#: Kind -> meaning.
KINDS = {
    "experiment_started": "the workflow started",
    "experiment_ended": "the workflow ended; `text` is its result",
    "provisioned": "the hosts are ready",
    "stage": "a step of the workflow started; `text` is its name",
    "segment_started": "a host started a segment",
    "segment_ended": "a host finished a segment",
    "waiting": "a host waits for another run; `text` names it",
    "waiting_ended": "a host no longer waits for another run",
    "job_failed": "a step of the workflow failed; `text` is its rule and the reason",
    "progress": "progress of a host",
    "verified": "result of `regatta verify`",
}
#: Optional fields of an event, in addition to kind, host and time.
FIELDS: dict[str, type] = {
    "text": str,
    #: Log file in `logs/` of a failed step.
    "log": str,
    "cell": str,
    "segment": int,
    "planned": int,
    "recorded": int,
    "failed": int,
    "perturbed": int,
    "remaining_s": float,
}
#: Statuses that events report as `failed`. Running out of memory in a small heap is a result, and skipped invocations did not
#: run.
FAILED = ("failed", "timeout", "crashed")
EVENTS = "events.jsonl"
NO_HOST = "none"

#: Longer texts are truncated, because an event is a line for people.
MAXIMUM_TEXT = 2000
#: Maximum length of a line, so that the last one can be found from the end of the file.
_MAXIMUM_LINE_BYTES = 1 << 16
_LOCK_PATIENCE_S = 5.0
_HEAD = ("v", "utc_ns", "kind", "host")


@dataclass(frozen=True)
class Event:
    """An event and the position of its line."""

    #: Unique in its file, and later than all previous events.
    utc_ns: int
    kind: str
    #: `none` if it does not concern a single host.
    host: str
    fields: dict[str, Any]
    #: Offsets of the first byte of its line and of the byte after its newline.
    offset: int
    end: int


def events_path(folder: Path) -> Path:
    """Return the path of the events of an experiment."""
    return folder / EVENTS


def append_event(folder: Path, kind: str, host: str = NO_HOST, **fields: str | int | float) -> int:
    """Append an event to the experiment in `folder`, atomically and durably, with concurrent writers.

    Args:
        folder: folder of the experiment; must exist.
        kind: one of `KINDS`.
        host: its host.
        fields: some of `FIELDS`; long texts are truncated.

    Returns:
        Its time in ns since 1970, later than that of every event before it.

    Raises:
        StoreError: the disk is full, or the folder cannot be written.
        ValueError: unknown kind or field.
    """
    told = _checked(kind, fields)
    path = events_path(folder)
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            # The holder writes one line, so only a suspended process holds the lock for long.
            take_lock(fd, _LOCK_PATIENCE_S)
            size, last_ns = _whole(fd)
            utc_ns = max(time.time_ns(), last_ns + 1)
            line = encode_record({"v": RECORD_VERSION, "utc_ns": utc_ns, "kind": kind, "host": host, **told})
            _append(fd, size, line)
        finally:
            os.close(fd)
    except OSError as error:
        raise StoreError(
            str(path),
            "free space for an event",
            str(error.strerror or error),
            "free disk space, or choose --results",
        ) from error
    return utc_ns


def counts_of(told: Mapping[str, Any]) -> dict[str, int]:
    """Return the counts in a receipt or a verdict as fields of an event; empty without them."""
    statuses = told.get("statuses")
    if not isinstance(statuses, dict) or not isinstance(told.get("planned"), int):
        return {}
    return {
        "planned": told["planned"],
        "recorded": sum(statuses.values()),
        "failed": sum(statuses.get(status, 0) for status in FAILED),
        "perturbed": statuses.get("perturbed", 0),
    }


def _checked(kind: str, fields: dict[str, Any]) -> dict[str, Any]:
    if kind not in KINDS:
        raise ValueError(f"unknown kind of event: {kind!r}")
    told = {}
    for name, value in fields.items():
        wanted = FIELDS.get(name)
        if wanted is float and isinstance(value, int):
            value = float(value)
        if wanted is None or not isinstance(value, wanted) or isinstance(value, bool):
            raise ValueError(f"invalid field of an event: {name}={value!r}")
        # Truncate last, because replacing a surrogate lengthens the text.
        told[name] = without_surrogates(value)[:MAXIMUM_TEXT] if isinstance(value, str) else value
    return told


def _whole(fd: int) -> tuple[int, int]:
    """Return the size of the file up to its last complete line, and the time of the last readable event, or 0."""
    size = os.fstat(fd).st_size
    beginning = max(0, size - 2 * _MAXIMUM_LINE_BYTES)
    tail = os.pread(fd, size - beginning, beginning)
    end = tail.rfind(b"\n") + 1
    for line in reversed(tail[:end].split(b"\n")[:-1]):
        with suppress(DamagedLine, KeyError, TypeError):
            return beginning + end, int(decode_line(line)["utc_ns"])
    return beginning + end, 0


def _append(fd: int, size: int, line: bytes) -> None:
    """Write a line after `size` bytes. Remove the partial line of a killed writer."""
    os.ftruncate(fd, size)
    try:
        if os.write(fd, line) != len(line):
            raise OSError(errno.ENOSPC, "No space left on device (the line was cut short)")
        os.fdatasync(fd)
    except OSError:
        with suppress(OSError):
            os.ftruncate(fd, size)
        raise


def read_events(path: Path, offset: int = 0) -> Iterator[Event]:
    """Yield the events whose lines begin at `offset` or later, in order.

    An incomplete last line is ignored. Damaged lines are skipped. A missing file has no events.

    Raises:
        OSError: the file cannot be read.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        file.seek(offset)
        while (line := file.readline(_MAXIMUM_LINE_BYTES)).endswith(b"\n"):
            event = _event(line, offset)
            offset += len(line)
            if event is not None:
                yield event


def _event(line: bytes, offset: int) -> Event | None:
    try:
        told = decode_line(line)
        utc_ns, kind, host = int(told["utc_ns"]), told["kind"], told["host"]
    except (DamagedLine, KeyError, TypeError, ValueError):
        return None
    if not isinstance(kind, str) or not isinstance(host, str):
        return None
    fields = {
        name: value
        for name, value in told.items()
        if name not in _HEAD and isinstance(value, FIELDS.get(name, ()))
    }
    return Event(utc_ns, kind, host, fields, offset, offset + len(line))
