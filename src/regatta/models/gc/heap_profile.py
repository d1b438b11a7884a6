"""Profile of the heap of a JVM, written by the agent (benchmarks/agent): allocated and reachable objects.

A command runs with the profiler, and without it to measure its overhead.
"""

from __future__ import annotations

import bisect
import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from regatta.host.errors import RegattaError
from regatta.models.system_calls.application import ratio_of
from regatta.models.system_calls.java import counted_windows, iteration_ns, read_of_jvm
from regatta.models.system_calls.java_events import events_agent
from regatta.models.system_calls.planned_command import PlannedCommand, reporting
from regatta.models.system_calls.runs import Figures, run_command
from regatta.models.system_calls.tools import NoTracer
from regatta.models.vectors.values import Value
from regatta.stats.estimate import NAN, Interval, undefined
from regatta.stats.intervals import mean_interval

_VERSION = 3
_FIX = "profile the program again with the agent of this version"
#: elements of a row of sizes: key, objects, bytes
_SUM = 3
#: elements of a row of cohorts: key, objects, bytes, references, far references
_COHORT = 5
#: part of new objects that are reached by a jump in any program: 0.23 to 0.71 in those of docs/gc.md
_LEAST_JUMPS = 0.01
#: elements of a row of references: bound, objects
_FAN = 2


@dataclass(frozen=True)
class Checkpoint:
    """The heap at one position of the allocation clock; benchmarks/java/README.md describes the keys."""

    #: index into the windows
    window: int
    #: whether the window ends here
    ends_window: bool
    #: bytes allocated since the start of the program
    clock_bytes: int
    #: [bin of size, objects, bytes] since the previous checkpoint; estimates if sampled
    allocated: list[list[float]]
    samples: int
    walk_ns: int
    #: [bin of size, objects, bytes] of the reachable objects
    live: list[list[int]]
    roots: int
    #: [upper bound of references to an object (from it, for `fan_out`), objects]
    fan_in: list[list[int]]
    fan_out: list[list[int]]
    #: [checkpoint that saw the objects first, objects, bytes, references to them, far ones] of the reachable
    #: objects
    cohorts: list[list[int]]
    #: objects that no collection has moved, and those of them that the walk reaches by a jump in memory; 0
    #: where it did not look
    unmoved_objects: int
    jumps: int
    loaded_classes: int
    compiled_methods: int
    #: of their machine code
    code_bytes: int

    @cached_property
    def allocated_objects(self) -> float:
        """Return the number of objects allocated since the previous checkpoint."""
        return math.fsum(objects for _, objects, _ in self.allocated)

    @cached_property
    def allocated_bytes(self) -> float:
        """Return the bytes allocated since the previous checkpoint."""
        return math.fsum(size for *_, size in self.allocated)

    @cached_property
    def live_objects(self) -> int:
        """Return the number of reachable objects."""
        return sum(objects for _, objects, _ in self.live)

    @cached_property
    def live_bytes(self) -> int:
        """Return the bytes of the reachable objects."""
        return sum(size for *_, size in self.live)

    @cached_property
    def references(self) -> int:
        """Return the number of references from fields, arrays and static fields to the reachable objects."""
        return sum(references for *_, references, _ in self.cohorts)

    @cached_property
    def bytes_of_cohort(self) -> Mapping[int, int]:
        """Return the bytes of each cohort that has reachable objects."""
        return {cohort: size for cohort, _, size, *_ in self.cohorts}


