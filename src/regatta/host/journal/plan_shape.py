"""Types of the values in `plan.json` (docs/protocol.md section 4). No I/O; standard library only, because the runner carries it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regatta.host.journal.record_shape import is_int32, is_text, is_whole, plan_cell_problem

_TEXTS = ("experiment", "host", "platform", "plan_id", "order", "rows_sha256")
_NUMBERS = ("rounds", "discarded_rounds", "rows", "output_kib", "give_up_after")
_OBJECTS = ("limits", "environment", "rlimits", "cores", "host_fingerprint")
_NEEDED = ("cells", "rounds", "segments")


def plan_problem(header: Mapping[str, Any]) -> str:
    """Return the first value of a plan with another type than readers expect, as one line; empty without one.

    Keys that older plans lack can be missing or null. Unknown keys are not checked.
    """
    for key in _NEEDED:
        if header.get(key) is None:
            return f"no {key}"
    for keys, is_right, expected in (
        (_TEXTS, is_text, "a string"),
        (_NUMBERS, is_int32, "a whole number of 31 bits"),
        (_OBJECTS, lambda value: isinstance(value, dict), "an object"),
    ):
        for key in keys:
            if header.get(key) is not None and not is_right(header[key]):
                return f"{key}: expected {expected}, got {header[key]!r:.80}"
    return _cells_problem(header["cells"]) or _rows_problem(header) or _stopping_problem(header)


def _cells_problem(cells: object) -> str:
    if not isinstance(cells, list):
        return f"cells: expected a list, got {cells!r:.80}"
    for number, cell in enumerate(cells):
        problem = plan_cell_problem(cell)
        if problem:
            return f"cells[{number}]: {problem}"
    return ""


def _rows_problem(header: Mapping[str, Any]) -> str:
    rounds, rows, segments = header["rounds"], header.get("rows"), header["segments"]
    # Each round has a row. Tables of rounds would otherwise need memory that no plan justifies.
    if rows is not None and header["cells"] and rounds > rows:
        return f"rounds: expected at most {rows}, the number of rows, got {rounds}"
    if not isinstance(segments, list) or not all(map(_is_segment, segments)):
        return f"segments: expected a list of [first, end], got {segments!r:.80}"
    return ""


def _is_segment(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(is_int32, value)) and value[0] <= value[1]


def _stopping_problem(header: Mapping[str, Any]) -> str:
    stopping = header.get("stopping")
    if stopping is None:
        return ""
    groups = stopping.get("groups") if isinstance(stopping, dict) else None
    if not isinstance(groups, list) or not all(_is_group(group, len(header["cells"])) for group in groups):
        return f"stopping: expected groups of {{key, cells}}, got {stopping!r:.80}"
    if not is_int32(stopping.get("pilot", 0)):
        return f"stopping: pilot: expected a whole number, got {stopping['pilot']!r:.80}"
    return ""


def _is_group(value: object, cells: int) -> bool:
    if (
        not isinstance(value, dict)
        or type(value.get("key")) is not str
        or not isinstance(value.get("cells"), list)
    ):
        return False
    return all(is_whole(index, cells) for index in value["cells"])
