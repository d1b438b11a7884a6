"""Choose what is counted in which invocation, count it, and report it as measurements of the invocation.

Groups of counters (`offering`) are counted in a seeded order that depends on the round alone: all alternatives of a block have the
same group, so that their ratios are paired. Nothing is multiplexed: a counter that did not count all the time has no value. On a
processor with several kinds of cores, the sum of the kinds is the count.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regatta.host.counters import delay, energy, perf_events, profile
from regatta.host.counters.borders import Borders
from regatta.host.counters.offering import Offer, Slot, by_counter, offer, open_slots, why_refused
from regatta.host.counters.perf_events import Count
from regatta.host.counters.program_profile import ProgramProfile
from regatta.host.values.counters import (
    ALL,
    COUNTERS,
    ENERGY,
    INFO,
    PER,
    PROFILE,
    PROGRAM_PROFILE,
    RATIOS,
    RUN_DELAY,
    RUN_QUEUE,
    SPACE,
    SPACES,
    Counted,
    metric_of,
    split_metric,
)
from regatta.host.values.record import Iteration

#: of the CPU time between two borders: longest that may pass while the kinds of cores are read one after the other
_MOST_BETWEEN_READS = 0.01
#: name -> what samples beside the program
_SAMPLINGS: dict[str, Callable[[str], profile.Sampling]] = {
    PROFILE: profile.KernelProfile,
    PROGRAM_PROFILE: ProgramProfile,
}
#: metrics that do not grow with the number of operations
_INTENSIVE = {*RATIOS, RUN_QUEUE.replace("-", "_")}


class Counters:
    """The counters of a segment: what the host offers is asked once for each set of counters."""

    def __init__(self, seed: int, host: str, keeps: bool = True) -> None:
        """`keeps`: whether files can be kept next to records."""
        self._keeps = keeps
        self._seed = f"{seed} {host} counters"
        self._offers: dict[str, Offer] = {}

    def of(self, asked: dict[str, Any], place: int, cpus: Collection[int] | None = None) -> Counting:
        """Return the counters of an invocation.

        Args:
            asked: `Counted.to_json`.
            place: number of the round.
            cpus: on which the invocation may run; None: all.
        """
        counted = Counted(tuple(asked["names"]), asked["raw"])
        key = repr((asked, None if cpus is None else sorted(cpus)))
        if key not in self._offers:
            self._offers[key] = offer(counted, cpus=cpus, keeps=self._keeps)
        found = self._offers[key]
        order = list(range(len(found.groups)))
        random.Random(self._seed).shuffle(order)
        return Counting(found, order[place % len(order)] if order else None)


@contextmanager
def _first_in_line() -> Iterator[None]:
    """Let this thread read without waiting for a processor, if it may: a measured program can have thousands of ready threads."""
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError:
        yield
        return
    try:
        yield
    finally:
        os.sched_setscheduler(0, policy, parameters)


@dataclass
class _Border:
    """All counters at one time."""

    at_ns: int
    counts: dict[Slot, Count | None]
    zones: dict[str, energy.Zone]
    delays: delay.Delays


class Counting:
    """The counters of one invocation."""

    def __init__(self, offer: Offer, group: int | None) -> None:
        self._offer = offer
        self._group = group
        self._missing = dict(offer.missing)
        self._fds: dict[Slot, int] = {}
        #: the measured process; 0 before its start
        self._program = 0
        self._begun: _Border | None = None
        self._borders: Borders[_Border] | None = None
        self._profiles: dict[str, profile.Sampling] = {}
        #: name of a file -> its text, to be kept next to the record
        self.files: dict[str, str] = {}

    def prepare(self, results_file: str) -> None:
        """Start what samples beside the program, before any counter is opened: it must not be counted.

        Args:
            results_file: marks its process.
        """
        for name in self._offer.profiles:
            try:
                self._profiles[name] = _SAMPLINGS[name](results_file)
            except OSError as error:
                self._no_profile(name, error)

    @property
    def helpers(self) -> list[int]:
        """Return the processes that work beside the program."""
        return [running.pid for running in self._profiles.values()]

    def close(self) -> None:
        """End what works beside the program."""
        while self._profiles:
            self._profiles.popitem()[1].close()

    def _no_profile(self, name: str, error: OSError) -> None:
        self._missing[name] = error.strerror or str(error)
        running = self._profiles.pop(name, None)
        if running is not None:
            running.close()

    def follow(self, path: Path) -> Borders[_Border] | None:
        """Let the program ask for its iterations through FIFOs; None if nothing is counted.

        Raises:
            OSError: they cannot be made.
        """
        offer = self._offer
        samples_program = PROGRAM_PROFILE in offer.profiles
        if offer.always or self._group is not None or offer.energy or offer.run_delay or samples_program:
            self._borders = Borders(path, self._at_border)
        return self._borders

    def mark(self, request: str) -> None:
        """Read at a border that another program than the counted one has: `begin N` or `end N`."""
        if self._borders is not None:
            self._borders.mark(request.encode(), "another program")

    def begin(self, pid: int = 0) -> None:
        """Open the counters, immediately before the program starts.

        Args:
            pid: of the process that waits to execute the program; 0: this thread starts one.
        """
        for slot in self._offer.always:
            self._start([slot], pid)
        if self._group is not None:
            self._start(self._offer.groups[self._group], pid)
        self._program = pid
        for name, running in list(self._profiles.items()):
            try:
                running.begin()
            except OSError as error:
                self._no_profile(name, error)
        self._begun = self._read()

    def started(self, pid: int) -> None:
        """Note the measured process."""
        self._program = pid

    def _start(self, slots: Sequence[Slot], pid: int) -> None:
        opened: list[int] = []
        try:
            open_slots(slots, opened, pid)
        except OSError as error:
            for fd in opened:
                os.close(fd)
            why = why_refused(error, slots[len(opened)])
            self._missing.update({_label(slot): why for slot in slots})
        else:
            self._fds.update(zip(slots, opened))

    def _read(self) -> _Border:
        zones = energy.read_zones()[0] if self._offer.energy else {}
        counts = {slot: perf_events.read_event(fd) for slot, fd in self._fds.items()}
        return _Border(time.monotonic_ns(), counts, zones, delay.Delays())

    def _at_border(self, begins: bool) -> _Border:
        """Read at a border: what takes long before the iteration, or after it."""
        with _first_in_line():
            early = self._delays_now() if begins else None
            border = self._read()
            border.delays = self._delays_now() if early is None else early
        return border

    def _delays_now(self) -> delay.Delays:
        wanted = self._offer.run_delay and self._program
        return delay.delays_of(self._program) if wanted else delay.Delays()

    def end(self) -> tuple[list[Iteration], dict[str, Any]]:
        """Read and close the counters after the end of the process.

        Returns:
            Rows of the record's `iterations`, and what its `info` says of the counters (`INFO`).
        """
        if self._borders is not None:
            self._borders.close()
        if self._begun is None:
            # The process was not started.
            self.close()
            return [], {INFO: {"missing": self._missing}}
        rows = self._rows(self._begun, self._read(), "invocation", 0) + self._profiled()
        for fd in self._fds.values():
            os.close(fd)
        if self._borders is not None:
            if self._borders.refused:
                self._missing["iterations"] = self._borders.refused
            for number, (first, last) in sorted(self._borders.windows.items()):
                rows += [*self._rows(first, last, "iteration", number), *self._delays(first, last, number)]
            if self._offer.run_delay and not self._borders.windows:
                self._missing[RUN_DELAY] = "only in iterations, which the program does not mark"
        told: dict[str, Any] = {"missing": self._missing}
        if self._group is not None:
            told.update(group=self._group, groups=len(self._offer.groups))
        return rows, {INFO: told}

    def _profiled(self) -> list[Iteration]:
        """Return what was sampled, and keep the texts of what is too much for a record."""
        rows: list[Iteration] = []
        helpers = self.helpers
        for name, running in list(self._profiles.items()):
            try:
                running.stop()
            except OSError as error:
                self._no_profile(name, error)
        borders = self._borders.windows if self._borders is not None else {}
        windows = {number: (first.at_ns, last.at_ns) for number, (first, last) in borders.items()}
        sampled = profile.Sampled(self._program, windows, helpers)
        for name, running in list(self._profiles.items()):
            try:
                measured, files = running.read(sampled)
            except OSError as error:
                self._no_profile(name, error)
            else:
                rows += measured
                self.files.update(files)
        self.close()
        return rows

    def _rows(self, first: _Border, last: _Border, per: str, iteration: int) -> list[Iteration]:
        """Return the measurements between two borders, and note why some are missing."""
        counts = {
            key: count
            for key, slots in by_counter(self._fds).items()
            if (count := self._difference(slots, first.counts, last.counts)) is not None
        }
        rows = [_row(name, count, space, per, iteration) for (name, space), count in counts.items()]
        by_space = {(name, space): count for (name, space), count in counts.items() if space}
        rows += _derived(by_space, per, iteration)
        if self._offer.energy:
            elapsed_s = (last.at_ns - first.at_ns) / 1e9
            used_j, why = energy.joules(first.zones, last.zones, elapsed_s)
            if used_j is None:
                self._missing[ENERGY] = why
            else:
                rows.append([iteration, metric_of(ENERGY, per), used_j, "J", None, None])
        return rows

    def _delays(self, first: _Border, last: _Border, iteration: int) -> list[Iteration]:
        """Return how many threads waited on average, and the delay of all of them in an iteration."""
        if not self._offer.run_delay:
            return []
        queue, why = delay.waiting_between(first.delays, last.delays, (last.at_ns - first.at_ns) / 1e9)
        if queue is None:
            self._missing[RUN_DELAY] = why
            return []
        delay_ns = queue * (last.at_ns - first.at_ns)
        return [
            [iteration, metric_of(RUN_DELAY, "iteration"), delay_ns, "ns", None, None],
            [iteration, metric_of(RUN_QUEUE, "iteration"), queue, "ratio", None, None],
        ]

    def _difference(
        self, slots: Sequence[Slot], first: Mapping[Slot, Count | None], last: Mapping[Slot, Count | None]
    ) -> int | None:
        """Return the count between two borders; None, with the reason noted, if the processor did not count all the time.

        A kind of cores counts only while a thread runs there. So it is enabled for all of the time, and the times for which the
        kinds counted add up to it. Between the reads of two kinds some time passes: their times enabled tell how much.
        """
        begins = [count for slot in slots if (count := first[slot])]
        ends = [count for slot in slots if (count := last[slot])]
        complete = len(begins) == len(ends) == len(slots) and all(count.enabled_ns for count in ends)
        enabled_ns = (
            [end.enabled_ns - begin.enabled_ns for begin, end in zip(begins, ends)] if complete else [0]
        )
        enabled, running = max(enabled_ns), sum(count.running_ns for count in ends if complete)
        running -= sum(count.running_ns for count in begins if complete)
        between = sum(_spread(counts) for counts in (begins, ends)) if complete else 0
        if complete and between <= _MOST_BETWEEN_READS * enabled and abs(running - enabled) <= between:
            return sum(count.value for count in ends) - sum(count.value for count in begins)
        if between > _MOST_BETWEEN_READS * enabled:
            why = f"reading the kinds of cores took {100 * between / enabled if enabled else 100:.0f} % of the time"
        else:
            share = 100 * running / enabled if enabled else 0
            why = f"counted for {share:.0f} % of the time: another program uses the counters"
        self._missing[_label(slots[0])] = why
        return None


def _spread(counts: Sequence[Count]) -> int:
    """Return the time, in ns, that passed for the process while its kinds of cores were read."""
    times = [count.enabled_ns for count in counts]
    return max(times) - min(times)


def _operations(reported: Sequence[Iteration], metric: str) -> dict[int, int]:
    """Return iteration -> operations of its only value of the metric; without iterations that have none, or several values."""
    found: dict[int, list[Any]] = {}
    for iteration, name, _, _, operations, _ in reported:
        if name == metric:
            found.setdefault(iteration, []).append(operations)
    return {iteration: given[0] for iteration, given in found.items() if len(given) == 1 and given[0]}


def per_operation(counts: Iterable[Iteration], reported: Sequence[Iteration], metric: str) -> list[Iteration]:
    """Return the counts of iterations by operation.

    Args:
        counts: from `Counting.end`.
        reported: measurements of the program.
        metric: the one of them whose operations the counts of an iteration are divided by.
    """
    operations = _operations(reported, metric)
    rows = []
    for iteration, counted, value, unit, _, parameters in counts:
        name, per = split_metric(counted)
        if per == "iteration" and name not in _INTENSIVE and iteration in operations:
            rows.append(
                [iteration, PER["operation"] + name, value / operations[iteration], unit, None, parameters]
            )
    return rows


def _row(name: str, count: int, space: str, per: str, iteration: int) -> Iteration:
    unit = COUNTERS[name].unit if name in COUNTERS else "count"
    return [iteration, metric_of(name, per), count, unit, None, {SPACE: space} if space else None]


def _derived(counts: Mapping[tuple[str, str], int], per: str, iteration: int) -> list[Iteration]:
    """Return sums over the spaces, and ratios. `counts`: (name, space) -> count between the same borders."""
    names = dict.fromkeys(name for name, _ in counts)
    sums = {
        (name, ALL): sum(counts[name, space] for space in SPACES)
        for name in names
        if all((name, space) in counts for space in SPACES)
    }
    every = {**counts, **sums}
    rows = [_row(name, count, space, per, iteration) for (name, space), count in sums.items()]
    for derived, ratio in RATIOS.items():
        for space in (*SPACES, ALL):
            over, under = every.get((ratio.over, space)), every.get((ratio.under, space))
            if over is not None and under:
                value = ratio.factor * over / under
                rows.append([iteration, metric_of(derived, per), value, "ratio", None, {SPACE: space}])
    return rows


def _label(slot: Slot) -> str:
    return f"{slot.name} {slot.space}" if slot.space else slot.name
