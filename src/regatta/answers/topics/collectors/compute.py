"""What each collector costs at least, in time and in processor time, from what is measured beside the pauses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from regatta.answers.context import Context
from regatta.answers.parts import HEAP, INLINED, Place
from regatta.answers.samples import PlannedCell, Samples, Series
from regatta.host.units import UNITS
from regatta.host.values.experiment import Heap
from regatta.stats.estimate import NAN, Floats, Interval
from regatta.stats.overhead import lower_bound_overheads

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


#: resource -> the metric that is its total
_TOTALS: dict[Resource, str] = {"wall": "elapsed", "cpu": "cpu"}
#: What is surely the collector's. Of processor time too: while all threads of the program stand still at least one of
#: the collector's works, and how many more do is not known.
_PAUSED = "gc_time"
_PLAIN = ("", '{"phase":"stable"}')


def judge_overheads(context: Context) -> Overheads:
    """Lower-bound overheads of every benchmark, host, runtime and modifiers with two cells or more.

    Returns:
        Distilled costs and overheads, in the order of the plan; none where no cell of a group reports `gc_time`.
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
    """The series of a metric that has no parameters and a unit of time; None where there is none.

    Where the first and the later iterations are told apart, it is that of the later ones.
    """
    for series in samples.series.get(cell.number, ()):
        if series.metric == metric and series.parameters_text in _PLAIN and UNITS[series.unit][0] == "time":
            return series
    return None


def collector_groups(cells: Sequence[PlannedCell]) -> list[list[PlannedCell]]:
    """Cells that do the same work on one machine and JVM, with several collectors or heaps; in the order of the plan."""
    groups: dict[Place, list[PlannedCell]] = {}
    for cell in cells:
        if cell.place.collector:
            groups.setdefault(replace(cell.place.family, heap=Heap()), []).append(cell)
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
    """Round -> value in s. A cell has one invocation a round, and what disturbs a round disturbs its cells together."""
    if series is None:
        return {}
    factor = UNITS[series.unit][1]
    return {sample.round: sample.value * factor for sample in series.samples}


def _table(rounds: Sequence[int], columns: Sequence[dict[int, float]]) -> Floats:
    """Shape (rounds, cells); NaN where there is no value."""
    return np.array(
        [[column.get(key, NAN) for column in columns] for key in rounds], dtype=np.float64
    ).reshape(len(rounds), len(columns))
