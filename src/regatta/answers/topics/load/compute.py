"""What load does: every series that was measured with several numbers of processes at a time, over that number.

How many run at a time is told by the parameter `parallel` of a series. Beside the value of the median process, programs
report `*_system` (all processes together; of times `rate_system`), `*_fastest` and `*_slowest` from two processes on; one alone is all of these.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Literal

import duckdb

from regatta.answers.comparisons import PilotPairs, contrasts_of
from regatta.answers.context import Context
from regatta.answers.facts import Facts
from regatta.answers.pairs import Pair
from regatta.answers.parts import HEAP, INLINED, Place
from regatta.answers.samples import Samples, Series
from regatta.answers.words import practical, shows_difference
from regatta.host.units import UNITS, is_positive
from regatta.host.values.experiment import Better, Scalar
from regatta.stats.estimate import Interval
from regatta.stats.intervals import mean_interval
from regatta.stats.multiplicity import holm

#: what a number is of: the median process, all processes together, or the best or the worst process
Aspect = Literal["each", "system", "fastest", "slowest"]

#: `up` and `down`: a change is shown; `same`: none that matters is possible; `open`: neither; `unknown`: no interval
Verdict = Literal["up", "down", "same", "open", "unknown"]


@dataclass(frozen=True)
class LoadPoint:
    """One load. `parallel`: processes at a time, >= 1. `values`: one an invocation, in the curve's unit, in order of time."""

    parallel: int
    cell_id: str
    estimate: Interval
    values: tuple[float, ...]
    #: what all processes do together, over what one does alone; None where that means nothing or one alone was not measured
    throughput: Interval | None = None


@dataclass(frozen=True)
class LoadStep:
    """The value at `load` over that at the lighter load `over`."""

    over: int
    load: int
    ratio: Interval
    p: float
    #: p after Holm, over all pairs of loads of all curves that are spoken of
    p_holm: float
    verdict: Verdict


@dataclass(frozen=True)
class LoadCurve:
    """One series over the load. `points` ascend in `parallel`, two at least; `steps` are those that are told."""

    #: the program's name (`lat_syscall`); where several of its settings are measured, with what tells them apart
    program: str
    place: Place = field(metadata={INLINED: ("host", "runtime", "collector", "modifiers", *HEAP)})
    #: name without the aspect
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
    """All curves of an experiment; empty where nothing was measured under two loads."""

    curves: tuple[LoadCurve, ...] = ()
    #: host -> CPUs that the measured processes could use, where that is known
    cpus: Mapping[str, int] = field(default_factory=dict)


LOAD = "parallel"
#: of programs whose own metric is a time: operations a second of all processes
SYSTEM_RATE = "rate_system"
_ASPECTS: tuple[Aspect, ...] = ("each", "system", "fastest", "slowest")
#: what a spec that crosses the load adds to a benchmark's label
_IN_LABEL = re.compile(rf" {LOAD}=\d+(?= |$)")
_SHARED = ("bandwidth", "rate")


@dataclass
class _Found:
    """One series over the load, as read. `by_load`: aspect -> load -> series."""

    program: str
    metric: str
    parameters: Mapping[str, Scalar]
    by_load: dict[Aspect, dict[int, Series]] = field(default_factory=lambda: {one: {} for one in _ASPECTS})


class _Compare:
    """Ratio a/b and p of pairs of series."""

    def __init__(self, level: float, pilot_pairs: PilotPairs) -> None:
        self.level = level
        self._pilot_pairs = pilot_pairs

    def __call__(self, pairs: Sequence[tuple[Series, Series]]) -> list[tuple[Interval, float]]:
        wanted = [Pair(a.cell, b.cell, a, b) for a, b in pairs]
        found = contrasts_of(wanted, self.level, self._pilot_pairs)
        return [(one.contrast.interval, one.contrast.p) for one in found]


