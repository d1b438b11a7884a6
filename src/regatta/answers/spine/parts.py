"""Parts that several answers share: place, sample, and pair of alternatives. Frozen values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from regatta.answers.spine.verdicts import VERDICT, Verdict
from regatta.host.values.benchmark_label import parts_of_label
from regatta.host.values.cell import NO_MODIFIERS, configuration_name
from regatta.host.values.experiment import Heap
from regatta.host.values.levels import CROSSED, PARAMETERS, Levels, components, label_without, levels_of
from regatta.stats.estimate import Interval

#: field metadata: parts of the value that documents contain inline in place of the field
INLINED = "inlined"
#: keys of the heap of a place
HEAP = ("heap_factor", "heap_mib")


@dataclass(frozen=True)
class Place:
    """The place of a measurement. Factors that differ inside a group of cells are "" in the group's place."""

    host: str
    platform: str
    benchmark: str
    runtime: str
    #: "" for native benchmarks
    collector: str
    modifiers: str
    heap: Heap

    @property
    def configuration(self) -> str:
        """Return runtime, collector and modifiers as one name."""
        return configuration_name(self.runtime, self.collector, self.modifiers)

    @property
    def levels(self) -> Levels:
        """Return factor -> level, without platform and host."""
        return levels_of(self.benchmark, self.runtime, self.collector, self.modifiers, self.heap.asked)

    def level(self, factor: str) -> str:
        """Return the level of a factor as in sentences; "" if the place does not have the factor."""
        if CROSSED in factor:
            return " ".join(filter(None, map(self.level, components([factor]))))
        name = self.levels.get(factor, "")
        if factor.startswith(PARAMETERS) and name:
            return f"{factor[len(PARAMETERS) :]}={name}"
        return "no modifiers" if factor == "modifiers" and name == NO_MODIFIERS else name

    def without(self, factor: str) -> Place:
        """Return the place that all levels of a factor, or of a crossing, share."""
        factors = components([factor])
        return replace(
            self,
            benchmark=label_without(self.benchmark, [factor]),
            runtime="" if "runtime" in factors else self.runtime,
            collector="" if "collector" in factors else self.collector,
            modifiers="" if "modifiers" in factors else self.modifiers,
            heap=Heap() if "heap" in factors else self.heap,
        )

    @property
    def family(self) -> Place:
        """Return the place that is shared by the cells of all collectors that are compared."""
        return replace(self, collector="", heap=self.heap.asked)


def level_names(places: Sequence[Place], factor: str) -> tuple[str, ...]:
    """Return the level of a factor at each place, as in sentences; benchmarks without suite and size if that is unique."""
    names = tuple(place.level(factor) for place in places)
    if factor != "benchmark":
        return names
    short = tuple(parts_of_label(name).name for name in names)
    return short if len(set(short)) == len(set(names)) else names


def shared_heap(places: Iterable[Place]) -> Heap:
    """Combine the heaps of places with one heap setting; keep the size only if it is the same everywhere."""
    heaps = list(dict.fromkeys(place.heap for place in places))
    return heaps[0] if len(heaps) == 1 else Heap(heaps[0].factor)


@dataclass(frozen=True, slots=True)
class Sample:
    """The value of one invocation and its place in time. `position`: position in the block."""

    invocation_id: str
    value: float
    round: int
    block: int
    position: int
    started_utc_ns: int
    perturbed: bool


@dataclass(frozen=True)
class FamilyPair:
    """Simultaneous interval of a difference of log means, as the ratio a/b."""

    a_name: str
    b_name: str
    ratio: Interval
    p: float
    verdict: Verdict = field(default=Verdict(), metadata={INLINED: VERDICT})
