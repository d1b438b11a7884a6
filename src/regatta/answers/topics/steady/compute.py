"""Detect the steady state of the invocations of each cell: by the paper's window, and by change points."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from regatta.answers.spine.context import Context
from regatta.answers.spine.iterations import Batch, read_series
from regatta.answers.spine.parts import HEAP, INLINED, Place
from regatta.answers.spine.samples import PlannedCell
from regatta.host.values.experiment import Scalar, SteadyState
from regatta.stats.estimate import Interval
from regatta.stats.intervals import geometric_mean
from regatta.stats.steady import steady_windows
from regatta.stats.warmup import KINDS, LEAST_ITERATIONS, common_kind, courses_of


@dataclass(frozen=True)
class IterationCurve:
    """Iterations of several invocations, each relative to the mean of its steady state (or its median without one).

    `kind`: the common property of the invocations, such as their class. `iterations`: the shown iterations, counted from
    0. `middle`, `low`, `high`: median, 10th and 90th percentile over the invocations.
    """

    kind: str
    invocations: int
    iterations: tuple[int, ...]
    middle: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True)
class SeriesSteadiness:
    """One series (a cell's own metric with one set of parameters), analysed by both methods."""

    cell_id: str
    #: `h2 at 2 x minheap (g1)`, for sentences
    title: str
    place: Place = field(metadata={INLINED: ("host", "benchmark", "configuration", *HEAP)})
    metric: str
    parameters: Mapping[str, Scalar]
    #: number of analysed invocations
    invocations: int
    #: iterations of a typical invocation
    iterations: int
    #: invocations with a steady window, and the median number of iterations before it
    cov_reached: int
    cov_start: float
    #: class by change points: the common one, "inconsistent", or "" if unknown
    kind: str
    #: class -> invocations
    kinds: Mapping[str, int]
    #: median and maximum number of iterations before the steady state by change points; NaN without a steady invocation
    steady_from: float
    steady_from_latest: float
    #: ratio of the means of the steady window and after the last change point, for invocations that have both
    cov_over_changepoints: Interval
    #: "agree" (the whole interval within theta), "disagree" (it excludes equality), "open", or "" if no invocation has both
    agreement: str
    #: invocations that change after the spec's warm-up, and the ratio of their means after it and after the last change point
    after_warmup: int
    bias: Interval
    curve: IterationCurve


@dataclass(frozen=True)
class Steadiness:
    """All series of an experiment with enough iterations."""

    window: int
    threshold: float
    warmup: int
    series: tuple[SeriesSteadiness, ...]
    #: over all series, one curve per class of invocation
    curves: tuple[IterationCurve, ...]
    #: number of series with several but too few iterations, and their maximum number of iterations
    too_short: int = 0
    most_iterations: int = 0
    #: 0, or the maximum number of analysed invocations per cell, evenly spread over time
    judged_at_most: int = 0


#: Finding change points takes about 6 ns per pair of iterations of a series; the budget limits the total time.
_NS_A_PAIR = 6.0
_BUDGET_NS = 5e9
_FEWEST, _MOST = 3, 100
#: From here on, each iteration of a curve is 2 % after the previous one.
_EACH_UNTIL = 100
_STEP = 1.02

#: Number of iterations of each cell's first valid invocation: the longest series of its metric.
_LENGTHS = """
select cell, max(iterations) from (
    select f.cell, count(*) as iterations
    from iterations i
    join (select cell, arg_min(record, started_utc_ns) as record from counted
          where status = 'ok' and not discarded group by cell) f using (record)
    join planned p on p.cell = f.cell and p.metric = i.metric and p.twin_of = ''
    group by f.cell, coalesce(i.parameters, '')
) group by cell order by cell
"""

#: Select a maximum number of invocations of a cell, evenly spread over time.
_JUDGED = """
create or replace temp table judged as
select record, cell from (
    select record, cell, row_number() over (partition by cell order by started_utc_ns, record) - 1 as place,
           count(*) over (partition by cell) as many
    from counted where status = 'ok' and not discarded and list_contains($cells, cell)
) where place * $most % many < $most
"""

_Key = tuple[int, int]


@dataclass
class _SteadyWindows:
    """Results for the invocations of one series so far, one entry per invocation."""

    lengths: list[int] = field(default_factory=list)
    cov_starts: list[float] = field(default_factory=list)
    cov_ratios: list[float] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)
    late: list[float] = field(default_factory=list)
    #: class, and the shown iterations relative to the invocation's level
    relative: list[tuple[str, NDArray[np.float32]]] = field(default_factory=list)


def judge_steadiness(context: Context) -> Steadiness | None:
    """Analyse every series with enough iterations by both methods, whichever method the answer uses.

    Returns:
        None if no invocation has several iterations.
    """
    connection, samples, steady = context.connection, context.samples, context.facts.steady
    lengths: dict[int, int] = dict(connection.execute(_LENGTHS).fetchall())
    several = {cell: count for cell, count in lengths.items() if count > 1}
    if not several:
        return None
    enough = {cell: count for cell, count in several.items() if count >= LEAST_ITERATIONS}
    most = _at_most(enough.values())
    found: dict[_Key, _SteadyWindows] = {}
    sets: dict[int, str] = {}
    if enough:
        connection.execute(_JUDGED, {"cells": list(enough), "most": most})
        higher = {cell.number for cell in samples.cells if cell.better == "higher"}
        for batch in read_series(connection, "judged", LEAST_ITERATIONS):
            _judge(batch, steady, higher, found)
        sets = dict(connection.execute("select parameter_set, parameters from parameter_sets").fetchall())
    cells = {cell.number: cell for cell in samples.cells}
    series = [
        _series(cells[number], sets[parameters], one, context)
        for (number, parameters), one in sorted(found.items())
    ]
    short = [count for cell, count in several.items() if cell not in enough]
    largest = max((sum(samples.statuses.get(cell, {}).values()) for cell in enough), default=0)
    return Steadiness(
        window=steady.window,
        threshold=steady.threshold,
        warmup=steady.warmup if steady.method == "fixed" else 0,
        series=tuple(series),
        curves=tuple(_curves_by_kind(found.values())),
        too_short=len(short),
        most_iterations=max(short, default=0),
        judged_at_most=most if largest > most else 0,
    )


