"""Choose what is counted in which invocation, count it, and report it as measurements of the invocation.

The processor counts few events at a time. Events that do not fit are counted in different invocations, in a seeded order that
depends on the round alone: all alternatives of a block have the same group, so that their ratios are paired. Nothing is
multiplexed: a counter that did not count all the time has no value.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regatta.host.counters import delay, energy, perf_events, profile
from regatta.host.counters.borders import Borders
from regatta.host.counters.perf_events import Count
from regatta.host.values.counters import (
    ALL,
    COUNTERS,
    ENERGY,
    INFO,
    INTEL,
    OTHERS,
    PER,
    PROFILE,
    PROGRAMS,
    RATIOS,
    RUN_DELAY,
    RUN_QUEUE,
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
#: of the samples in the kernel: functions below are reported together
_LEAST_SHARE = 0.005
#: metrics that do not grow with the number of operations
_INTENSIVE = {*RATIOS, RUN_QUEUE.replace("-", "_")}


@dataclass(frozen=True)
class Slot:
    """One counter of the kernel. `space`: `user`, `kernel`, or "" for an event of both."""

    name: str
    space: str
    event: Event


Group = tuple[Slot, ...]


@dataclass
class Offer:
    """What a host can count of what a cell asks for."""

    #: counted in every invocation
    always: Group = ()
    #: counted in different invocations; each fits the processor
    groups: list[Group] = field(default_factory=list)
    energy: bool = False
    profile: bool = False
    run_delay: bool = False
    #: name, or name and space -> why it is not counted
    missing: dict[str, str] = field(default_factory=dict)


def offer(counted: Counted, family: str | None = None) -> Offer:
    """Find out what this host counts, by opening each counter once.

    Args:
        counted: what is asked for.
        family: of the processor; None: this one's.
    """
    family = family_of(_CPUINFO.read_text(errors="replace")) if family is None else family
    found = Offer()
    by_name: dict[str, list[Slot]] = {}
    for name, event in _events(counted, family, found):
        spaced = name in counted.raw or COUNTERS[name].by_space
        by_name[name] = [
            slot
            for slot in (Slot(name, space, event) for space in (SPACES if spaced else ("",)))
            if _opens([slot], found)
        ]
    found.always = tuple(slot for slots in by_name.values() for slot in slots if not slot.space)
    hardware = {name: slots for name, slots in by_name.items() if slots and slots[0].space}
    found.groups = _groups(hardware)
    if TOP_DOWN in counted.names:
        found.groups += _top_down(family, found)
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
    if PROFILE in counted.names:
        why = profile.why_not()
        found.profile = not why
        if why:
            found.missing[PROFILE] = why
    return found


def _events(counted: Counted, family: str, found: Offer) -> Iterable[tuple[str, Event]]:
    """Yield the event of each counter, in the order of the table; note those that the processor does not have."""
    for name, counter in COUNTERS.items():
        if name in counted.names:
            event = counter.event_of(family)
            if event is None:
                found.missing[name] = (
                    f"not the same event on all {family or 'such'} processors; give its `event`"
                )
            elif perf_events.is_listed(event):
                yield name, event
            else:
                found.missing[name] = perf_events.NO_COUNTER
    for name, text in counted.raw.items():
        try:
            yield name, perf_events.raw_event(text)
        except OSError as error:
            found.missing[name] = perf_events.why_not(error)


def _top_down(family: str, found: Offer) -> list[Group]:
    """Return the groups of the top-down method, for user and for kernel; note why there is none."""
    groups = [tuple(Slot(name, space, event) for name, event in TOP_DOWN_EVENTS.items()) for space in SPACES]
    if family != INTEL:
        found.missing[TOP_DOWN] = "only on processors of Intel, from Ice Lake on"
    elif not perf_events.is_listed(groups[0][0].event):
        found.missing[TOP_DOWN] = perf_events.NO_COUNTER
    else:
        return [group for group in groups if _opens(group, found, TOP_DOWN)]
    return []


def _opens(slots: Sequence[Slot], found: Offer | None = None, name: str = "") -> bool:
    """Return whether the kernel counts these at the same time; note why not. `name`: of all of them; "": of the first."""
    opened: list[int] = []
    try:
        _open(slots, opened)
    except OSError as error:
        if found is not None:
            label = " ".join(filter(None, (name or slots[0].name, slots[0].space)))
            found.missing[label] = perf_events.why_not(error)
        return False
    finally:
        for fd in opened:
            os.close(fd)
    return True


def _open(slots: Sequence[Slot], opened: list[int], pid: int = 0) -> None:
    for slot in slots:
        opened.append(perf_events.open_event(slot.event, slot.space, opened[0] if opened else -1, pid))


def _groups(hardware: dict[str, list[Slot]]) -> list[Group]:
    """Divide the counters into groups that fit the processor, with the instructions in each, because misses relate to them."""
    base = hardware.pop(_BASE, [])
    groups: list[Group] = []
    if base and not _opens(base):
        groups = [(slot,) for slot in base]
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
                groups += [(slot,) for slot in slots]
    if len(current) > len(base) or not all(any(slot in group for group in groups) for slot in base):
        groups.append(tuple(current))
    return groups


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

    def __init__(self, seed: int, host: str) -> None:
        self._seed = f"{seed} {host} counters"
        self._offers: dict[str, Offer] = {}

    def of(self, asked: dict[str, Any], place: int) -> Counting:
        """Return the counters of an invocation.

        Args:
            asked: `Counted.to_json`.
            place: number of the round.
        """
        counted = Counted(tuple(asked["names"]), asked["raw"])
        key = repr(asked)
        if key not in self._offers:
            self._offers[key] = offer(counted)
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
        self._profile: profile.KernelProfile | None = None

    def prepare(self, results_file: str) -> None:
        """Start what samples beside the program, before any counter is opened: it must not be counted.

        Args:
            results_file: marks its process.
        """
        if self._offer.profile:
            try:
                self._profile = profile.KernelProfile(results_file)
            except OSError as error:
                self._no_profile(error)

    @property
    def helpers(self) -> list[int]:
        """Return the processes that work beside the program."""
        return [] if self._profile is None else [self._profile.pid]

    def close(self) -> None:
        """End what works beside the program."""
        running, self._profile = self._profile, None
        if running is not None:
            running.close()

    def _no_profile(self, error: OSError) -> None:
        self._missing[PROFILE] = error.strerror or str(error)
        self.close()

    def follow(self, path: Path) -> Borders[_Border] | None:
        """Let the program ask for its iterations through FIFOs; None if nothing is counted.

        Raises:
            OSError: they cannot be made.
        """
        offer = self._offer
        if offer.always or self._group is not None or offer.energy or offer.run_delay:
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
        if self._profile is not None:
            try:
                self._profile.begin()
            except OSError as error:
                self._no_profile(error)
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
            self._missing.update({_label(slot): perf_events.why_not(error) for slot in slots})
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
        if self._profile is None:
            return []
        try:
            found = self._profile.end()
        except OSError as error:
            self._no_profile(error)
            return []
        self.close()
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
            slot: count
            for slot in self._fds
            if (count := self._difference(slot, first.counts[slot], last.counts[slot])) is not None
        }
        rows = [_row(slot.name, count, slot.space, per, iteration) for slot, count in counts.items()]
        by_space = {(slot.name, slot.space): count for slot, count in counts.items() if slot.space}
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

    def _difference(self, slot: Slot, first: Count | None, last: Count | None) -> int | None:
        """Return the count between two borders; None, with the reason noted, if the processor did not count all the time."""
        enabled_ns = last.enabled_ns - first.enabled_ns if first and last else 0
        running_ns = last.running_ns - first.running_ns if first and last else 0
        if first is None or last is None or not last.enabled_ns or running_ns < enabled_ns:
            share = 100 * running_ns / enabled_ns if enabled_ns else 0
            self._missing[_label(slot)] = (
                f"counted for {share:.0f} % of the time: another program uses the counters"
            )
            return None
        return last.value - first.value


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