@dataclass(frozen=True)
class HeapProfile:
    """The file of the agent."""

    heap_profile: int
    java: str
    #: mean bytes between samples; 0: every object
    sampling_interval: int
    #: allocated bytes between checkpoints; 0: the reachable objects are not counted
    every_bytes: int
    object_alignment: int
    compressed_references: bool
    windows: list[str]
    #: data that the JVM lacks
    missing: list[str]
    #: positions of the pauses of the collector on the allocation clock, in bytes
    collections_at: list[int]
    #: largest size of each bin, in bytes; the last bin has no limit
    sizes: list[int]
    checkpoints: list[Checkpoint]

    @cached_property
    def clock(self) -> Sequence[int]:
        """Return the positions of the checkpoints, in bytes."""
        return [at.clock_bytes for at in self.checkpoints]

    @cached_property
    def jumps(self) -> float:
        """Return the part of unmoved objects that a collection reaches by a jump in memory, 0 to 1."""
        unmoved = sum(at.unmoved_objects for at in self.checkpoints)
        return sum(at.jumps for at in self.checkpoints) / unmoved if unmoved else 0.0

    @property
    def hides_order(self) -> bool:
        """Return whether there were new objects, but no jump between them, as with Z and Shenandoah."""
        return any(at.unmoved_objects for at in self.checkpoints) and self.jumps < _LEAST_JUMPS

    @property
    def has_iterations(self) -> bool:
        """Return whether the program has Regatta's harness."""
        return any(name.startswith("iteration ") for name in self.windows)

    def ends(self, prefix: str = "iteration ") -> Mapping[int, int]:
        """Return iteration -> index of the checkpoint at its end; with "before ", of the one at its start."""
        return {
            int(self.windows[at.window].removeprefix(prefix)): index
            for index, at in enumerate(self.checkpoints)
            if at.ends_window and self.windows[at.window].startswith(prefix)
        }

    def of_window(self, window: int) -> Sequence[Checkpoint]:
        """Return the checkpoints of a window, in order."""
        return [at for at in self.checkpoints if at.window == window]


def with_heap_profile(
    command: Sequence[str],
    agent: Path,
    profile: Path,
    *,
    interval: int = 0,
    every: int = 1 << 20,
    warmup: int = 0,
) -> list[str]:
    """Return the command of a JVM with the agent as its first option.

    Args:
        command: `java` or another launcher that accepts the options of a JVM, with its arguments.
        agent: the library, as for events.
        profile: file that the JVM writes when it ends.
        interval: mean bytes between sampled objects, 0 to 2^31 - 1; 0: every object.
        every: allocated bytes between checkpoints; 0: do not count reachable objects.
        warmup: first iterations with a checkpoint only at their ends: the compiler then finishes as early as
            without the agent.
    """
    option = f"heap,interval={interval},every={every},warmup={warmup},{profile}"
    return [command[0], f"-agentpath:{agent}={option}", *command[1:]]


def read_heap_profile(path: Path) -> HeapProfile:
    """Read the file of the agent.

    Raises:
        RegattaError: the JVM has not written it, or it has another shape.
    """
    return checked_profile(read_of_jvm(HeapProfile, path, "heap profile"))


def checked_profile(profile: HeapProfile) -> HeapProfile:
    """Return a profile whose numbers fit together.

    Raises:
        RegattaError: they do not.
    """
    if profile.heap_profile != _VERSION:
        raise _wrong("heap_profile", f"version {_VERSION}", str(profile.heap_profile))
    _check_profile(profile)
    for index in range(len(profile.checkpoints)):
        _check_checkpoint(profile, index)
    return profile


def _wrong(key: str, expected: str, got: str) -> RegattaError:
    return RegattaError(f"heap profile: {key}", expected, got, _FIX)


def _check_profile(profile: HeapProfile) -> None:
    if not profile.checkpoints:
        got = ", ".join(profile.missing) or "none"
        raise _wrong("checkpoints", "at least one", got)
    if profile.sampling_interval < 0 or profile.every_bytes < 0:
        got = f"{profile.sampling_interval} and {profile.every_bytes}"
        raise _wrong("sampling_interval, every_bytes", "at least 0", got)
    if profile.sizes != sorted(set(profile.sizes)) or not profile.sizes or profile.sizes[0] < 1:
        raise _wrong("sizes", "rising sizes in bytes", _listed(profile.sizes))
    for key, clock in (("clock_bytes", profile.clock), ("collections_at", profile.collections_at)):
        # Two collections can be at one position.
        if any(before > after for before, after in zip([0, *clock], clock, strict=False)):
            raise _wrong(key, "positions that do not fall", _listed(clock))
    windows = [at.window for at in profile.checkpoints]
    if windows != sorted(windows) or windows[0] < 0 or windows[-1] >= len(profile.windows):
        raise _wrong("window", f"rising indices of {len(profile.windows)} windows", _listed(windows))


