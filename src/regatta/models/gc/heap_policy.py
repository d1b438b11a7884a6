"""Sizes of the generations of a heap, rules of promotion, and growth between `-Xms` and `-Xmx`, by collector.

They hold for the flags of modifier `fixed-young`, or with `-Xmn` and `-XX:MaxTenuringThreshold` in the place
of its values. Source: the files serialVMOperations.cpp, genArguments.cpp, defNewGeneration.cpp,
psScavenge.cpp and g1YoungGenSizer.cpp of OpenJDK 17 to 25. Growth: tenuredGeneration.cpp (compute_new_size,
expand_and_allocate) and defNewGeneration.cpp (compute_new_size).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

from regatta.host.errors import SpecError

CONCURRENT = ("z", "shenandoah")
NONE = "epsilon"
#: names of their kind: `ZGC`, `Zgen`, `z-generational`, `GenShen`
_STALLING = re.compile(r"(?<![a-z])(?:gen)?(?:z(?:gc|gen)?|shen(?:andoah)?)(?![a-z])", re.IGNORECASE)
COLLECTORS = ("serial", "parallel", "g1", *CONCURRENT, NONE)

#: Part of the heap that is occupied when a cycle starts: of Shenandoah during its first cycles
#: (ShenandoahInitFreeThreshold 70), of Z in its last warm-up cycle. Later, both look at the rate of
#: allocation, which a clock of bytes does not have.
_START_AT = 0.3

_KIB, _MIB = 1 << 10, 1 << 20
#: of sizes of spaces and of the young generation of Serial, bytes
_SERIAL_UNIT = 64 * _KIB
_NEW_RATIO = 2
_SURVIVOR_RATIO = 8
#: copies after which an object is promoted (MaxTenuringThreshold of the modifier)
COPIES = 1
#: Part of a survivor space that should be full after a collection (TargetSurvivorRatio).
_TARGET = 0.5
#: of G1: about this number of regions, each of 1 MiB to 32 MiB
_TARGET_REGIONS = 2048
#: collector -> why its heap has no predictable size unless `-Xms` equals `-Xmx`
_GROWTH = {
    "parallel": "it resizes generations by the pauses it measures (UseAdaptiveSizePolicy)",
    "g1": "it expands the heap by the part of the time that pauses take (GCTimeRatio)",
    NONE: "it never collects",
}
_PACED = "it starts cycles by the rate of allocation per second"
#: The first release of which a young collection that enlarges the old generation is not followed by a full
#: one (JDK-8331557).
_NO_FULL_AFTER = 23
DEFAULT_RELEASE = 21
#: least `-Xmn` with which a JVM starts, and largest age of an object (markWord::max_age)
_LEAST_YOUNG, _MOST_COPIES = _MIB, 15
#: Parts of the old generation that should be free after a full collection (MinHeapFreeRatio,
#: MaxHeapFreeRatio).
_LEAST_FREE, _MOST_FREE = 0.4, 0.7
#: MinHeapDeltaBytes: smaller changes are not made, and the old generation grows by it when a promotion does
#: not fit
_STEP = 192 << 10
#: Sizes of the old generation change by whole pages, bytes.
_PAGE = 4096
#: NewSizeThreadIncrease, for the main thread
_PER_THREAD = 5320
#: the part by which a heap shrinks that is too large for the second time; then 4 times as much each time
#: (ShrinkHeapInSteps)
_FIRST_SHRINK, _MORE = 0.1, 4.0


@dataclass(frozen=True)
class Growth:
    """Bounds between which the generations grow, in bytes."""

    least_young: int
    least_old: int
    most_young: int
    most_old: int
    #: whether a full collection follows each young one that enlarges the old generation
    full_after: bool


@dataclass(frozen=True)
class Policy:
    """Generations of a heap, in bytes; of one that grows, at one time."""

    collector: str
    heap: int
    eden: int
    #: one of the two survivor spaces
    survivor: int
    old: int
    #: copies after which an object is promoted, at most
    copies: int = COPIES
    #: part of `survivor` above which objects are promoted earlier; infinite: never
    target: float = math.inf
    #: None: the heap has a fixed size (`-Xms` equal to `-Xmx`)
    growth: Growth | None = None

    @property
    def most_heap(self) -> int:
        """Return the size up to which the heap grows."""
        return self.growth.most_young + self.growth.most_old if self.growth else self.heap

    @property
    def most_old(self) -> int:
        """Return the size up to which the old generation grows."""
        return self.growth.most_old if self.growth else self.old


def policy_of(
    collector: str,
    heap: int,
    *,
    young: int | None = None,
    copies: int | None = None,
    initial: int | None = None,
    release: int = DEFAULT_RELEASE,
) -> Policy:
    """Return the sizes of a collector's generations.

    Args:
        collector: one of `COLLECTORS`.
        heap: its size (`-Xmx`), bytes; at least 2 MiB.
        young: size of the young generation with its survivor spaces (`-Xmn`), bytes. None: a third of the
            heap (`-XX:NewRatio=2`).
        copies: after which an object is promoted (`-XX:MaxTenuringThreshold`), 0 to 15. None: that of
            `fixed-young`.
        initial: size of the heap at the start (`-Xms`), bytes. None: `heap`.
        release: of the JVM, such as 21; only the growth depends on it.

    Raises:
        SpecError: unknown collector, a heap that is too small for any JVM, a young generation that does not
            fit into the heap, one of a collector that has none of a fixed size, or growth that depends on
            time.
    """
    if collector not in COLLECTORS:
        raise SpecError.of("--collector", f"one of {', '.join(COLLECTORS)}", collector)
    if heap < 2 * _MIB:
        raise SpecError.of("--heap", "2 MiB or more", f"{heap / _MIB:.3g} MiB")
    if initial is not None and initial != heap:
        _check_growth(collector, initial, heap)
        least, most = (policy_of(collector, size, young=young, copies=copies) for size in (initial, heap))
        bounds = (least.heap - least.old, least.old, most.heap - most.old, most.old)
        return replace(least, growth=Growth(*bounds, release < _NO_FULL_AFTER))
    if collector in (NONE, *CONCURRENT):
        if young is not None or copies is not None:
            raise SpecError.of(
                "--young" if young is not None else "--promotion-age",
                "a collector with a young generation of a fixed size: serial, parallel, g1",
                collector,
                "--collector serial",
            )
        started = _START_AT if collector in CONCURRENT else 1.0
        return Policy(collector, heap, round(started * heap), 0, heap)
    if young is not None and not _LEAST_YOUNG <= young < heap:
        wanted = f"1 MiB or more, and less than the heap of {heap / _MIB:g} MiB"
        raise SpecError.of("--young", wanted, f"{young / _MIB:g} MiB", "a smaller --young, or a larger heap")
    copies = COPIES if copies is None else copies
    if not 0 <= copies <= _MOST_COPIES:
        raise SpecError.of("--promotion-age", f"0 to {_MOST_COPIES}", str(copies))
    young = heap // (_NEW_RATIO + 1) if young is None else young
    if collector == "g1":
        region = region_bytes(heap)
        # Survivors are part of the young generation, and the next eden is smaller by them.
        young = max(1, young // region) * region
        survivor = math.ceil(young / region / _SURVIVOR_RATIO) * region
        return Policy(collector, heap, young, survivor, heap - young, copies, _TARGET)
    # Each space has at least one unit.
    unit = _SERIAL_UNIT if collector == "serial" else 512 * _KIB
    young = max(_down(young, unit), 3 * unit)
    if collector == "serial":
        return serial_policy(young, heap - young, copies)
    survivor = max(_down(young // _SURVIVOR_RATIO, unit), unit)
    return Policy(collector, heap, young - 2 * survivor, survivor, heap - young, copies)


def serial_policy(young: int, old: int, copies: int, growth: Growth | None = None) -> Policy:
    """Return the spaces of Serial in generations of these bytes. `young` is a multiple of `_SERIAL_UNIT`."""
    survivor = max(_down(young // (_SURVIVOR_RATIO + 2), _SERIAL_UNIT), _SERIAL_UNIT)
    return Policy("serial", young + old, young - 2 * survivor, survivor, old, copies, _TARGET, growth)


def _check_growth(collector: str, initial: int, heap: int) -> None:
    if collector != "serial":
        reason = f"{collector}: {_GROWTH.get(collector, _PACED)}"
        raise SpecError.of("--initial-heap", "collector serial", reason, "drop --initial-heap")
    if not 2 * _MIB <= initial < heap:
        wanted = f"2 MiB to the heap of {heap / _MIB:g} MiB"
        raise SpecError.of("--initial-heap", wanted, f"{initial / _MIB:g} MiB")


def can_stall(collector: str) -> bool:
    """Return whether threads can wait for memory without a pause under a collector, by its name."""
    return _STALLING.search(collector) is not None


def region_bytes(heap: int) -> int:
    """Return the size of a region of G1: the power of two from 1 MiB that gives 2048 regions at most."""
    wanted = max(heap // _TARGET_REGIONS, _MIB)
    return min(1 << (wanted.bit_length() - 1), 32 * _MIB)


def _down(size: int, to: int) -> int:
    return size // to * to


# Growth of the generations of Serial


def after_young(policy: Policy, used: float, survivors: float) -> Policy:
    """Return the sizes after a young collection: the old generation holds what was promoted.

    Args:
        policy: before.
        used: bytes in the old generation.
        survivors: bytes in the survivor space; only if there are none, the young generation changes.
    """
    growth = policy.growth
    if growth is None:
        return policy
    steps = math.ceil(max(used - policy.old, 0.0) / _STEP)
    old = min(policy.old + steps * _STEP, growth.most_old)
    young = policy.heap - policy.old if survivors > 0.0 else _young_for(old, growth)
    return serial_policy(young, old, policy.copies, growth)


def after_full(policy: Policy, used: float, before: int, shrink: float) -> tuple[Policy, float]:
    """Return the sizes after a full collection, and the next part by which the heap shrinks.

    Args:
        policy: before.
        used: live bytes.
        before: size of the old generation before the collection, and before the young one that led to it,
            bytes.
        shrink: part of what is too large by which the heap shrinks, from 0 to 1.
    """
    growth = policy.growth
    if growth is None:
        return policy, shrink
    old, following = policy.old, 0.0
    wanted = max(used / (1.0 - _LEAST_FREE), growth.least_old)
    most = max(used / (1.0 - _MOST_FREE), growth.least_old)
    if old < wanted:
        more = math.ceil((wanted - old) / _PAGE) * _PAGE
        old = min(old + more, growth.most_old) if wanted - old >= _STEP else old
    else:
        less = 0.0
        if old > most:
            less = (old - most) * shrink
            following = min(_MORE * shrink, 1.0) if shrink else _FIRST_SHRINK
        # What has grown for promotions is taken back.
        less = max(less, min(old - before, old - wanted))
        old -= int(less // _PAGE) * _PAGE if less >= _STEP else 0
    return serial_policy(_young_for(old, growth), old, policy.copies, growth), following


def _young_for(old: int, growth: Growth) -> int:
    """Return the size of the young generation that fits an old one."""
    wanted = math.ceil((old // _NEW_RATIO + _PER_THREAD) / _SERIAL_UNIT) * _SERIAL_UNIT
    return min(max(wanted, growth.least_young), growth.most_young)
