"""Test all benchmarks together: do the levels of a factor differ in any of them?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from regatta.answers.spine.blocks import LEAST_BLOCKS
from regatta.answers.spine.families.words import plural
from regatta.answers.spine.names import Names
from regatta.answers.spine.parts import HEAP, INLINED, Place, shared_heap
from regatta.answers.spine.samples import PlannedCell, Samples, Series
from regatta.answers.spine.words import f_words, listed
from regatta.host.values.levels import components
from regatta.stats.estimate import Floats
from regatta.stats.intervals import why_no_logs
from regatta.stats.manova import Manova as Fit
from regatta.stats.manova import ManovaStatistic, block_manova, manova

BLOCKED, ONE_WAY = "block-manova", "manova"


@dataclass(frozen=True)
class ManovaRow:
    """One statistic with its F approximation."""

    statistic: str
    found: ManovaStatistic = field(
        metadata={INLINED: ("value", "f", "df_between", "df_error", "p", "p_lower_bound")}
    )


@dataclass(frozen=True)
class Manova:
    """MANOVA over all benchmarks of one place: do the levels of a factor differ in any?"""

    place: Place = field(metadata={INLINED: ("host", "runtime", "collector", "modifiers", *HEAP)})
    metric: str
    factor: str
    groups: tuple[str, ...]
    benchmarks: tuple[str, ...]
    #: total number of rounds of all levels; a level counts where it was measured on all benchmarks
    n: int
    rows: tuple[ManovaRow, ...]
    words: str
    reason: str = ""
    #: `block-manova`: in rounds that have all levels; `manova`: without rounds in common
    method: str = BLOCKED


#: plan and round
_Round = tuple[str, int]
#: with one response, ANOVA applies
_LEAST_BENCHMARKS = 2
_LEAST_LEVELS = 2
#: more of them are summarized in one sentence
_FEW = 3
_TITLES = {"wilks": "Wilks", "pillai": "Pillai", "hotelling_lawley": "Hotelling and Lawley", "roy": "Roy"}


def judge_manovas(samples: Samples, names: Names, level: float, factors: Sequence[str]) -> list[Manova]:
    """Return one MANOVA per factor, or crossing, and place with at least two benchmarks and two levels.

    Args:
        samples: samples of the experiment. A response is the logarithm of a benchmark's metric; benchmarks with many
            settings are excluded.
        level: confidence level of the significance tests, between 0 and 1.
        factors: the compared factors, and crossings of them. Benchmarks are responses: factors that contain them are ignored.

    Returns:
        By factor, in plan order. The rounds in which every level was measured on every benchmark are blocks. With fewer than
        two of them, every round in which a level was measured on every benchmark counts, without blocks. NaN with a reason if
        there are too few.
    """
    found = []
    for factor in (one for one in factors if "benchmark" not in components([one])):
        groups: dict[tuple[object, ...], list[PlannedCell]] = {}
        for cell in samples.cells:
            if cell.place.levels.keys() >= set(components([factor])):
                shared = replace(cell.place.without(factor), benchmark="")
                key = replace(shared, heap=shared.heap.asked), cell.metric, bool(cell.place.collector)
                groups.setdefault(key, []).append(cell)
        found += [_one(cells, factor, samples, names, level) for cells in groups.values()]
    return [one for one in found if one is not None]


def manova_words(found: Sequence[Manova], level: float) -> tuple[str, ...]:
    """Return the sentences of a few results, or count the ones of many that are significant at a level between 0 and 1."""
    if len(found) <= _FEW:
        return tuple(one.words for one in found)
    significant = sum(
        row.found.p < 1.0 - level for one in found for row in one.rows if row.statistic == _TITLES["pillai"]
    )
    return (
        f"MANOVA of all benchmarks: significant differences in {significant} of {len(found)} combinations of factor and place",
    )


def _one(
    cells: Sequence[PlannedCell], factor: str, samples: Samples, names: Names, level: float
) -> Manova | None:
    levels = list(dict.fromkeys(cell.place.level(factor) for cell in cells))
    series = {
        (cell.place.without(factor).benchmark, cell.place.level(factor)): _only(samples, cell)
        for cell in cells
    }
    benchmarks = [
        benchmark
        for benchmark in dict.fromkeys(benchmark for benchmark, _ in series)
        if any(series.get((benchmark, one)) for one in levels)
    ]
    if len(levels) < _LEAST_LEVELS or len(benchmarks) < _LEAST_BENCHMARKS:
        return None
    rounds = {one: _rounds([series.get((benchmark, one)) for benchmark in benchmarks]) for one in levels}
    fit, method, problem = _fitted([own for own in rounds.values() if own], len(benchmarks))
    none = [one for one, own in rounds.items() if not own]
    reason = problem or fit.reason
    if len(none) == len(levels):
        reason = f"no round with one of the {plural(factor)} measured on every benchmark"
    first = cells[0]
    statistics = tuple(ManovaRow(title, getattr(fit, name)) for name, title in _TITLES.items())
    return Manova(
        place=replace(
            first.place.without(factor), benchmark="", heap=shared_heap(cell.place for cell in cells)
        ),
        metric=first.metric,
        factor=factor,
        groups=tuple(levels),
        benchmarks=tuple(benchmarks),
        n=fit.n,
        rows=statistics,
        words=_words(first, factor, len(benchmarks), fit, reason, names, level)
        + (f"; not on every benchmark: {listed(none)}" if 0 < len(none) < len(levels) else ""),
        reason=reason,
        method=method,
    )


def _fitted(rounds: Sequence[Mapping[_Round, list[float]]], benchmarks: int) -> tuple[Fit, str, str]:
    """Return the analysis of the levels with rounds, its method, and why there are no logarithms ("" if there are)."""
    common = [one for one in rounds[0] if all(one in own for own in rounds[1:])] if rounds else []
    blocked = len(common) >= LEAST_BLOCKS
    rows = [own[one] for own in rounds for one in (common if blocked else own)]
    table = np.array(rows, dtype=np.float64).reshape(-1, benchmarks)
    problem = why_no_logs(table.ravel())
    logs = _logs(table, problem)
    if blocked:
        by_block = logs.reshape(len(rounds), len(common), benchmarks).transpose(1, 0, 2)
        return block_manova(by_block), BLOCKED, problem
    sizes = [len(own) for own in rounds]
    return manova(logs, np.repeat(np.arange(len(rounds)), sizes)), ONE_WAY, problem


def _only(samples: Samples, cell: PlannedCell) -> Series | None:
    """Return the cell's series of its metric, if it has exactly one."""
    own = [series for series in samples.own(cell) if series.by_block and not series.at_once]
    return own[0] if len(own) == 1 else None


def _rounds(series: Sequence[Series | None]) -> dict[_Round, list[float]]:
    """Return the rounds with a value of every series, and the values."""
    by_round = [{key[:2]: value for key, value in (one.by_block if one else {}).items()} for one in series]
    return {
        key: [values[key] for values in by_round]
        for key in by_round[0]
        if all(key in values for values in by_round)
    }


def _logs(table: Floats, problem: str) -> Floats:
    return np.full(table.shape, math.nan) if problem else np.log(table)


def _words(
    first: PlannedCell, factor: str, benchmarks: int, fit: Fit, reason: str, names: Names, level: float
) -> str:
    where = f"{benchmarks} benchmarks{names.around(first, components([factor]))}"
    pillai = fit.pillai
    if math.isnan(pillai.f):
        return f"{where}: MANOVA of the {plural(factor)} undefined ({reason})"
    numbers = f"MANOVA, Pillai {pillai.value:.2f}, {f_words(pillai.f, pillai.df_between, pillai.df_error, pillai.p)}"
    if pillai.p < 1.0 - level:
        return f"{where}: {plural(factor)} differ significantly in at least one benchmark ({numbers})"
    return f"{where}: no significant difference between {plural(factor)} ({numbers})"
