"""The plan of one host in files for the runner: `plan.json` and `rows.i32` (docs/protocol.md section 4)."""

from __future__ import annotations

import array
import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regatta.host.cache import stream_sha256
from regatta.host.contents import contents_sha256
from regatta.host.errors import HostError, NewerVersion, StoreError
from regatta.host.files import parse_object
from regatta.host.journal.record_shape import is_int32, is_text, is_whole, plan_cell_problem
from regatta.host.values.plan_cell import PlanCell

PLAN_VERSION = 1
_ROW_BYTES = 16
#: keys of `plan.json` by the type of their values
_TEXTS = ("experiment", "host", "platform", "plan_id", "order", "rows_sha256")
_NUMBERS = ("rounds", "discarded_rounds", "rows", "output_kib", "give_up_after")
_OBJECTS = ("limits", "environment", "rlimits", "cores", "host_fingerprint")
_NEEDED = ("cells", "rounds", "segments")


def invocation_id_of(cell_id: str, round_: int) -> str:
    """Return the id of the invocation of a cell in a round."""
    return f"{cell_id}-r{round_}"


@dataclass
class Row:
    """One planned invocation."""

    index: int
    round: int
    block: int
    position: int
    cell: PlanCell

    @property
    def invocation_id(self) -> str:
        """Return the invocation id, which is unique per host."""
        return invocation_id_of(self.cell["cell_id"], self.round)


@dataclass
class WrittenPlan:
    """The contents of `plan.json`, and the path of the rows."""

    header: dict[str, Any]
    rows_path: Path

    @property
    def segments(self) -> list[list[int]]:
        """Return `[first_row, end_row]` of each segment."""
        return list(self.header["segments"])

    def blocks(self, segment: int) -> list[list[Row]]:
        """Return the rows of a segment in order, split into blocks (neighbors with the same round and block).

        Raises:
            StoreError: the segment does not exist, or the file is truncated.
        """
        try:
            first, end = self.segments[segment]
        except IndexError:
            raise StoreError(
                str(self.rows_path.parent),
                f"a segment < {len(self.segments)}",
                str(segment),
                "run `regatta plan SPEC --write`",
            ) from None
        numbers = array.array("i")
        with self.rows_path.open("rb") as file:
            file.seek(first * _ROW_BYTES)
            data = file.read((end - first) * _ROW_BYTES)
            file.seek(0)
            digest = stream_sha256(file)
        if digest != self.header["rows_sha256"] or len(data) != (end - first) * _ROW_BYTES:
            raise StoreError(
                str(self.rows_path),
                "the rows of plan.json",
                "other rows",
                f"remove {self.rows_path.parent}",
            )
        numbers.frombytes(data)
        if sys.byteorder == "big":
            numbers.byteswap()
        cells = self.header["cells"]
        blocks: list[list[Row]] = []
        last = None
        for offset in range(end - first):
            round_, block, position, cell = numbers[4 * offset : 4 * offset + 4]
            if (round_, block) != last:
                blocks.append([])
                last = (round_, block)
            blocks[-1].append(Row(first + offset, round_, block, position, cells[cell]))
        return blocks


def refuse_newer_plan(path: Path, header: Mapping[str, Any]) -> None:
    """Raise NewerVersion if a newer version of Regatta wrote this `plan.json`."""
    version = header.get("v")
    if isinstance(version, int) and version > PLAN_VERSION:
        raise NewerVersion(str(path), PLAN_VERSION, version)


def check_plan(path: Path, header: Mapping[str, Any]) -> None:
    """Check the types of the values of a `plan.json`.

    Raises:
        StoreError: a value has another type.
    """
    problem = plan_problem(header)
    if problem:
        raise StoreError(str(path), "the plan of a host", problem, "run `regatta plan SPEC --write`")


def read_plan(directory: Path) -> WrittenPlan:
    """Read the plan of a host.

    Raises:
        StoreError: the plan is missing, not JSON, damaged, or of another version.
        NewerVersion: a newer version of Regatta wrote it.
    """
    path = directory / "plan.json"
    try:
        header = parse_object(path)
    except (OSError, ValueError) as error:
        raise StoreError(
            str(path), "the plan of a host", str(error), "run `regatta plan SPEC --write`"
        ) from error
    refuse_newer_plan(path, header)
    if header.get("v") != PLAN_VERSION:
        raise StoreError(
            str(path), f"version {PLAN_VERSION}", str(header.get("v")), "run `regatta plan SPEC --write`"
        )
    check_plan(path, header)
    return WrittenPlan(header, directory / "rows.i32")


def check_files(cells: list[PlanCell]) -> None:
    """Compare every file that the cells execute or read with the plan, once per file.

    Raises:
        HostError: a file is missing or differs from the plan; results of two builds are never mixed.
    """
    seen: dict[str, str] = {}
    for cell in cells:
        for file in cell.get("files", ()):
            seen[file["path"]] = file["sha256"]
    for path, expected in seen.items():
        try:
            digest = contents_sha256(Path(path))
        except OSError as error:
            raise HostError(
                path, "a file of the plan", error.strerror or str(error), "run `regatta run` again"
            ) from error
        if digest != expected:
            raise HostError(
                path,
                f"SHA-256 {expected[:12]} as planned",
                digest[:12],
                "run `regatta run`, which updates the plan",
            )


def with_plan_id(header: dict[str, Any]) -> dict[str, Any]:
    """Return the header with `plan_id`, a hash of the rest."""
    text = json.dumps(header, sort_keys=True)
    return {**header, "plan_id": hashlib.sha256(text.encode()).hexdigest()[:16]}


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
