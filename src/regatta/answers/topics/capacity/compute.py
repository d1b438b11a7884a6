"""Compute the highest load at which a metric meets a target, from the curve of the metric over the loads in all rounds.

The loads are the values of a parameter that the spec sets. Each round measures every load once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

import duckdb

from regatta.answers.spine.context import Context
from regatta.answers.spine.parts import HEAP, INLINED, Place, shared_heap
from regatta.answers.spine.samples import PlannedCell, Samples, Series
from regatta.answers.spine.words import listed
from regatta.figures.text import parameters_key, parameters_text
from regatta.host.journal.record import FAILURES
from regatta.host.units import UNITS, is_positive
from regatta.host.values.benchmark_label import parts_of_label
from regatta.host.values.experiment import CapacityTarget
from regatta.host.values.levels import PARAMETERS, label_without
from regatta.stats.crossing import METHOD, crossing
from regatta.stats.estimate import Interval, undefined
from regatta.stats.intervals import mean_interval


@dataclass(frozen=True)
class CapacityPoint:
    """One load. `estimate`: mean of the metric over its values, in the unit of the capacity's metric."""

    load: float
    cell_id: str
    estimate: Interval
    #: number of complete rounds in which this load meets the target, whatever the lower loads do
    met: int = 0
    #: number of complete rounds without a value at this load
    failed: int = 0


@dataclass(frozen=True)
class Bound:
    """What is known without an interval: the capacity is at least `low` and below `high`; None: not known, at least one is."""

    low: float | None
    high: float | None


@dataclass(frozen=True)
class Capacity:
    """The capacity of one series. `place.benchmark` has no load; `points` ascend in load, at least one."""

    target: CapacityTarget
    #: benchmark, heap, configuration and host, as far as they distinguish series
    name: str
    place: Place = field(
        metadata={INLINED: ("host", "benchmark", "runtime", "collector", "modifiers", *HEAP)}
    )
    #: unit of the metric as reported; that of the target if it is not reported
    unit: str
    points: tuple[CapacityPoint, ...]
    #: in the unit of the load; `n`: complete rounds; undefined with a reason if there is a bound
    estimate: Interval
    bound: Bound | None = None
    #: number of rounds without a usable invocation at some load: perturbed, or not measured
    incomplete_rounds: int = 0


@dataclass(frozen=True)
class Capacities:
    """All capacities of an experiment, by target and in plan order; empty without a target."""

    found: tuple[Capacity, ...] = ()


_METHOD_OF_POINTS = "t"
#: digits of a target in the unit of the metric: factors such as 1e-9 are not exact in binary
_DIGITS = 12

#: cell number -> round -> statuses of its invocations
_Statuses = Mapping[int, Mapping[int, frozenset[str]]]


@dataclass(frozen=True)
class _Measured:
    """One load of a series. `series`: None if no invocation reports the metric."""

    load: float
    cell: PlannedCell
    series: Series | None


def judge_capacity(context: Context) -> Capacities:
    """Return the capacity of each series for each target of the spec.

    Returns:
        A capacity for each target, host, benchmark without the load, configuration and heap with a measured load, in plan
        order: the load at which the curve over all rounds crosses the target, with its interval
        (`regatta.stats.crossing.crossing`). If the interval exceeds the measured loads, bounds without an interval.
    """
    groups = [
        (target, place, cells)
        for target in context.facts.capacity
        for place, cells in _groups(context.samples.cells, target.parameter).items()
    ]
    wanted = {cell.number for _, _, cells in groups for cell in cells.values()}
    statuses = _statuses(context.connection, wanted) if wanted else {}
    found = (_capacity(context, *group, statuses) for group in groups)
    return Capacities(tuple(one for one in found if one is not None))


def _groups(cells: Iterable[PlannedCell], parameter: str) -> dict[Place, dict[float, PlannedCell]]:
    """Return place without the load -> load -> cell, loads ascending."""
    groups: dict[Place, dict[float, PlannedCell]] = {}
    for cell in cells:
        load = _load(cell, parameter)
        if load is not None:
            label = label_without(cell.place.benchmark, [PARAMETERS + parameter])
            place = replace(cell.place, benchmark=label, heap=cell.place.heap.asked)
            groups.setdefault(place, {}).setdefault(load, cell)
    return {place: dict(sorted(own.items())) for place, own in groups.items()}


def _load(cell: PlannedCell, parameter: str) -> float | None:
    """Return the load of a cell; None without a positive number."""
    try:
        load = float(parts_of_label(cell.place.benchmark).chosen[parameter])
    except (KeyError, ValueError):
        return None
    return load if math.isfinite(load) and load > 0.0 else None


def _statuses(connection: duckdb.DuckDBPyConnection, cells: Iterable[int]) -> _Statuses:
    rows = connection.execute(
        "select cell, round, list(distinct status) from last join planned using (host, cell_id)"
        " where list_contains($cells, cell) and round >= discarded_rounds group by all",
        {"cells": sorted(cells)},
    ).fetchall()
    found: dict[int, dict[int, frozenset[str]]] = {}
    for cell, number, own in rows:
        found.setdefault(cell, {})[number] = frozenset(own)
    return found


