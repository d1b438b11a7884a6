"""Encode a record, or the description of a cell, as one line of JSON with a checksum, and decode it.

No I/O; standard library only, because the runner carries it. `docs/protocol.md` section 3 is the reference of the keys.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from regatta.host.errors import NewerVersion
from regatta.host.journal.record_shape import cell_problem, shape_problem
from regatta.host.values.plan_cell import CellDescription
from regatta.host.values.record import Record

RECORD_VERSION: Final = 1

#: statuses that report a failure of the program, not of its environment
FAILURES = ("failed", "timeout", "oom", "crashed", "skipped")

_CRC_KEY = b',"crc32":"'
_TAIL_LENGTH = len(_CRC_KEY) + 8 + len(b'"}')

#: beginning of each line of this version
_THIS_VERSION = b'{"v":%d,' % RECORD_VERSION
_BEGINNING = re.compile(rb'\{"v":%d,"invocation_id":"([^"\\]+)"' % RECORD_VERSION)
#: a lone or paired surrogate, escaped or as its bytes
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]|\xed[\xa0-\xbf]")
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode
#: faster than `json.loads`, which first detects the encoding
_decode = json.JSONDecoder().decode

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


class DamagedLine(ValueError):
    """A line of a journal that differs from the written one."""


def without_surrogates(value: Any) -> Any:
    """Return the value with lone surrogates, also in keys, escaped as `\\udcff`. UTF-8 and JSON readers do not support them."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_surrogates(item) for item in value]
    return value


def encode_record(record: Mapping[str, Any]) -> bytes:
    """Return the line of a record with its checksum last and a newline. Escape lone surrogates.

    Args:
        record: JSON values only; no key `crc32`; must not be empty.

    Raises:
        ValueError: a number is not finite.
    """
    try:
        body = _encode(record).encode()[:-1]
    except UnicodeEncodeError:
        body = _encode(without_surrogates(record)).encode()[:-1]
    return b'%b%b%08x"}\n' % (body, _CRC_KEY, zlib.crc32(body))


def check_line(line: bytes) -> bytes:
    """Check a line (with or without newline) against its checksum. Return its body without closing brace and checksum.

    Raises:
        DamagedLine: the line is too short, has no checksum, or the checksum differs.
    """
    line = line.rstrip(b"\n")
    body, tail = line[:-_TAIL_LENGTH], line[-_TAIL_LENGTH:]
    if not tail.startswith(_CRC_KEY) or not tail.endswith(b'"}'):
        raise DamagedLine("checksum missing")
    if tail[len(_CRC_KEY) : -2] != b"%08x" % zlib.crc32(body):
        raise DamagedLine("checksum mismatch")
    return body


def of_this_version(line: bytes) -> bool:
    """Return whether a line starts as a line of this version, without check or decoding."""
    return line.startswith(_THIS_VERSION)


def id_in_line(line: bytes) -> str:
    """Return the invocation id of a record's line without check or decoding; empty if the line does not start as a record."""
    match = _BEGINNING.match(line)
    return match.group(1).decode("ascii", "replace") if match else ""


def decode_line(line: bytes) -> dict[str, Any]:
    """Check and decode a line of a journal, of records or of events.

    Raises:
        DamagedLine: see `check_line`; also if the line is not a JSON object of this version.
        NewerVersion: the line is valid, and of a newer version.
    """
    body = check_line(line)
    try:
        value = _decode((body + b"}").decode("utf-8", "surrogatepass"))
        # First search for the start bytes of a surrogate, because the pattern is as slow as the parser.
        if (b"\\" in body or b"\xed" in body) and _SURROGATE.search(body):
            value = without_surrogates(value)
    except ValueError as error:
        raise DamagedLine(f"not JSON: {error}") from error
    except RecursionError:
        raise DamagedLine("nested too deeply") from None
    version = value.get("v") if isinstance(value, dict) else None
    if isinstance(version, int) and version > RECORD_VERSION:
        raise NewerVersion("a line of the journal", RECORD_VERSION, version)
    if version != RECORD_VERSION:
        raise DamagedLine(f"not a record of version {RECORD_VERSION}")
    checked: dict[str, Any] = value
    return checked


def decode_record(line: bytes) -> Record:
    """Check a line and decode its record.

    Raises:
        DamagedLine: see `decode_line`; also if a value is missing or has another type.
    """
    record: Record = _checked(line, shape_problem)
    return record


def decode_cell(line: bytes) -> CellDescription:
    """Check a line of `cells.jsonl` and decode its description.

    Raises:
        DamagedLine: see `decode_line`; also if a value is missing or has another type.
    """
    cell: CellDescription = _checked(line, cell_problem)
    return cell


def _checked(line: bytes, problem_of: Callable[[dict[str, Any]], str]) -> Any:
    value = decode_line(line)
    problem = problem_of(value)
    if problem:
        raise DamagedLine(problem)
    return value


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
    """Check a line and decode only what `regatta status` shows of its record: a journal can have millions.

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
