"""Choose what is counted in which invocation, count it, and report it as measurements of the invocation.

The processor counts few events at a time. Events that do not fit are counted in different invocations, in a seeded order that
depends on the round alone: all alternatives of a block have the same group, so that their ratios are paired. Nothing is
multiplexed: a counter that did not count all the time has no value. On a processor with several kinds of cores, each kind counts
while a thread runs there; the sum is the count.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regatta.host.counters import delay, energy, perf_events, profile
from regatta.host.counters.borders import Borders
from regatta.host.counters.perf_events import Cores, Count
from regatta.host.counters.program_profile import ProgramProfile
from regatta.host.values.counters import (
    ALL,
    COUNTERS,
    ENERGY,
    INFO,
    INTEL,
    OTHERS,
    PER,
    PROFILE,
    PROFILE_FILE,
    PROGRAM_PROFILE,
    PROGRAMS,
    RATIOS,
    RUN_DELAY,
    RUN_QUEUE,
    SOFTWARE,
    SPACE,
    SPACES,
    SYMBOL,
    TOP_DOWN,
    TOP_DOWN_EVENTS,
    Counted,
    Event,
    family_of,
    metric_of,
    split_metric,
)
from regatta.host.values.record import Iteration

_CPUINFO = Path("/proc/cpuinfo")
_BASE = "instructions"
#: of the CPU time between two borders: longest that may pass while the kinds of cores are read one after the other
_MOST_BETWEEN_READS = 0.01
#: of the samples in the kernel: functions below are reported together
_LEAST_SHARE = 0.005
#: name -> what samples beside the program
_SAMPLINGS: dict[str, Callable[[str], profile.Sampling]] = {
    PROFILE: profile.KernelProfile,
    PROGRAM_PROFILE: ProgramProfile,
}
#: metrics that do not grow with the number of operations
_INTENSIVE = {*RATIOS, RUN_QUEUE.replace("-", "_")}


@dataclass(frozen=True)
class Slot:
    """One counter of the kernel. `space`: `user`, `kernel`, or "" for an event of both. `cores`: kind that counts; "": the only one."""

    name: str
    space: str
    event: Event
    cores: str = ""


Group = tuple[Slot, ...]


@dataclass
class Offer:
    """What a host can count of what a cell asks for."""

    #: counted in every invocation
    always: Group = ()
    #: counted in different invocations; each fits the processor
    groups: list[Group] = field(default_factory=list)
    energy: bool = False
    #: `PROFILE` and `PROGRAM_PROFILE`
    profiles: tuple[str, ...] = ()
    run_delay: bool = False
    #: name, or name and space -> why it is not counted
    missing: dict[str, str] = field(default_factory=dict)


def offer(
    counted: Counted, family: str | None = None, cpus: Collection[int] | None = None, keeps: bool = True
) -> Offer:
    """Find out what this host counts, by opening each counter once.

    Args:
        counted: what is asked for.
        family: of the processor; None: this one's.
        cpus: on which the counted process may run; None: all.
        keeps: whether files can be kept next to records, which the profile of a program needs.
    """
    kinds = perf_events.kinds_of_cores(cpus)
    family = family_of(_CPUINFO.read_text(errors="replace")) if family is None else family
    found = Offer()
    by_name: dict[str, list[Slot]] = {}
    for name, events in _events(counted, family, kinds, found):
        spaced = name in counted.raw or COUNTERS[name].by_space
        spaces = [_slots(name, space, events) for space in (SPACES if spaced else ("",))]
        by_name[name] = [slot for slots in spaces if _opens(slots, found) for slot in slots]
    found.always = tuple(slot for slots in by_name.values() for slot in slots if not slot.space)
    hardware = {name: slots for name, slots in by_name.items() if slots and slots[0].space}
    found.groups = _groups(hardware)
    if TOP_DOWN in counted.names:
        found.groups += _top_down(family, kinds, found)
    if ENERGY in counted.names:
        _, why = energy.read_zones()
        found.energy = not why
        if why:
            found.missing[ENERGY] = why
    if RUN_DELAY in counted.names:
        why = delay.why_not()
        found.run_delay = not why
        if why:
            found.missing[RUN_DELAY] = why
    wanted = tuple(
        name for name in _SAMPLINGS if name in counted.names and (keeps or name != PROGRAM_PROFILE)
    )
    if PROGRAM_PROFILE in counted.names and not keeps:
        found.missing[PROGRAM_PROFILE] = "not with roles, whose files are not kept"
    why = profile.why_not() if wanted else ""
    if why:
        found.missing.update(dict.fromkeys(wanted, why))
    else:
        found.profiles = wanted
    return found


#: kind of cores -> what it counts
_Events = Mapping[str, Event]


def _slots(name: str, space: str, events: _Events) -> list[Slot]:
    return [Slot(name, space, event, cores) for cores, event in events.items()]


def _events(
    counted: Counted, family: str, kinds: Sequence[Cores], found: Offer
) -> Iterable[tuple[str, _Events]]:
    """Yield the events of each counter, in the order of the table; note those that the processor does not have."""
    for name, counter in COUNTERS.items():
        if name in counted.names:
            event = counter.event_of(family)
            if event is None:
                found.missing[name] = (
                    f"not the same event on all {family or 'such'} processors; give its `event`"
                )
            else:
                try:
                    yield name, _on_each(event, kinds)
                except OSError as error:
                    found.missing[name] = perf_events.why_not(error)
    for name, text in counted.raw.items():
        try:
            yield name, {cores.name: perf_events.raw_event(text, cores) for cores in kinds}
        except OSError as error:
            found.missing[name] = perf_events.why_not(error)


def _on_each(event: Event, kinds: Sequence[Cores]) -> _Events:
    """Return the event on each kind of cores; the kernel's own events know no kinds. Raises OSError: one kind lacks it."""
    if event.type == SOFTWARE:
        return {"": event}
    return {cores.name: perf_events.event_on(event, cores) for cores in kinds}


