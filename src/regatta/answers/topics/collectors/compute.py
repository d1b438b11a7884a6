"""Compute lower bounds on the cost of each collector, in elapsed and processor time, from measurements with pauses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from regatta.answers.spine.context import Context
from regatta.answers.spine.groups import grouped
from regatta.answers.spine.parts import HEAP, INLINED, Place
from regatta.answers.spine.samples import PlannedCell, Samples, Series
from regatta.host.units import UNITS
from regatta.host.values.experiment import Heap
from regatta.stats.estimate import NAN, Floats, Interval
from regatta.stats.overhead import lower_bound_overheads

#: elapsed time or processor time
Resource = Literal["wall", "cpu"]

RESOURCES: tuple[Resource, ...] = ("wall", "cpu")


@dataclass(frozen=True)
class DistilledCost:
    """The smallest mean cost over collectors and heaps, without the pauses of the collector.

    `collector`, `heap`: the cell with the smallest cost.
    """

    place: Place = field(metadata={INLINED: ("host", "benchmark", "runtime", "modifiers")})
    resource: Resource
    #: in s
    cost: Interval
    collector: str
    heap: Heap


@dataclass(frozen=True)
class Overhead:
    """A cell's mean total cost over the distilled cost of its benchmark, host, runtime and modifiers: a lower bound."""

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
    """The overheads of an experiment; empty if no program reports its pauses."""

    distilled: tuple[DistilledCost, ...] = ()
    overheads: tuple[Overhead, ...] = ()


#: resource -> metric of its total
_TOTALS: dict[Resource, str] = {"wall": "elapsed", "cpu": "cpu"}
#: Cost that certainly belongs to the collector, also in processor time: during a pause at least one collector thread
#: works; the number of further threads is unknown.
_PAUSED = "gc_time"
_PLAIN = ("", '{"phase":"stable"}')


def judge_overheads(context: Context) -> Overheads:
    """Return the lower-bound overheads of every benchmark, host, runtime and modifiers with at least two cells.

    Returns:
        Distilled costs and overheads, in plan order; empty for a group without a cell that reports `gc_time`.
    """
    distilled: list[DistilledCost] = []
    overheads: list[Overhead] = []
    for number, group in enumerate(collector_groups(context.samples.cells)):
        for which, resource in enumerate(RESOURCES):
            generator = np.random.default_rng((abs(context.facts.seed), number, which))
            found = _judge(group, context.samples, resource, context.facts.level, generator)
            if found is not None:
                distilled.append(found[0])
                overheads += found[1]
    return Overheads(tuple(distilled), tuple(overheads))


def plain_series(samples: Samples, cell: PlannedCell, metric: str) -> Series | None:
    """Return the series of a metric without parameters and with a unit of time; None if missing.

    If first and later iterations are separate, return that of the later ones.
    """
    for series in samples.series.get(cell.number, ()):
        if series.metric == metric and series.parameters_text in _PLAIN and UNITS[series.unit][0] == "time":
            return series
    return None


def collector_groups(cells: Sequence[PlannedCell]) -> list[list[PlannedCell]]:
    """Group cells with the same work on one machine and JVM, with several collectors or heaps; in plan order."""
    groups = grouped(
        (cell for cell in cells if cell.place.collector), lambda cell: replace(cell.place.family, heap=Heap())
    )
    return [many for many in groups.values() if len(many) >= 2]


def _judge(
    cells: Sequence[PlannedCell],
    samples: Samples,
    resource: Resource,
    level: float,
    generator: np.random.Generator,
) -> tuple[DistilledCost, list[Overhead]] | None:
    totals = [_by_round(plain_series(samples, cell, _TOTALS[resource])) for cell in cells]
    paused = [_by_round(plain_series(samples, cell, _PAUSED)) for cell in cells]
    if not any(totals) or not any(paused):
        return None
    rounds = sorted({key for column in totals for key in column})
    found = lower_bound_overheads(_table(rounds, totals), _table(rounds, paused), generator, level)
    cheapest = cells[found.cheapest] if found.cheapest >= 0 else None
    distilled = DistilledCost(
        replace(cells[0].place, collector="", heap=Heap()),
        resource,
        found.distilled,
        cheapest.place.collector if cheapest else "",
        cheapest.place.heap if cheapest else Heap(),
    )
    overheads = [
        Overhead(cell.cell_id, cell.place, resource, ratio)
        for cell, ratio in zip(cells, found.overheads, strict=True)
    ]
    return distilled, overheads


def _by_round(series: Series | None) -> dict[int, float]:
    """Return round -> value in s. A cell has one invocation per round; a disturbed round affects all its cells."""
    if series is None:
        return {}
    factor = UNITS[series.unit][1]
    return {sample.round: sample.value * factor for sample in series.samples}


def _table(rounds: Sequence[int], columns: Sequence[dict[int, float]]) -> Floats:
    """Return shape (rounds, cells); NaN for missing values."""
    return np.array(
        [[column.get(key, NAN) for column in columns] for key in rounds], dtype=np.float64
    ).reshape(len(rounds), len(columns))
