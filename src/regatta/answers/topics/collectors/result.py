"""What collectors cost at least: distilled costs, and the overhead of each collector and heap over them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from regatta.answers.parts import HEAP, INLINED, Place
from regatta.host.values.experiment import Heap
from regatta.stats.estimate import Interval

#: time that passes, or time that processors work
Resource = Literal["wall", "cpu"]

RESOURCES: tuple[Resource, ...] = ("wall", "cpu")


@dataclass(frozen=True)
class DistilledCost:
    """The smallest mean cost, over collectors and heaps, that remains without what is surely the collector's.

    `collector` and `heap`: of the cell that is cheapest so.
    """

    place: Place = field(metadata={INLINED: ("host", "benchmark", "runtime", "modifiers")})
    resource: Resource
    #: in s
    cost: Interval
    collector: str
    heap: Heap


@dataclass(frozen=True)
class Overhead:
    """Mean total cost of one cell over the distilled cost of its benchmark, host, runtime and modifiers: a lower bound."""

    cell_id: str
    place: Place = field(
        metadata={
            INLINED: (
                "host", "benchmark", "runtime", "modifiers", "collector", *HEAP,
            )
        }
    )  # fmt: skip
    resource: Resource
    ratio: Interval


@dataclass(frozen=True)
class Overheads:
    """All of an experiment; empty where no program tells how long its collector paused."""

    distilled: tuple[DistilledCost, ...] = ()
    overheads: tuple[Overhead, ...] = ()
