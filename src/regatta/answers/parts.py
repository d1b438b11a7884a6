"""What several answers are made of: a place, a sample, and a pair of alternatives. Frozen values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from regatta.host.values.cell import configuration_name
from regatta.host.values.experiment import Heap
from regatta.stats.estimate import Interval

#: metadata of a field: those parts of its value which stand in documents by themselves, where the field stands
INLINED = "inlined"
#: keys of a place's heap
HEAP = ("heap_factor", "heap_mib")


@dataclass(frozen=True)
class Place:
    """What was measured, and where. What differs inside a group of cells is "" in the group's place."""

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
        """Runtime, collector and modifiers as one name."""
        return configuration_name(self.runtime, self.collector, self.modifiers)

    @property
    def family(self) -> Place:
        """The place that the cells of all collectors share which are compared with it."""
        return replace(self, collector="", heap=self.heap.asked)


def shared_heap(places: Iterable[Place]) -> Heap:
    """Combine the heaps of places with one heap setting: with its size only where all have the same."""
    heaps = list(dict.fromkeys(place.heap for place in places))
    return heaps[0] if len(heaps) == 1 else Heap(heaps[0].factor)


@dataclass(frozen=True)
class Sample:
    """One invocation's number and where it stood in time. `position` is the place in the block."""

    invocation_id: str
    value: float
    round: int
    block: int
    position: int
    started_utc_ns: int
    perturbed: bool


@dataclass(frozen=True)
class TukeyPair:
    """Simultaneous interval of the difference of log means, given as the ratio a/b."""

    a_name: str
    b_name: str
    ratio: Interval
    p: float
