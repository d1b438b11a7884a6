"""The progress of an experiment: from its journal, and from the states of its runners."""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from regatta.host.journal.attempts import status_under
from regatta.host.journal.decisions import groups_of, planned_rounds, read_decisions, undecided_groups
from regatta.host.journal.journal import Damage, read_heads
from regatta.host.journal.record import FAILURES
from regatta.host.journal.runner_state import read_state, waits_for
from regatta.host.values.experiment import DUET
from regatta.store.folder import Folder
from regatta.store.receipts import hosts_left_out


@dataclass
class RecordedCell:
    """The records of one cell on one host."""

    #: Round -> status of the last attempt.
    statuses: dict[int, str] = field(default_factory=dict)
    elapsed_s: list[float] = field(default_factory=list)

    @property
    def invocations(self) -> int:
        """Return the number of distinct invocations with a record."""
        return len(self.statuses)

    def to_repeat(self, rounds: int) -> int:
        """Return the number of perturbed invocations in the first rounds."""
        return sum(status == "perturbed" for round_, status in self.statuses.items() if round_ < rounds)

    @property
    def median_elapsed_s(self) -> float:
        """Return the median wall time of its processes; 0 if all were skipped."""
        return statistics.median(self.elapsed_s) if self.elapsed_s else 0.0


def recorded_cells(
    folder: Folder, damaged: Counter[str] | None = None, limits: Mapping[str, Any] | None = None
) -> dict[tuple[str, str], RecordedCell]:
    """Return (host, cell_id) -> its records. Count the damaged lines of each host in `damaged`.

    Args:
        folder: of the experiment.
        damaged: host -> number of lines; it is changed.
        limits: host -> limits of perturbation, by which its records are judged.
    """
    found: dict[tuple[str, str], RecordedCell] = {}
    for record in read_heads(folder.path):
        if isinstance(record, Damage):
            # The next run removes a torn line.
            if damaged is not None and not record.torn:
                damaged[record.host] += 1
            continue
        cell = found.setdefault((record.host, record.cell_id), RecordedCell())
        cell.statuses[record.round] = status_under(
            record.status, record.perturbation, (limits or {}).get(record.host)
        )
        if record.status != "skipped":
            cell.elapsed_s.append(record.elapsed_ns / 1e9)
    return found


@dataclass
class HostProgress:
    """The progress of one host: planned and recorded invocations, failures, and the current activity."""

    host: str
    planned: int
    recorded: int
    failed: int
    remaining_s: float | None
    #: Number of block groups whose rounds are decided at the end of a segment, and how many are undecided. The planned and
    #: remaining numbers are then upper bounds.
    adaptive: int = 0
    undecided: int = 0
    #: Lines of its journal that are not valid records.
    damaged: int = 0
    #: Cells that are no longer run, because their first invocations failed alike.
    given_up: int = 0
    #: The current cell; "" when idle.
    cell: str = ""
    since_s: float = 0.0
    #: The process that its runner waits for; "" if it does not wait.
    waiting: str = ""
    pid: int | None = None
    #: Why it was left out; "" if it was not.
    left_out: str = ""


@dataclass
class Progress:
    """The progress of one experiment."""

    experiment: str
    hosts: list[HostProgress]

    def to_json(self) -> dict[str, Any]:
        """Return the progress as JSON."""
        return asdict(self)

    def sentence(self) -> str:
        """Return a one-line summary."""
        planned, recorded = sum(h.planned for h in self.hosts), sum(h.recorded for h in self.hosts)
        measuring = any(h.pid and not h.waiting for h in self.hosts)
        waiting = "; ".join(h.waiting for h in self.hosts if h.waiting)
        undecided = any(h.undecided for h in self.hosts)
        complete = planned == recorded and not undecided
        state = "measuring" if measuring else waiting or ("complete" if complete else "not running")
        return f"{self.experiment}: {state}, {recorded} of {'at most ' if undecided else ''}{planned} invocations recorded"

    def lines(self) -> list[str]:
        """Return one line per host."""
        lines = []
        for h in self.hosts:
            line = f"{h.host}: {h.recorded}/{h.planned}, {h.failed} failed"
            if h.damaged:
                line += f", damaged lines: {h.damaged} (see `regatta verify`)"
            if h.given_up:
                line += f", cells given up: {h.given_up}"
            if h.left_out:
                line += f"; excluded: {h.left_out}"
            elif h.recorded < h.planned and h.remaining_s is not None:
                line += f", {'at most' if h.undecided else 'about'} {h.remaining_s / 60:.1f} min left"
            if h.adaptive:
                line += f"; rounds decided for {h.adaptive - h.undecided} of {h.adaptive} block groups"
            if h.cell:
                line += f"; now {h.cell} since {h.since_s:.0f} s (process {h.pid})"
            if h.waiting:
                line += f"; {h.waiting} (process {h.pid})"
            lines.append(line)
        return lines


def at_once(order: object) -> int:
    """Return the number of invocations of a host that run at once in an order of its plan."""
    return 2 if order == DUET else 1


def read_progress(folder: Folder) -> Progress:
    """Read plan, journal and runner states of an experiment.

    Raises:
        StoreError: the plan cannot be read.
    """
    damaged: Counter[str] = Counter()
    recorded = recorded_cells(folder, damaged)
    left_out = hosts_left_out(folder)
    hosts = []
    for host in folder.planned_hosts():
        header = folder.host_header(host)
        decisions = read_decisions(folder.decisions(host))
        planned = planned_rounds(header, decisions)
        done = failed = given_up = 0
        remaining_s = 0.0
        times = []
        unknown = 0
        for cell, rounds in zip(header["cells"], planned, strict=True):
            entry = recorded.get((host, cell["cell_id"]))
            if entry is None:
                unknown += rounds
                continue
            count = sum(1 for r in entry.statuses if r < rounds)
            done += count
            ended = Counter(entry.statuses.values())
            failed += sum(ended[status] for status in FAILURES if status != "skipped")
            given_up += bool(ended["skipped"])
            remaining_s += (rounds - count) * entry.median_elapsed_s
            times.append(entry.median_elapsed_s)
        known = bool(times) or not unknown
        if times:
            remaining_s += unknown * statistics.fmean(times)
        remaining_s /= at_once(header.get("order"))
        progress = HostProgress(host, sum(planned), done, failed, remaining_s if known else None)
        progress.given_up = given_up
        progress.left_out = left_out.pop(host, "")
        progress.damaged = damaged[host]
        progress.adaptive = len(groups_of(header))
        progress.undecided = len(undecided_groups(header, decisions))
        state = read_state(folder.state / f"{host}.json")
        if state and state["alive"]:
            progress.pid = state["pid"]
            progress.waiting = waits_for(state)
            if state.get("cell"):
                progress.cell = state["cell"]
                progress.since_s = max(0.0, time.time() - state["since_utc_s"])
        hosts.append(progress)
    hosts += [HostProgress(host, 0, 0, 0, None, left_out=why) for host, why in left_out.items()]
    return Progress(folder.name, hosts)
