"""The types that the values of a record have: one table for the reader of journals, the acceptance of hosts' records, and the store.

No I/O; standard library only, for the runner carries it. `docs/protocol.md` section 3 is the reference of the keys.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, Literal

#: every status an invocation can end with
STATUSES = ("ok", "failed", "timeout", "oom", "crashed", "perturbed", "skipped")

#: of a value, and of the column that holds it; `int32s` is a list
Kind = Literal["text", "int32", "int64", "float", "int32s"]
_TEXT: Kind = "text"
_SHORT: Kind = "int32"
_INT: Kind = "int64"
_FLOAT: Kind = "float"

#: keys of a record
KEYS: dict[str, Kind] = {
    "invocation_id": _TEXT, "attempt": _SHORT, "cell_id": _TEXT,
    "experiment": _TEXT, "host": _TEXT, "platform": _TEXT, "plan_id": _TEXT, "seed": _INT, "order": _TEXT,
    "segment": _SHORT, "round": _SHORT, "block": _SHORT, "position": _SHORT, "planned_index": _INT, "sequence": _INT,
    "started_utc_ns": _INT, "started_monotonic_ns": _INT, "elapsed_ns": _INT,
    "status": _TEXT, "reason": _TEXT, "exit_code": _SHORT, "signal": _SHORT,
    "left_behind": _SHORT, "digest": _TEXT, "cores": "int32s", "padding_bytes": _INT,
}  # fmt: skip

_STATE: dict[str, Kind] = dict.fromkeys(
    (
        "load1", "psi_cpu_some_us", "psi_memory_some_us", "psi_memory_full_us", "psi_io_some_us", "psi_io_full_us",
        "busy_s", "steal_s", "swap_pages", "frequency_khz", "temperature_mc", "throttle_events",
    ),
    _FLOAT,
)  # fmt: skip
_OUTPUT: dict[str, Kind] = {"bytes": _INT, "head": _TEXT, "tail": _TEXT}

#: keys of the objects in a record that become columns
GROUPS: dict[str, dict[str, Kind]] = {
    "rusage": {
        "user_s": _FLOAT, "system_s": _FLOAT, "max_rss_kib": _INT, "minor_faults": _INT, "major_faults": _INT,
        "voluntary_switches": _INT, "involuntary_switches": _INT,
    },
    "cgroup": dict.fromkeys(("version", "cpu_ns", "memory_peak_bytes", "oom_kills"), _INT),
    "host_before": _STATE,
    "host_after": _STATE,
    "stdout": _OUTPUT,
    "stderr": _OUTPUT,
    "runner": {"version": _TEXT, "before_ns": _INT, "after_ns": _INT},
}  # fmt: skip

#: what every reader of a journal relies on; all other keys may be missing or null
NEEDED = (
    "invocation_id", "attempt", "cell_id", "experiment", "host", "platform", "plan_id", "order",
    "segment", "round", "block", "position", "sequence", "started_utc_ns", "elapsed_ns", "status", "iterations",
)  # fmt: skip

#: what a whole record of today has, `isolation` and `kept` apart
ALL_KEYS = (*KEYS, *GROUPS, "iterations", "info", "perturbation")

#: what may be negative, and the end of its integers; a clock may lie before 1970
_SIGNED = {"exit_code": 1 << 31, "started_utc_ns": 1 << 63, "started_monotonic_ns": 1 << 63}
#: how deep lists and objects may be nested; a workload's own `info` has at most 16 levels
_DEEPEST = 64
#: of an identifier or another name that is needed
_LONGEST_NAME = 200
#: of a kept file: one that a spec may name, which is any but a path. Anchored, for a pattern may begin anywhere
_FILE_NAME = re.compile(r"(?!\.{1,2}\Z)[^/\x00-\x1f\x7f]{1,255}\Z")
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")


def is_whole(value: object, end: int = 1 << 63, least: int = 0) -> bool:
    """Whether it is an integer, at least `least` and below `end`."""
    return type(value) is int and least <= value < end


def is_number(value: object) -> bool:
    """Whether it is a number that every reader of records can hold: finite, and an integer within 64 bits."""
    if type(value) is float:
        return math.isfinite(value)
    return is_whole(value, least=-(1 << 63))


def is_plain(value: object, depth: int = _DEEPEST) -> bool:
    """Whether every reader of records can read it again: numbers as above, nested no deeper than `depth`."""
    if isinstance(value, dict):
        return depth > 0 and all(is_plain(item, depth - 1) for item in value.values())
    if isinstance(value, list):
        return depth > 0 and all(is_plain(item, depth - 1) for item in value)
    return value is None or isinstance(value, (str, bool)) or is_number(value)


_IS: dict[Kind, Callable[[object], bool]] = {
    "text": lambda value: isinstance(value, str),
    "int32": lambda value: is_whole(value, 1 << 31),
    "int64": is_whole,
    "float": is_number,
    "int32s": lambda value: isinstance(value, list) and all(is_whole(item, 1 << 31) for item in value),
}


def shape_problem(record: Mapping[str, Any], needed: tuple[str, ...] = NEEDED) -> str:
    """Say what is wrong with the types of a record's values.

    Args:
        record: an object from JSON.
        needed: keys that it must have, `NEEDED` or `ALL_KEYS`.

    Returns:
        The first problem as text on one line; empty when there is none.
    """
    for key in needed:
        if key not in record:
            return f"no {key}"
    for key, value in record.items():
        expected = _expected(key, value)
        if expected:
            got = type(value).__name__ if isinstance(value, (list, dict)) else f"{value!r:.80}"
            return f"{key!r:.80}: expected {expected}, got {got}"
    return ""


def _expected(key: str, value: Any) -> str:
    """What a value should be; empty when it is that."""
    if value is None:
        return "a value" if key in NEEDED else ""
    kind = KEYS.get(key)
    if key in _SIGNED:
        end = _SIGNED[key]
        return "" if is_whole(value, end, -end) else "a whole number"
    if key == "status":
        return "" if value in STATUSES else "one of " + ", ".join(STATUSES)
    if kind is not None:
        if not _IS[kind](value):
            return f"a value of type {kind}"
        too_long = kind == "text" and key in NEEDED and len(value) > _LONGEST_NAME
        return f"at most {_LONGEST_NAME} characters" if too_long else ""
    if key in GROUPS:
        return _expected_in_group(GROUPS[key], value)
    if key == "iterations":
        right = isinstance(value, list) and all(map(_is_measurement, value))
        return "" if right else "a list of [iteration, metric, value, unit, operations, parameters]"
    if key == "info" or key == "isolation":
        return (
            "" if isinstance(value, dict) and is_plain(value) else "an object that is not nested too deeply"
        )
    if key == "perturbation":
        right = isinstance(value, list) and all(map(_is_exceeded_limit, value))
        return "" if right else "a list of {limit, allowed, measured}"
    if key == "kept":
        right = isinstance(value, list) and all(map(_is_kept_file, value))
        return "" if right else "a list of {name, bytes, sha256} or {name, error}"
    return "" if is_plain(value) else "finite numbers of 64 bits that are not nested too deeply"


def _expected_in_group(kinds: Mapping[str, Kind], value: Any) -> str:
    if not isinstance(value, dict):
        return "an object"
    # A key that is new joins its like: beside numbers alone it holds a number.
    other = is_plain if "text" in kinds.values() else is_number
    for key, item in value.items():
        right = _IS[kinds[key]] if key in kinds else other
        if item is not None and not right(item):
            return f"{key!r:.80} of type {kinds.get(key, 'number')}"
    return ""


def _is_measurement(value: object) -> bool:
    if not isinstance(value, list) or len(value) != 6:
        return False
    iteration, metric, measured, unit, operations, parameters = value
    return (
        is_whole(iteration)
        and isinstance(metric, str)
        and _is_measured(measured)
        and isinstance(unit, str)
        and (operations is None or is_whole(operations))
        and (
            parameters is None or (isinstance(parameters, dict) and all(map(_is_label, parameters.values())))
        )
    )


def _is_measured(value: object) -> bool:
    """Whether it is a number that a column of floats holds; an integer may be longer than 64 bits."""
    return is_number(value) or (type(value) is int and abs(value) <= sys.float_info.max)


def _is_label(value: object) -> bool:
    return isinstance(value, (str, bool)) or is_number(value)


def _is_exceeded_limit(value: object) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("limit"), str):
        return False
    return is_number(value.get("allowed")) and is_number(value.get("measured")) and is_plain(value)


def _is_kept_file(value: object) -> bool:
    if not isinstance(value, dict) or not set(value) <= {"name", "bytes", "sha256", "error"}:
        return False
    name, size, digest, error = (value.get(key) for key in ("name", "bytes", "sha256", "error"))
    return (
        isinstance(name, str)
        and _FILE_NAME.match(name) is not None
        and (size is None or is_whole(size))
        and (digest is None or (isinstance(digest, str) and _SHA256.match(digest) is not None))
        and (error is None or isinstance(error, str))
    )
