"""Sizes of the generations and rules of promotion of a heap of fixed size (`-Xms` equal to `-Xmx`), by collector.

They hold for the flags of modifier `fixed-young`, or with `-Xmn` and `-XX:MaxTenuringThreshold` in the place of its values. Source:
the files serialVMOperations.cpp, genArguments.cpp, defNewGeneration.cpp, psScavenge.cpp and g1YoungGenSizer.cpp of OpenJDK 17 to 25.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from regatta.host.errors import Problem, SpecError

CONCURRENT = ("z", "shenandoah")
NONE = "epsilon"
COLLECTORS = ("serial", "parallel", "g1", *CONCURRENT, NONE)

#: Part of the heap that is occupied when a cycle starts: of Shenandoah during its first cycles (ShenandoahInitFreeThreshold 70),
#: of Z in its last warm-up cycle. Later, both look at the rate of allocation, which a clock of bytes does not have.
_START_AT = 0.3

_KIB, _MIB = 1 << 10, 1 << 20
_NEW_RATIO = 2
_SURVIVOR_RATIO = 8
#: copies after which an object is promoted (MaxTenuringThreshold of the modifier)
COPIES = 1
#: Part of a survivor space that should be full after a collection (TargetSurvivorRatio).
_TARGET = 0.5
#: of G1: about this number of regions, each of 1 MiB to 32 MiB
_TARGET_REGIONS = 2048
#: least `-Xmn` with which a JVM starts, and largest age of an object (markWord::max_age)
_LEAST_YOUNG, _MOST_COPIES = _MIB, 15


@dataclass(frozen=True)
class Policy:
    """Generations of a heap, in bytes."""

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


def policy_of(collector: str, heap: int, *, young: int | None = None, copies: int | None = None) -> Policy:
    """Return the sizes of a collector's generations.

    Args:
        collector: one of `COLLECTORS`.
        heap: its size, bytes; at least 2 MiB.
        young: size of the young generation with its survivor spaces (`-Xmn`), bytes. None: a third of the heap (`-XX:NewRatio=2`).
        copies: after which an object is promoted (`-XX:MaxTenuringThreshold`), 0 to 15. None: that of `fixed-young`.

    Raises:
        SpecError: unknown collector, a heap that is too small for any JVM, a young generation that does not fit into the heap, or
            one of a collector that has none of a fixed size.
    """
    if collector not in COLLECTORS:
        raise SpecError([Problem("--collector", f"one of {', '.join(COLLECTORS)}", collector)])
    if heap < 2 * _MIB:
        raise SpecError([Problem("--heap", "2 MiB or more", f"{heap / _MIB:.3g} MiB")])
    if collector in (NONE, *CONCURRENT):
        if young is not None or copies is not None:
            raise SpecError(
                [_no_generations("--young" if young is not None else "--promotion-age", collector)]
            )
        started = _START_AT if collector in CONCURRENT else 1.0
        return Policy(collector, heap, round(started * heap), 0, heap)
    if young is not None and not _LEAST_YOUNG <= young < heap:
        wanted = f"1 MiB or more, and less than the heap of {heap / _MIB:g} MiB"
        raise SpecError(
            [Problem("--young", wanted, f"{young / _MIB:g} MiB", "--young 16m, or a larger --heap")]
        )
    copies = COPIES if copies is None else copies
    if not 0 <= copies <= _MOST_COPIES:
        raise SpecError([Problem("--promotion-age", f"0 to {_MOST_COPIES}", str(copies))])
    young = heap // (_NEW_RATIO + 1) if young is None else young
    if collector == "g1":
        region = region_bytes(heap)
        # Survivors are part of the young generation, and the next eden is smaller by them.
        young = max(1, young // region) * region
        survivor = math.ceil(young / region / _SURVIVOR_RATIO) * region
        return Policy(collector, heap, young, survivor, heap - young, copies, _TARGET)
    unit = (64 if collector == "serial" else 512) * _KIB
    # Each space has at least one unit.
    young = max(_down(young, unit), 3 * unit)
    parts = _SURVIVOR_RATIO + 2 if collector == "serial" else _SURVIVOR_RATIO
    survivor = max(_down(young // parts, unit), unit)
    target = _TARGET if collector == "serial" else math.inf
    return Policy(collector, heap, young - 2 * survivor, survivor, heap - young, copies, target)


def _no_generations(where: str, collector: str) -> Problem:
    return Problem(
        where,
        "a collector with a young generation of a fixed size: serial, parallel, g1",
        collector,
        "--collector serial",
    )


def region_bytes(heap: int) -> int:
    """Return the size of a region of G1: the power of two of at least 1 MiB that gives 2048 regions at most."""
    wanted = max(heap // _TARGET_REGIONS, _MIB)
    return min(1 << (wanted.bit_length() - 1), 32 * _MIB)


def _down(size: int, to: int) -> int:
    return size // to * to
