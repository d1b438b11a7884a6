"""Test all benchmarks together: do the collectors differ in any of them?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from regatta.answers.names import Names, heap_words
from regatta.answers.parts import HEAP, INLINED, Place, shared_heap
from regatta.answers.samples import PlannedCell, Samples, Series
from regatta.answers.words import f_words
from regatta.stats.estimate import Floats
from regatta.stats.intervals import why_no_logs
from regatta.stats.manova import Manova as Fit
from regatta.stats.manova import ManovaStatistic, manova


@dataclass(frozen=True)
class ManovaRow:
    """One statistic with its F approximation."""

    statistic: str
    found: ManovaStatistic = field(metadata={INLINED: ("value", "f", "df_between", "df_error", "p")})


@dataclass(frozen=True)
class Manova:
    """MANOVA over all benchmarks of one host, runtime, modifiers and heap: do the collectors differ in any?"""

    place: Place = field(metadata={INLINED: ("host", "runtime", "modifiers", *HEAP)})
    metric: str
    factor: str
    groups: tuple[str, ...]
    benchmarks: tuple[str, ...]
    #: total number of rounds, over all collectors, in which a collector was measured on all benchmarks
    n: int
    rows: tuple[ManovaRow, ...]
    words: str
    reason: str = ""


#: with one response, ANOVA applies
_LEAST_BENCHMARKS = 2
#: more of them are summarized in one sentence
_FEW = 3
_TITLES = {"wilks": "Wilks", "pillai": "Pillai", "hotelling_lawley": "Hotelling and Lawley", "roy": "Roy"}


def judge_manovas(samples: Samples, names: Names, level: float) -> list[Manova]:
    """Return one MANOVA per host, runtime, modifiers and heap with at least two collectors and two benchmarks.

    Args:
        samples: samples of the experiment. A response is the logarithm of a benchmark's metric; benchmarks with many
            settings are excluded.
        names: names for the sentences.
        level: confidence level of the significance tests, between 0 and 1.

    Returns:
        In plan order. A row is a round in which a collector was measured on every benchmark; NaN with a reason with too
        few rows.
    """
    groups: dict[tuple[object, ...], list[PlannedCell]] = {}
    for cell in samples.cells:
        if cell.place.collector:
            key = replace(cell.place.family, benchmark=""), cell.metric
            groups.setdefault(key, []).append(cell)
    found = (_one(cells, samples, names, level) for cells in groups.values())
    return [one for one in found if one is not None]


def manova_words(found: Sequence[Manova]) -> tuple[str, ...]:
    """Return the sentences of a few results, or count the significant ones of many."""
    if len(found) <= _FEW:
        return tuple(one.words for one in found)
    shown = sum(one.words.startswith("the collectors differ") for one in found)
    return (
        f"taking all benchmarks together (MANOVA), the collectors are shown to differ at {shown} of {len(found)} settings"
        " of host, runtime and heap",
    )


def _one(cells: Sequence[PlannedCell], samples: Samples, names: Names, level: float) -> Manova | None:
    collectors = list(dict.fromkeys(cell.place.collector for cell in cells))
    series = {(cell.place.benchmark, cell.place.collector): _only(samples, cell) for cell in cells}
    benchmarks = [
        benchmark
        for benchmark in dict.fromkeys(cell.place.benchmark for cell in cells)
        if any(series.get((benchmark, collector)) for collector in collectors)
    ]
    if len(collectors) < 2 or len(benchmarks) < _LEAST_BENCHMARKS:
        return None
    rows: list[list[float]] = []
    groups: list[int] = []
    for number, collector in enumerate(collectors):
        own = _rounds([series.get((benchmark, collector)) for benchmark in benchmarks])
        rows += own
        groups += [number] * len(own)
    table = np.array(rows, dtype=np.float64).reshape(-1, len(benchmarks))
    problem = why_no_logs(table.ravel())
    fit = manova(_logs(table, problem), np.array(groups, dtype=np.int64))
    reason = problem or (
        fit.reason if rows else "no round in which a collector was measured on every benchmark"
    )
    first = cells[0]
    statistics = tuple(ManovaRow(title, getattr(fit, name)) for name, title in _TITLES.items())
    return Manova(
        place=replace(
            first.place, benchmark="", collector="", heap=shared_heap(cell.place for cell in cells)
        ),
        metric=first.metric,
        factor="collector",
        groups=tuple(collectors),
        benchmarks=tuple(benchmarks),
        n=len(rows),
        rows=statistics,
        words=_words(first, len(benchmarks), fit, reason, names, level),
        reason=reason,
    )


def _only(samples: Samples, cell: PlannedCell) -> Series | None:
    """Return the cell's series of its own metric, if it has exactly one."""
    own = [series for series in samples.own(cell) if series.by_block]
    return own[0] if len(own) == 1 else None


def _rounds(series: Sequence[Series | None]) -> list[list[float]]:
    """Return the rounds with a value of every series."""
    by_round = [{key[:2]: value for key, value in (one.by_block if one else {}).items()} for one in series]
    return [[values[key] for values in by_round] for key in by_round[0] if all(key in values for values in by_round)]  # fmt: skip


def _logs(table: Floats, problem: str) -> Floats:
    return np.full(table.shape, math.nan) if problem else np.log(table)


def _words(first: PlannedCell, benchmarks: int, fit: Fit, reason: str, names: Names, level: float) -> str:
    where = f"these {benchmarks} benchmarks{heap_words(first.place.heap)}{names.within(first, ('collector',))}, on {names.host(first)}"
    pillai = fit.pillai
    if math.isnan(pillai.f):
        return f"whether the collectors differ over {where} cannot be told: {reason}"
    numbers = f"Pillai {pillai.value:.2f}, {f_words(pillai.f, pillai.df_between, pillai.df_error, pillai.p)}"
    if pillai.p < 1.0 - level:
        return f"the collectors differ in at least one of {where} ({numbers})"
    return f"that the collectors differ in any of {where} is not shown ({numbers})"
