"""Compute the system vectors of an experiment: the cost of each primitive in each place."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import duckdb
import numpy as np

from regatta.answers.spine.facts import Facts, fingerprint_of, read_facts
from regatta.answers.spine.parts import Place
from regatta.answers.spine.samples import PlannedCell, load_samples
from regatta.host.errors import SpecError
from regatta.host.units import UNITS
from regatta.host.values.benchmark_label import parts_of_label
from regatta.host.values.cell import NO_MODIFIERS, heap_text
from regatta.host.values.experiment import Scalar
from regatta.host.values.plan_cell import AT_MOST
from regatta.models.vectors.fits import Fit, NoCost, Points, fit, interval_of
from regatta.models.vectors.primitives import ChosenSeries, PrimitiveRule, PrimitiveTable, ShareChoice
from regatta.models.vectors.values import PrimitiveCost, PrimitiveUnit, SystemVector, Value
from regatta.stats.trimmed import trimmed_mean
from regatta.store.database import Progress, open_database

#: the runtime of compiled programs
NATIVE = "native"
MEDIAN = "median"
#: key in a system's provenance: share of the elapsed time of its costs that the measured process had the
#: processor
PROCESSOR_SHARE = "processor_share"
#: a line with a larger relative residual is reported
FAR = 0.1
_NS = 1e9
#: metrics of one operation; the second excludes the processor time of other processes
_ELAPSED, _CPU = "latency", "cpu_time"
_UNIT_BYTES = {"byte": 1.0, "MiB": 1024.0**2}

#: Perturbed and failed invocations give no cost. `counted` and `planned` are those of `load_samples`.
_VALUES = """
select cell, metric, unit, coalesce(parameters, '') as parameters, invocation_id, list(value order by iteration)
from iterations i join counted using (record)
where status = 'ok' and not discarded and iteration >= $warmup and list_contains($cells, cell)
group by all order by all
"""


@dataclass(frozen=True)
class _Series:
    """One series of a cell: one number per invocation, from its repetitions."""

    label: str
    suite: str
    benchmark: str
    metric: str
    unit: str
    parameters: Mapping[str, Scalar]
    #: invocation -> its number
    values: dict[str, float] = field(default_factory=dict)


def system_vectors(
    experiment_dir: Path,
    table: PrimitiveTable,
    summary: str = MEDIAN,
    progress: Progress | None = None,
) -> tuple[list[SystemVector], list[str]]:
    """Compute the system vectors of an experiment from its records.

    A system is a host with one configuration and heap: the place of all its benchmarks. A primitive without
    its series is omitted, and the reason is reported. Costs are in ns.

    Args:
        experiment_dir: `results/<experiment>`, planned and measured.
        table: from `regatta.models.vectors.primitives.read_primitives`.
        summary: of the repetitions of one invocation: `median`, `mean`, or `trimmed:10` (10 % dropped at each
            end).
        progress: receives the progress of the database build.

    Returns:
        Systems that have at least one primitive, in the order of the plan, and sentences about omitted
        primitives and about lines with residuals above 10 %.

    Raises:
        SpecError: unknown summary.
        StoreError: the folder holds no plan, or cannot be read.
    """
    summarise = summary_named(summary)
    facts = read_facts(experiment_dir)
    with open_database(experiment_dir, progress) as connection:
        cells = load_samples(connection, facts.steady).cells
        systems: dict[Place, list[PlannedCell]] = {}
        for cell in cells:
            place = replace(cell.place, benchmark="", heap=cell.place.heap.asked)
            systems.setdefault(place, []).append(cell)
        series = _read(connection, _wanted(cells, table), facts.steady.warmup, summarise)
    vectors: list[SystemVector] = []
    told: list[str] = []
    for name, (place, own) in zip(system_names(list(systems)), systems.items(), strict=True):
        system = _System(name, table, facts.level)
        system.add([each for cell in own for each in series.get(cell.number, [])])
        if not any(series.get(cell.number) for cell in own):
            told.append(f"{system.name}: no series of {table.source or 'the table'} in the records")
            continue
        told += [f"{system.name}: {sentence}" for sentence in system.told]
        if system.primitives:
            provenance = _provenance(facts, place, summary, table, system)
            vectors.append(SystemVector(system.name, "ns", system.primitives, facts.level, provenance))
    return vectors, told


def system_names(systems: Sequence[Place]) -> list[str]:
    """Return unique names for systems of an experiment: the host, and the parts that differ from the default.

    Host `n1` with modifier `quiet` and host `n1-quiet` without modifiers would both be `n1-quiet`: these get
    their whole names.
    """
    names = [_short_name(one) for one in systems]
    times = Counter(names)
    whole = (" ".join(filter(None, (one.host, one.configuration, heap_name(one)))) for one in systems)
    return [name if times[name] == 1 else other for name, other in zip(names, whole, strict=True)]


def _short_name(place: Place) -> str:
    runtime = "" if place.runtime == NATIVE else place.runtime
    modifiers = "" if place.modifiers == NO_MODIFIERS else place.modifiers
    return "-".join(filter(None, (place.host, runtime, place.collector, modifiers, heap_name(place))))


def heap_name(place: Place) -> str:
    """Return the heap of a place as vectors name it: `2x`, `64MiB`; "" for none."""
    return heap_text(place.heap.factor, place.heap.mib)


def summary_named(name: str) -> Callable[[Sequence[float]], float]:
    """Return the function that summarizes the repetitions of an invocation: `median`, `mean` or `trimmed:N`.

    Raises:
        SpecError: unknown summary.
    """
    plain: dict[str, Callable[[Sequence[float]], float]] = {
        MEDIAN: lambda values: float(np.median(values)),
        "mean": lambda values: math.fsum(values) / len(values),
    }
    if name in plain:
        return plain[name]
    kind, _, text = name.partition(":")
    try:
        percent = float(text) if kind == "trimmed" else math.nan
    except ValueError:
        percent = math.nan
    if not 0.0 <= percent < 50.0:
        wanted = "median, mean, or trimmed:N with N from 0 to below 50"
        raise SpecError.of("summary", wanted, name, "trimmed:10")
    return lambda values: trimmed_mean(values, percent)


def _wanted(cells: Sequence[PlannedCell], table: PrimitiveTable) -> dict[int, tuple[str, str]]:
    """Return cell number -> suite and benchmark, for cells that primitives use."""
    used = {(rule.series.suite, rule.series.benchmark) for rule in table.primitives.values()}
    labels = {cell.number: parts_of_label(cell.place.benchmark) for cell in cells}
    named = {number: (parts.suite, parts.name) for number, parts in labels.items()}
    return {number: name for number, name in named.items() if name in used}


def _read(
    connection: duckdb.DuckDBPyConnection,
    wanted: Mapping[int, tuple[str, str]],
    warmup: int,
    summarise: Callable[[Sequence[float]], float],
) -> dict[int, list[_Series]]:
    """Return the series by cell number."""
    labels = dict(connection.execute("select cell, benchmark from planned").fetchall())
    found: dict[int, dict[tuple[str, str, str], _Series]] = {}
    rows = connection.execute(_VALUES, {"warmup": warmup, "cells": list(wanted)}).fetchall()
    for number, metric, unit, parameters, invocation, values in rows:
        made = found.setdefault(number, {})
        key = (metric, unit, parameters)
        if key not in made:
            chosen = json.loads(parameters) if parameters else {}
            made[key] = _Series(labels[number], *wanted[number], metric, unit, chosen)
        made[key].values[invocation] = summarise(values)
    return {number: list(made.values()) for number, made in found.items()}


class _System:
    """One system while its primitives are computed."""

    def __init__(self, name: str, table: PrimitiveTable, level: float) -> None:
        self.name = name
        self.primitives: dict[str, PrimitiveCost] = {}
        #: sentences
        self.told: list[str] = []
        #: primitive -> fit, of lines
        self.fits: dict[str, Fit] = {}
        #: processor time / elapsed time of the costs, where series have both; else NaN
        self.processor_share = math.nan
        self._table = table
        self._level = level

    def add(self, series: Sequence[_Series]) -> None:
        """Compute every primitive whose series exist."""
        self.processor_share = _processor_share(series)
        for name, rule in self._table.primitives.items():
            try:
                invocations, limits = self._invocations(rule, series)
                fitted = fit(rule.cost, invocations, self._level, limits)
                share = self._user_share(name, rule, series)
            except NoCost as error:
                problem = error.problems[0]
                self.told.append(
                    f"{name} excluded: {problem.where}: expected {problem.expected}, got {problem.got}"
                )
                continue
            self.primitives[name] = PrimitiveCost(rule.unit, fitted.cost, share, fitted.measured)
            if not math.isnan(fitted.worst):
                self.fits[name] = fitted
                if fitted.worst > FAR:
                    self.told.append(
                        f"{name}: the linear fit deviates by {100 * fitted.worst:.0f} % at "
                        f"{rule.cost.arguments[0]}={fitted.worst_at:g}; try `cost: {{piecewise: ...}}`"
                    )

    def _invocations(
        self, rule: PrimitiveRule, series: Sequence[_Series]
    ) -> tuple[list[Points], dict[tuple[float, ...], float]]:
        """Return the points of each complete invocation, and the limits of points too cheap for a number.

        If only some repetitions of an invocation have a number, the invocation has a limit: its number, if
        that is higher.
        """
        where, chosen = _chosen(rule.series, rule.series, series)
        points: dict[str, dict[tuple[float, ...], float]] = {}
        seen: dict[tuple[tuple[float, ...], bool], str] = {}
        limits: dict[tuple[float, ...], float] = {}
        capped: dict[str, dict[tuple[float, ...], float]] = {}
        for each in chosen:
            at, limited = _at(where, rule, each), each.metric != rule.series.metric
            if (at, limited) in seen:
                both = f"{seen[at, limited]} and {_text(each)}"
                raise NoCost(where, "one series per cost", both, "name more `parameters`")
            seen[at, limited] = _text(each)
            for invocation, value in each.values.items():
                cost = _cost_ns(where, value, each.unit, rule.unit)
                if limited:
                    capped.setdefault(invocation, {})[at] = cost
                else:
                    points.setdefault(invocation, {})[at] = cost
        for invocation, caps in capped.items():
            own = points.setdefault(invocation, {})
            for at, cap in caps.items():
                highest = max(cap, own.get(at, 0.0))
                limits[at] = max(highest, limits.get(at, 0.0))
                own[at] = highest / 2.0
        places = {at for at, _ in seen}
        whole: list[Points] = [made for made in points.values() if len(made) == len(places)]
        if not whole:
            raise NoCost(where, "an invocation with all series", "none", "see the failed invocations")
        return whole, limits

    def _user_share(self, name: str, rule: PrimitiveRule, series: Sequence[_Series]) -> Value:
        if rule.user_share is None:
            return Value.exact(self._table.user_share)
        try:
            where, chosen = _chosen(rule.series, rule.user_share, series)
        except NoCost as error:
            problem = error.problems[0]
            reason = f"no measured {rule.user_share.metric} of {name}"
            self.told.append(
                f"unknown user share of {name}: {problem.where}: expected {problem.expected}, got "
                f"{problem.got}"
            )
            return Value(math.nan, reason=reason)
        shares: dict[str, list[float]] = {}
        for each in chosen:
            dimension, factor = UNITS.get(each.unit, ("", 1.0))
            if dimension != "ratio":
                raise NoCost(where, "a ratio or %", each.unit)
            for invocation, value in each.values.items():
                shares.setdefault(invocation, []).append(min(max(value * factor, 0.0), 1.0))
        return interval_of([math.fsum(each) / len(each) for each in shares.values()], self._level, 1.0)


def _processor_share(series: Sequence[_Series]) -> float:
    """Return the median over invocations of processor time divided by the time of the operations."""
    found: list[float] = []
    taken = {
        (each.label, *sorted(each.parameters.items())): each for each in series if each.metric == _ELAPSED
    }
    for used in series:
        whole = taken.get((used.label, *sorted(used.parameters.items()))) if used.metric == _CPU else None
        if whole is not None and whole.unit == used.unit:
            both = used.values.keys() & whole.values.keys()
            found += [used.values[one] / whole.values[one] for one in both if whole.values[one] > 0]
    return float(np.median(found)) if found else math.nan


def _chosen(
    of: ChosenSeries, choice: ChosenSeries | ShareChoice, series: Sequence[_Series]
) -> tuple[str, list[_Series]]:
    """Return the place of a problem, and the chosen series of a benchmark."""
    wanted = " ".join(f"{key}={value}" for key, value in choice.parameters.items())
    where = " ".join(filter(None, (f"{of.suite}/{of.benchmark}", choice.metric, wanted)))
    own = [each for each in series if (each.suite, each.benchmark) == (of.suite, of.benchmark)]
    if not own:
        raise NoCost(where, "records of this benchmark", "none")
    found = [
        each
        for each in own
        if each.metric in (choice.metric, f"{choice.metric}{AT_MOST}")
        and all(str(each.parameters.get(key)) == str(value) for key, value in choice.parameters.items())
    ]
    if not found:
        raise NoCost(where, "a matching series", "others")
    return where, found


def _at(where: str, rule: PrimitiveRule, series: _Series) -> tuple[float, ...]:
    """Return the values of the cost's arguments.

    Other unchosen parameters would make the series ambiguous.
    """
    values = []
    for name in rule.cost.arguments:
        value = series.parameters.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise NoCost(where, f"a number for `{name}` in each series", str(value))
        values.append(float(value))
    return tuple(values)


def _text(series: _Series) -> str:
    parameters = " ".join(f"{key}={value}" for key, value in series.parameters.items())
    return f"{series.label} {parameters}".strip()


def _cost_ns(where: str, value: float, unit: str, wanted: PrimitiveUnit) -> float:
    """Return a time unchanged; convert a bandwidth or a rate to the time per unit."""
    dimension, factor = UNITS.get(unit, ("", 1.0))
    base = value * factor
    cost = math.nan
    if dimension == "time":
        cost = base
    elif base > 0 and dimension == "bandwidth" and wanted in _UNIT_BYTES:
        cost = _UNIT_BYTES[wanted] / base
    elif base > 0 and dimension == "rate" and wanted not in _UNIT_BYTES:
        cost = 1.0 / base
    if not (math.isfinite(cost) and cost > 0):
        expected = f"a time, bandwidth or rate above 0 that gives the cost of one {wanted}"
        raise NoCost(where, expected, f"{value:g} {unit}".strip())
    return cost * _NS


def _provenance(
    facts: Facts, place: Place, summary: str, table: PrimitiveTable, system: _System
) -> dict[str, str]:
    """Return the provenance of the vector; every value is one line of text."""
    fits = "; ".join(
        f"{name} {100 * found.worst:.1f} % at {found.worst_at:g}" for name, found in system.fits.items()
    )
    given = {
        "experiment": facts.name,
        "host": place.host,
        "platform": place.platform,
        "configuration": place.configuration,
        "runtime": "" if place.runtime == NATIVE else place.runtime,
        "heap": heap_name(place),
        "fingerprint": fingerprint_of(facts.hosts.get(place.host, {})),
        "summary": summary,
        "primitives": table.source,
        PROCESSOR_SHARE: "" if math.isnan(system.processor_share) else f"{system.processor_share:.3f}",
        "largest_residuals": fits,
        "remarks": "; ".join(system.told),
    }
    return {key: value.replace("\n", " ") for key, value in given.items() if value}
