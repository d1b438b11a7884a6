"""Values of cells per round from the journal of one host, for decisions. Standard library only: the runner carries it.

Same rules as in the analysis (`answers/samples.py`): the last attempt of an invocation counts. Perturbed and failed
ones give no value. Blocks whose members were measured far apart are excluded.
"""

from __future__ import annotations

import statistics
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regatta.host.journal.attempts import status_under
from regatta.host.journal.invocation_value import invocation_values
from regatta.host.journal.journal import read_records_of, segment_files
from regatta.host.values.counters import INFO
from regatta.host.values.experiment import DUET
from regatta.host.values.plan_cell import PROCESS_ELAPSED, PlanCell
from regatta.host.values.record import Record

#: identity of a block, whose values are paired: plan, round, block
BlockKey = tuple[str, int, int]

#: An invocation is far from its block if its distance to the block's middle exceeds both this time and this multiple of the
#: total time of the block's processes. The analysis uses the same limits.
CLOSE_NS = 600_000_000_000
CLOSE_TIMES = 4


@dataclass
class CellRounds:
    """One cell: the series of its metric, and the rounds with a record of any status."""

    #: (unit, parameters) -> round -> value
    values: dict[tuple[str, str], dict[int, float]] = field(default_factory=dict)
    #: (unit, parameters) -> block -> value, for values measured close to their block
    by_block: dict[tuple[str, str], dict[BlockKey, float]] = field(default_factory=dict)
    recorded: set[int] = field(default_factory=set)
    #: largest number of groups into which counters were divided; 0: none
    counter_groups: int = 0
    #: wall time of each attempt, in order of their starts: from its preparation to the next invocation of any of the cells; without
    #: skipped ones
    walls_ns: list[int] = field(default_factory=list)
    #: round -> time of its attempts with what the runner did for them, without waits between them
    spent_ns: dict[int, int] = field(default_factory=dict)
    #: whether invocations were skipped, because the cell was given up
    skipped: bool = False
    #: whether invocations ran beside their partners, so that only ratios mean something
    at_once: bool = False
    #: of such invocations, block -> half
    halves: dict[BlockKey, int] = field(default_factory=dict)


@dataclass
class _Last:
    """The last attempt of one invocation."""

    attempt: int
    #: whether only invocations of the same attempt form a block, because they ran at once
    at_once: bool
    position: int
    status: str
    block: BlockKey | None
    started_ns: int
    elapsed_ns: int
    numbers: dict[tuple[str, str], float]
    counter_groups: int


#: of an attempt: its begin with the preparation, the end of what the runner did for it, in ns, and its cell
Span = tuple[int, int, str]


class InvocationsOf:
    """The invocation ids of some cells in some rounds, without materializing a list."""

    def __init__(self, cells: Container[str], rounds: range) -> None:
        self._cells, self._rounds = cells, rounds

    def __contains__(self, invocation_id: object) -> bool:
        cell_id, _, round_ = str(invocation_id).rpartition("-r")
        return cell_id in self._cells and round_.isdigit() and int(round_) in self._rounds


def read_rounds(
    journal: Path,
    cells: Mapping[str, PlanCell],
    rounds: range,
    steady: Mapping[str, Any],
    limits: Mapping[str, Any] | None = None,
) -> dict[str, CellRounds]:
    """Read the values of some cells in some rounds.

    Args:
        journal: folder of one host's journal files.
        cells: cell id -> cell as in a plan; `metric` and `summary` are read.
        rounds: as numbered in the plan, with discarded rounds.
        steady: how iterations become one value (`invocation_values`).
        limits: of perturbation, in the header of the plan; None: statuses are those of the records.

    Returns:
        All requested cells with their recorded values.

    Raises:
        OSError: a journal file cannot be read.
    """
    last: dict[str, dict[int, _Last]] = {cell_id: {} for cell_id in cells}
    spans: list[Span] = []
    spent_ns: dict[str, dict[int, int]] = {cell_id: {} for cell_id in cells}
    wanted = InvocationsOf(cells, rounds)
    for path in segment_files(journal):
        for record in read_records_of(path, wanted):
            if record["status"] != "skipped":
                begin_ns, end_ns, cell_id = span = _span(record)
                spans.append(span)
                own = spent_ns[cell_id]
                own[record["round"]] = own.get(record["round"], 0) + end_ns - begin_ns
            attempts = last[record["cell_id"]]
            before = attempts.get(record["round"])
            if before is None or record["attempt"] >= before.attempt:
                attempts[record["round"]] = _last(record, cells[record["cell_id"]], steady, limits)
    walls_ns = _walls_ns(spans)
    close = _close_blocks(last)
    found = {}
    for cell_id, attempts in last.items():
        cell = found[cell_id] = CellRounds(recorded=set(attempts))
        cell.counter_groups = max((one.counter_groups for one in attempts.values()), default=0)
        cell.walls_ns = walls_ns.get(cell_id, [])
        cell.spent_ns = spent_ns[cell_id]
        cell.at_once = any(one.at_once for one in attempts.values())
        cell.skipped = any(one.status == "skipped" for one in attempts.values())
        for round_, one in sorted(attempts.items()):
            if one.at_once and one.block is not None:
                cell.halves[one.block] = one.position
            for key, number in one.numbers.items():
                cell.values.setdefault(key, {})[round_] = number
                blocks = cell.by_block.setdefault(key, {})
                if one.block is not None and _is_close(one, close[one.block]):
                    blocks[one.block] = number
    return found


