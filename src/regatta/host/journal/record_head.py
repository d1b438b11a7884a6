"""Decode only what `regatta status` shows of a record. It is in the first quarter of its line; a journal can have millions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from regatta.host.journal.record import RECORD_VERSION, check_line, decode_record

#: of 64 bits at most
_TEXT, _NUMBER = rb'"[^"\\]*"', rb"-?\d{1,19}"
#: the keys of a line in their order (`measure.record_making.unmeasured`), up to the last one that is shown
_KEYS = {
    "v": b"%d" % RECORD_VERSION,
    "invocation_id": _TEXT,
    "attempt": _NUMBER,
    "cell_id": rb'"(?P<cell_id>[^"\\]+)"',
    "experiment": _TEXT,
    "host": rb'"(?P<host>[^"\\]+)"',
    "platform": _TEXT,
    "plan_id": _TEXT,
    "seed": _NUMBER,
    "order": _TEXT,
    "segment": _NUMBER,
    "round": rb"(?P<round>\d{1,19})",
    "block": _NUMBER,
    "position": _NUMBER,
    "planned_index": _NUMBER,
    "sequence": _NUMBER,
    "started_utc_ns": _NUMBER,
    "started_monotonic_ns": _NUMBER,
    "elapsed_ns": rb"(?P<elapsed_ns>\d{1,19})",
    "status": b'"(?P<status>ok|failed|timeout|oom|crashed|perturbed|skipped)"',
}
_HEAD = re.compile(rb"\{" + b",".join(b'"%b":%b' % (key.encode(), value) for key, value in _KEYS.items()))


class RecordHead(NamedTuple):
    """A record without its measurements."""

    host: str
    cell_id: str
    round: int
    status: str
    elapsed_ns: int
    #: the exceeded limits of a perturbed one
    perturbation: Sequence[Mapping[str, Any]] = ()


def decode_head(line: bytes) -> RecordHead:
    """Check a line and decode the head of its record.

    Raises:
        DamagedLine, NewerVersion: see `decode_record`. The types of the values after the head are not checked.
    """
    match = _HEAD.match(check_line(line))
    if match is None or match["status"] == b"perturbed":
        # Another order of the keys, escaped characters in a name, or limits that follow the head.
        record = decode_record(line)
        return RecordHead(
            record["host"],
            record["cell_id"],
            record["round"],
            record["status"],
            record["elapsed_ns"],
            tuple(record.get("perturbation") or ()),
        )
    host, cell_id, status = (match[name].decode("utf-8", "replace") for name in ("host", "cell_id", "status"))
    return RecordHead(host, cell_id, int(match["round"]), status, int(match["elapsed_ns"]))