def _listed(values: Sequence[int]) -> str:
    most = 6
    return ", ".join(map(str, values[:most])) + (", ..." if len(values) > most else "")


def _check_checkpoint(profile: HeapProfile, index: int) -> None:
    at = profile.checkpoints[index]
    where = f"checkpoints[{index}]"
    bins = len(profile.sizes)
    tables: tuple[tuple[str, Sequence[Sequence[float]], int, float], ...] = (
        ("allocated", at.allocated, _SUM, bins),
        ("live", at.live, _SUM, bins),
        ("cohorts", at.cohorts, _COHORT, index + 1),
        ("fan_in", at.fan_in, _FAN, math.inf),
        ("fan_out", at.fan_out, _FAN, math.inf),
    )
    for key, rows, length, limit in tables:
        if any(len(row) != length or min(row) < 0 or row[0] >= limit for row in rows):
            raise _wrong(
                f"{where}.{key}", f"rows of {length} numbers, the first below {limit}", str(rows[:3])
            )
        keys = [row[0] for row in rows]
        if keys != sorted(set(keys)):
            raise _wrong(f"{where}.{key}", "rows in rising order", str(keys[:6]))
    if not 0 <= at.jumps <= at.unmoved_objects <= at.live_objects:
        got = f"{at.jumps} of {at.unmoved_objects}"
        raise _wrong(f"{where}.jumps", f"a part of at most {at.live_objects}", got)
    in_cohorts = sum(objects for _, objects, *_ in at.cohorts)
    if at.live_objects != in_cohorts:
        got = f"{in_cohorts} in cohorts"
        raise _wrong(f"{where}.live", f"{at.live_objects} objects in live and cohorts", got)


# ---- per iteration ----


def rates_per_iteration(profile: HeapProfile, warmup: int, level: float = 0.95) -> dict[str, Interval]:
    """Return the allocated objects of an iteration after warm-up, and the reachable ones at its end.

    Args:
        profile: of one run. Without iterations, all of the run is one.
        warmup: iterations to leave out, from the first.

    Returns:
        Means with Student's intervals over the iterations. They include the error of sampling.

    Raises:
        RegattaError: no iteration is left.
    """
    counted = _counted(profile, warmup)
    each = [[at for window in one for at in profile.of_window(window)] for one in counted]
    ends = {at.window: at for at in profile.checkpoints if at.ends_window}
    last = [ends[one[-1]] for one in counted if one[-1] in ends and profile.every_bytes]
    values: dict[str, Sequence[float]] = {
        "objects": [math.fsum(at.allocated_objects for at in one) for one in each],
        "bytes": [math.fsum(at.allocated_bytes for at in one) for one in each],
        "live_objects": [at.live_objects for at in last],
        "live_bytes": [at.live_bytes for at in last],
        "references_per_object": [at.references / at.live_objects for at in last if at.live_objects],
    }
    return {name: mean_interval(found, level, positive=True) for name, found in values.items()}


def _counted(profile: HeapProfile, warmup: int) -> Sequence[Sequence[int]]:
    """Return the windows of each iteration after warm-up; those of the whole run if it has no iterations."""
    counted = counted_windows(profile.windows, warmup)
    return [[at] for at in counted] if profile.has_iterations else [counted]


# ---- ages ----


