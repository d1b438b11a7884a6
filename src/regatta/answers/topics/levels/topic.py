"""The topic of levels: variance components, and the most efficient repetitions."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from regatta.answers.kit.columns import CONFIGURATION, HEAP_SIZE
from regatta.answers.kit.plain import plain
from regatta.answers.kit.topic import Document, Topic, Words
from regatta.answers.kit.view import View
from regatta.answers.spine.context import Context
from regatta.answers.spine.iterations import steady_iterations
from regatta.answers.spine.names import Names, heap_words
from regatta.answers.spine.parts import HEAP, INLINED, Place, shared_heap
from regatta.answers.spine.samples import PlannedCell, Samples
from regatta.answers.spine.words import counted
from regatta.figures.section import Column, Section, Table, table_of
from regatta.figures.text import parameters_text, show_number, show_percent
from regatta.host.units import UNITS
from regatta.host.values.experiment import Scalar
from regatta.stats.levels import VarianceLevels, levels_of, optimal_repetitions, time_for_precision


@dataclass(frozen=True)
class CellLevels:
    """One series with several iterations after warm-up.

    `counts`, `s_squared`, `t_squared`: iterations first, then invocations (then hosts); biased and unbiased variances in
    the squared unit. An unbiased variance below 0 means that the level adds no visible variance.
    """

    cell_id: str
    #: without host if hosts are a level
    place: Place = field(metadata={INLINED: ("host", "benchmark", "configuration", *HEAP)})
    metric: str
    parameters: Mapping[str, Scalar]
    unit: str
    mean: float
    #: names of the levels
    levels: tuple[str, ...]
    counts: tuple[int, ...]
    s_squared: tuple[float, ...]
    t_squared: tuple[float, ...]
    #: seconds per iteration, and per invocation without iterations (start and warm-up); NaN if unknown
    iteration_s: float
    invocation_s: float
    #: most efficient number of iterations after warm-up; infinite if invocations add no variance, NaN if unknown
    best_iterations: float
    reason: str = ""

    @property
    def spread_percent(self) -> tuple[float, ...]:
        """Return the standard deviation that each level adds, in percent of the mean; 0 if not visible."""
        return tuple(
            100.0 * max(0.0, t) ** 0.5 / abs(self.mean) if self.mean else float("nan") for t in self.t_squared
        )

    @property
    def share_percent(self) -> tuple[float, ...]:
        """Return the share of each level in the variance of one iteration, in percent."""
        clipped = [max(0.0, t) for t in self.t_squared]
        total = sum(clipped)
        return tuple(100.0 * t / total if total > 0 else float("nan") for t in clipped)

    @property
    def best_time_percent(self) -> float:
        """Return the machine time for the same precision with `best_iterations`, in percent of that as measured; NaN if unknown."""
        if not math.isfinite(self.best_iterations) or max(self.t_squared[:2]) <= 0.0:
            return math.nan
        costs = self.iteration_s, self.invocation_s
        return 100.0 * time_for_precision(self.t_squared[:2], costs, self.best_iterations, self.counts[0])


#: more series are summarized
_FEW = 3
#: machine time of the best number of iterations above which the measured number is as good
_AS_GOOD_PERCENT = 95.0
_LEVELS = ("iterations", "invocations", "hosts")
#: for windows that `cov` finds
CHOSEN = "the window was selected for low variation, so the variation of iterations is a lower bound"

#: Levels must be balanced. If numbers of iterations differ between invocations, only those with the most frequent number count.
_QUERY = """
with one as (
    select c.cell, i.record, i.unit, coalesce(i.parameters, '') as parameters, count(*) as r, avg(i.value) as mean,
           var_samp(i.value) as variance, any_value(c.elapsed_ns) as elapsed_ns, count(i.operations) as with_operations
    from iterations i join counted c using (record) join planned p on p.cell = c.cell and p.metric = i.metric {join}
    where c.status = 'ok' and not c.discarded and isfinite(i.value) and p.summary = 'mean' and {steady} group by all
), usual as (
    select cell, unit, parameters, mode(r) as r from one group by all
)
select cell, unit, parameters, r, count(*) as invocations, avg(mean) as mean, avg(variance) as within,
       var_samp(mean) as between_means, avg(elapsed_ns) as elapsed_ns, sum(with_operations) as with_operations
