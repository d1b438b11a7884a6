"""Run a segment: every planned invocation without a final record, in plan order."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from regatta.host.errors import HostError, StoreError
from regatta.host.facts import changes, fingerprint, local_facts
from regatta.host.files import write_object
from regatta.host.journal.attempts import History
from regatta.host.journal.cells import CellsFile
from regatta.host.journal.decisions import Deciding
from regatta.host.journal.journal import read_records_of, segment_files
from regatta.host.journal.journal_writer import JournalWriter
from regatta.host.journal.plan_files import Row, WrittenPlan, check_files, invocation_id_of, read_plan
from regatta.host.journal.round_values import InvocationsOf
from regatta.host.journal.runner_state import StateFile, read_state
from regatta.host.measure.cgroup import end_stale_groups, open_accounting
from regatta.host.measure.host_lock import HostLock
from regatta.host.measure.invocation import Bench, in_containers
from regatta.host.measure.limits import check_limits, controllers_of
from regatta.host.measure.measurers import MakePairMeasurer, MakeRoleMeasurer, Measurer, Paths
from regatta.host.measure.pauses import Pauses
from regatta.host.measure.process import (
    Interrupted,
    StopSignals,
    become_subreaper,
    keep_descriptors,
    reserve_descriptors,
)
from regatta.host.measure.record_making import skip
from regatta.host.measure.scratch import halves_in, results_of
from regatta.host.measure.topology import choose_cores, halve, read_topology
from regatta.host.processes import end_orphans
from regatta.host.values.experiment import DUET
from regatta.host.values.plan_cell import PlanCell
from regatta.host.values.record import Record


def lock_host(
    path: Path,
    scratch: Path,
    experiment: str,
    segment: int,
    holder: str = "",
    contained: bool = False,
    waiting: Callable[[dict[str, str]], None] = lambda holder: None,
    others: Sequence[Path] = (),
) -> HostLock:
    """Take the host lock, and store how to identify the processes to measure.

    Args:
        others: further folders as `scratch`, of programs that run at the same time.
        contained: whether some of them will run in containers.
        waiting: see `HostLock`.
    """
    return HostLock(
        path,
        {"experiment": experiment, "segment": segment, **({"holder": holder} if holder else {})},
        {
            "results_file": str(results_of(scratch)),
            "contained": contained,
            **({"others": [str(results_of(other)) for other in others]} if others else {}),
        },
        waiting=waiting,
    )


def end_what_was_left(
    lock: HostLock, scratch: Path, contained: bool = False, others: Sequence[Path] = ()
) -> int:
    """End processes of this experiment, and of this user's last lock holder, that outlived a killed runner.

    Requires the host lock and the journal lock.

    Args:
        contained: whether processes of this experiment may be in containers.
        others: see `lock_host`.

    Returns:
        The number of processes.

    Raises:
        HostError: containers are possible, and Docker does not answer.
    """
    # Also the location in version 0.1.0.
    files = [str(results_of(scratch)), str(scratch / "results.jsonl"), *(str(results_of(o)) for o in others)]
    more = lock.previous.get("others")
    before = [lock.previous.get("results_file"), *(more if isinstance(more, list) else [])]
    files += [file for file in before if isinstance(file, str) and file]
    files = list(dict.fromkeys(files))
    ended = end_stale_groups()
    if contained or lock.previous.get("contained"):
        # Imported here because it loads an HTTP client.
        from regatta.host.measure.containers.container import remove_left_containers

        ended += remove_left_containers(files, contained)
    return ended + sum(end_orphans(file) for file in files)


def place_on_cores(header: Mapping[str, Any]) -> dict[str, Any]:
    """Choose the CPUs for measured processes and for the runner.

    Returns:
        `topology`, `measured` and `runner` (None: all CPUs).

    Raises:
        HostError: too few CPUs.
    """
    topology = read_topology()
    try:
        measured, own = choose_cores(header["cores"], topology, os.sched_getaffinity(0))
    except ValueError as error:
        raise HostError(
            f"{header['host']}: cores", "available CPUs", str(error), "correct `cores` in the spec"
        ) from error
    return {"topology": topology, "measured": measured, "runner": own}


def place_on_halves(header: Mapping[str, Any]) -> tuple[dict[str, Any], list[list[int]]]:
    """Choose the CPUs as `place_on_cores`, and divide those of measured processes into two halves.

    Raises:
        HostError: too few CPUs.
    """
    place = place_on_cores(header)
    try:
        halves = halve(place["measured"] or sorted(os.sched_getaffinity(0)), place["topology"])
    except ValueError as error:
        fix = "use another host, or write `order: randomized-blocks`"
        raise HostError(f"{header['host']}: order: duet", "two cores", str(error), fix) from error
    return {**place, "halves": halves}, halves


def check_host(header: Mapping[str, Any]) -> None:
    """Compare this host with the one recorded in the plan.

    Raises:
        HostError: its kernel, microcode or similar changed; a comparison must not mix both.
    """
    planned = header.get("host_fingerprint")
    changed = changes(planned, fingerprint(local_facts())) if planned else []
    if changed:
        raise HostError(
            f"host {header['host']}",
            "a host unchanged since planning",
            "; ".join(changed),
            "run the same command again, which updates the plan",
        )


class SegmentRun:
    """A run of one segment, from taking the lock to the receipt."""

    def __init__(
        self,
        paths: Paths,
        segment: int,
        retry_failed: bool,
        with_roles: MakeRoleMeasurer,
        in_pairs: MakePairMeasurer,
        pauses: Pauses | None = None,
        stop_at_failed_command: bool = False,
    ) -> None:
        """Read the plan.

        Args:
            paths: of the segment.
            segment: its number, from 0.
            retry_failed: whether to repeat failed invocations once.
            with_roles: creates the measurer, if the cells have roles.
            in_pairs: creates the measurer, if two invocations run at once.
            pauses: lets another process work between blocks.
            stop_at_failed_command: whether to stop when a command before or after an invocation fails.

        Raises:
            StoreError: the plan cannot be read.
        """
        self.stop_at_failed_command = stop_at_failed_command
        self.paths = paths
        self.pauses = pauses or Pauses()
        self.segment = segment
        self.retry_failed = retry_failed
        self.with_roles = with_roles
        self.in_pairs = in_pairs
        self.plan: WrittenPlan = read_plan(paths.plan)
        header = self.plan.header
        #: whether the invocations of a block run at once
        self.paired = header.get("order") == DUET
        #: cell id -> why it must not be measured
        self.refused: dict[str, str] = {}
        #: finds them out before the first invocations of a unit; None: every cell may be measured
        self.test: Callable[[Sequence[Row]], dict[str, str]] | None = None
        self.cells = CellsFile(paths.journal, header["experiment"], header["host"])
        self.blocks = self.plan.blocks(segment)
        #: decides how many rounds are needed; None: the spec does
        self.deciding: Deciding | None = None
        #: planned invocations that no comparison still needs
        self.not_needed = 0
        #: records that this run wrote without running a process
        self.skipped_now = 0
        self.counts: dict[str, int] = {}
        #: reason why no control group is available, or empty
        self.no_accounting = ""
        #: reason why processes that leave their group do not return to the runner, or empty
        self.no_subreaper = ""

    def run(self) -> dict[str, Any]:
        """Measure the due invocations; return the receipt.

        Raises:
            HostError, StoreError: see `check_files`, `JournalWriter`, `HostLock`.
            VerificationError: a command before or after an invocation failed, and the run stops then.
            Interrupted: the runner received a stop signal; existing records are complete.
        """
        header = self.plan.header
        paths = self.paths
        if "members" in header:
            # The agents lock their hosts, and end what was left there. The journal excludes a second
            # conductor.
            journal = JournalWriter(self.paths.journal / f"{self.segment:05d}.jsonl")
            return self._decide_and_measure(journal, 0)
        contained = bool(in_containers(header.get("cells", ())))
        others = halves_in(paths.scratch) if self.paired else []
        lock = lock_host(
            paths.lock,
            paths.scratch,
            header["experiment"],
            self.segment,
            paths.holder,
            contained,
            self._say_that_it_waits,
            others,
        )
        try:
            if lock.waited_for:
                self._say_that_it_waits(None)
            # Open the journal first: a runner that holds it under another host lock is measuring, and its
            # process is no orphan.
            journal = JournalWriter(self.paths.journal / f"{self.segment:05d}.jsonl")
            try:
                orphans = end_what_was_left(lock, self.paths.scratch, contained, others)
            except BaseException:
                journal.close()
                raise
            return self._decide_and_measure(journal, orphans)
        finally:
            lock.release()

    def _decide_and_measure(self, journal: JournalWriter, orphans: int) -> dict[str, Any]:
        """Measure what the stopping rule needs; close the journal; return the receipt."""
        try:
            if not self.plan.header.get("stopping") or not self.blocks:
                return self._measure(journal, orphans)
            deciding = self.deciding = Deciding(self.plan.header, self.paths.journal)
            first, end = self.blocks[0][0].round, self.blocks[-1][0].round + 1
            # The previous segment's runner may have been killed between its last record and its decision.
            deciding.decide(first)
            self._leave_out(self.blocks)
            receipt = self._measure(journal, orphans)
            deciding.decide(end)
            return receipt
        finally:
            self.cells.close()
            journal.close()

    def _say_that_it_waits(self, holder: dict[str, str] | None) -> None:
        """Write the holder that this run waits for to the state file; None: the wait is over."""
        told = read_state(self.paths.state)
        if told and told["alive"] and told["pid"] != os.getpid():
            return  # that runner measures and writes its own state
        with contextlib.suppress(OSError):
            state = self._state_file(sum(len(block) for block in self.blocks))
            self._state(state, None, **({} if holder is None else {"waiting_for": holder}))
            state.close()
        if holder is not None:
            # This disturbs the measuring run less than the start of this runner did.
            self.pauses.offer(("waiting", *holder.values()))

    def _state_file(self, total: int) -> StateFile:
        header = self.plan.header
        return StateFile(
            self.paths.state,
            {
                "experiment": header["experiment"], "host": header["host"], "segment": self.segment,
                "started_utc_s": int(time.time()), "total": total,
            },
        )  # fmt: skip

    def _leave_out(self, blocks: list[list[Row]]) -> None:
        """Drop those rows of the last blocks that their comparisons do not need."""
        assert self.deciding is not None
        kept = len(self.blocks) - len(blocks)
        wanted = ([row for row in block if self.deciding.wants(row)] for block in blocks)
        left = [block for block in wanted if block]
        self.not_needed += sum(map(len, blocks)) - sum(map(len, left))
        self.blocks[kept:] = left

    def _needed_blocks(self) -> Iterator[list[Row]]:
        """Yield the blocks; before a round, the rule may decide that fewer rows are needed."""
        place, round_ = 0, None
        while place < len(self.blocks):
            here = self.blocks[place][0].round
            if here != round_:
                round_ = here
                if self.deciding is not None and place and self.deciding.looks_before(here):
                    self.deciding.decide(here)
                    self._leave_out(self.blocks[place:])
                    continue
            yield self.blocks[place]
            place += 1

    def _history(self, journal: JournalWriter) -> History:
        """Return the history of this segment's invocations from the host's whole journal.

        Earlier segments may have covered other rounds. The history also includes the first invocations of its
        cells. If those of a cell all failed, it includes all others of the cell. They decide whether the cell
        is given up.
        """
        give_up_after = self.plan.header.get("give_up_after")
        ids = {row.invocation_id for block in self.blocks for row in block}
        cells = {row.cell["cell_id"] for block in self.blocks for row in block}
        first = range(give_up_after or 0)
        ids |= {invocation_id_of(cell_id, round_) for cell_id in cells for round_ in first}
        paths = [path for path in segment_files(self.paths.journal) if path != journal.path]
        records = chain(journal.records, chain.from_iterable(read_records_of(p, ids) for p in paths))
        history = History(records, self.plan.header["limits"], self.retry_failed, give_up_after)
        failing = {cell_id for cell_id in cells if history.given_up(cell_id)}
        if failing:
            wanted = InvocationsOf(failing, range(self.plan.header["rounds"]))
            for record in chain.from_iterable(read_records_of(path, wanted) for path in paths):
                history.add(record)
        return history

    def _measure(self, journal: JournalWriter, orphans: int) -> dict[str, Any]:
        header = self.plan.header
        self.history = self._history(journal)
        self.total = sum(len(block) for block in self.blocks)
        units = [unit for block in self.blocks for unit in self._units(block)]
        due = [unit for unit in units if self._due(unit) or self._disturbed(unit)]
        due_cells = {row.cell["cell_id"]: row.cell for unit in due for row in unit}
        started_with = journal.sequence
        if due_cells:
            if "members" in header:
                orphans += self._with_roles(journal, list(due_cells.values()))
            else:
                check_host(header)
                check_files(list(due_cells.values()))
                if self.paired:
                    self._with_halves(journal, list(due_cells.values()))
                else:
                    self._with_bench(journal, list(due_cells.values()))
        else:
            for unit in units:
                self._skip(unit, journal)
        statuses: dict[str, int] = {}
        for block in self.blocks:
            for row in block:
                status = self.history.status(row.invocation_id)
                statuses[status] = statuses.get(status, 0) + 1
        return {
            "experiment": header["experiment"],
            "host": header["host"],
            "segment": self.segment,
            "plan_id": header["plan_id"],
            "planned": sum(map(len, self.blocks)),
            "not_needed": self.not_needed,
            "measured_now": journal.sequence - started_with - self.skipped_now,
            "statuses": statuses,
            "torn_bytes_dropped": journal.torn_bytes,
            "orphans_ended": orphans,
            "no_accounting": self.no_accounting,
            "no_subreaper": self.no_subreaper,
        }

    def _with_bench(self, journal: JournalWriter, cells: list[PlanCell]) -> None:
        header = self.plan.header
        place = place_on_cores(header)
        # In the journal folder, because it describes where the records were made, and receipts are temporary.
        write_receipt(self.paths.journal / "cores.json", place)
        measured, own = place["measured"], place["runner"]
        self.no_subreaper = become_subreaper()
        keep_descriptors()
        reserved = reserve_descriptors()
        accounting, self.no_accounting = open_accounting(controllers_of(cells))
        state = self._state_file(self.total)
        try:
            kept = self.paths.journal / "kept"
            with (
                StopSignals() as stop,
                contextlib.closing(
                    Bench(header, self.paths.scratch, measured, accounting, stop, kept)
                ) as bench,
            ):
                bench.clear()
                bench.strays = bool(self.no_subreaper)
                for fd in reserved:
                    os.close(fd)
                check_limits(
                    cells, bench.all_cores if measured is None else measured, accounting, self.no_accounting
                )
                if own is not None:
                    os.sched_setaffinity(0, own)
                contained = in_containers(cells)
                if contained:
                    bench.contain(contained, self.segment)
                self._walk_all(bench.stop, _one_by_one(bench, self.segment), journal, state, bench)
                bench.clear()
        finally:
            self.pauses.close()
            self._state(state, None)
            state.close()
            if accounting is not None:
                accounting.close()

    def _with_roles(self, journal: JournalWriter, cells: list[PlanCell]) -> int:
        """Measure with the agents of roles. Return how many processes they found and ended."""
        state = self._state_file(self.total)
        try:
            with (
                StopSignals() as stop,
                contextlib.closing(
                    self.with_roles(
                        self.plan.header, cells, self.paths, self.segment, stop, self._say_that_it_waits
                    )
                ) as measurer,
            ):
                measurer.open()
                self.no_accounting = measurer.no_accounting
                self._walk_all(measurer.stop, _one_by_one(measurer, self.segment), journal, state, measurer)
                return measurer.orphans_ended
        finally:
            self.pauses.close()
            self._state(state, None)
            state.close()

    def _with_halves(self, journal: JournalWriter, cells: list[PlanCell]) -> None:
        """Measure in pairs, each on both halves of the host, after a test of each alternative."""
        place, halves = place_on_halves(self.plan.header)
        write_receipt(self.paths.journal / "cores.json", place)
        self.no_subreaper = become_subreaper()
        keep_descriptors()
        state = self._state_file(self.total)
        if place["runner"] is not None:
            os.sched_setaffinity(0, place["runner"])
        try:
            with (
                StopSignals() as stop,
                contextlib.closing(
                    self.in_pairs(
                        self.plan.header, cells, self.paths, self.segment, stop, halves, self.pauses.close
                    )
                ) as duet,
            ):
                self.no_accounting = duet.no_accounting
                self.test = lambda unit: duet.test(
                    unit, self.retry_failed, lambda label: self._state(state, None, tests=label)
                )
                self._walk_all(stop, duet.measure, journal, state)
        finally:
            self.pauses.close()
            self._state(state, None)
            state.close()

    def _units(self, block: list[Row]) -> list[list[Row]]:
        """Return the rows of a block that are measured at once."""
        return [block] if self.paired else [[row] for row in block]

    def _walk_all(
        self,
        stop: StopSignals,
        measure: Callable[[Sequence[Row], int], list[Record]],
        journal: JournalWriter,
        state: StateFile,
        measurer: Measurer | None = None,
    ) -> None:
        """Run the blocks: in each, the due invocations, then the perturbed ones again.

        Args:
            stop: signals that end the segment.
            measure: executes the invocations of a unit as an attempt, and makes their records.
            journal: gets the records.
            state: shows what runs.
            measurer: says whether a command before or after an invocation failed; None: no such command ends the segment.
        """

        def run(unit: list[Row]) -> None:
            self._run(unit, stop, measure, journal, state)
            if self.stop_at_failed_command and measurer is not None and measurer.failed_command is not None:
                raise measurer.failed_command

        for block in self._needed_blocks():
            if stop.received:
                raise Interrupted
            units = self._units(block)
            for unit in units:
                if self._due(unit) and self._passes(unit):
                    run(unit)
                else:
                    self._skip(unit, journal)
            while disturbed := [unit for unit in units if self._disturbed(unit) and self._passes(unit)]:
                for unit in disturbed:
                    run(unit)

    def _due(self, unit: Sequence[Row]) -> bool:
        """Return whether to run a unit: it is due, and none of its cells is given up or refused.

        Its records belong together. If a kill came between them, or the plan has a new partner, all are due.
        """
        ids = [row.invocation_id for row in unit]
        apart = not self.history.are_together(ids)
        return (apart or any(map(self.history.due, ids))) and not any(map(self._why_skipped, unit))

    def _passes(self, unit: Sequence[Row]) -> bool:
        """Return whether the test of the cells of a unit, if it needs one, allows to measure them."""
        if self.test is not None:
            self.refused.update(self.test(unit))
        return not any(row.cell["cell_id"] in self.refused for row in unit)

    def _disturbed(self, unit: Sequence[Row]) -> bool:
        """Return whether an invocation of a unit was perturbed and this start may retry it."""
        found = any(self.history.disturbed(row.invocation_id) for row in unit)
        # A cell without a partner ends as it is.
        return found and not (len(unit) > 1 and any(map(self._why_skipped, unit)))

    def _why_skipped(self, row: Row) -> str:
        cell_id = row.cell["cell_id"]
        return self.refused.get(cell_id) or self.history.given_up(cell_id)

    def _skip(self, unit: Sequence[Row], journal: JournalWriter) -> None:
        """Record that the rows of a unit are not run, if a cell is given up or refused and they have no records."""
        reasons = {row.index: self._why_skipped(row) for row in unit}
        of_partner = next(
            (f"its partner {row.cell['label']}: {reasons[row.index]}" for row in unit if reasons[row.index]),
            "",
        )
        for row in unit if of_partner else ():
            if self.history.status(row.invocation_id):
                continue
            reason = reasons[row.index] or of_partner
            record = skip(self.plan.header, row, self.segment, reason)
            self.cells.describe(row.cell)
            journal.append(record)
            self.history.add_measured(record)
            self.skipped_now += 1

    def _run(
        self,
        unit: Sequence[Row],
        stop: StopSignals,
        measure: Callable[[Sequence[Row], int], list[Record]],
        journal: JournalWriter,
        state: StateFile,
    ) -> None:
        first = unit[0]
        self._state(state, first)
        paused_ns = self.pauses.offer((first.round, first.block), stop)
        if stop.received:
            raise Interrupted
        for row in unit:
            self.cells.describe(row.cell)
        attempt = max(self.history.next_attempt(row.invocation_id) for row in unit)
        for record in measure(unit, attempt):
            record["runner"]["before_ns"] += paused_ns
            journal.append(record)
            self.history.add_measured(record)
            self.counts[record["status"]] = self.counts.get(record["status"], 0) + 1

    def _state(self, state: StateFile, row: Row | None, **delay: Any) -> None:
        """Write what runs; `delay`: what delays the first invocation (`waits_for`)."""
        state.write(
            cell=row.cell["label"] if row else None,
            index=row.index if row else None,
            since_utc_s=round(time.time(), 3),
            counts=self.counts,
            **delay,
        )


def _one_by_one(measurer: Measurer, segment: int) -> Callable[[Sequence[Row], int], list[Record]]:
    return lambda unit, attempt: [measurer.measure(row, attempt, segment) for row in unit]


def write_receipt(path: Path, receipt: dict[str, Any]) -> None:
    """Write the receipt to a temporary file, then rename it."""
    try:
        write_object(path, receipt)
    except OSError as error:
        raise StoreError(
            str(path),
            "free space for a receipt",
            str(error.strerror),
            "free disk space and run the same command again; all records are intact",
        ) from error
