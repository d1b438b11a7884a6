"""Made heap vectors: programs whose allocations and deaths are known."""

from __future__ import annotations

from regatta.models.gc.heap_profile import Checkpoint, HeapProfile
from regatta.models.gc.heap_vector import HeapVector, heap_vector

MIB = 1 << 20
#: bytes of each object
SIZE = 32


def checkpoint(
    clock: float, allocated: int, cohorts: dict[int, int], window: int, ends: bool = False
) -> Checkpoint:
    """Return a walk: `allocated` objects since the previous one, and live objects by cohort."""
    live = sum(cohorts.values())
    return Checkpoint(
        window=window,
        ends_window=ends,
        clock_bytes=round(clock),
        samples=allocated,
        allocated=[[3, allocated, allocated * SIZE]] if allocated else [],
        walk_ns=1,
        live=[[3, live, live * SIZE]] if live else [],
        roots=0,
        fan_in=[[1, live]],
        fan_out=[[1, live]],
        cohorts=[[cohort, count, count * SIZE, count, 0] for cohort, count in cohorts.items() if count],
        unmoved_objects=0,
        jumps=0,
        loaded_classes=500,
        compiled_methods=100,
        code_bytes=100_000,
    )


def profile(walks: list[Checkpoint], windows: list[str]) -> HeapProfile:
    """Return a profile in which every object was counted."""
    return HeapProfile(3, "made", 0, MIB, 8, True, windows, [], [], [8, 16, 24, 32], walks)


def made_vector(iterations: int = 3, mib: int = 48, kept_mib: int = 4) -> HeapVector:
    """Return a program: each iteration allocates `mib`, of which the first `kept_mib` live until it ends.

    Everything else is dead at the next walk, one MiB later.
    """
    per = MIB // SIZE
    walks: list[Checkpoint] = [checkpoint(MIB, per, {}, 0, ends=True)]
    windows = ["startup"]
    clock = float(MIB)
    for number in range(iterations):
        if number:
            windows.append(f"before {number}")
            walks.append(checkpoint(clock, 0, {}, len(windows) - 1, ends=True))
        windows.append(f"iteration {number}")
        cohorts: dict[int, int] = {}
        for at in range(mib):
            clock += MIB
            if at < kept_mib:
                cohorts[len(walks)] = per
            ends = at == mib - 1
            walks.append(checkpoint(clock, per, dict(cohorts), len(windows) - 1, ends))
    whole = profile(walks, windows)
    return heap_vector([whole], "made", benchmark="vm/made", warmup=min(1, iterations - 1))
