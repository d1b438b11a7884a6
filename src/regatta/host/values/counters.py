"""Counters of the kernel and of the processor, by meaning. Frozen values, no I/O.

Names mean the same on every processor. Where the kernel's generic event counts something else on a family of processors, the
table has the event of that family, or none. Sources: perf_event_open(2); the kernel's tools/perf/pmu-events.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

#: how the names of metrics begin that the runner counts
METRIC_PREFIX = "counter_"
#: key of `info` in a record: `group`, `groups`, and `missing` with the reason for each counter without a value
INFO = "host_counters"
#: name in a spec of the energy that the processor's packages use
ENERGY = "energy"
#: name in a spec of what became of the places for operations (`SLOTS`): level 1 of Yasin's top-down method (2014)
TOP_DOWN = "top-down"
#: name in a spec of the time that the kernel spends in each of its functions
PROFILE = "kernel-profile"
#: name in a spec of the time for which threads waited for a processor, and of the mean number of such threads
RUN_DELAY, RUN_QUEUE = "run-delay", "run-queue"
#: name in a spec of the functions that the program executes; the record has the time of all of them, `PROFILE_FILE` each
PROGRAM_PROFILE, PROFILE_FILE = "program-profile", "regatta-profile.json"
#: parameter of the metric of `PROFILE`: a function of the kernel, `all` for the sum, or `others` for the rare ones
SYMBOL, ALL, OTHERS = "symbol", "all", "others"
#: names of other times that come with it: outside of the kernel; in futex calls; in the scheduler
PROGRAMS, FUTEX, SCHEDULER = "programs-profile", "futex-profile", "scheduler-profile"
OF_PROFILE = (PROFILE, FUTEX, SCHEDULER, PROGRAMS)
#: variable with the path that the names of two FIFOs begin with; a program asks for its iterations there
BORDERS = "REGATTA_COUNTERS"
#: parameter of a metric: where the processor executed. `all` is the sum.
SPACE = "space"
SPACES = ("user", "kernel")

#: types of events of perf_event_open(2)
_HARDWARE, SOFTWARE, _CACHE, RAW = 0, 1, 3, 4
#: family for events that the kernel knows on every processor
_ANY = ""
INTEL, AMD, ARM = "Intel", "AMD", "Arm"
#: lowest family and model; events of older processors differ
_ZEN_2 = (0x17, 0x30)


@dataclass(frozen=True)
class Event:
    """An event of perf_event_open(2)."""

    type: int
    config: int
    #: name under which the kernel lists it if the processor has it; "": the kernel refuses what the processor lacks
    listed: str = ""


@dataclass(frozen=True)
class Counter:
    """Something that is counted. `events`: family of processors -> its event; "" for all others."""

    about: str
    events: Mapping[str, Event | None]
    unit: str = "count"

    @property
    def by_space(self) -> bool:
        """Return whether user and kernel are counted separately: only by the processor."""
        return any(event is not None and event.type != SOFTWARE for event in self.events.values())

    def event_of(self, family: str) -> Event | None:
        """Return the event on a family of processors; None if it has none with this meaning."""
        return self.events.get(family, self.events.get(_ANY))


def _software(about: str, config: int, unit: str = "count") -> Counter:
    return Counter(about, {_ANY: Event(SOFTWARE, config)}, unit)


def _hardware(about: str, config: int, **families: Event | None) -> Counter:
    return Counter(about, {_ANY: Event(_HARDWARE, config), **families})


def _cache(about: str, cache: int, missed: bool, **families: Event | None) -> Counter:
    """Return the counter of reads of a cache, by its number, or of those that miss it."""
    return Counter(about, {_ANY: Event(_CACHE, cache | missed << 16), **families})


def _amd(config: int) -> Event:
    """Return an event of AMD's manuals: its number, and its unit mask in the second byte."""
    return Event(RAW, config)


def _arm(number: int, name: str) -> Event:
    """Return an event of Arm's architecture. A processor without it would count nothing, and not refuse it."""
    return Event(RAW, number, name)


#: name of the kernel for the places in which a processor can begin an operation: a number per cycle
_SLOTS = "slots"

_L1D, _L1I, _DTLB, _ITLB = 0, 1, 3, 4
_REFERENCES, _CACHE_MISSES = 2, 3

