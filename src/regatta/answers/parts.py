"""Parts that several answers share: place, sample, and pair of alternatives. Frozen values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from regatta.host.values.cell import configuration_name
from regatta.host.values.experiment import Heap
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
    def family(self) -> Place:
        """Return the place that is shared by the cells of all collectors that are compared."""
        return replace(self, collector="", heap=self.heap.asked)


def shared_heap(places: Iterable[Place]) -> Heap:
    """Combine the heaps of places with one heap setting; keep the size only if it is the same everywhere."""
    heaps = list(dict.fromkeys(place.heap for place in places))
    return heaps[0] if len(heaps) == 1 else Heap(heaps[0].factor)


@dataclass(frozen=True)
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
class TukeyPair:
    """Simultaneous interval of a difference of log means, as the ratio a/b."""

    a_name: str
    b_name: str
    ratio: Interval
    p: float
