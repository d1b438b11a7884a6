"""Encode a record, or the description of a cell, as one line of JSON with a checksum, and decode it.

No I/O; standard library only, because the runner carries it. `docs/protocol.md` section 3 is the reference of the keys.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from typing import Any, Final

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
    record: Any = decode_line(line)
    problem = shape_problem(record)
    if problem:
        raise DamagedLine(problem)
    checked: Record = record
    return checked


def decode_cell(line: bytes) -> CellDescription:
    """Check a line of `cells.jsonl` and decode its description.

    Raises:
        DamagedLine: see `decode_line`; also if a value is missing or has another type.
    """
    cell: Any = decode_line(line)
    problem = cell_problem(cell)
    if problem:
        raise DamagedLine(problem)
    checked: CellDescription = cell
    return checked