#: Name in a spec -> counter. None: the family has no event with this meaning that is the same in all its models.
#: The kernel's generic cache events are of the last level on Intel, of L2 on AMD, and of L1 on Arm. On some models, its L1
#: events of AMD, and its events of branches and TLBs of Arm, count something else.
COUNTERS: dict[str, Counter] = {
    "task-clock": _software("time on a processor, all threads together", 1, "ns"),
    "context-switches": _software("context switches", 3),
    "migrations": _software("moves of threads to another processor", 4),
    "page-faults": _software("page faults", 2),
    "major-faults": _software("page faults that wait for a disk", 6),
    "cycles": _hardware("cycles", 0),
    "instructions": _hardware("instructions retired", 1),
    "branches": _hardware("branches retired", 4, **{ARM: _arm(0x21, "br_retired")}),
    "branch-misses": _hardware("mispredicted branches", 5, **{ARM: _arm(0x22, "br_mis_pred_retired")}),
    # AMD: ex_ret_brn_tkn. Intel: br_inst_retired.near_taken of the processors that have `slots`, from Ice Lake on; Atom differs.
    "branches-taken": Counter(
        "branches taken", {AMD: _amd(0xC4), INTEL: Event(RAW, 0x20C4, _SLOTS), _ANY: None}
    ),
    # de_dis_uop_queue_empty_di0
    "stalled-frontend": Counter(
        "cycles without instructions to execute",
        {AMD: _amd(0xA9), ARM: _arm(0x23, "stall_frontend"), _ANY: None},
    ),
    "stalled-backend": Counter(
        "cycles without free resources to execute", {ARM: _arm(0x24, "stall_backend"), _ANY: None}
    ),
    "llc-references": Counter(
        "accesses to the last level of cache",
        {INTEL: Event(_HARDWARE, _REFERENCES), ARM: _arm(0x36, "ll_cache_rd"), _ANY: None},
    ),
    "llc-misses": Counter(
        "misses of the last level of cache",
        {INTEL: Event(_HARDWARE, _CACHE_MISSES), ARM: _arm(0x37, "ll_cache_miss_rd"), _ANY: None},
    ),
    "l2-references": Counter(
        "accesses to the L2 cache",
        {AMD: Event(_HARDWARE, _REFERENCES), ARM: _arm(0x16, "l2d_cache"), _ANY: None},
    ),
    "l2-misses": Counter(
        "misses of the L2 cache",
        {AMD: Event(_HARDWARE, _CACHE_MISSES), ARM: _arm(0x17, "l2d_cache_refill"), _ANY: None},
    ),
    "l1d-loads": _cache("loads from the L1 data cache", _L1D, missed=False, **{AMD: None}),
    "l1d-misses": _cache("loads that miss the L1 data cache", _L1D, missed=True, **{AMD: None}),
    # AMD: reads of L2 for the instruction cache
    "l1i-misses": _cache(
        "fetches that miss the L1 instruction cache", _L1I, missed=True, **{AMD: _amd(0x1060)}
    ),
    "dtlb-misses": _cache(
        "data accesses that walk the page table", _DTLB, missed=True, **{ARM: _arm(0x34, "dtlb_walk")}
    ),
    "itlb-misses": _cache(
        "fetches that walk the page table", _ITLB, missed=True, **{ARM: _arm(0x35, "itlb_walk")}
    ),
}


#: What `TOP_DOWN` counts on processors of Intel, whose kernel lists the first: the names and configurations of the kernel
#: (arch/x86/events/intel/core.c). They count at the same time, the first one as their leader, for user or for kernel.
TOP_DOWN_EVENTS = {
    "slots": Event(RAW, 0x0400, _SLOTS),
    "slots-retiring": Event(RAW, 0x8000, _SLOTS),
    "slots-bad-speculation": Event(RAW, 0x8100, _SLOTS),
    "slots-frontend-bound": Event(RAW, 0x8200, _SLOTS),
    "slots-backend-bound": Event(RAW, 0x8300, _SLOTS),
}


@dataclass(frozen=True)
class Ratio:
    """A metric derived from two counters of the same invocation."""

    over: str
    under: str
    factor: float = 1.0
    #: whether higher values are better
    higher: bool = False


_MISSES = (
    "branch-misses", "llc-misses", "l2-misses", "l1d-misses", "l1i-misses", "dtlb-misses", "itlb-misses",
)  # fmt: skip
#: derived metric -> its counters
RATIOS: dict[str, Ratio] = {
    "ipc": Ratio("instructions", "cycles", higher=True),
    "branches_per_instruction": Ratio("branches", "instructions"),
    "branch_miss_ratio": Ratio("branch-misses", "branches"),
    "branch_taken_ratio": Ratio("branches-taken", "branches"),
    "llc_miss_ratio": Ratio("llc-misses", "llc-references"),
    "l2_miss_ratio": Ratio("l2-misses", "l2-references"),
    "l1d_miss_ratio": Ratio("l1d-misses", "l1d-loads"),
    "stalled_frontend_share": Ratio("stalled-frontend", "cycles"),
    "stalled_backend_share": Ratio("stalled-backend", "cycles"),
    "retiring_share": Ratio("slots-retiring", "slots", higher=True),
    **{
        f"{part.replace('-', '_')}_share": Ratio(f"slots-{part}", "slots")
        for part in ("bad-speculation", "frontend-bound", "backend-bound")
    },
    **{
        f"{name.replace('-', '_')}_per_1000_instructions": Ratio(name, "instructions", 1000.0)
        for name in _MISSES
    },
}

