"""Types of the values in a record and in a cell's description.

One table for the reader of journals, the acceptance of hosts' records, and the store. No I/O; standard library only,
because the runner carries it. `docs/protocol.md` section 3 is the reference of the keys.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, Literal

from regatta.host.values import record as shapes
from regatta.host.values.plan_cell import CellDescription, PlanCell
from regatta.host.values.record import Record

#: all statuses of an invocation
STATUSES = ("ok", "failed", "timeout", "oom", "crashed", "perturbed", "skipped")

#: type of a value and of its column; `int32s` is a list
Kind = Literal["text", "int32", "int64", "float", "int32s"]
_TEXT: Kind = "text"
_SHORT: Kind = "int32"
_INT: Kind = "int64"
_FLOAT: Kind = "float"

#: annotation -> kind; values of other types have no column
_KINDS: dict[str, Kind] = {
    "str": _TEXT,
    "Int32": _SHORT,
    "Int64": _INT,
    "float": _FLOAT,
    "list[Int32]": "int32s",
}


def _types_of(shape: Any) -> dict[str, str]:
    """Return the annotation of each key as text, without `None`."""
    return {key: hint.__forward_arg__.split(" | ")[0] for key, hint in shape.__annotations__.items()}


def _kinds_of(shape: Any) -> dict[str, Kind]:
    return {key: _KINDS[text] for key, text in _types_of(shape).items() if text in _KINDS}


#: keys of a record
KEYS = _kinds_of(Record)

#: keys of the objects in a record that are stored as columns
GROUPS: dict[str, dict[str, Kind]] = {
    key: _kinds_of(vars(shapes)[text])
    for key, text in _types_of(Record).items()
    if hasattr(vars(shapes).get(text), "__total__")
}

#: keys that every reader of a journal requires; all other keys may be missing or null
NEEDED = (
    "invocation_id", "attempt", "cell_id", "experiment", "host", "platform", "plan_id", "order",
    "segment", "round", "block", "position", "sequence", "started_utc_ns", "elapsed_ns", "status", "iterations",
)  # fmt: skip

#: keys of a complete current record, except `isolation` and `kept`
ALL_KEYS = (*KEYS, *GROUPS, "iterations", "info", "perturbation")

#: keys whose value can be negative -> upper bound; a clock can be before 1970
_SIGNED = {"exit_code": 1 << 31, "started_utc_ns": 1 << 63, "started_monotonic_ns": 1 << 63}
#: maximum nesting of lists and objects; `info` of a benchmark has at most 16 levels
_DEEPEST = 64
#: maximum length of an identifier or another required name
_LONGEST_NAME = 200
#: name of a kept file: any that a spec can contain, but not a path. Anchored at the end; use with `match`
_FILE_NAME = re.compile(r"(?!\.{1,2}\Z)[^/\x00-\x1f\x7f]{1,255}\Z")
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")

_Check = Callable[[Any], bool]


def is_whole(value: object, end: int = 1 << 63, least: int = 0) -> bool:
    """Return whether the value is an integer, at least `least` and below `end`."""
    return type(value) is int and least <= value < end


def is_number(value: object) -> bool:
    """Return whether all readers of records can represent the number: finite, and an integer within 64 bits."""
    if type(value) is float:
        return math.isfinite(value)
    return is_whole(value, least=-(1 << 63))


def is_plain(value: object, depth: int = _DEEPEST) -> bool:
    """Return whether all readers of records can read the value: numbers as in `is_number`, nesting up to `depth`."""
    if value is None or isinstance(value, (str, bool)):
        return True
    if isinstance(value, (dict, list)):
        if depth <= 0:
            return False
        for item in value.values() if isinstance(value, dict) else value:
            if not is_plain(item, depth - 1):
                return False
        return True
    return is_number(value)


def shape_problem(record: Mapping[str, Any], needed: tuple[str, ...] = NEEDED) -> str:
    """Return the first type error in a record's values.

    Args:
        record: an object from JSON.
        needed: required keys, `NEEDED` or `ALL_KEYS`.

    Returns:
        The first error as one line; empty without errors.
    """
    for key in needed:
        if key not in record:
            return f"no {key}"
    for key, value in record.items():
        if value is None and key not in NEEDED:
            continue
        if not _CHECKS.get(key, is_plain)(value):
            return _difference(key, value)
    return ""


def _difference(key: str, value: Any) -> str:
    """Return the name of the wrong value (in a group, the name of its wrong member), the expected and the actual type."""
    where, (is_right, expected) = f"{key!r:.80}", _RULES.get(key, (is_plain, _values_of(None)))
    if key in GROUPS and isinstance(value, dict):
        name = next(name for name in value if not is_right({name: value[name]}))
        where, value = f"{where}: {name!r:.80}", value[name]
        expected = _values_of(GROUPS[key].get(name, _kind_of_others(GROUPS[key])))
    got = type(value).__name__ if isinstance(value, (list, dict)) else f"{value!r:.80}"
    return f"{where}: expected {expected}, got {got}"


# Every reader checks every record. Therefore checks make few calls, test the usual case first, and build no text.


def is_int32(value: object) -> bool:
    """Return whether the value is an integer of 31 bits, at least 0."""
    return is_whole(value, 1 << 31)


def _is_int64(value: object) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def is_text(value: object) -> bool:
    """Return whether the value is a string."""
    return type(value) is str


def _is_name(value: object) -> bool:
    return type(value) is str and len(value) <= _LONGEST_NAME


def _is_plain_object(value: object) -> bool:
    return isinstance(value, dict) and is_plain(value)


def _within(end: int) -> _Check:
    return lambda value: type(value) is int and -end <= value < end


def _list_of(is_right: _Check) -> _Check:
    return lambda value: isinstance(value, list) and all(map(is_right, value))


_IS: dict[Kind | None, _Check] = {
    "text": is_text, "int32": is_int32, "int64": _is_int64, "float": is_number, "int32s": _list_of(is_int32),
    None: is_plain,
}  # fmt: skip


def _values_of(kind: Kind | None) -> str:
    return (
        f"a value of type {'string' if kind == 'text' else kind}"
        if kind
        else f"finite 64-bit numbers and at most {_DEEPEST} levels of nesting"
    )


def _kind_of_others(kinds: Mapping[str, Kind]) -> Kind | None:
    """Return the kind of unknown keys in a group: numbers, if all known keys of the group are numbers."""
    return None if "text" in kinds.values() else _FLOAT


def _group_of(kinds: Mapping[str, Kind]) -> _Check:
    if set(kinds.values()) == {_FLOAT}:
        return _are_numbers
    texts = frozenset(key for key, kind in kinds.items() if kind == _TEXT)
    checks = {key: _IS[kind] for key, kind in kinds.items()}
    other = _IS[_kind_of_others(kinds)]

    def is_group(value: object) -> bool:
        if not isinstance(value, dict):
            return False
        for key, item in value.items():
            if type(item) is int and 0 <= item < 1 << 63 and key not in texts:
                continue
            if not checks.get(key, other)(item) and item is not None:
                return False
        return True

    return is_group


def _are_numbers(group: object) -> bool:
    if not isinstance(group, dict):
        return False
    for item in group.values():
        if type(item) is float and -math.inf < item < math.inf:
            continue
        if type(item) is int and 0 <= item < 1 << 63:
            continue
        if item is not None and not is_number(item):
            return False
    return True


def _are_measurements(rows: object) -> bool:
    if not isinstance(rows, list):
        return False
    try:
        # Text or an object with six items is rejected too: its first item is text.
        for iteration, metric, measured, unit, operations, parameters in rows:
            kind = type(measured)
            if not (
                type(iteration) is int
                and 0 <= iteration < 1 << 63
                and type(metric) is str
                and (((kind is int or kind is float) and -1e18 < measured < 1e18) or _is_measured(measured))
                and type(unit) is str
                and (operations is None or is_whole(operations))
                and (parameters is None or _are_labels(parameters))
            ):
                return False
    except (TypeError, ValueError):
        return False  # a row is not a list, or does not have six items
    return True


def _are_labels(parameters: object) -> bool:
    return isinstance(parameters, dict) and all(map(_is_label, parameters.values()))


def _is_measured(value: object) -> bool:
    """Return whether a column of floats can hold the number; an integer can be longer than 64 bits."""
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


#: key of a record -> check of its value, and the expected type
_RULES: dict[str, tuple[_Check, str]] = {
    **{key: (_IS[kind], _values_of(kind)) for key, kind in KEYS.items()},
    **{
        key: (_is_name, f"a string of at most {_LONGEST_NAME} characters")
        for key in NEEDED
        if KEYS.get(key) == _TEXT
    },
    **{key: (_within(end), "an integer") for key, end in _SIGNED.items()},
    **{key: (_group_of(kinds), "an object") for key, kinds in GROUPS.items()},
    "status": (STATUSES.__contains__, "one of " + ", ".join(STATUSES)),
    "iterations": (_are_measurements, "a list of [iteration, metric, value, unit, operations, parameters]"),
    **dict.fromkeys(
        ("info", "isolation"), (_is_plain_object, f"an object with at most {_DEEPEST} levels of nesting")
    ),
    "perturbation": (_list_of(_is_exceeded_limit), "a list of {limit, allowed, measured}"),
    "kept": (_list_of(_is_kept_file), "a list of {name, bytes, sha256} or {name, error}"),
}
_CHECKS = {key: is_right for key, (is_right, _) in _RULES.items()}

#: annotation -> check of a value in a cell's description, and the expected type
_CELL_TYPES: dict[str, tuple[_Check, str]] = {
    "str": (is_text, _values_of("text")),
    "int": (_is_int64, _values_of("int64")),
    "float": (is_number, _values_of("float")),
    "list[str]": (_list_of(is_text), "a list of strings"),
}
_ANY = (is_plain, _values_of(None))
_CELL_NEEDED = ("cell_id", "experiment", "host", "benchmark")
_CELL_RULES = {
    **{key: _CELL_TYPES.get(text, _ANY) for key, text in _types_of(CellDescription).items()},
    **dict.fromkeys(("cell_id", "experiment", "host"), _RULES["cell_id"]),
}


#: annotation of a list or an object in a plan -> its check; members are checked where they are used
_CONTAINERS: dict[str, tuple[_Check, str]] = {
    "list": (lambda value: isinstance(value, list), "a list"),
    "dict": (lambda value: isinstance(value, dict), "an object"),
}
_CONTAINERS["PlanAdapter"] = _CONTAINERS["PlanExpectation"] = _CONTAINERS["dict"]
_PLAN_CELL_RULES = {
    key: _CELL_TYPES[text] if text in _CELL_TYPES else _CONTAINERS[text.partition("[")[0]]
    for key, text in _types_of(PlanCell).items()
    if text in _CELL_TYPES or text.partition("[")[0] in _CONTAINERS
}


def plan_cell_problem(cell: object) -> str:
    """Return the first type error in a cell of a plan as one line; empty without errors."""
    if not isinstance(cell, dict):
        return f"expected an object, got {cell!r:.80}"
    for key in ("cell_id", "benchmark"):
        if not _is_name(cell.get(key)):
            return f"{key}: expected a name, got {cell.get(key)!r:.80}"
    for key, (is_right, expected) in _PLAN_CELL_RULES.items():
        if cell.get(key) is not None and not is_right(cell[key]):
            return f"{key}: expected {expected}, got {cell[key]!r:.80}"
    return ""


def cell_problem(cell: Mapping[str, Any]) -> str:
    """Return the first type error in the description of a cell.

    Args:
        cell: an object from JSON.

    Returns:
        The first error as one line; empty without errors.
    """
    for key in _CELL_NEEDED:
        if cell.get(key) is None:
            return f"no {key}"
    for key, value in cell.items():
        is_right, expected = _CELL_RULES.get(key, _ANY)
        if value is not None and not is_right(value):
            return f"{key!r:.80}: expected {expected}, got {value!r:.80}"
    return ""