from one join usual using (cell, unit, parameters, r) where r >= 2
group by all order by cell, unit, parameters
"""


@dataclass(frozen=True)
class _Reduced:
    cell: PlannedCell
    unit: str
    parameters: str
    iterations: int
    invocations: int
    mean: float
    within: float
    between: float
    elapsed_s: float
    per_operation: bool


def variance_by_level(context: Context) -> tuple[CellLevels, ...]:
    """Split the variance of every series of the cells' own metric into iterations, invocations and (if several) hosts.

    Returns:
        Series with at least two iterations after warm-up, in plan order. Empty with `startup` and `replay`, and for
        benchmarks with another summary of invocations than the mean, which levels require. Hosts are a level if all have
        equally many invocations of the configuration.
    """
    samples, steady = context.samples, context.facts.steady
    if steady.method in ("startup", "replay"):
        return ()
    join, condition = steady_iterations(steady)
    query = _QUERY.format(join=join, steady=condition)
    by_number = {cell.number: cell for cell in samples.cells}
    rows = [
        _Reduced(by_number[number], unit, parameters, r, n, mean, _known(within), _known(between), elapsed / 1e9, operations > 0)
        for number, unit, parameters, r, n, mean, within, between, elapsed, operations in context.connection.execute(query).fetchall()
        if number in by_number
    ]  # fmt: skip
    alone = {
        number: sum(row.cell.number == number for row in rows) == 1
        for number in {row.cell.number for row in rows}
    }
    found = [_one(row, alone[row.cell.number], samples) for row in rows] + _over_hosts(rows, samples)
    if steady.method != "cov":
        return tuple(found)
    # The first window with low variation is selected for low variation, so it underestimates that of all iterations.
    return tuple(
        one if any(map(math.isnan, one.t_squared)) else replace(one, best_iterations=math.nan, reason=CHOSEN)
        for one in found
    )


def level_words(found: Sequence[CellLevels], names: Names) -> tuple[str, ...]:
    """Describe the variance components, and how many iterations are efficient."""
    on_hosts = [one for one in found if one.place.host]
    if not on_hosts:
        return ()
    hosts = len({one.place.host for one in on_hosts})
    chosen = any(one.reason == CHOSEN for one in on_hosts)
    if len(on_hosts) <= _FEW:
        return tuple(_words(one, names, several_hosts=hosts > 1) for one in on_hosts)
    shares = [one.share_percent[1] for one in on_hosts if not math.isnan(one.share_percent[1])]
    sentences = []
    if shares:
        sentences.append(
            f"share of invocations in the variance{' (upper bound)' if chosen else ''}: {min(shares):.0f} to {max(shares):.0f} %"
            f" (median {statistics.median(shares):.0f} %, n = {len(shares)} series); more iterations do not reduce it"
        )
    best = [one.best_iterations for one in on_hosts if math.isfinite(one.best_iterations)]
    if best:
        used = sorted({one.counts[0] for one in on_hosts})
        sentences.append(
            f"most efficient number of iterations after warm-up per invocation: {min(best):.0f} to {max(best):.0f}"
            f" (median {statistics.median(best):.0f}){_time_words(on_hosts)}; measured: {' or '.join(map(str, used))}"
        )
    return tuple(sentences)


def _known(value: float | None) -> float:
    return math.nan if value is None else value


def _one(row: _Reduced, only_series: bool, samples: Samples) -> CellLevels:
    cell = row.cell
    levels = levels_of((row.iterations, row.invocations), (row.within, row.between))
    iteration_s, invocation_s = _costs(row) if only_series else (math.nan, math.nan)
    best, reason = math.nan, levels.reason
    if not reason:
        best, reason = _best(levels, iteration_s, invocation_s)
    return CellLevels(
        cell_id=cell.cell_id,
        place=cell.place,
        metric=cell.metric,
        parameters=next(
            (s.parameters for s in samples.series.get(cell.number, ()) if s.parameters_text == row.parameters), {}
        ),
        unit=row.unit,
        mean=row.mean,
        levels=_LEVELS[:2],
        counts=levels.counts,
        s_squared=levels.s_squared,
        t_squared=levels.t_squared,
        iteration_s=iteration_s,
        invocation_s=invocation_s,
        best_iterations=best,
        reason=reason,
    )  # fmt: skip


def _costs(row: _Reduced) -> tuple[float, float]:
    """Return seconds per iteration, and for the rest of an invocation; NaN if the metric is not a time of an iteration."""
    dimension, factor = UNITS.get(row.unit, ("", math.nan))
    if dimension != "time" or row.per_operation:
        return math.nan, math.nan
    iteration = row.mean * factor
    rest = row.elapsed_s - row.iterations * iteration
    return (iteration, rest) if iteration > 0.0 and rest > 0.0 else (math.nan, math.nan)


def _best(levels: VarianceLevels, iteration_s: float, invocation_s: float) -> tuple[float, str]:
    if math.isnan(iteration_s):
        return math.nan, "the time of an iteration is unknown"
    (best,) = optimal_repetitions(levels, (iteration_s, invocation_s))
    return best.count, best.reason


def _over_hosts(rows: Sequence[_Reduced], samples: Samples) -> list[CellLevels]:
    groups: dict[tuple[object, ...], list[_Reduced]] = {}
    for row in rows:
        cell = row.cell
        key = (
            cell.place.platform, cell.place.benchmark, cell.place.configuration, cell.place.heap.asked, cell.metric, row.unit, row.parameters,
        )  # fmt: skip
        groups.setdefault(key, []).append(row)
    found = []
    for many in groups.values():
        if len(many) < 2 or len({(row.iterations, row.invocations) for row in many}) > 1:
            continue
        first = many[0]
        levels = levels_of(
            (first.iterations, first.invocations, len(many)),
            (
                float(np.mean([row.within for row in many])),
                float(np.mean([row.between for row in many])),
                float(np.var([row.mean for row in many], ddof=1)),
            ),
        )
        found.append(
            replace(
                _one(first, False, samples),
                place=replace(first.cell.place, host="", heap=shared_heap(row.cell.place for row in many)),
                mean=float(np.mean([row.mean for row in many])),
                levels=_LEVELS,
                counts=levels.counts,
                s_squared=levels.s_squared,
                t_squared=levels.t_squared,
                reason=levels.reason,
            )
        )
    return found


def _words(one: CellLevels, names: Names, several_hosts: bool) -> str:
    place = one.place
    where = f"{names.benchmark(place.benchmark)}{heap_words(place.heap)} ({place.configuration})" + (
        f" on host {one.place.host}" if several_hosts else ""
    )
    if any(math.isnan(t) for t in one.t_squared):
        return f"{where}: variance components undefined ({one.reason})"
    iterations, invocations = one.spread_percent
    least = "at least " if one.reason == CHOSEN else ""
    text = (
        f"{where}: standard deviation of iterations {least}{iterations:.2g} %, added by invocations {invocations:.2g} %"
        f" (n = {counted(one.counts[1], 'invocation')} of {counted(one.counts[0], 'iteration')})"
    )
    if math.isinf(one.best_iterations):
        return f"{text}; invocations add no visible variance"
    if math.isnan(one.best_iterations):
        return f"{text}; {one.reason}" if one.reason == CHOSEN else text
    best = counted(int(one.best_iterations), "iteration")
    return (
        f"{text}; most efficient: {best} per invocation ({one.iteration_s:.2g} s per iteration,"
        f" {one.invocation_s:.2g} s for start and warm-up){_time_words([one])}"
    )


def _time_words(found: Sequence[CellLevels]) -> str:
    """Say how much machine time the best numbers of iterations need; nothing if it is not less."""
    percents = [one.best_time_percent for one in found if not math.isnan(one.best_time_percent)]
    if not percents or min(percents) >= _AS_GOOD_PERCENT:
        return ""
    least, most = (show_percent(bound(percents) / 100, 2) for bound in (min, max))
    return f", which needs {least if least == most else f'{least} to {most}'} of the machine time for the same precision"


#: more series are described by sentences only
_ROWS = 300


def levels_section(levels: Sequence[CellLevels], view: View) -> Section | None:
    """Return variance components and efficient repetitions; None without iterations after warm-up."""
    if not levels:
        return None
    return Section(
        "levels",
        words="Standard deviation that each level adds, in % of the mean (Kalibera and Jones 2013). Iterations: after warm-up, within "
        "one invocation. Best iterations: the most efficient number of iterations after warm-up per invocation, and the machine time that "
        "they need for the same precision, relative to the measured number.",
    )


def levels_tables(levels: Sequence[CellLevels], view: View) -> list[Table]:
    """Return the levels of each series."""

    def benchmark(one: CellLevels) -> str:
        given = parameters_text(one.parameters)
        return f"{one.place.benchmark} ({given})" if given else one.place.benchmark

    def spread(number: int) -> Callable[[CellLevels], str]:
        return lambda one: (
            show_percent(one.spread_percent[number] / 100, 2) if number < len(one.levels) else ""
        )

    def best(one: CellLevels) -> str:
        if len(one.levels) != 2:
            return ""
        return "any" if math.isinf(one.best_iterations) else show_number(one.best_iterations, 3)

    def time(one: CellLevels) -> str:
        return show_percent(one.best_time_percent / 100, 2) if len(one.levels) == 2 else ""

    columns: list[Column[CellLevels]] = [
        Column("host", lambda one: view.host(one.place.host or "all")),
        Column("benchmark", benchmark),
        *(HEAP_SIZE, CONFIGURATION),
        Column("repetitions", lambda one: " × ".join(map(str, reversed(one.counts))), numeric=True),
        Column("SD iterations", spread(0), numeric=True),
        Column("SD invocations", spread(1), numeric=True),
        Column("SD hosts", spread(2), numeric=True),
        Column(
            "variance share of iterations",
            lambda one: show_percent(one.share_percent[0] / 100, 2),
            numeric=True,
        ),
        Column("best iterations", best, numeric=True),
        Column("machine time with them", time, numeric=True),
        Column("reason", lambda one: one.reason),
    ]
    return [table_of("", levels[:_ROWS], columns)]


def _document(levels: tuple[CellLevels, ...]) -> list[dict[str, Any]]:
    return [
        {
            "host": one.place.host,
            **plain(one),
            "spread_percent": plain(one.spread_percent),
            "share_percent": plain(one.share_percent),
            "best_time_percent": plain(one.best_time_percent),
        }
        for one in levels
    ]


LEVELS: Topic[tuple[CellLevels, ...]] = Topic(
    "levels",
    title="Variance components",
    empty=(),
    compute=variance_by_level,
    words=Words(140, "Where the variance is", lambda levels, context: level_words(levels, context.names)),
    document=Document(60, "levels", _document),
    section=levels_section,
    tables=levels_tables,
)