def _at_most(lengths: Iterable[int]) -> int:
    """Return the maximum number of analysed invocations per cell."""
    cost = sum(_NS_A_PAIR * length * length for length in lengths)
    return int(min(_MOST, max(_FEWEST, _BUDGET_NS / cost))) if cost else _MOST


def _judge(batch: Batch, steady: SteadyState, higher: set[int], found: dict[_Key, _SteadyWindows]) -> None:
    up = np.isin(batch.cell, list(higher))
    courses = {
        row: course
        for better, rows in ((True, np.flatnonzero(up)), (False, np.flatnonzero(~up)))
        for row, course in zip(rows.tolist(), courses_of(batch.table[rows], better), strict=True)
    }
    windows = steady_windows(batch.table, steady.window, steady.threshold)
    shown = _shown(batch.table.shape[1])
    warm = batch.iterations >= steady.warmup
    for row, x in enumerate(batch.table):
        one = found.setdefault((int(batch.cell[row]), int(batch.parameter_set[row])), _SteadyWindows())
        course, start = courses[row], int(windows.start[row])
        one.lengths.append(x.size)
        one.kinds.append(course.kind)
        if start >= 0:
            one.cov_starts.append(float(start))
        if course.start >= 0:
            one.starts.append(float(course.start))
            if start >= 0 and course.mean > 0:
                one.cov_ratios.append(float(windows.mean[row]) / course.mean)
            if batch.iterations[row, course.start] > steady.warmup and warm[row].any():
                one.late.append(float(x[warm[row]].mean()) / course.mean if course.mean else math.nan)
        level = course.mean if course.start >= 0 else float(np.median(x))
        if level:
            one.relative.append((course.kind, (x[shown] / level).astype(np.float32)))


def _shown(n: int) -> NDArray[np.intp]:
    """Return the indices of the shown iterations; those of a short series are a prefix of those of a long one."""
    places = list(range(min(n, _EACH_UNTIL)))
    place = float(_EACH_UNTIL)
    while place < n:
        places.append(int(place))
        place = max(place + 1, place * _STEP)
    return np.array(places, dtype=np.intp)


def _series(
    cell: PlannedCell, parameters_text: str, found: _SteadyWindows, context: Context
) -> SeriesSteadiness:
    facts = context.facts
    fixed = facts.steady.method == "fixed"
    parameters = json.loads(parameters_text) if parameters_text else {}
    ratio = geometric_mean(found.cov_ratios, facts.level)
    counts = Counter(found.kinds)
    return SeriesSteadiness(
        cell_id=cell.cell_id,
        title=context.names.series(cell, parameters),
        place=cell.place,
        metric=cell.metric,
        parameters=parameters,
        invocations=len(found.kinds),
        iterations=int(np.median(found.lengths)),
        cov_reached=len(found.cov_starts),
        cov_start=_median(found.cov_starts),
        kind=common_kind(found.kinds),
        kinds={kind: counts[kind] for kind in KINDS if counts[kind]},
        steady_from=_median(found.starts),
        steady_from_latest=max(found.starts, default=math.nan),
        cov_over_changepoints=ratio,
        agreement=_agreement(ratio.point, ratio.low, ratio.high, facts.theta_percent),
        after_warmup=len(found.late) if fixed else 0,
        # For other summaries than the mean, the ratio to a level (a mean) is meaningless.
        bias=geometric_mean(found.late if fixed and cell.summary == "mean" else (), facts.level),
        curve=_curve("", [row for _, row in found.relative]),
    )


def _agreement(point: float, low: float, high: float, theta_percent: float) -> str:
    if math.isnan(point):
        return ""
    theta = theta_percent / 100.0
    if abs(point - 1.0) <= theta and (math.isnan(low) or (low >= 1.0 - theta and high <= 1.0 + theta)):
        return "agree"
    return "disagree" if low > 1.0 or high < 1.0 else "open"


def _curves_by_kind(found: Iterable[_SteadyWindows]) -> Iterable[IterationCurve]:
    rows: dict[str, list[NDArray[np.float32]]] = {kind: [] for kind in KINDS}
    for one in found:
        for kind, relative in one.relative:
            if kind:
                rows[kind].append(relative)
    return [_curve(kind, many) for kind, many in rows.items() if many]


def _curve(kind: str, rows: list[NDArray[np.float32]]) -> IterationCurve:
    """Return median and band, as far as half of the invocations extend."""
    if not rows:
        return IterationCurve(kind, 0, (), (), (), ())
    length = int(np.median([row.size for row in rows]))
    table = np.full((len(rows), length), np.nan, dtype=np.float32)
    for place, row in enumerate(rows):
        table[place, : row.size] = row[:length]
    bands = np.nanpercentile(table, (50.0, 10.0, 90.0), axis=0)
    middle, low, high = (tuple(float(value) for value in band) for band in bands)
    return IterationCurve(kind, len(rows), _shown_numbers(length), middle, low, high)


def _shown_numbers(count: int) -> tuple[int, ...]:
    """Return the first `count` indices that any curve shows."""
    n = _EACH_UNTIL
    while _shown(n).size < count:
        n *= 2
    return tuple(_shown(n)[:count].tolist())


def _median(values: list[float]) -> float:
    return float(np.median(values)) if values else math.nan