def judge_scaling(context: Context) -> Scaling:
    """Every series over the load.

    Returns:
        A curve for each benchmark, host, configuration, other parameters and aspect with two loads or more, in the order of
        the plan. Steps: loads are compared by contrasts (paired where the two share blocks, else Welch's), and a change
        counts as shown where it is still shown after Holm, over every pair of loads of every curve that has steps.
    """
    facts = context.facts
    found = [one for one in _read(context.samples) if len(one.by_load["each"]) > 1]
    spoken: list[tuple[_Found, Aspect]] = [(one, _spoken(one)) for one in found]
    compare = _Compare(facts.level, context.stops.pilot_pairs)
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
    """Host -> how many CPUs its measured processes could use, by the records, else by the plan's facts.

    Args:
        connection: to the experiment's database.
        facts: of the plan.
    """
    known = {host: int(of["cpus"]) for host, of in facts.hosts.items() if str(of.get("cpus", "")).isdecimal()}
    rows = connection.execute(
        "select host, max(len(cores)) from last_attempts where len(cores) > 0 group by host"
    ).fetchall()
    return known | {host: int(count) for host, count in rows}


def _read(samples: Samples) -> list[_Found]:
    """Every series of which loads are known, in the order of the plan, with what stands beside it."""
    groups: dict[tuple[object, ...], list[tuple[int, Aspect, Series]]] = {}
    settings: dict[str, set[str]] = {}
    for cell in samples.cells:
        for series in samples.series.get(cell.number, ()):
            aspect, given = _aspect(series), dict(series.parameters)
            load = given.pop(LOAD, None)
            if aspect is None or type(load) is not int or load < 1 or not series.samples:
                continue
            # The load is the series' own word; the label only tells other settings of the program apart.
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
        one = _Found(shown, first.cell.metric, others)
        for load, aspect, series in many:
            one.by_load[aspect].setdefault(load, series)
        _let_one_be_all(one.by_load)
        found.append(one)
    return found


def _let_one_be_all(by_load: dict[Aspect, dict[int, Series]]) -> None:
    """One process alone is the whole system, the fastest and the slowest."""
    alone = by_load["each"].get(1)
    for aspect in _ASPECTS[1:]:
        if alone is not None and by_load[aspect]:
            rate = next(iter(by_load[aspect].values())).metric == SYSTEM_RATE
            by_load[aspect].setdefault(1, _as_rate(alone) if rate else alone)


def _as_rate(series: Series) -> Series:
    """Operations a second of a series of times an operation."""
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


def _dimension(one: _Found) -> str:
    series = next(iter(one.by_load["each"].values()))
    return UNITS.get(series.unit, ("", 1.0))[0]


def _spoken(one: _Found) -> Aspect:
    """Of bandwidths and rates the whole system is spoken of, of times the median process."""
    return "system" if _dimension(one) in _SHARED and len(one.by_load["system"]) > 1 else "each"


def _steps(
    curves: Sequence[Mapping[int, Series]], compare: _Compare, theta_percent: float
) -> list[tuple[LoadStep, ...]]:
    """The steps of each curve: each load against the last one at which a change was shown, at first the lightest."""
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
    if math.isnan(ratio.low):
        return "unknown"
    if practical(ratio, theta_percent) == "no":
        return "same"
    if shows_difference(ratio) and p_holm <= 1.0 - ratio.level:
        return "up" if ratio.point > 1.0 else "down"
    return "open"


def _curve(one: _Found, aspect: Aspect, compare: _Compare, steps: tuple[LoadStep, ...]) -> LoadCurve:
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


def _is_rate_of_times(one: _Found, aspect: Aspect) -> bool:
    """Whether it is known only for what all processes do together, beside the times themselves."""
    return aspect == "system" and _dimension(one) == "time"


def _throughput(one: _Found, aspect: Aspect, compare: _Compare) -> dict[int, Interval]:
    """Load -> what all do together over what one does alone.

    Of times it is told by the rate of all processes, where the program reports one: that of the median process does not
    tell what the others did.
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
