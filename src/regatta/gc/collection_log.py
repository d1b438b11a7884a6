"""Read the single collections of a JVM from its log (`-Xlog:gc*:file=FILE:uptimenanos,tags`), of releases 11 to 25."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from regatta.host.errors import RegattaError

YOUNG, MIXED, FULL, CYCLE = "young", "mixed", "full", "cycle"

_LINE = re.compile(
    r"^\[(?P<at>\d+(?:[.,]\d+)?)(?P<unit>ns|ms|s)\](?:\[[^\]]*\])* (?:GC\((?P<id>\d+)\) )?(?P<text>.*)$"
)
#: of ZGC since release 21, with the generation: `Y: `
_PAUSE = re.compile(r"^(?:\w: )?Pause (?P<name>.*?) ?(?P<ms>\d+[.,]\d+)ms$")
_PHASE = re.compile(r"^(?:\w: )?Concurrent (?P<name>.*?) ?(?P<ms>\d+[.,]\d+)ms$")
_STARTED = re.compile(r"^Pause (?:Young|Full)\b(?!.*ms$)")
_CHANGE = re.compile(r"(\d+)([BKMG])(?:\(\d+%\))?->(\d+)([BKMG])")
_CYCLE_OF_Z = re.compile(r"^(?:Garbage|Minor|Major) Collection \((?P<cause>[^()]*(?:\(\))?)\)")
_SPACE = re.compile(r"^(?P<name>DefNew|PSYoungGen|Tenured|ParOldGen|TenuredGen): (?P<rest>\d+K.*)")
_SPACE_SIZES = re.compile(r"^(\d+)K\((\d+)K\)->(\d+)K\((\d+)K\)")
_EDEN = re.compile(r"Eden: (\d+)K\((\d+)K\)->")
_REGIONS = re.compile(r"^(Eden|Survivor|Old|Humongous) regions: (\d+)->(\d+)")
_CAUSES = re.compile(r"\(([^()]*(?:\(\))?)\)")
#: Shenandoah tells why a cycle starts before it.
_TRIGGER = "Trigger: "
_REGION_SIZE = re.compile(r"^Heap Region Size: (\d+)([KMG])")
_HEAP = re.compile(r"^(?:Heap )?Max Capacity: (\d+)([BKMG])")
_USING = re.compile(r"^(?:Using (?:The )?(Serial|Parallel|G1|Z|Shenandoah|Epsilon)\b|Initializing The (Z) )")
_UNITS = {"B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_NS = {"ns": 1.0, "ms": 1e6, "s": 1e9}


@dataclass(frozen=True)
class Space:
    """Occupancy of a generation around a collection, in bytes."""

    before: int
    after: int
    #: 0 if the log does not tell it
    capacity: int = 0


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
    #: time in which all threads are stopped
    pause_ns: float
    #: time that concurrent phases cover, without the pauses
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


@dataclass
class _Open:
    """A collection while its lines are read."""

    first_ns: float
    trigger: str = ""
    last_ns: float = 0.0
    pauses: list[tuple[float, float]] = field(default_factory=list)
    phases: list[tuple[float, float]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    cause: str = ""
    before: int | None = None
    after: int | None = None
    spaces: dict[str, Space] = field(default_factory=dict)
    eden: int = 0
    regions: dict[str, tuple[int, int]] = field(default_factory=dict)
    stopped: bool = False


def read_collection_log(path: Path) -> CollectionLog:
    """Read the log of a JVM that has ended.

    Raises:
        RegattaError: no such file, lines of another form, or a log that ends within a line or a pause.
    """
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise RegattaError(
            str(path), "a GC log", error.strerror or str(error), "see modifier collection-log"
        ) from error
    return parse_collection_log(text, str(path))


def parse_collection_log(text: str, where: str) -> CollectionLog:
    """Parse a log; see `read_collection_log`."""
    if text and not text.endswith("\n"):
        raise _cut(where, f"a part of line {text.count(chr(10)) + 1}")
    collector, heap, region, trigger = "", None, 0, ""
    found: dict[int, _Open] = {}
    known = 0
    for number, line in enumerate(text.splitlines(), 1):
        parts = _LINE.match(line)
        if parts is None:
            if number == 1:
                raise _other(where, line)
            continue
        known += 1
        at = float(parts["at"].replace(",", ".")) * _NS[parts["unit"]]
        if parts["id"] is None:
            collector = _of(_USING.match(parts["text"])) or collector
            size = _HEAP.match(parts["text"])
            heap = _bytes(size[1], size[2]) if size else heap
            regions = _REGION_SIZE.match(parts["text"])
            region = _bytes(regions[1], regions[2]) if regions else region
            if parts["text"].startswith(_TRIGGER):
                trigger = "System.gc()" if "System.gc()" in parts["text"] else "heuristics"
            continue
        if int(parts["id"]) not in found:
            found[int(parts["id"])] = _Open(at, trigger=trigger)
            trigger = ""
        _take(found[int(parts["id"])], parts["text"].strip(), at)
    if not known:
        raise _other(where, "an empty file")
    open_ones = [number for number, each in found.items() if each.stopped]
    if open_ones:
        raise _cut(where, f"the start of collection {open_ones[0]} without its end")
    _without_nested(found.values())
    closed = [_closed(number, each, region) for number, each in found.items() if each.pauses or each.phases]
    return CollectionLog(collector, heap, sorted(closed, key=lambda each: (each.ended_ns, each.number)))


def _other(where: str, line: str) -> RegattaError:
    shown = line if len(line) <= 60 else line[:60] + "…"
    return RegattaError(
        where, "lines such as `[12345ns][gc] GC(0) Pause Young ...`", shown, "use modifier collection-log"
    )


def _cut(where: str, got: str) -> RegattaError:
    return RegattaError(where, "a whole log", got, "run the JVM to its end, and copy the file after that")


def _of(found: re.Match[str] | None) -> str:
    return next((each for each in found.groups() if each), "") if found else ""


def _bytes(number: str, unit: str) -> int:
    return int(number) * _UNITS[unit]


def _take(into: _Open, text: str, at: float) -> None:
    pause, phase = _PAUSE.match(text), _PHASE.match(text)
    if pause or phase:
        duration = float((pause or phase)["ms"].replace(",", ".")) * 1e6  # type: ignore[index]
        into.last_ns = at
        if pause:
            into.stopped = False
            into.pauses.append((at - duration, at))
            into.names.append(pause["name"])
            into.cause = _cause(pause["name"]) or into.cause
        elif phase and not phase["name"].endswith("Cycle"):
            into.phases.append((at - duration, at))
    elif _STARTED.match(text):
        into.stopped = True
    cycle = _CYCLE_OF_Z.match(text)
    if cycle:
        into.cause = cycle["cause"]
        into.names.append("Cycle")
    change = _CHANGE.search(text)
    space = _SPACE.match(text)
    if space:
        sizes = _SPACE_SIZES.match(space["rest"])
        if sizes:
            before, _, after, capacity = (int(each) << 10 for each in sizes.groups())
            into.spaces[space["name"]] = Space(before, after, capacity)
        eden = _EDEN.search(space["rest"])
        into.eden = int(eden[2]) << 10 if eden else into.eden
    elif change and (cycle or pause or text.startswith("Concurrent cleanup")):
        before, after = _bytes(change[1], change[2]), _bytes(change[3], change[4])
        into.before = before if into.before is None else max(into.before, before)
        into.after = after
    regions = _REGIONS.match(text)
    if regions:
        into.regions[regions[1]] = (int(regions[2]), int(regions[3]))


def _cause(name: str) -> str:
    """Return the last text in parentheses before the heap: `Young (Normal) (G1 Evacuation Pause) 6M->2M(128M)`."""
    found = _CAUSES.findall(_CHANGE.split(name)[0])
    return str(found[-1]) if found else ""


def _without_nested(found: Iterable[_Open]) -> None:
    """Count time once: a full pause within a young one belongs to the full collection only."""
    ordered = sorted(
        ((pause, each) for each in found for pause in each.pauses), key=lambda pair: (pair[0][1], -pair[0][0])
    )
    outer: list[tuple[tuple[float, float], _Open]] = []
    for pause, owner in ordered:
        shorter = 0.0
        while outer and (outer[-1][0][0] + outer[-1][0][1]) / 2 > pause[0]:
            inner, _ = outer.pop()
            shorter += inner[1] - inner[0]
        if shorter:
            owner.pauses[owner.pauses.index(pause)] = (pause[0] + shorter, pause[1])
        outer.append((pause, owner))


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
    return Collection(
        number,
        kind,
        each.trigger or each.cause,
        each.first_ns,
        each.last_ns,
        sum(end - start for start, end in each.pauses),
        _covered(each.phases, each.pauses),
        each.before,
        each.after,
        young,
        old,
    )


def _covered(phases: Sequence[tuple[float, float]], pauses: Sequence[tuple[float, float]]) -> float:
    """Return the length of the union of phases, without the pauses in it."""
    edges = sorted({edge for each in (*phases, *pauses) for edge in each})
    total = 0.0
    for start, end in itertools.pairwise(edges):
        middle = (start + end) / 2
        inside = any(a < middle < b for a, b in phases) and not any(a < middle < b for a, b in pauses)
        total += (end - start) * inside
    return total
