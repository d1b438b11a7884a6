"""Read the single collections and the allocation stalls of a JVM from its log, of releases 11 to 25.

`-Xlog:gc*:file=FILE:uptimenanos,tags` writes all that is read here. Other decorations are fine if one of them
is a time.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from regatta.host.errors import RegattaError
from regatta.host.files import read_bounded
from regatta.host.foreign import foreign

YOUNG, MIXED, FULL, CYCLE = "young", "mixed", "full", "cycle"

_LINE = re.compile(r"^(?P<decorations>(?:\[[^\]]*\])+) (?:GC\((?P<id>\d+)\) )?(?P<text>.*)$")
_DECORATION = re.compile(r"\[([^\]]*)\]")
_CLOCK = re.compile(r"^(\d+(?:[.,]\d+)?)(ns|ms|s)$")
_DATE = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.,]\d{3}[+-]\d{4}$")
#: the log of an hour of a busy JVM has some MiB
_MOST_BYTES = 128 << 20
#: more digits than a number of 64 bits
_TOO_LONG = re.compile(r"\d{21}")
#: A thread can be delayed between the time in its line and the line. The clock of a new JVM, or one that was
#: set, goes back more.
_LATE_NS = 1e9
#: of ZGC since release 21, with the generation: `Y: `
_PAUSE = re.compile(r"^(?:\w: )?Pause (?P<name>.*?) ?(?P<ms>\d+[.,]\d+)ms$")
_PHASE = re.compile(r"^(?:\w: )?Concurrent (?P<name>.*?) ?(?P<ms>\d+[.,]\d+)ms$")
#: The last parenthesis ends the name of the thread, which can contain others.
_STALL = re.compile(
    r"^(?:\w: )?(?P<kind>Allocation|Relocation) Stall \((?P<thread>.*)\) (?P<ms>\d+[.,]\d+)ms$"
)
#: of the JVM; its stalls do not stop the program
_COMPILER = re.compile(r"^(?:C[12]|JVMCI) CompilerThread\d+$")
#: of Shenandoah, in the statistics of a cycle: the delays of all threads
_PACING = re.compile(r"^Pacing +(\d+) us$")
#: of G1: all phases with the time between them
_WHOLE_CYCLE = "Cycle"
_STARTED = re.compile(r"^Pause (?:Young|Full)\b(?!.*ms$)")
_CHANGE = re.compile(r"(\d+)([BKMG])(?:\(\d+%\))?->(\d+)([BKMG])")
#: The end of the JVM aborts a cycle, which then does not log the phase that runs.
_CYCLE_OF_Z = re.compile(
    r"^(?:Garbage|Minor|Major) Collection \((?P<cause>[^()]*(?:\(\))?)\)(?P<aborted> Aborted)?"
)
_SPACE = re.compile(r"^(?P<name>DefNew|PSYoungGen|Tenured|ParOldGen|TenuredGen): (?P<rest>\d+K.*)")
_SPACE_SIZES = re.compile(r"^(\d+)K\((\d+)K\)->(\d+)K\((\d+)K\)")
_REGIONS = re.compile(r"^(Eden|Survivor|Old|Humongous) regions: (\d+)->(\d+)")
_DURATION = re.compile(r" (\d+[.,]\d+)ms$")
#: of Shenandoah, if its pacing is on
_PACER = "Pacer for "
_CAUSES = re.compile(r"\(([^()]*(?:\(\))?)\)")
#: Shenandoah tells why a cycle starts before it.
_TRIGGER = "Trigger: "
_REGION_SIZE = re.compile(r"^Heap Region Size: (\d+)([KMG])")
_HEAP = re.compile(r"^(?:Heap )?Max Capacity: (\d+)([BKMG])")
_USING = re.compile(r"^(?:Using (?:The )?(Serial|Parallel|G1|Z|Shenandoah|Epsilon)\b|Initializing The (Z) )")
_UNITS = {"B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_ONE = "write one file per JVM, with the decoration uptimenanos"
_AGAIN = "make the log again: a JVM does not write such a number"
_NS = {"ns": 1.0, "ms": 1e6, "s": 1e9}


@dataclass(frozen=True)
class Space:
    """Occupancy of a generation around a collection, in bytes."""

    before: int
    after: int
    #: 0 if the log does not tell it
    capacity: int = 0


@dataclass(frozen=True)
class Stall:
    """A wait of one thread for memory that a concurrent collector has not freed yet. Others can run."""

    #: `allocation`; `relocation` of an object that the thread needs and cannot copy itself
    kind: str
    thread: str
    #: ns on the clock of the log
    started_ns: float
    ended_ns: float

    @property
    def ns(self) -> float:
        """Return its duration."""
        return self.ended_ns - self.started_ns


@dataclass(frozen=True)
class Collection:
    """One collection: a pause, or a concurrent cycle with its pauses."""

    number: int
    #: `young`, `mixed`, `full`, or `cycle` of a concurrent collector
    kind: str
    #: `System.gc()`, `Allocation Failure`
    cause: str
    #: first and last moment in the log, ns on its clock
    started_ns: float
    ended_ns: float
    #: time in which all threads are stopped; NaN if the log has no pauses of it
    pause_ns: float
    #: time that concurrent phases cover, without the pauses; NaN if the log has no phases of it
    concurrent_ns: float
    #: heap occupancy, bytes; None if the log does not tell it
    before_bytes: int | None
    after_bytes: int | None
    young: Space | None = None
    old: Space | None = None


@dataclass(frozen=True)
class CollectionLog:
    """The collections of one JVM in the order of their ends."""

    #: `Serial`, `Parallel`, `G1`, `Z`, `Shenandoah`, `Epsilon`; "" if the log does not tell it
    collector: str
    #: maximum heap, bytes; None if the log does not tell it
    heap_bytes: int | None
    collections: Sequence[Collection]
    #: in the order of their ends
    stalls: Sequence[Stall] = ()
    #: why `stalls` is incomplete; "" if it is complete
    stalls_missing: str = ""
    #: sum of the delays of Shenandoah's pacing over all threads, ns; NaN if the log does not tell it, and for
    #: other collectors
    paced_ns: float = math.nan
    #: Whether the log begins with the JVM. If not, the number and the sum of its collections and stalls are
    #: undefined.
    is_whole: bool = True
    #: what the log lacks, and the option that adds it
    notes: Sequence[str] = ()


@dataclass
class _Open:
    """A collection while its lines are read."""

    first_ns: float
    trigger: str = ""
    last_ns: float = 0.0
    pauses: list[tuple[float, float]] = field(default_factory=list)
    phases: list[tuple[float, float]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    #: whether a line with the end of a cycle was read, which has no time in a pause or phase
    is_cycle: bool = False
    cause: str = ""
    before: int | None = None
    after: int | None = None
    spaces: dict[str, Space] = field(default_factory=dict)
    regions: dict[str, tuple[int, int]] = field(default_factory=dict)
    stopped: bool = False


def read_collection_log(path: Path) -> CollectionLog:
    """Read the log of a JVM that has ended.

    Raises:
        RegattaError: no such file, lines of another form, or a log that ends within a line or a pause.
    """
    with foreign(path, "a GC log", "see modifier collection-log"):
        return parse_collection_log(read_bounded(path, _MOST_BYTES).decode(errors="replace"), str(path))


def parse_collection_log(text: str, where: str) -> CollectionLog:
    """Parse a log; see `read_collection_log`."""
    if text and not text.endswith("\n"):
        raise _cut(where, f"a part of line {text.count(chr(10)) + 1}")
    clock: _Clock | None = None
    collector, heap, region, trigger = "", None, 0, ""
    found: dict[int, _Open] = {}
    stalls: list[Stall] = []
    paced, is_paced, is_started = math.nan, False, False
    latest = -math.inf
    for number, line in enumerate(text.splitlines(), 1):
        if _TOO_LONG.search(line):
            raise RegattaError(f"{where}:{number}", "numbers of at most 20 digits", _short(line), _AGAIN)
        parts = _LINE.match(line)
        clock = clock or _clock_of(parts["decorations"] if parts else "", where, line)
        at = clock.read(parts["decorations"]) if parts else None
        if parts is None or at is None:
            # The further lines of a message of several lines.
            continue
        if at < latest - _LATE_NS:
            raise RegattaError(
                f"{where}:{number}",
                "times in the order of the lines, from one JVM",
                f"{(latest - at) / 1e9:.3g} s before an earlier line",
                _ONE,
            )
        latest = max(latest, at)
        duration = _duration(parts["text"])
        if duration > at + clock.step_ns:
            raise RegattaError(
                f"{where}:{number}", "a duration since the start of the JVM", f"{duration / 1e6:g} ms", _AGAIN
            )
        stall = _STALL.match(parts["text"])
        if stall:
            if not _COMPILER.match(stall["thread"]):
                stalls.append(Stall(stall["kind"].lower(), stall["thread"], at - duration, at))
            continue
        if parts["id"] is None:
            using = _USING.match(parts["text"])
            if using and parts["text"].startswith("Using "):
                if is_started:
                    got = "the start of a second one"
                    raise RegattaError(f"{where}:{number}", "the log of one JVM", got, _ONE)
                is_started = True
            collector = (using[1] or using[2]) if using else collector
            size = _HEAP.match(parts["text"])
            heap = _bytes(size[1], size[2]) if size else heap
            regions = _REGION_SIZE.match(parts["text"])
            region = _bytes(regions[1], regions[2]) if regions else region
            pacing = _PACING.match(parts["text"])
            if pacing:
                paced = (0.0 if math.isnan(paced) else paced) + float(pacing[1]) * 1e3
            is_paced = is_paced or bool(pacing) or parts["text"].startswith(_PACER)
            if parts["text"].startswith(_TRIGGER):
                trigger = "System.gc()" if "System.gc()" in parts["text"] else "heuristics"
            continue
        is_paced = is_paced or parts["text"].startswith(_PACER)
        if int(parts["id"]) not in found:
            found[int(parts["id"])] = _Open(at, trigger=trigger)
            trigger = ""
        _take(found[int(parts["id"])], parts["text"].strip(), at, duration)
    if clock is None:
        raise _other(where, "an empty file")
    open_ones = [number for number, each in found.items() if each.stopped]
    if open_ones:
        raise _cut(where, f"the start of collection {open_ones[0]} without its end")
    _without_nested(found.values())
    closed = [
        _closed(number, each, region)
        for number, each in found.items()
        if each.pauses or each.phases or each.is_cycle
    ]
    closed.sort(key=lambda each: (each.ended_ns, each.number))
    missing = ""
    if is_paced:
        missing = (
            "Shenandoah does not log the single delays of its pacing; -XX:-ShenandoahPacing turns it off"
        )
    elif collector == "Shenandoah" and heap is None:
        missing = "the log does not tell whether Shenandoah paces the program; use -Xlog:gc*"
    is_whole = min(found, default=0) == 0
    return CollectionLog(
        collector,
        heap,
        closed,
        stalls,
        missing,
        paced,
        is_whole,
        tuple(_notes(closed, min(found, default=0), clock, missing)),
    )


@dataclass(frozen=True)
class _Clock:
    """The decoration that is the time of each line."""

    place: int
    read_text: Callable[[str], float | None]
    #: resolution
    step_ns: float

    def read(self, decorations: str) -> float | None:
        """Return the time in ns; None if these are other decorations."""
        texts = _DECORATION.findall(decorations)
        return self.read_text(texts[self.place]) if len(texts) > self.place else None


def _clock_of(decorations: str, where: str, line: str) -> _Clock:
    """Choose the finest clock; of equal ones the last, because the JVM writes the uptime last."""
    clocks = []
    for place, text in enumerate(_DECORATION.findall(decorations)):
        parts = _CLOCK.match(text)
        if parts:
            clocks.append(_Clock(place, _number_ns, 1.0 if parts[2] == "ns" else 1e6))
        elif _DATE.match(text):
            clocks.append(_Clock(place, _date_ns, 1e6))
    if not clocks:
        raise _other(where, line)
    return min(reversed(clocks), key=lambda each: each.step_ns)


def _number_ns(text: str) -> float | None:
    parts = _CLOCK.match(text)
    return float(parts[1].replace(",", ".")) * _NS[parts[2]] if parts else None


def _date_ns(text: str) -> float | None:
    if not _DATE.match(text):
        return None
    try:
        return datetime.fromisoformat(text.replace(",", ".")).timestamp() * 1e9
    except ValueError:
        return None


def _duration(text: str) -> float:
    """Return the duration at the end of a line in ns; 0 without one."""
    parts = _DURATION.search(text)
    return float(parts[1].replace(",", ".")) * 1e6 if parts else 0.0


def _notes(collections: Sequence[Collection], first: int, clock: _Clock, missing: str) -> Iterable[str]:
    if first > 0:
        yield (
            f"the log begins at collection {first}, not 0: totals are undefined; "
            "log from the start of the JVM, with filecount=0"
        )
    lacking = sum(math.isnan(each.concurrent_ns) for each in collections)
    if lacking:
        yield f"concurrent time of {lacking} cycles: undefined (the log lacks their phases); use -Xlog:gc*"
    lacking = sum(math.isnan(each.pause_ns) for each in collections)
    if lacking:
        yield f"pauses of {lacking} cycles: undefined (the log lacks them); use -Xlog:gc*"
    if missing:
        yield f"stalls: undefined ({missing})"
    if clock.step_ns > 1e3:
        yield "times are in whole milliseconds, and so are the ends of phases; use the decoration uptimenanos"


def _short(line: str) -> str:
    return line if len(line) <= 60 else line[:60] + "…"


def _other(where: str, line: str) -> RegattaError:
    return RegattaError(
        where,
        "lines with a time, such as `[12345ns][gc] GC(0) Pause Young ...`",
        _short(line),
        "use modifier collection-log, or -Xlog:gc*:file=FILE:uptimenanos,tags",
    )


def _cut(where: str, got: str) -> RegattaError:
    return RegattaError(where, "a whole log", got, "run the JVM to its end, and copy the file after that")


def _bytes(number: str, unit: str) -> int:
    return int(number) * _UNITS[unit]


def _take(into: _Open, text: str, at: float, duration: float) -> None:
    pause, phase = _PAUSE.match(text), _PHASE.match(text)
    into.first_ns = min(into.first_ns, at)
    if pause or phase:
        into.last_ns = max(into.last_ns, at)
        if pause:
            into.stopped = False
            into.pauses.append((at - duration, at))
            into.names.append(pause["name"])
            into.cause = _cause(pause["name"]) or into.cause
        elif phase and phase["name"].endswith(_WHOLE_CYCLE):
            into.is_cycle = True
        elif phase:
            into.phases.append((at - duration, at))
    elif _STARTED.match(text):
        into.stopped = True
    cycle = _CYCLE_OF_Z.match(text)
    if cycle:
        into.cause = cycle["cause"]
        into.names.append("Cycle")
        if cycle["aborted"] and into.first_ns < at:
            into.phases.append((into.last_ns or into.first_ns, at))
            into.last_ns = at
        elif cycle["aborted"] or _CHANGE.search(text):
            into.is_cycle, into.last_ns = True, into.last_ns or at
    change = _CHANGE.search(text)
    space = _SPACE.match(text)
    if space:
        sizes = _SPACE_SIZES.match(space["rest"])
        if sizes:
            before, _, after, capacity = (int(each) << 10 for each in sizes.groups())
            into.spaces[space["name"]] = Space(before, after, capacity)
    elif change and (cycle or pause or text.startswith("Concurrent cleanup")):
        before, after = _bytes(change[1], change[2]), _bytes(change[3], change[4])
        into.before = before if into.before is None else max(into.before, before)
        into.after = after
    regions = _REGIONS.match(text)
    if regions:
        into.regions[regions[1]] = (int(regions[2]), int(regions[3]))


def _cause(name: str) -> str:
    """Return the last text in parentheses before the heap: `Young (G1 Evacuation Pause) 6M->2M(128M)`."""
    found = _CAUSES.findall(_CHANGE.split(name)[0])
    return str(found[-1]) if found else ""


def _without_nested(found: Iterable[_Open]) -> None:
    """Count time once: a full pause within a young one belongs to the full collection only."""
    ordered = sorted(
        ((pause, each, place) for each in found for place, pause in enumerate(each.pauses)),
        key=lambda one: (one[0][1], -one[0][0]),
    )
    outer: list[tuple[float, float]] = []
    for pause, owner, place in ordered:
        shorter = 0.0
        while outer and (outer[-1][0] + outer[-1][1]) / 2 > pause[0]:
            inner = outer.pop()
            shorter += inner[1] - inner[0]
        if shorter:
            owner.pauses[place] = (min(pause[0] + shorter, pause[1]), pause[1])
        outer.append(pause)


def _closed(number: int, each: _Open, region: int) -> Collection:
    kind = CYCLE
    for name in each.names:
        if name.startswith("Full"):
            kind = FULL
        elif name.startswith("Young"):
            kind = MIXED if "(Mixed)" in name else YOUNG
    spaces = each.spaces
    young = spaces.get("DefNew") or spaces.get("PSYoungGen")
    old = next((spaces[name] for name in ("Tenured", "ParOldGen", "TenuredGen") if name in spaces), None)
    if each.regions and region:
        eden, survivor = (each.regions.get(name, (0, 0)) for name in ("Eden", "Survivor"))
        young = Space((eden[0] + survivor[0]) * region, (eden[1] + survivor[1]) * region)
        tenured, large = (each.regions.get(name, (0, 0)) for name in ("Old", "Humongous"))
        old = Space((tenured[0] + large[0]) * region, (tenured[1] + large[1]) * region)
    is_of_z = "Cycle" in each.names
    # Any cycle has phases, except a degenerated one of Shenandoah. A cycle of G1 can end before its pauses.
    is_shown = (
        bool(each.phases) or kind != CYCLE or any(name.startswith("Degenerated") for name in each.names)
    )
    return Collection(
        number,
        kind,
        each.trigger or each.cause,
        each.first_ns,
        each.last_ns,
        math.nan
        if is_of_z and not each.pauses and not each.phases
        else sum(end - start for start, end in each.pauses),
        _covered(each.phases, each.pauses) if is_shown else math.nan,
        each.before,
        each.after,
        young,
        old,
    )


def _covered(phases: Sequence[tuple[float, float]], pauses: Sequence[tuple[float, float]]) -> float:
    """Return the length of the union of phases, without the pauses in it."""
    edges = [(at, change, 0) for each in phases for at, change in zip(each, (1, -1), strict=True)]
    edges += [(at, 0, change) for each in pauses for at, change in zip(each, (1, -1), strict=True)]
    edges.sort()
    total, since, running, stopped = 0.0, 0.0, 0, 0
    for at, phase, pause in edges:
        if running > 0 and stopped == 0:
            total += at - since
        since, running, stopped = at, running + phase, stopped + pause
    return total
