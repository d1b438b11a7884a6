"""The record of one invocation as one checked line of JSON. No I/O; standard library only, for the runner carries it.

`docs/protocol.md` section 3 is the reference of the keys.
"""

from __future__ import annotations

import json
import re
import zlib
from typing import Any

RECORD_VERSION = 1

#: every status an invocation can end with
STATUSES = ("ok", "failed", "timeout", "oom", "crashed", "perturbed", "skipped")
#: those that say something went wrong with the program (not with its surroundings)
FAILURES = ("failed", "timeout", "oom", "crashed", "skipped")

_CRC_KEY = b',"crc32":"'
_TAIL_LENGTH = len(_CRC_KEY) + 8 + len(b'"}')

_BEGINNING = re.compile(rb'\{"v":%d,"invocation_id":"([^"\\]+)"' % RECORD_VERSION)
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


class DamagedLine(ValueError):
    """A line of a journal that is not what was written."""


def encode_record(record: dict[str, Any]) -> bytes:
    """Make the line of a record, its checksum last, its newline included.

    Args:
        record: JSON values only; no key `crc32`; must not be empty.

    Raises:
        ValueError: a number is not finite.
    """
    body = _encode(record).encode("utf-8", "backslashreplace")[:-1]
    return b'%b%b%08x"}\n' % (body, _CRC_KEY, zlib.crc32(body))


def check_line(line: bytes) -> bytes:
    """Check a line (with or without its newline) against its checksum and return its body, without brace and checksum.

    Raises:
        DamagedLine: it is too short, has no checksum, or the checksum differs.
    """
    line = line.rstrip(b"\n")
    body, tail = line[:-_TAIL_LENGTH], line[-_TAIL_LENGTH:]
    if not tail.startswith(_CRC_KEY) or not tail.endswith(b'"}'):
        raise DamagedLine("no checksum at its end")
    if tail[len(_CRC_KEY) : -2] != b"%08x" % zlib.crc32(body):
        raise DamagedLine("its checksum differs")
    return body


def id_in_line(line: bytes) -> str:
    """The invocation id of a record's line, neither checked nor decoded; empty when the line does not begin as a record does."""
    match = _BEGINNING.match(line)
    return match.group(1).decode("ascii", "replace") if match else ""


def decode_record(line: bytes) -> dict[str, Any]:
    """Check a line and read it.

    Raises:
        DamagedLine: see `check_line`; also when the line is not a JSON object of this version.
    """
    body = check_line(line)
    try:
        record = json.loads(body + b"}")
    except ValueError as error:
        raise DamagedLine(f"not JSON: {error}") from error
    if not isinstance(record, dict) or record.get("v") != RECORD_VERSION:
        raise DamagedLine(f"not a record of version {RECORD_VERSION}")
    return record
