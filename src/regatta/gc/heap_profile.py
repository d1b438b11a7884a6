"""The heap of an application over its allocations, described by the JVMTI agent (benchmarks/agent/heap.c)."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regatta.host.errors import RegattaError
from regatta.host.values.from_json import value_from_json
from regatta.stats.estimate import Interval
from regatta.stats.intervals import mean_interval
from regatta.store.folder import replacing
from regatta.trace.java import read_of_jvm

_VERSION = 1
_ITERATION, _BEFORE = "iteration ", "before "
#: ages in MiB that the summary shows
AGES = (1, 4, 16, 64)


@dataclass(frozen=True)
class Checkpoint:
    """One walk of the reachable heap. Lists of bins hold [bin, objects, bytes]; a bin is a range of object sizes."""

    #: place of its window in `windows`
    window: int
    #: whether it is at the end of that window
    ends_window: bool
    #: bytes allocated since the start of the JVM
    clock_bytes: float
    #: reported allocations since the previous walk
    samples: int
    #: allocated since the previous walk
    allocated: list[list[float]]
    live: list[list[float]]
    #: references between objects
    references: int
    #: of these, between objects that were not born in the same or in neighbouring intervals between walks
    far: int
    #: objects by the number of references: 0, 1, 2, up to 4, up to 8, ...
    fan_in: list[int]
    fan_out: list[int]
    #: [walk, objects, bytes]: live objects that were born between the walk before that one and that one
    cohorts: list[list[int]]
    loaded_classes: int
    compiled_methods: int

    @property
    def live_objects(self) -> float:
        """Return the number of live objects."""
        return math.fsum(objects for _, objects, _ in self.live)

    @property
    def live_bytes(self) -> float:
        """Return the bytes of live objects."""
        return math.fsum(size for _, _, size in self.live)


@dataclass(frozen=True)
class HeapProfile:
    """The file of the agent; benchmarks/java/README.md describes its keys."""

    heap_profile: int
    java: str
    #: mean distance of sampled allocations, bytes; 0: every object is counted
    sampling_interval: int
    every_bytes: int
    compressed_references: bool
    windows: list[str]
    missing: list[str]
    #: clock at each collection of the JVM
    collections_at: list[float]
    checkpoints: list[Checkpoint]

    def ends(self, prefix: str = _ITERATION) -> dict[int, int]:
        """Return iteration -> place of the walk at the end of its window; with "before ", of the window before it."""
        return {
            int(self.windows[each.window].removeprefix(prefix)): at
            for at, each in enumerate(self.checkpoints)
            if each.ends_window and self.windows[each.window].startswith(prefix)
        }

    def starts(self) -> dict[int, int]:
        """Return iteration -> place of the walk at its start."""
        return self.ends(_BEFORE)

    def allocated(self) -> dict[str, list[list[float]]]:
        """Return window -> what was allocated in it, by bin."""
        sums: dict[str, dict[float, list[float]]] = {}
        for each in self.checkpoints:
            own = sums.setdefault(self.windows[each.window], {})
            for number, objects, size in each.allocated:
                both = own.setdefault(number, [0.0, 0.0])
                both[0] += objects
                both[1] += size
        return {name: [[number, *both] for number, both in sorted(own.items())] for name, own in sums.items()}


@dataclass(frozen=True)
class HeapVector:
    """What an application asks of a collector, per unit of work."""

    heap_vector: int
    name: str
    #: unit of work
    per: str
    #: `suite/name`, to find measured collections; or ""
    benchmark: str
    #: iterations that do not count, from the first
    warmup: int
    #: of a run whose heap was walked; HotSpot does not remove allocations in it
    profile: HeapProfile
    #: of a run that only counted allocations, as without an agent
    allocation: HeapProfile

    @property
    def counted(self) -> list[int]:
        """Return the iterations after warm-up; none of a program without the harness."""
        return [number for number in self.profile.ends() if number >= self.warmup]

    def sizes(self) -> list[list[float]]:
        """Return what the counted iterations allocate, or the whole run, by bin."""
        wanted = {f"{_ITERATION}{number}" for number in self.counted}
        sums: dict[float, list[float]] = {}
        for name, bins in self.allocation.allocated().items():
            for number, objects, size in bins if not wanted or name in wanted else ():
                both = sums.setdefault(number, [0.0, 0.0])
                both[0] += objects
                both[1] += size
        return [[number, *both] for number, both in sorted(sums.items())]


def with_heap_agent(command: Sequence[str], agent: Path, file: Path, interval: int, every: int) -> list[str]:
    """Return the command of a JVM with the agent as its first option.

    Args:
        command: `java` or another launcher that accepts the options of a JVM, with its arguments.
        agent: the library.
        file: that the JVM writes when it ends.
        interval: mean distance of sampled allocations, bytes; 0 counts every object.
        every: distance of the walks of the heap, bytes; 0 walks never.
    """
    return [command[0], f"-agentpath:{agent}=heap,{interval},{every},{file}", *command[1:]]


def read_heap_profile(path: Path) -> HeapProfile:
    """Read the file of the agent.

    Raises:
        RegattaError: the JVM has not written it, or it has another shape.
    """
    return _checked(read_of_jvm(HeapProfile, path, "heap profile"), "heap profile")


def _checked(profile: HeapProfile, where: str) -> HeapProfile:
    if profile.heap_profile != _VERSION:
        raise RegattaError(where, f"version {_VERSION}", f"version {profile.heap_profile}")
    clocks = [each.clock_bytes for each in profile.checkpoints]
    if not clocks or clocks != sorted(clocks):
        raise RegattaError(where, "walks in the order of allocation", f"{len(clocks)} walks in another order")
    count = len(clocks)
    for at, each in enumerate(profile.checkpoints):
        if not 0 <= each.window < len(profile.windows) or any(cohort > at for cohort, _, _ in each.cohorts):
            got = f"walk {at} of {count} with window {each.window}"
            raise RegattaError(where, "windows and cohorts that exist", got)
    return profile


def write_heap_vector(vector: HeapVector, path: Path) -> None:
    """Write a vector as JSON, whole or not at all.

    Raises:
        StoreError: the file cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(asdict(vector)) + "\n", encoding="utf-8")


