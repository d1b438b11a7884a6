"""Verify an experiment: everything planned is recorded, all lines are intact, and all invocations succeeded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from regatta.answers.spine.groups import grouped
from regatta.answers.spine.samples import LEAST_UNDISTURBED
from regatta.answers.spine.words import counted
from regatta.host.journal.attempts import status_under
from regatta.host.journal.decisions import planned_rounds, read_decisions, undecided_groups
from regatta.host.journal.journal import (
    Damage,
    damaged_descriptions,
    described_cells,
    journal_files,
    read_file,
)
from regatta.host.journal.record_shape import STATUSES
from regatta.host.values.plan_cell import PlanCell
from regatta.host.values.record import Record
from regatta.store.folder import Folder
from regatta.store.receipts import hosts_left_out

_NONE = -1
_NAMED_AT_MOST = 5
#: after a perturbation
WAY_OUT = (
    "to repeat them, repeat `regatta run` when the machine is quiet (with `perturbation.retries` above 0); to accept "
    "them, raise the limits of `perturbation` in the spec"
)


@dataclass
class CellVerdict:
    """Planned invocations of a cell on a host, by the status of their last attempt."""

    host: str
    cell_id: str
    label: str
    statuses: dict[str, int]
    #: planned invocations without a record
    missing: int
    #: ids of some invocations that did not succeed
    examples: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)


@dataclass
class Verdict:
    """The result of `regatta verify`."""

    experiment: str
    planned: int
    recorded: int
    statuses: dict[str, int]
    #: cells with missing or failed invocations
    cells: list[CellVerdict]
    #: Sentences on lines that are not records. They stay in the journal, and are problems only while a planned record
    #: is missing: afterwards they cause no loss.
    damage: list[str]
    #: sentences on attempts that are recorded twice
    doubled: list[str]
    #: records of cells that are no longer planned, or of rounds beyond the plan
    unplanned: int
    #: (host, label) of each cell that is no longer planned -> its records
    unplanned_cells: dict[str, int]
    #: attempts beyond the first
    reruns: int
    #: host -> segments with planned invocations without a record
    incomplete: dict[str, list[int]]
    #: sentences on block groups without a decision on their number of rounds
    undecided: list[str] = field(default_factory=list)
    #: host -> reason of its exclusion
    left_out: dict[str, str] = field(default_factory=dict)
    #: host without records -> its planned invocations
    silent: dict[str, int] = field(default_factory=dict)

    @property
    def problems(self) -> list[str]:
        """Return sentences on everything that makes the verification fail."""
        found = [f"{host}: excluded: {why}" for host, why in self.left_out.items()]
        found += [
            f"{host}: no records ({count} planned invocations)"
            for host, count in self.silent.items()
            if host not in self.left_out
        ]
        for cell in self.cells:
            where = f"{cell.host}: {cell.label} [{cell.cell_id}]"
            if cell.missing and cell.host not in self.silent:
                found.append(f"{where}: planned invocations without a record: {cell.missing}")
            reason = f" ({cell.reasons[0]})" if cell.reasons else ""
            failed = [
                f"{count} {status}{reason}"
                for status, count in cell.statuses.items()
                if status not in ("ok", "perturbed", "skipped")
            ]
            if skipped := cell.statuses.get("skipped", 0):
                # This completes the previous sentence: one sentence per cell that was given up.
                given_up = (
                    f"given up{'' if failed else reason}, {skipped} skipped (to run them: `--retry-failed`)"
                )
                failed[-1:] = ["; ".join([*failed[-1:], given_up])]
            found += [f"{where}: {one}" for one in failed]
        found += self._disturbed()
        return found + self.undecided + self.doubled + (self.damage if self.incomplete else [])

    def _disturbed(self) -> Iterator[str]:
        """Yield a sentence per host on its cells with too few undisturbed invocations; a busy host disturbs many."""
        by_host = grouped(
            (cell for cell in self.cells if _too_disturbed(cell.statuses)), lambda cell: cell.host
        )
        for host, cells in by_host.items():
            perturbed = sum(cell.statuses["perturbed"] for cell in cells)
            invocations = sum(sum(cell.statuses.values()) for cell in cells)
            yield (
                f"{host}: {counted(len(cells), 'cell')} without an undisturbed interval, the first is {cells[0].label} "
                f"[{cells[0].cell_id}]: {perturbed} of {counted(invocations, 'invocation')} perturbed; {WAY_OUT}"
            )

    def to_json(self) -> dict[str, Any]:
        """Return the content of `verify.json`."""
        return {**asdict(self), "problems": self.problems, "holds": not self.problems}


class _HostLedger:
    """The status of each planned (cell, round) of one host: one byte each."""

    def __init__(self, folder: Folder, host: str) -> None:
        header = folder.host_header(host)
        self.host = host
        self._rows_path = folder.host_plan(host) / "rows.i32"
        self._segments = [first for first, _ in header["segments"]]
        self.limits: dict[str, Any] | None = header.get("limits")
        self.cells: list[PlanCell] = header["cells"]
        self.index = {cell["cell_id"]: i for i, cell in enumerate(self.cells)}
        decisions = read_decisions(folder.decisions(host))
        #: rounds of each cell; rounds that its comparisons do not need are no longer planned
        self.rounds = planned_rounds(header, decisions)
        most = int(header["rounds"])
        self.status: npt.NDArray[np.int8] = np.full((len(self.cells), most), _NONE, dtype=np.int8)
        self.attempts: npt.NDArray[np.int32] = np.zeros((len(self.cells), most), dtype=np.int32)
        self._needed = np.arange(most) < np.array(self.rounds, dtype=np.int64).reshape(-1, 1)
        self._undecided = undecided_groups(header, decisions)
        self._pilot = header["discarded_rounds"] + header["stopping"]["pilot"] if self._undecided else 0
        self.bad: dict[int, list[tuple[str, str]]] = {}
        #: why a cell was not run
        self.skipped: dict[int, str] = {}

    @property
    def missing(self) -> npt.NDArray[np.bool_]:
        """Return array (cells, rounds): needed but without a record."""
        lacking: npt.NDArray[np.bool_] = (self.status == _NONE) & self._needed
        return lacking

    def undecided(self) -> list[str]:
        """Return sentences on block groups with a recorded pilot but without a decision."""
        return [
            f"{self.host}: number of rounds undecided for {len(group['cells'])} alternatives, the first is "
            f"{self.cells[group['cells'][0]]['label']}; `regatta run` decides it"
            for group in self._undecided
            if not (self.status[group["cells"], : self._pilot] == _NONE).any()
        ]

    def incomplete_segments(self) -> list[int]:
        """Return segments with planned invocations without a record; the first one if a decision is open."""
        missing = self.missing
        if not missing.any():
            return [0] if self._undecided else []
        rows = np.fromfile(self._rows_path, dtype="<i4").reshape(-1, 4)
        places = np.flatnonzero(missing[rows[:, 3], rows[:, 0]])
        found = {int(n) for n in np.searchsorted(self._segments, places, side="right") - 1}
        return sorted(found | ({0} if self._undecided else set()))

    def verdicts(self) -> list[CellVerdict]:
        found = []
        lacking = self.missing
        for i, cell in enumerate(self.cells):
            counts = {name: int(np.count_nonzero(self.status[i] == k)) for k, name in enumerate(STATUSES)}
            counts = {name: count for name, count in counts.items() if count}
            missing = int(np.count_nonzero(lacking[i]))
            if missing or _too_disturbed(counts) or set(counts) - {"ok", "perturbed"}:
                bad = self.bad.get(i, [])
                # A cell that never ran has only the reason of its skipped invocations.
                reasons = [*dict.fromkeys(reason for _, reason in bad)] or [
                    *filter(None, [self.skipped.get(i)])
                ]
                found.append(
                    CellVerdict(
                        self.host,
                        cell["cell_id"],
                        cell["label"],
                        counts,
                        missing,
                        [name for name, _ in bad][:_NAMED_AT_MOST],
                        reasons[:_NAMED_AT_MOST],
                    )
                )
        return found


def _too_disturbed(statuses: Mapping[str, int]) -> bool:
    """Return whether perturbed invocations leave too few others for an interval."""
    return "perturbed" in statuses and statuses.get("ok", 0) < LEAST_UNDISTURBED


def verify_experiment(folder: Folder) -> Verdict:
    """Check every line of the journal against the plan.

    Raises:
        StoreError: the plan is missing.
    """
    ledgers = {host: _HostLedger(folder, host) for host in folder.planned_hosts()}
    damage: list[str] = []
    doubled: list[str] = []
    seen: set[tuple[str, str, int]] = set()
    unplanned_ids: Counter[tuple[str, str]] = Counter()
    recorded = unplanned = reruns = 0
    heard: set[str] = set()
    for path, line, item in _numbered_lines(folder):
        if isinstance(item, Damage):
            kind = "torn" if item.torn else "damaged"
            damage.append(f"{item.path}:{item.line}: {kind} line: {item.reason}")
            continue
        recorded += 1
        heard.add(item["host"])
        key = (item["host"], item["invocation_id"], item["attempt"])
        if key in seen:
            doubled.append(
                f"{path}:{line}: {item['invocation_id']} attempt {item['attempt']} is recorded twice"
            )
        seen.add(key)
        ledger = ledgers.get(item["host"])
        cell = ledger.index.get(item["cell_id"]) if ledger else None
        if ledger is None or cell is None or not 0 <= item["round"] < ledger.rounds[cell]:
            unplanned += 1
            if cell is None:
                unplanned_ids[item["host"], item["cell_id"]] += 1
            continue
        place = (cell, item["round"])
        reruns += int(item["attempt"] > 0)
        if item["attempt"] >= ledger.attempts[place]:
            ledger.attempts[place] = item["attempt"]
            ledger.status[place] = STATUSES.index(
                status_under(item["status"], item.get("perturbation"), ledger.limits)
            )
        if item["status"] not in ("ok", "perturbed", "skipped"):
            ledger.bad.setdefault(cell, []).append((item["invocation_id"], str(item.get("reason"))))
        elif item["status"] == "skipped":
            ledger.skipped.setdefault(cell, str(item.get("reason")))
    statuses = {
        name: sum(int(np.count_nonzero(ledger.status == k)) for ledger in ledgers.values())
        for k, name in enumerate(STATUSES)
    }
    return Verdict(
        experiment=folder.name,
        planned=sum(sum(ledger.rounds) for ledger in ledgers.values()),
        recorded=recorded,
        statuses={name: count for name, count in statuses.items() if count},
        cells=[verdict for ledger in ledgers.values() for verdict in ledger.verdicts()],
        damage=damage,
        doubled=doubled,
        unplanned=unplanned,
        unplanned_cells=_named(folder, unplanned_ids),
        reruns=reruns,
        incomplete={
            host: found for host, ledger in ledgers.items() if (found := ledger.incomplete_segments())
        },
        undecided=[sentence for ledger in ledgers.values() for sentence in ledger.undecided()],
        left_out=hosts_left_out(folder),
        silent={
            host: sum(ledger.rounds) for host, ledger in ledgers.items() if ledger.cells and host not in heard
        },
    )


def _numbered_lines(folder: Folder) -> Iterator[tuple[Path, int, Record | Damage]]:
    for damage in damaged_descriptions(folder.path):
        yield damage.path, damage.line, damage
    for path in journal_files(folder.path):
        for number, item in enumerate(read_file(path), start=1):
            yield path, number, item


def _named(folder: Folder, records: Mapping[tuple[str, str], int]) -> dict[str, int]:
    """Count by host and label; by id if the journal does not describe the cell."""
    found: Counter[str] = Counter()
    known = {host: described_cells(folder.journal / host) for host, _ in records}
    for (host, cell_id), count in sorted(records.items()):
        cell = known[host].get(cell_id)
        found[f"{host}: {cell_id if cell is None else cell.get('label') or cell_id}"] += count
    return dict(found)
