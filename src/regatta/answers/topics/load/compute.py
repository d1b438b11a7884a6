"""Compute the effect of load: each series measured with several numbers of parallel processes, over that number.

The parameter `parallel` of a series is the number of parallel processes. In addition to the median process, programs
report `*_system` (all processes together; for times `rate_system`), `*_fastest` and `*_slowest` from two processes on. A
single process is all of these.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Literal

import duckdb

from regatta.answers.spine.comparisons import contrasts_of
from regatta.answers.spine.context import Context
from regatta.answers.spine.facts import Facts
from regatta.answers.spine.pairs import Pair
from regatta.answers.spine.parts import HEAP, INLINED, Place
from regatta.answers.spine.samples import Samples, Series
from regatta.answers.spine.stops import Stops
from regatta.answers.spine.verdicts import judge
from regatta.host.units import UNITS, is_positive
from regatta.host.values.experiment import Better, Scalar
from regatta.stats.estimate import Interval
from regatta.stats.intervals import mean_interval
from regatta.stats.multiplicity import holm

#: scope of a number: the median process, all processes together, or the best or worst process
Aspect = Literal["each", "system", "fastest", "slowest"]

#: `up`, `down`: significant change; `same`: no practically significant change possible; `open`: neither; `unknown`: no interval
Verdict = Literal["up", "down", "same", "open", "unknown"]


@dataclass(frozen=True)
class LoadPoint:
    """One load. `parallel`: number of processes, >= 1. `values`: one per invocation, in the curve's unit, in time order."""

    parallel: int
    cell_id: str
    estimate: Interval
    values: tuple[float, ...]
    #: throughput of all processes relative to that of one; None if meaningless or if one process was not measured
    throughput: Interval | None = None


@dataclass(frozen=True)
class LoadStep:
    """Ratio of the value at `load` to that at the lighter load `over`."""

    over: int
    load: int
    ratio: Interval
    p: float
    #: p adjusted over all pairs of loads of all curves with steps (Holm)
    p_holm: float
    verdict: Verdict


@dataclass(frozen=True)
class LoadCurve:
    """One series over the load. `points` ascend in `parallel`, at least two; `steps` are the reported changes."""

    #: name of the program (`lat_syscall`); with distinguishing settings if several are measured
    program: str
    place: Place = field(metadata={INLINED: ("host", "runtime", "collector", "modifiers", *HEAP)})
    #: name without aspect
    metric: str
    aspect: Aspect
    unit: str
    better: Better
    #: without `parallel`
    parameters: Mapping[str, Scalar]
    points: tuple[LoadPoint, ...]
    steps: tuple[LoadStep, ...] = ()


@dataclass(frozen=True)
class Scaling:
    """All curves of an experiment; empty if nothing was measured at two loads."""

    curves: tuple[LoadCurve, ...] = ()
    #: host -> CPUs available to the measured processes, if known
    cpus: Mapping[str, int] = field(default_factory=dict)


LOAD = "parallel"
#: for programs whose own metric is a time: operations per second of all processes
SYSTEM_RATE = "rate_system"
_ASPECTS: tuple[Aspect, ...] = ("each", "system", "fastest", "slowest")
#: addition to a benchmark's label by a spec that crosses the load
_IN_LABEL = re.compile(rf" {LOAD}=\d+(?= |$)")
_SHARED = ("bandwidth", "rate")


@dataclass
class _LoadSeries:
    """One series over the load as read. `by_load`: aspect -> load -> series."""

    program: str
    metric: str
    parameters: Mapping[str, Scalar]
    by_load: dict[Aspect, dict[int, Series]] = field(default_factory=lambda: {one: {} for one in _ASPECTS})


class _Compare:
    """Ratio a/b and p of pairs of series."""

    def __init__(self, level: float, stops: Stops) -> None:
        self.level = level
        self._stops = stops

    def __call__(self, pairs: Sequence[tuple[Series, Series]]) -> list[tuple[Interval, float]]:
        wanted = [Pair(a.cell, b.cell, a, b) for a, b in pairs]
        found = contrasts_of(wanted, self.level, self._stops)
        return [(one.contrast.interval, one.contrast.p) for one in found]


