"""The costs and the collections that an experiment measured, by host and configuration."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from regatta.answers.spine.facts import read_facts
from regatta.answers.spine.kept_files import runs_with
from regatta.answers.spine.parts import Place
from regatta.answers.spine.samples import PlannedCell, Series, load_samples
from regatta.host.errors import RegattaError
from regatta.host.units import UNITS
from regatta.host.values.benchmark_label import parts_of_label
from regatta.models.gc.collection_log import CYCLE, FULL, YOUNG, Collection, Stall, read_collection_log
from regatta.models.gc.costs import Costs, Observation, fit_costs
from regatta.models.gc.heap_policy import policy_of
from regatta.models.gc.work import CODE, COLLECTOR_CPU, SUITE, work_of_case
from regatta.store.database import Progress, open_database

#: name of the kept file, as in the modifier `collection-log`
LOG = "collections.log"
#: cause of a collection that a program asks for
FORCED = "System.gc()"
#: in the answer of `java -version`
_RELEASE = re.compile(r'version "(\d+)')
#: modifiers under which the sizes of generations are known, and iterations begin with a forced collection
FIXED, COLLECTED = "fixed-young", "full-collection"


@dataclass(frozen=True, order=True)
class Vm:
    """A JVM with a collector on a host."""

    host: str
    runtime: str
    collector: str

    @classmethod
    def of(cls, place: Place) -> Vm:
        """Return the JVM of a place."""
        return cls(place.host, place.runtime, place.collector)

    @property
    def name(self) -> str:
        """Return `temurin-21 parallel`, which is unique on a host."""
        return f"{self.runtime} {self.collector}"


@dataclass(frozen=True)
class Ran:
    """The collections of one invocation, for each iteration that began with `System.gc()`."""

    invocation: str
    #: iteration, from 1 -> collections
    iterations: Mapping[int, Sequence[Collection]]
    #: processor time of the collector in an iteration, without the `System.gc()` before it, ns; NaN if
    #: unknown
    collector_cpu_ns: float = math.nan
    #: of the whole invocation; they are in no collection
    stalls: Sequence[Stall] = ()
    #: why `stalls` is incomplete; "" if it is complete
    stalls_missing: str = ""


@dataclass(frozen=True)
class Application:
    """An application in a heap on a JVM."""

    place: Place
    runs: Sequence[Ran]

    @property
    def vm(self) -> Vm:
        """Return its JVM."""
        return Vm.of(self.place)

    @property
    def heap_bytes(self) -> int:
        """Return the size of its heap; 0 without one."""
        return (self.place.heap.mib or 0) << 20


@dataclass(frozen=True)
class MeasuredCollections:
    """All that an experiment has about collectors."""

    level: float
    warmup: int
    #: JVM -> kind of collection -> costs
    costs: Mapping[Vm, Mapping[str, Costs]]
    applications: Sequence[Application]
    #: runtime -> release of Java, such as 21, if known
    releases: Mapping[str, int] = field(default_factory=dict)
    #: logs that are excluded, with the reason
    notes: Sequence[str] = ()


def read_measured(experiment_dir: Path, progress: Progress | None = None) -> MeasuredCollections:
    """Read the costs (suite `gc`) and the logged collections of applications (modifier `collection-log`).

    Raises:
        StoreError: the folder holds no plan.
        RegattaError: several sets of modifiers, or no heap size in MiB.

    A log that has another form, is cut off, or lacks collections or their times is excluded, with a note.
    """
    facts = read_facts(experiment_dir)
    with open_database(experiment_dir, progress) as connection:
        samples = load_samples(connection, facts.steady)
    _check_modifiers(experiment_dir, samples.cells)
    observed: dict[Vm, dict[str, dict[int, list[Observation]]]] = {}
    applications: list[Application] = []
    notes: list[str] = []
    for cell in samples.cells:
        vm = Vm.of(cell.place)
        if parts_of_label(cell.place.benchmark).suite == SUITE:
            for kind, block, one in _observations(cell, samples.series.get(cell.number, ())):
                observed.setdefault(vm, {}).setdefault(kind, {}).setdefault(block, []).append(one)
            continue
        cpu = {
            sample.invocation_id: _nanoseconds(cell, each, sample.value)
            for each in samples.series.get(cell.number, ())
            if each.metric == COLLECTOR_CPU
            for sample in each.samples
        }
        runs = []
        for sample, path in runs_with(experiment_dir, samples, cell, LOG):
            try:
                runs.append(_ran(path, sample.invocation_id, cpu.get(sample.invocation_id, math.nan)))
            except RegattaError as error:
                notes.append(f"{cell.label}: collections of {sample.invocation_id} excluded: {error}")
        if runs and cell.place.heap.mib and {FIXED, COLLECTED} <= modifiers_of(cell.place):
            applications.append(Application(cell.place, runs))
    costs = {vm: _costs(vm, kinds) for vm, kinds in observed.items()}
    releases = {
        name: int(found[1]) for name, text in facts.runtimes.items() if (found := _RELEASE.search(text))
    }
    return MeasuredCollections(facts.level, facts.steady.warmup, costs, applications, releases, tuple(notes))


def _ran(path: Path, invocation: str, cpu_ns: float) -> Ran:
    """Read the log of an invocation.

    Raises:
        RegattaError: the log is unreadable, or the collections of an iteration or their times are missing.
    """
    log = read_collection_log(path)
    times = (time for each in log.collections for time in (each.pause_ns, each.concurrent_ns))
    if not log.is_whole or any(map(math.isnan, times)):
        raise RegattaError(
            str(path), "all collections with their times", "; ".join(log.notes), "use modifier collection-log"
        )
    return Ran(invocation, iterations_of(log.collections), cpu_ns, log.stalls, log.stalls_missing)


def modifiers_of(place: Place) -> set[str]:
    """Return the names of the modifiers."""
    return set(place.modifiers.split("+"))


def _check_modifiers(experiment_dir: Path, cells: Sequence[PlannedCell]) -> None:
    """Refuse several sets of modifiers: flags change costs, and costs of two sets must not be mixed."""
    sets = sorted({cell.place.modifiers for cell in cells if cell.place.collector})
    if len(sets) > 1:
        raise RegattaError(str(experiment_dir), "one set of modifiers of its JVMs", ", ".join(sets))


def _observations(cell: PlannedCell, series: Sequence[Series]) -> Iterator[tuple[str, int, Observation]]:
    """Yield the kind of collection, the round, and the observation."""
    if not cell.place.heap.mib:
        raise RegattaError(
            cell.label, "a heap size in MiB", "none", "set `heap: {sizes_mib: [...]}` in the spec"
        )
    policy = policy_of(cell.place.collector, cell.place.heap.mib << 20)
    fixed = FIXED in modifiers_of(cell.place)
    code = {
        (each.parameters.get("objects"), sample.round): sample.value
        for each in series
        if each.metric == CODE
        for sample in each.samples
    }
    for each in series:
        found = work_of_case(policy, each.metric, each.parameters)
        if found is None or (found[0] == YOUNG and not fixed):
            continue
        kind, work, label = found
        of_code = each.parameters.get("shape") == CODE
        for sample in each.samples:
            if of_code:
                # Its size differs from run to run.
                work = replace(work, code_bytes=code[each.parameters.get("objects"), sample.round])
            if sample.value > 0:
                yield kind, sample.round, Observation(work, _nanoseconds(cell, each, sample.value), label)


def _nanoseconds(cell: PlannedCell, series: Series, value: float) -> float:
    dimension, factor = UNITS.get(series.unit, ("", 1.0))
    if dimension != "time":
        raise RegattaError(f"{cell.label} {series.metric}", "a time", series.unit)
    return value * factor * 1e9


def _costs(vm: Vm, kinds: Mapping[str, Mapping[int, Sequence[Observation]]]) -> dict[str, Costs]:
    """Fit the costs to each round with all cases of all kinds; else to the first one with the most cases."""
    most = {kind: max(map(len, rounds.values())) for kind, rounds in kinds.items()}
    whole = [
        {number for number, cases in rounds.items() if len(cases) == most[kind]}
        for kind, rounds in kinds.items()
    ]
    chosen = sorted(set.intersection(*whole))
    return {
        kind: fit_costs(
            [rounds[number] for number in chosen] or [max(rounds.values(), key=len)], f"{vm.name}, {kind}"
        )
        for kind, rounds in kinds.items()
    }


def iterations_of(collections: Sequence[Collection]) -> dict[int, list[Collection]]:
    """Return iteration -> its collections, in a run whose iterations from 1 on begin with `System.gc()`.

    The Parallel collector of releases before 25 makes a young collection before a forced full one. Both are
    one here, as in the costs of forced collections.
    """
    found: dict[int, list[Collection]] = defaultdict(list)
    iteration = 0
    young: Collection | None = None
    for each in collections:
        if each.cause == FORCED and each.kind not in (FULL, CYCLE):
            young = each
            continue
        if each.cause == FORCED:
            iteration += 1
        if iteration:
            pause = each.pause_ns + (young.pause_ns if young else 0.0)
            found[iteration].append(replace(each, pause_ns=pause))
        young = None
    return dict(found)