def _capacity(
    context: Context,
    target: CapacityTarget,
    place: Place,
    cells: Mapping[float, PlannedCell],
    statuses: _Statuses,
) -> Capacity | None:
    """Return the capacity of one series; None if no load is measured yet."""
    cells = {load: cell for load, cell in cells.items() if cell.number in statuses}
    if not cells:
        return None
    level = context.facts.level
    matching = {load: _matching(context.samples, cell, target) for load, cell in cells.items()}
    loads = [
        _Measured(load, cell, matching[load][0] if len(matching[load]) == 1 else None)
        for load, cell in cells.items()
    ]
    first = next(iter(cells.values()))
    unit = next((series.unit for many in matching.values() for series in many), target.unit)
    result = Capacity(
        target=target,
        name=context.names.where(first, {}, (PARAMETERS + target.parameter,)),
        place=replace(place, heap=shared_heap(cell.place for cell in cells.values())),
        unit=unit,
        points=tuple(CapacityPoint(one.load, one.cell.cell_id, _mean(one, unit, level)) for one in loads),
        estimate=undefined(0, level, METHOD, _why_not(target, matching, statuses, cells)),
    )
    if result.estimate.reason:
        return result
    return _over_rounds(result, loads, statuses)


def _matching(samples: Samples, cell: PlannedCell, target: CapacityTarget) -> list[Series]:
    """Return the series of the target's metric with its parameters: if one has no others, only that one."""
    wanted = set(parameters_key(target.parameters))
    found = [
        (set(parameters_key(series.parameters)) - wanted, series)
        for series in samples.series.get(cell.number, ())
        if series.metric == target.metric and wanted <= set(parameters_key(series.parameters))
    ]
    # Many programs repeat the parameters of the benchmark.
    chosen = parts_of_label(cell.place.benchmark).chosen
    alone = [series for others, series in found if all(name in chosen for name, _ in others)]
    return alone or [series for _, series in found]


def _why_not(
    target: CapacityTarget,
    matching: Mapping[float, Sequence[Series]],
    statuses: _Statuses,
    cells: Mapping[float, PlannedCell],
) -> str:
    """Return why the target cannot be judged; "" if it can."""
    name = metric_words(target)
    several = next((many for many in matching.values() if len(many) > 1), None)
    if several is not None:
        texts = [parameters_text(series.parameters, frozenset({target.parameter})) for series in several]
        which = f": {'; '.join(dict.fromkeys(texts))}" if len(set(texts)) > 1 else ""
        return f"several series of {name}{which}"
    units = {series.unit for many in matching.values() for series in many}
    wrong = sorted(unit for unit in units if _dimension(unit) != _dimension(target.unit))
    if wrong:
        return f"{target.metric} is in {listed(wrong)}, the target in {target.unit}"
    valid = any("ok" in own for cell in cells.values() for own in statuses[cell.number].values())
    return f"no invocation reports {name}" if valid and not units else ""


def metric_words(target: CapacityTarget) -> str:
    """Return `latency (percentile 99)`."""
    given = parameters_text(target.parameters)
    return f"{target.metric} ({given})" if given else target.metric


def _dimension(unit: str) -> str:
    return UNITS[unit][0] if unit in UNITS else unit


def converted(value: float, unit: str, into: str) -> float:
    """Return a value in another unit of the same dimension."""
    factor = 1.0 if unit == into else UNITS[unit][1] / UNITS[into][1]
    return float(f"{value * factor:.{_DIGITS}g}")


def _mean(one: _Measured, unit: str, level: float) -> Interval:
    values = (
        [] if one.series is None else [_in(sample.value, one.series, unit) for sample in one.series.samples]
    )
    return mean_interval(values, level, _METHOD_OF_POINTS, is_positive(unit))


def _in(value: float, series: Series, unit: str) -> float:
    same = series.unit == unit or _dimension(series.unit) != _dimension(unit)
    return value if same else converted(value, series.unit, unit)


def _over_rounds(result: Capacity, loads: Sequence[_Measured], statuses: _Statuses) -> Capacity:
    """Return the result with the capacity over complete rounds, or its bounds."""
    at_most = converted(result.target.at_most, result.target.unit, result.unit)
    by_load = [_values(one, statuses[one.cell.number], result.unit) for one in loads]
    every = sorted(set().union(*by_load))
    complete = [number for number in every if all(number in own for own in by_load)]
    incomplete = len(set().union(*(statuses[one.cell.number] for one in loads))) - len(complete)
    values = [[own[number] for own in by_load] for number in complete]
    reason = "no round with a valid invocation at every load"
    estimate, bound = undefined(0, result.estimate.level, result.estimate.method, reason), None
    if values:
        found = crossing([one.load for one in loads], values, at_most, result.estimate.level)
        estimate, known = found.estimate, found.low is not None or found.high is not None
        bound = Bound(found.low, found.high) if known else None
    return replace(
        result,
        points=tuple(
            replace(
                point,
                met=sum(own[number] <= at_most for number in complete),
                failed=sum(math.isnan(own[number]) for number in complete),
            )
            for point, own in zip(result.points, by_load, strict=True)
        ),
        estimate=estimate,
        bound=bound,
        incomplete_rounds=incomplete,
    )


def _values(one: _Measured, statuses: Mapping[int, frozenset[str]], unit: str) -> dict[int, float]:
    """Return round -> value; NaN: failed or without a value. Rounds with only perturbed invocations are omitted.

    A round that several plans have counts once, with its mean.
    """
    by_round: dict[int, list[float]] = {}
    if one.series is not None:
        for sample in one.series.samples:
            by_round.setdefault(sample.round, []).append(_in(sample.value, one.series, unit))
    found: dict[int, float] = {}
    for number, own in statuses.items():
        if own.intersection(FAILURES):
            found[number] = math.nan
        elif "ok" in own:
            value = fmean(by_round[number]) if number in by_round else math.nan
            found[number] = value if math.isfinite(value) else math.nan
    return found