def judge_scaling(context: Context) -> Scaling:
    """Return every series over the load.

    Returns:
        A curve for each benchmark, host, configuration, other parameters and aspect with at least two loads, in plan
        order. Steps compare loads by contrasts (paired if the two share blocks, else Welch's). A change is significant if
        it still is after Holm over every pair of loads of every curve with steps.
    """
    facts = context.facts
    found = [one for one in _read(context.samples) if len(one.by_load["each"]) > 1]
    spoken: list[tuple[_LoadSeries, Aspect]] = [(one, _spoken(one)) for one in found]
    compare = _Compare(facts.level, context.stops)
    steps = _steps([one.by_load[aspect] for one, aspect in spoken], compare, facts.theta_percent)
    told = {(id(one), aspect): some for (one, aspect), some in zip(spoken, steps, strict=True)}
    curves = [
        _curve(one, aspect, compare, told.get((id(one), aspect), ()))
        for one in found
        for aspect in _ASPECTS
        if len(one.by_load[aspect]) > 1 and not _is_rate_of_times(one, aspect)
    ]
    return Scaling(tuple(curves), usable_cpus(context.connection, facts) if curves else {})


def usable_cpus(connection: duckdb.DuckDBPyConnection, facts: Facts) -> dict[str, int]:
    """Return host -> CPUs available to its measured processes, from the records, else from the plan's facts."""
    known = {host: int(of["cpus"]) for host, of in facts.hosts.items() if str(of.get("cpus", "")).isdecimal()}
    rows = connection.execute(
        "select host, max(len(cores)) from last_attempts where len(cores) > 0 group by host"
    ).fetchall()
    return known | {host: int(count) for host, count in rows}


def _read(samples: Samples) -> list[_LoadSeries]:
    """Return every series with known loads, in plan order, with its aspects."""
    groups: dict[tuple[object, ...], list[tuple[int, Aspect, Series]]] = {}
    settings: dict[str, set[str]] = {}
    for cell in samples.cells:
        for series in samples.series.get(cell.number, ()):
            aspect, given = _aspect(series), dict(series.parameters)
            load = given.pop(LOAD, None)
            if aspect is None or type(load) is not int or load < 1 or not series.samples:
                continue
            # The series states the load; the label only distinguishes other settings of the program.
            setting = _IN_LABEL.sub("", cell.place.benchmark)
            settings.setdefault(_program(setting), set()).add(setting)
            key = (
                replace(cell.place, benchmark=setting, heap=cell.place.heap.asked),
                cell.metric,
                json.dumps(given, sort_keys=True),
            )
            groups.setdefault(key, []).append((load, aspect, series))
    found = []
    for many in groups.values():
        first = many[0][2]
        setting = _IN_LABEL.sub("", first.cell.place.benchmark)
        program = _program(setting)
        shown = program if len(settings[program]) == 1 else setting.rsplit("/", 1)[-1]
        others = {name: value for name, value in first.parameters.items() if name != LOAD}
        one = _LoadSeries(shown, first.cell.metric, others)
        for load, aspect, series in many:
            one.by_load[aspect].setdefault(load, series)
        _let_one_be_all(one.by_load)
        found.append(one)
    return found


def _let_one_be_all(by_load: dict[Aspect, dict[int, Series]]) -> None:
    """Use the single process as the whole system, the fastest and the slowest at load 1."""
    alone = by_load["each"].get(1)
    for aspect in _ASPECTS[1:]:
        if alone is not None and by_load[aspect]:
            rate = next(iter(by_load[aspect].values())).metric == SYSTEM_RATE
            by_load[aspect].setdefault(1, _as_rate(alone) if rate else alone)


def _as_rate(series: Series) -> Series:
    """Convert a series of times per operation to operations per second."""
    factor = UNITS[series.unit][1]
    return replace(
        series,
        metric=SYSTEM_RATE,
        unit="ops/s",
        samples=tuple(replace(one, value=1.0 / (one.value * factor)) for one in series.samples),
        perturbed=tuple(replace(one, value=1.0 / (one.value * factor)) for one in series.perturbed),
        values=1.0 / (series.values * factor),
        by_block={block: 1.0 / (value * factor) for block, value in series.by_block.items()},
    )