def _top_down(family: str, kinds: Sequence[Cores], found: Offer) -> list[Group]:
    """Return the groups of the top-down method, for user and for kernel; note why there is none."""
    if family != INTEL:
        found.missing[TOP_DOWN] = "only on processors of Intel, from Ice Lake on"
        return []
    try:
        events = {name: _on_each(event, kinds) for name, event in TOP_DOWN_EVENTS.items()}
    except OSError as error:
        found.missing[TOP_DOWN] = perf_events.why_not(error)
        return []
    groups = [
        tuple(slot for name in events for slot in _slots(name, space, events[name])) for space in SPACES
    ]
    return [group for group in groups if _opens(group, found, TOP_DOWN)]


def _opens(slots: Sequence[Slot], found: Offer | None = None, name: str = "") -> bool:
    """Return whether the kernel counts these at the same time; note why not. `name`: of all of them; "": of the first."""
    opened: list[int] = []
    try:
        _open(slots, opened)
    except OSError as error:
        if found is not None:
            label = " ".join(filter(None, (name or slots[0].name, slots[0].space)))
            found.missing[label] = _why_not(error, slots[len(opened)])
        return False
    finally:
        for fd in opened:
            os.close(fd)
    return True


def _why_not(error: OSError, slot: Slot) -> str:
    """Return why the kernel refuses a counter, with the kind of cores."""
    why = perf_events.why_not(error)
    return f"{why} (cores {slot.cores})" if slot.cores else why


def _open(slots: Sequence[Slot], opened: list[int], pid: int = 0) -> None:
    """Open counters that count at the same time: a group for each kind of cores, because the kernel has no others."""
    leaders: dict[str, int] = {}
    for slot in slots:
        fd = perf_events.open_event(slot.event, slot.space, leaders.get(slot.cores, -1), pid)
        opened.append(fd)
        leaders.setdefault(slot.cores, fd)