def values_of(record: Record, cell: PlanCell, steady: Mapping[str, Any]) -> dict[tuple[str, str], float]:
    """Return the value of each series of a cell's metric in a record, by unit and parameters."""
    if cell["metric"] == PROCESS_ELAPSED:
        return {("ns", ""): float(record["elapsed_ns"])} if record["elapsed_ns"] else {}
    return invocation_values(record["iterations"], cell["metric"], steady, cell.get("summary", "mean"))


def _last(
    record: Record, cell: PlanCell, steady: Mapping[str, Any], limits: Mapping[str, Any] | None
) -> _Last:
    status = status_under(record["status"], record.get("perturbation"), limits)
    numbers = values_of(record, cell, steady) if status == "ok" else {}
    return _Last(
        record["attempt"],
        record["order"] == DUET,
        record["position"],
        status,
        # In order back-to-back, the invocations of one round are hours apart and form no block.
        None if record["order"] == "back-to-back" else (record["plan_id"], record["round"], record["block"]),
        record["started_utc_ns"],
        record["elapsed_ns"],
        numbers,
        _counter_groups((record.get("info") or {}).get(INFO)),
    )


def _span(record: Record) -> Span:
    runner = record.get("runner") or {}
    started_ns = record["started_utc_ns"]
    end_ns = started_ns + record["elapsed_ns"] + int(runner.get("after_ns") or 0)
    return started_ns - int(runner.get("before_ns") or 0), end_ns, record["cell_id"]


def _walls_ns(spans: list[Span]) -> dict[str, list[int]]:
    """Return the wall times of the attempts of each cell, up to the begin of the next one: this includes the sync of the record.

    The attempts are of all cells that are measured in these rounds; others in between would count as a part of the one before.
    """
    found: dict[str, list[int]] = {}
    spans = sorted(spans)
    # Nothing follows the last one, whose record is not synced in this time.
    following = [begin_ns for begin_ns, *_ in spans[1:]] + [0]
    for (begin_ns, end_ns, cell_id), next_ns in zip(spans, following):
        found.setdefault(cell_id, []).append(max(end_ns, next_ns) - begin_ns)
    return found


def _counter_groups(told: Any) -> int:
    groups = told.get("groups") if isinstance(told, dict) else None
    return groups if isinstance(groups, int) else 0


def _close_blocks(last: Mapping[str, Mapping[int, _Last]]) -> dict[BlockKey, tuple[float, float]]:
    """Return the middle of each block in time, and the largest distance that is close, in ns: below 0 if none is."""
    members: dict[BlockKey, list[_Last]] = {}
    for attempts in last.values():
        for one in attempts.values():
            if one.block is not None and one.status in ("ok", "perturbed"):
                members.setdefault(one.block, []).append(one)
    return {
        block: (
            statistics.median(one.started_ns for one in ones),
            -1
            if any(one.at_once and one.attempt != ones[0].attempt for one in ones)
            else max(CLOSE_NS, CLOSE_TIMES * sum(one.elapsed_ns for one in ones)),
        )
        for block, ones in members.items()
    }


def _is_close(one: _Last, block: tuple[float, float]) -> bool:
    middle, reach = block
    return abs(one.started_ns - middle) <= reach