#: an event of the processor's own manual, as in its folder `format` in sysfs: `event=0xc4,umask=0x20`
RAW_EVENT = re.compile(
    r"[a-z][a-z0-9_]{0,31}=(0x[0-9a-f]{1,16}|\d{1,19})(,[a-z][a-z0-9_]{0,31}=(0x[0-9a-f]{1,16}|\d{1,19})){0,15}"
)


@dataclass(frozen=True)
class Counted:
    """The counters of a cell: `names` of the table or `energy`, and `raw` events of one kind of processor by a chosen name."""

    names: tuple[str, ...] = ()
    raw: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.names or self.raw)

    @property
    def most_groups(self) -> int:
        """Return the number of groups on a processor that counts one event at a time; 0: nothing needs the processor's counters."""
        of_processor = sum(name in COUNTERS and COUNTERS[name].by_space for name in self.names)
        return len(SPACES) * (of_processor + len(self.raw) + (TOP_DOWN in self.names))

    def __or__(self, other: Counted) -> Counted:
        """Return the counters of both."""
        return Counted(tuple(dict.fromkeys([*self.names, *other.names])), {**self.raw, **other.raw})

    def to_json(self) -> dict[str, Any]:
        """Return the counters as in the runner's plan and in the identity of a cell, independent of the order in the spec."""
        return {"names": sorted(self.names), "raw": dict(sorted(self.raw.items()))}


#: what a metric of counters is per -> beginning of its name
PER = {
    "invocation": METRIC_PREFIX,
    "iteration": f"{METRIC_PREFIX}iteration_",
    "operation": f"{METRIC_PREFIX}operation_",
}


def metric_of(name: str, per: str = "invocation") -> str:
    """Return the metric of a counter or of a derived value: `counter_llc_misses`, `counter_iteration_llc_misses`."""
    return PER[per] + name.replace("-", "_")


#: all that a spec can ask for without an event of the processor's manual
NAMES = (*COUNTERS, TOP_DOWN, RUN_DELAY, ENERGY, PROFILE, PROGRAM_PROFILE)
_COUNTED = (
    *COUNTERS, *TOP_DOWN_EVENTS, RUN_DELAY, RUN_QUEUE, ENERGY, *OF_PROFILE, PROGRAM_PROFILE, *RATIOS,
)  # fmt: skip
#: metric of these and of those derived from them -> name, per
METRICS = {metric_of(name, per): (name, per) for per in PER for name in _COUNTED}


def split_metric(metric: str) -> tuple[str, str]:
    """Return the name, with `_`, and what a metric of counters is per."""
    per = next(per for per in reversed(PER) if metric.startswith(PER[per]))
    return metric.removeprefix(PER[per]), per


def higher_is_better(metric: str) -> bool:
    """Return whether higher values of a metric of counters are better: instructions per cycle."""
    ratio = RATIOS.get(split_metric(metric)[0])
    return ratio is not None and ratio.higher


def family_of(cpuinfo: str) -> str:
    """Return the family of a processor from /proc/cpuinfo; "" if it is another one. AMD begins with Zen 2."""
    fields: dict[str, str] = {}
    for line in cpuinfo.splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    maker = fields.get("vendor_id")
    if maker == "GenuineIntel":
        return INTEL
    if maker == "AuthenticAMD":
        model = tuple(
            int(text) if text.isdigit() else 0 for text in map(fields.get, ("cpu family", "model"), ("", ""))
        )
        return AMD if model >= _ZEN_2 else ""
    return ARM if "CPU implementer" in fields else ""


def by_reason(missing: Mapping[str, str]) -> dict[str, list[str]]:
    """Return reason -> counters without a value; a counter that lacks both spaces is named once.

    Args:
        missing: name, or name and space -> reason.
    """
    reasons: dict[str, list[str]] = {}
    for name, why in missing.items():
        reasons.setdefault(why, []).append(name)
    for why, names in reasons.items():
        both = {
            name.rpartition(" ")[0]
            for name in names
            if all(f"{name.rpartition(' ')[0]} {space}" in names for space in SPACES)
        }
        reasons[why] = list(
            dict.fromkeys(base if (base := name.rpartition(" ")[0]) in both else name for name in names)
        )
    return reasons