def _groups(hardware: dict[str, list[Slot]]) -> list[Group]:
    """Divide the counters into groups that fit the processor, with the instructions in each, because misses relate to them."""
    base = hardware.pop(_BASE, [])
    groups: list[Group] = []
    if base and not _opens(base):
        groups = _apart(base)
        base = []
    current = list(base)
    for names in _together(list(hardware)):
        bundle = [slot for name in names for slot in hardware[name]]
        smaller = [bundle] if _opens([*base, *bundle]) else [hardware[name] for name in names]
        for slots in smaller:
            if _opens([*current, *slots]):
                current += slots
                continue
            if len(current) > len(base):
                groups.append(tuple(current))
                current = list(base)
            if _opens([*current, *slots]):
                current += slots
            else:
                # Without the instructions, one at a time.
                groups += _apart(slots)
    if len(current) > len(base) or not all(any(slot in group for group in groups) for slot in base):
        groups.append(tuple(current))
    return groups


def _apart(slots: Iterable[Slot]) -> list[Group]:
    """Return a group for each counter and space, on all kinds of cores."""
    return list(map(tuple, _by_counter(slots).values()))


def _by_counter(slots: Iterable[Slot]) -> dict[tuple[str, str], list[Slot]]:
    """Return (name, space) -> its slots, one per kind of cores."""
    found: dict[tuple[str, str], list[Slot]] = {}
    for slot in slots:
        found.setdefault((slot.name, slot.space), []).append(slot)
    return found


def _together(names: list[str]) -> list[list[str]]:
    """Join names that are in one ratio, which needs both from the same invocation."""
    bundles = [[name] for name in names]
    for ratio in RATIOS.values():
        holding = [bundle for bundle in bundles if ratio.over in bundle or ratio.under in bundle]
        if len(holding) == 2:
            holding[0].extend(holding[1])
            bundles.remove(holding[1])
    return bundles


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
            _open(slots, opened, pid)
        except OSError as error:
            for fd in opened:
                os.close(fd)
            why = _why_not(error, slots[len(opened)])
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
        """Return what was sampled; keep the text of what is too much for a record."""
        rows = []
        helpers = self.helpers
        for name, running in list(self._profiles.items()):
            try:
                running.stop()
            except OSError as error:
                self._no_profile(name, error)
        for name, running in list(self._profiles.items()):
            try:
                if isinstance(running, profile.KernelProfile):
                    rows += self._kernel_rows(running.read(helpers))
                elif isinstance(running, ProgramProfile):
                    borders = self._borders.windows if self._borders is not None else {}
                    windows = {number: (first.at_ns, last.at_ns) for number, (first, last) in borders.items()}
                    self.files[PROFILE_FILE], sampled_s = running.read(self._program, windows)
                    rows.append([0, metric_of(PROGRAM_PROFILE), sampled_s, "s", None, None])
            except OSError as error:
                self._no_profile(name, error)
        self.close()
        return rows

    @staticmethod
    def _kernel_rows(found: profile.Profile) -> list[Iteration]:
        total_s = sum(found.symbols.values())
        shown = {
            symbol: used_s for symbol, used_s in found.symbols.items() if used_s >= _LEAST_SHARE * total_s
        }
        parts = {ALL: total_s, **shown, OTHERS: max(0.0, total_s - sum(shown.values()))}
        metric = metric_of(PROFILE)
        return [
            *([0, metric, used_s, "s", None, {SYMBOL: symbol}] for symbol, used_s in parts.items()),
            *([0, metric_of(kind), used_s, "s", None, None] for kind, used_s in found.kinds.items()),
            [0, metric_of(PROGRAMS), found.programs, "s", None, None],
        ]

    def _rows(self, first: _Border, last: _Border, per: str, iteration: int) -> list[Iteration]:
        """Return the measurements between two borders, and note why some are missing."""
        counts = {
            key: count
            for key, slots in _by_counter(self._fds).items()
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
