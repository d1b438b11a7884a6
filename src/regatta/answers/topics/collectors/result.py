"""What collectors cost at least: distilled costs, and the overhead of each collector and heap over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from regatta.stats.estimate import Interval

#: time that passes, or time that processors work
Resource = Literal["wall", "cpu"]

RESOURCES: tuple[Resource, ...] = ("wall", "cpu")


@dataclass(frozen=True)
class DistilledCost:
    """The smallest mean cost, over collectors and heaps, that remains without what is surely the collector's.

    `collector`, `heap_factor` and `heap_mib`: of the cell that is cheapest so.
    """

    host: str
    benchmark: str
    runtime: str
    modifiers: str
    resource: Resource
    #: in s
    cost: Interval
    collector: str
    heap_factor: float | None
    heap_mib: int | None


@dataclass(frozen=True)
class Overhead:
    """Mean total cost of one cell over the distilled cost of its benchmark, host, runtime and modifiers: a lower bound."""

    cell_id: str
    host: str
    benchmark: str
    runtime: str
    modifiers: str
    collector: str
    heap_factor: float | None
    heap_mib: int | None
    resource: Resource
    ratio: Interval


@dataclass(frozen=True)
class Overheads:
    """All of an experiment; empty where no program tells how long its collector paused."""

    distilled: tuple[DistilledCost, ...] = ()
    overheads: tuple[Overhead, ...] = ()
