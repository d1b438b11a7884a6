"""Find out what a host can count of what a cell asks for, by opening each counter once, and divide it into groups.

The processor counts few events at a time. Events that do not fit are counted in different invocations. On a processor with several
kinds of cores, each kind counts while a thread runs there.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from regatta.host.counters import delay, energy, perf_events, profile
from regatta.host.counters.perf_events import Cores
from regatta.host.values.counters import (
    COUNTERS,
    ENERGY,
    INTEL,
    PROFILE,
    PROGRAM_PROFILE,
    RATIOS,
    RUN_DELAY,
    SOFTWARE,
    SPACES,
    TOP_DOWN,
    TOP_DOWN_EVENTS,
    Counted,
    Event,
    family_of,
)

_CPUINFO = Path("/proc/cpuinfo")
_BASE = "instructions"


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
        name for name in (PROFILE, PROGRAM_PROFILE) if name in counted.names and (keeps or name == PROFILE)
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
        open_slots(slots, opened)
    except OSError as error:
        if found is not None:
            label = " ".join(filter(None, (name or slots[0].name, slots[0].space)))
            found.missing[label] = why_refused(error, slots[len(opened)])
        return False
    finally:
        for fd in opened:
            os.close(fd)
    return True


def why_refused(error: OSError, slot: Slot) -> str:
    """Return why the kernel refuses a counter, with the kind of cores."""
    why = perf_events.why_not(error)
    return f"{why} (cores {slot.cores})" if slot.cores else why


def open_slots(slots: Sequence[Slot], opened: list[int], pid: int = 0) -> None:
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
    return list(map(tuple, by_counter(slots).values()))


def by_counter(slots: Iterable[Slot]) -> dict[tuple[str, str], list[Slot]]:
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
