"""Measure pairs of invocations: both programs start at once, each on its half of the host."""

from __future__ import annotations

import contextlib
import select
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from regatta.host.duet.half import Half, Work
from regatta.host.duet.trial import LOOKS, MOST_FAILURES, Trial, Trials, failed, judged, value_of
from regatta.host.errors import HostError
from regatta.host.journal.attempts import NO_PARTNER
from regatta.host.journal.plan_files import Row
from regatta.host.measure.cgroup import cpu_ns_of, end_stale_groups
from regatta.host.measure.limits import isolation_kind
from regatta.host.measure.measurers import Paths
from regatta.host.measure.process import Interrupted, StopSignals, reap_descendants
from regatta.host.measure.scratch import halves_in
from regatta.host.messages import Ended, Message
from regatta.host.values.plan_cell import PlanCell
from regatta.host.values.record import Record

#: A signal to the whole group may reach the runner slightly later than a half.
_SIGNAL_S = 0.5


class Duet:
    """Both halves of a host, and the tests of what they measure."""

    def __init__(
        self,
        header: Mapping[str, Any],
        cells: Sequence[PlanCell],
        paths: Paths,
        segment: int,
        stop: StopSignals,
        halves: Sequence[Sequence[int]],
        forget: Callable[[], None],
    ) -> None:
        """Start the halves.

        Args:
            header: of the plan.
            cells: that will be measured.
            paths: of the segment.
            segment: its number.
            stop: signals that end the measurement.
            halves: the CPUs of each half.
            forget: closes in the new processes what belongs to the runner alone.

        Raises:
            HostError: a half cannot measure.
            Interrupted: the runner received a stop signal.
        """
        self.stop = stop
        #: reason why no control group is available, or empty
        self.no_accounting = ""
        self._header = header
        self._place = {cell["cell_id"]: place for place, cell in enumerate(header["cells"])}
        self._trials = Trials(paths.journal, halves)
        #: alternatives that this run has tested
        self._tested_here: set[str] = set()
        #: half -> file with the processor time of its control group; "": none
        self._usage: dict[int, str] = {}
        self._measures = False
        self._halves: list[Half] = []
        try:
            for number, scratch in enumerate(halves_in(paths.scratch)):
                work = Work(header, cells, segment, scratch, paths.journal / "kept", halves[number])
                self._halves.append(Half(number, work, self._halves, forget))
            for number, message in self._listen(range(len(self._halves))):
                self.no_accounting = self.no_accounting or str(message["no_accounting"])
                self._usage[number] = str(message["usage"])
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End both halves, and what a killed one left."""
        halves, self._halves = self._halves, []
        for half in halves:
            half.stop(self._measures)
        for half in halves:
            half.end()
        reap_descendants()
        end_stale_groups()

    def test(self, pair: Sequence[Row], again: bool, testing: Callable[[str], None]) -> dict[str, str]:
        """Test the alternatives of a pair that were not tested before on these halves.

        Args:
            pair: one that is due.
            again: whether to repeat, once in this run, the test of an alternative that was refused.
            testing: called with the label of the alternative that is tested next.

        Returns:
            Cell id -> why it must not be measured; without those that may be.

        Raises:
            HostError, Interrupted: see `measure`.
            StoreError: a result cannot be written.
        """
        refused: dict[str, str] = {}
        for row in pair:
            cell_id = row.cell["cell_id"]
            known = self._trials.refused(cell_id)
            if (known is None or (known and again)) and cell_id not in self._tested_here:
                self._tested_here.add(cell_id)
                testing(row.cell["label"])
                trial = self._tested(row)
                if trial is None:
                    continue
                self._trials.add(cell_id, trial)
                known = trial.refused
            if known:
                refused[cell_id] = known
        return refused

    def _tested(self, row: Row) -> Trial | None:
        """Test an alternative; None if it always fails when it runs alone, which its records then say."""
        cell, steady = row.cell, self._header["steady"]
        alone: list[float] = []
        beside: list[tuple[float, float]] = []
        failures, works, warm = 0, False, False
        while True:
            own = len(alone) % 2
            values: list[float] = []
            try:
                for halves in ([own], [0, 1]):
                    found = self._together(dict.fromkeys(halves, row), 0, False)
                    values += [value_of(found[half], cell, steady) for half in halves]
                    works = True
            except ValueError as error:
                failures += 1
                if failures > MOST_FAILURES:
                    return failed(cell["label"], str(error)) if works else None
                continue
            if not warm:
                # The first round warms the caches of the disk.
                warm = True
                continue
            alone.append(values[0])
            beside.append((values[1], values[2]))
            trial = judged(cell["label"], alone, beside) if len(alone) in LOOKS else None
            if trial is not None:
                return trial

    def measure(self, pair: Sequence[Row], attempt: int) -> list[Record]:
        """Run two invocations at once, the first on half 0, and make their records (without `sequence`).

        What perturbs one of them perturbs their ratio, so both have its status.

        Raises:
            Interrupted: the runner received a stop signal; no record is made.
            HostError: a half has ended.
        """
        found = self._together(dict(enumerate(pair)), attempt, True)
        records = [found[half] for half in sorted(found)]
        share_perturbation(records)
        return records

    def _together(self, rows: Mapping[int, Row], attempt: int, counts: bool) -> dict[int, Record]:
        """Run an invocation on each half that has one. `counts`: it is no part of a test."""
        self._measures = True
        for half, row in rows.items():
            place = self._place[row.cell["cell_id"]]
            asked = [row.index, row.round, row.block, row.position]
            self._halves[half].send({"row": asked, "cell": place, "attempt": attempt, "counts": counts})
        ready = dict(self._listen(rows))
        records = {half: message["record"] for half, message in ready.items() if "record" in message}
        # One that does not start has its record already.
        problem = next((f"{NO_PARTNER}{record['reason']}" for record in records.values()), "")
        waiting = [half for half in ready if half not in records]
        before = {half: cpu_ns_of(self._usage[half]) for half in waiting}
        for half in waiting:
            self._halves[half].send({"problem": problem})
        if waiting and not problem:
            for half, cpu_s in self._partners_s({half: rows[half] for half in waiting}, before).items():
                self._halves[half].send({"cpu_s": cpu_s})
        records.update({half: message["record"] for half, message in self._listen(waiting)})
        self._measures = False
        return records

    def _partners_s(self, rows: Mapping[int, Row], before: Mapping[int, int | None]) -> dict[int, float]:
        """Wait for the end of all programs. Return the processor time of the others while each one ran, in s."""
        ended: dict[int, float] = {}
        during: dict[int, dict[int, float | None]] = {}
        for half, message in self._listen(rows):
            # Of those that run on.
            during[half] = {
                other: self._used_s(row, other, before[other])
                for other, row in rows.items()
                if other != half and other not in ended
            }
            ended[half] = float(message["ended"])

        def used_s(half: int, other: int) -> float:
            known = during[half].get(other)
            # One that has ended before used all of its time; without a group, the rest of it is not known.
            return ended[other] if known is None else known

        return {half: sum(used_s(half, other) for other in rows if other != half) for half in rows}

    def _used_s(self, row: Row, half: int, before: int | None) -> float | None:
        now = cpu_ns_of(self._usage[half])
        if now is None or before is None or isolation_kind(row.cell) != "cgroup":
            return None
        return (now - before) / 1e9

    def _listen(self, waited: Iterable[int]) -> Iterator[tuple[int, Message]]:
        """Yield the next message of each half, as they come.

        Raises:
            Interrupted: the runner received a stop signal.
            HostError: a half has ended.
        """
        poll = select.poll()
        poll.register(self.stop.fd, select.POLLIN)
        numbers = {self._halves[number].fd: number for number in waited}
        for fd in numbers:
            poll.register(fd, select.POLLIN)
        while numbers:
            for fd, number in list(numbers.items()):
                try:
                    message = self._halves[number].hear()
                except Ended:
                    raise self._lost(number) from None
                if message is not None:
                    poll.unregister(fd)
                    del numbers[fd]
                    yield number, message
            if numbers:
                poll.poll()
                if self.stop.received:
                    raise Interrupted

    def _lost(self, number: int) -> HostError:
        with contextlib.suppress(OSError):
            select.select([self.stop.fd], [], [], _SIGNAL_S)
        if self.stop.received:
            raise Interrupted
        return HostError(
            self._halves[number].name,
            "a process until the end of the segment",
            "it has ended",
            "run the same command again; all records are intact",
        )


def share_perturbation(records: Sequence[Record]) -> None:
    """Mark all records of a pair as perturbed if one is, with all limits that were exceeded."""
    if len({record["status"] for record in records} | {"ok", "perturbed"}) > 2:
        return  # one failed, and there is no ratio
    exceeded = [limit for record in records for limit in record["perturbation"]]
    if not exceeded:
        return
    reason = "; ".join(dict.fromkeys(str(record["reason"]) for record in records if record["reason"]))
    for record in records:
        record["status"], record["reason"], record["perturbation"] = "perturbed", reason, exceeded