def read_heap_vector(path: Path) -> HeapVector:
    """Read a vector that `regatta trace heap` has written.

    Raises:
        RegattaError: no such file, or it has another shape.
    """
    fix = "make it with `regatta trace heap -o FILE -- java ...`"
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RegattaError(str(path), "a heap vector", error.strerror or str(error), fix) from error
    except ValueError as error:
        raise RegattaError(str(path), "JSON", str(error), fix) from error
    if not isinstance(told, dict) or "heap_vector" not in told:
        raise RegattaError(str(path), "a heap vector", "another file", fix)
    vector = value_from_json(HeapVector, told, str(path))
    if vector.heap_vector != _VERSION:
        raise RegattaError(str(path), f"version {_VERSION}", f"version {vector.heap_vector}", fix)
    for profile in (vector.profile, vector.allocation):
        _checked(profile, str(path))
    return vector


@dataclass(frozen=True)
class Rates:
    """Allocation per unit of work, with intervals over iterations; of a single unit without one."""

    units: int
    objects: Interval
    bytes: Interval
    #: relative standard error of `bytes` because of sampling; 0 if every object was counted
    sampling_error: float


def rates_of(vector: HeapVector, level: float = 0.95) -> Rates:
    """Return what one unit of work allocates. It does not depend on the collector, the heap or the processor.

    A program without the harness is one unit of work.

    Raises:
        RegattaError: no iteration is left after warm-up.
    """
    profile = vector.allocation
    if vector.profile.ends() and not vector.counted:
        got = f"{vector.warmup}, of {len(vector.profile.ends())} iterations"
        raise RegattaError(
            "--warmup", "a smaller number than that of the iterations", got, "run more iterations"
        )
    windows = {f"{_ITERATION}{number}" for number in vector.counted}
    sums: dict[str, list[float]] = {}
    for name, bins in profile.allocated().items():
        if not windows or name in windows:
            own = sums.setdefault(name if windows else "", [0.0, 0.0])
            own[0] += math.fsum(objects for _, objects, _ in bins)
            own[1] += math.fsum(size for _, _, size in bins)
    samples = sum(
        each.samples for each in profile.checkpoints if not windows or profile.windows[each.window] in windows
    )
    per = np.array(list(sums.values()))
    error = 1.0 / math.sqrt(samples) if profile.sampling_interval and samples else 0.0
    return Rates(len(per), mean_interval(per[:, 0], level), mean_interval(per[:, 1], level), error)


def survival(profile: HeapProfile) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return ages in bytes, and the share of allocated bytes that lives longer.

    The ages are the distances of the walks; each share is a mean over all births that were observed for so long. Objects
    that were allocated before the first walk are left out: the JVM itself allocates them.

    Returns:
        Two arrays of shape (n,).
    """
    clocks = np.array([each.clock_bytes for each in profile.checkpoints])
    sizes = np.array([math.fsum(size for _, _, size in each.allocated) for each in profile.checkpoints])
    count = len(clocks)
    kept, seen = np.zeros(count), np.zeros(count)
    for at, each in enumerate(profile.checkpoints):
        for cohort, _, size in each.cohorts:
            if cohort > 0:
                kept[at - cohort] += size
        # Births 1 to `at` have been observed for 0 to `at - 1` walks.
        seen[:at] += sizes[1 : at + 1][::-1]
    used = seen > 0
    step = float(np.median(np.diff(clocks))) if count > 1 else float(profile.every_bytes)
    # An object is 0 to 1 intervals old when a walk sees it first: half an interval on average.
    ages = np.asarray((np.arange(count)[used] + 0.5) * step, np.float64)
    return ages, kept[used] / seen[used]
