"""Fit the growth of counters, and of the compared metric, over a numeric parameter of the benchmarks."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from regatta.answers.spine.context import Context
from regatta.answers.spine.parts import Place
from regatta.answers.spine.result import CellAnswer
from regatta.figures.text import parameters_key
from regatta.host.values.benchmark_label import parts_of_label
from regatta.host.values.counters import METRIC_PREFIX
from regatta.host.values.experiment import Scalar
from regatta.host.values.levels import PARAMETERS, label_without
from regatta.stats.growth import LEAST_SIZES, LEAST_VALUES, Growth, growth


@dataclass(frozen=True)
class Grown:
    """One series over a parameter."""

    #: without the parameter
    place: Place
    #: of the benchmarks, such as `connections`
    parameter: str
    metric: str
    parameters: Mapping[str, Scalar]
    unit: str
    sizes: tuple[float, ...]
    growth: Growth


def judge_growth(context: Context) -> tuple[Grown, ...]:
    """Return the growth of every series with positive means at four or more values of a parameter."""
    compared = {cell.cell_id: cell.metric for cell in context.samples.cells}
    groups: dict[tuple[Place, str, str, tuple[tuple[str, str], ...], str], dict[float, CellAnswer]] = (
        defaultdict(dict)
    )
    for cell in context.cells:
        if not cell.samples or not (
            cell.metric.startswith(METRIC_PREFIX) or cell.metric == compared.get(cell.cell_id)
        ):
            continue
        for parameter, size in _sizes(cell):
            label = label_without(cell.place.benchmark, [PARAMETERS + parameter])
            place = replace(cell.place, benchmark=label, heap=cell.place.heap.asked)
            # A program can also report the parameter with its metrics.
            own = {name: value for name, value in cell.parameters.items() if name != parameter}
            key = (place, parameter, cell.metric, parameters_key(own), cell.unit)
            groups[key].setdefault(size, replace(cell, parameters=own))
    found = []
    for (place, parameter, metric, _, unit), cells in groups.items():
        samples = [(size, [one.value for one in cells[size].samples]) for size in sorted(cells)]
        enough = len(samples) >= LEAST_SIZES and sum(len(own) for _, own in samples) >= LEAST_VALUES
        if not enough or any(math.fsum(values) <= 0 for _, values in samples):
            continue
        first = next(iter(cells.values()))
        fitted = growth(samples, context.facts.level)
        sizes = tuple(size for size, _ in samples)
        found.append(Grown(place, parameter, metric, first.parameters, unit, sizes, fitted))
    return tuple(found)


def _sizes(cell: CellAnswer) -> Iterable[tuple[str, float]]:
    """Yield the chosen parameters of the benchmark that are positive numbers."""
    for name, text in parts_of_label(cell.place.benchmark).chosen.items():
        try:
            size = float(text)
        except ValueError:
            continue
        if math.isfinite(size) and size > 0:
            yield name, size