def _aspect(series: Series) -> Aspect | None:
    if series.metric == series.cell.metric:
        return "each"
    if series.metric == SYSTEM_RATE and UNITS.get(series.unit, ("",))[0] == "rate":
        return "system"
    stem, _, last = series.metric.rpartition("_")
    return next((one for one in _ASPECTS[1:] if stem == series.cell.metric and last == one), None)


def _program(label: str) -> str:
    return label.split(":", 1)[0].rsplit("/", 1)[-1]


def _dimension(one: _LoadSeries) -> str:
    series = next(iter(one.by_load["each"].values()))
    return UNITS.get(series.unit, ("", 1.0))[0]


def _spoken(one: _LoadSeries) -> Aspect:
    """Return the described aspect: the whole system for bandwidths and rates, the median process for times."""
    return "system" if _dimension(one) in _SHARED and len(one.by_load["system"]) > 1 else "each"


def _steps(
    curves: Sequence[Mapping[int, Series]], compare: _Compare, theta_percent: float
) -> list[tuple[LoadStep, ...]]:
    """Return the steps of each curve: each load against the last one with a significant change, initially the lightest."""
    places = [
        (number, *loads) for number, curve in enumerate(curves) for loads in combinations(sorted(curve), 2)
    ]
    contrasts = compare([(curves[n][heavy], curves[n][light]) for n, light, heavy in places])
    adjusted = holm([p for _, p in contrasts]).tolist() if contrasts else []
    steps = {
        (n, light, heavy): LoadStep(light, heavy, ratio, p, p_holm, _verdict(ratio, p_holm, theta_percent))
        for (n, light, heavy), (ratio, p), p_holm in zip(places, contrasts, adjusted, strict=True)
    }
    return [tuple(_walk(n, sorted(curve), steps)) for n, curve in enumerate(curves)]


def _walk(
    number: int, loads: Sequence[int], steps: Mapping[tuple[int, int, int], LoadStep]
) -> Iterator[LoadStep]:
    last = loads[0]
    for load in loads[1:]:
        step = steps[number, last, load]
        yield step
        if step.verdict in ("up", "down"):
            last = load


def _verdict(ratio: Interval, p_holm: float, theta_percent: float) -> Verdict:
    verdict = judge(ratio, theta_percent, p_holm)
    if not verdict.significant:
        return "unknown"
    if verdict.practical == "no":
        return "same"
    if verdict.significant == "yes":
        return "up" if ratio.point > 1.0 else "down"
    return "open"


def _curve(one: _LoadSeries, aspect: Aspect, compare: _Compare, steps: tuple[LoadStep, ...]) -> LoadCurve:
    series = one.by_load[aspect]
    cell = series[min(series)].cell
    throughput = _throughput(one, aspect, compare)
    points = tuple(
        LoadPoint(
            load,
            series[load].cell.cell_id,
            mean_interval(series[load].values, compare.level, positive=is_positive(series[load].unit)),
            tuple(series[load].values.tolist()),
            throughput.get(load),
        )
        for load in sorted(series)
    )
    return LoadCurve(
        program=one.program,
        place=cell.place,
        metric=one.metric,
        aspect=aspect,
        unit=series[min(series)].unit,
        better=cell.better,
        parameters=one.parameters,
        points=points,
        steps=steps,
    )


def _is_rate_of_times(one: _LoadSeries, aspect: Aspect) -> bool:
    """Return whether the aspect is a rate of all processes, of a metric that is a time."""
    return aspect == "system" and _dimension(one) == "time"


def _throughput(one: _LoadSeries, aspect: Aspect, compare: _Compare) -> dict[int, Interval]:
    """Return load -> throughput of all processes relative to that of one.

    For times it is the rate of all processes, if the program reports it: the median process does not describe the others.
    """
    time = _dimension(one) == "time" and aspect == "each"
    if not time and not (_dimension(one) in _SHARED and aspect == "system"):
        return {}
    series = one.by_load["system"]
    if 1 not in series:
        return {}
    loads = [load for load in sorted(series) if load > 1]
    ratios = compare([(series[load], series[1]) for load in loads])
    return {load: ratio for load, (ratio, _) in zip(loads, ratios, strict=True)}