def survival(profile: HeapProfile, age_bytes: float, warmup: int = 0, level: float = 0.95) -> Interval:
    """Return the fraction of allocated bytes that is still reachable at an age.

    The age of an object is the number of bytes allocated since it was allocated. A cohort is allocated
    between two checkpoints, on average in the middle. Its reachable bytes between later checkpoints are
    interpolated linearly, so ages below `every_bytes` are poorly known. The cohorts of an iteration whose age
    the run does not reach are left out of its fraction.

    Args:
        age_bytes: at least 0.
        warmup: iterations to leave out, from the first.

    Returns:
        The mean of the fractions of the iterations, 0 to 1, with Student's interval. NaN with a reason if the
        run is too short.

    Raises:
        RegattaError: no iteration is left.
    """
    if not profile.every_bytes:
        return undefined(0, level, "t", "reachable objects were not counted", NAN)
    fractions = []
    for windows in _counted(profile, warmup):
        born = lives = 0.0
        for index, at in enumerate(profile.checkpoints):
            if at.window not in windows or index == 0 or not at.allocated_bytes:
                continue
            left = _bytes_at_age(profile, index, age_bytes)
            if left is not None:
                born += at.allocated_bytes
                lives += left
        if born:
            fractions.append(min(lives / born, 1.0))
    if not fractions:
        return undefined(0, level, "t", "the run ends before this age", NAN)
    return mean_interval(fractions, level, positive=True)


def _bytes_at_age(profile: HeapProfile, cohort: int, age_bytes: float) -> float | None:
    """Return the reachable bytes of a cohort at a mean age, or None if the run ends earlier."""
    clock = profile.clock
    born = (clock[cohort - 1] + clock[cohort]) / 2
    position = born + age_bytes
    if position > clock[-1]:
        return None
    # The last of several checkpoints at one position, such as the end of a window.
    after = max(bisect.bisect_right(clock, position), cohort)
    if after == len(clock):
        return float(profile.checkpoints[-1].bytes_of_cohort.get(cohort, 0))
    end = profile.checkpoints[after].bytes_of_cohort.get(cohort, 0)
    if after == cohort:
        start, since = profile.checkpoints[cohort].allocated_bytes, born
    else:
        start, since = profile.checkpoints[after - 1].bytes_of_cohort.get(cohort, 0), clock[after - 1]
    # A sampled cohort can have more reachable bytes than were estimated as allocated.
    share = (position - since) / (clock[after] - since) if clock[after] > since else 1.0
    return start + (end - start) * share


# ---- runs ----


def profile_heap(
    command: Sequence[str],
    *,
    interval: int,
    every: int,
    warmup: int,
    runs: int,
    pairs: int = 0,
    level: float = 0.95,
    cell: PlannedCommand | None = None,
) -> tuple[Sequence[HeapProfile], Value | None]:
    """Run a command with the profiler, the first runs alternating with runs without it if there are pairs.

    Args:
        command, interval, every, warmup: as in `with_heap_profile`.
        runs: with the profiler, at least 1.
        pairs: runs without it, alternating with the first runs with it, of which there are at least as many.
        cell: of an experiment, that `command` is from.

    Returns:
        The profiles, and the ratio of the times with and without the profiler. The time is that of the
        iterations after warm-up, or of the whole run.

    Raises:
        RegattaError: the command fails, or the JVM writes no profile.
    """
    if cell is not None:
        cell.check_files()
    agent = events_agent()
    profiles: list[HeapProfile] = []

    def run_ns(profiled: bool) -> float:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "heap.json"
            words = command
            if profiled:
                words = with_heap_profile(words, agent, file, interval=interval, every=every, warmup=warmup)
            words, results = reporting(words, cell, Path(folder))
            run, _ = run_command(words, NoTracer(), Figures(1.0))
            if profiled:
                profiles.append(read_heap_profile(file))
            return iteration_ns(results, warmup) or run.elapsed_ns

    with_ns: list[float] = []
    without_ns: list[float] = []
    for number in range(max(runs, pairs)):
        # Alternate the order, so that drift affects both sides equally.
        for profiled in ((False, True), (True, False))[number % 2]:
            if profiled:
                with_ns.append(run_ns(True))
            elif number < pairs:
                without_ns.append(run_ns(False))
    return profiles, ratio_of(with_ns[:pairs], without_ns, level) if pairs else None
