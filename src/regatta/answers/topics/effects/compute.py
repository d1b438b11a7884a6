"""Compute how much each factor explains: ANOVA over a whole experiment, on logarithms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from regatta.answers.context import Context
from regatta.answers.pairs import series_key
from regatta.answers.parts import INLINED
from regatta.answers.samples import PlannedCell, Series
from regatta.answers.topics.effects.manovas import Manova, judge_manovas, manova_words
from regatta.answers.words import f_words, listed
from regatta.host.values.cell import NO_MODIFIERS
from regatta.host.values.levels import PARAMETERS, label_without, parameters_in
from regatta.stats.estimate import Floats
from regatta.stats.factorial import FactorialAnova, FactorialRow, factorial_anova
from regatta.stats.intervals import why_no_logs


@dataclass(frozen=True)
class EffectTable:
    """ANOVA of the logarithms of one metric over all crossed factors with several levels."""

    metric: str
    #: factor -> its levels, in plan order
    factors: tuple[tuple[str, tuple[str, ...]], ...]
    #: type of the sums of squares: 1, 2 or 3
    kind: int
    #: number of factors in the highest interaction of the model
    order: int
    found: FactorialAnova = field(metadata={INLINED: ("rows", "df_error", "ss_error", "n", "method")})
    words: tuple[str, ...]
    reason: str = ""
    #: platform of its hosts; "" in an experiment with one platform
    platform: str = ""


@dataclass(frozen=True)
class Effects:
    """Tables over the whole experiment."""

    tables: tuple[EffectTable, ...] = ()
    manovas: tuple[Manova, ...] = ()


#: maximum number of factors for the full model; with more, only interactions of two factors are readable
_CROSSED_IN_FULL = 3
#: Unbalanced combinations cost about terms² x combinations x parameters² operations: this many take 1 to 2 seconds.
_DEAREST = 2e10
#: maximum number of interactions per table in sentences
_INTERACTIONS_NAMED = 3


@dataclass(frozen=True)
class _Part:
    """Series of one table, and the levels of the factors that vary."""

    metric: str
    series: list[Series]
    factors: list[tuple[str, list[str]]]

    @property
    def sizes(self) -> list[int]:
        """Return the number of levels of each factor."""
        return [len(set(levels)) for _, levels in self.factors]

    @property
    def balanced(self) -> bool:
        """Return whether all combinations of levels have equally many values."""
        same = len({len(one.values) for one in self.series}) == 1
        return same and len(self.series) == math.prod(self.sizes)


def judge_effects(context: Context) -> Effects:
    """Return one table per compared metric and platform, with separate tables for Java and native programs.

    Returns:
        The result of `judge_manovas`, and tables of at least two factors with at least two levels. Factors are benchmark
        (with its parameters), compared parameters, heap, collector, runtime, modifiers and host. Values that missing combinations make
        undefined are NaN with a reason.
    """
    samples, level = context.samples, context.facts.level
    groups: dict[tuple[str, str, str, bool], list[Series]] = {}
    for cell in samples.cells:
        for series in _one_a_process(samples.own(cell)):
            if len(series.values):
                key = (cell.place.platform, cell.metric, cell.better, bool(cell.place.collector))
                groups.setdefault(key, []).append(series)
    tables = []
    several = len({cell.place.platform for cell in samples.cells}) > 1
    for (platform, metric, _, _), many in groups.items():
        part = _Part(metric, many, _factors(many, context.compared))
        if len(part.factors) >= 2:
            table = _table(part, context.options.anova_type, level)
            if several:
                words = tuple(f"{platform}, {sentence}" for sentence in table.words)
                table = replace(table, platform=platform, words=words)
            tables.append(table)
    return Effects(tuple(tables), tuple(judge_manovas(samples, context.names, level, context.ranked)))


def effect_words(effects: Effects, level: float) -> tuple[str, ...]:
    """Return all sentences on the explained variation, at a confidence level between 0 and 1."""
    words = [sentence for table in effects.tables for sentence in table.words]
    return (*words, *manova_words(effects.manovas, level))


def _factors(series: Sequence[Series], compared: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Return names of the factors with at least two levels, and the level of each series."""
    parameters = sorted(parameters_in(compared))
    several = (
        ("benchmark", [_benchmark(one, parameters) for one in series]),
        *(
            (name, [one.cell.place.levels.get(PARAMETERS + name, "") for one in series])
            for name in parameters
        ),
        ("heap", [_heap(one.cell) for one in series]),
        ("collector", [one.cell.place.collector for one in series]),
        ("runtime", [one.cell.place.runtime for one in series]),
        ("modifiers", [_modifiers(one.cell) for one in series]),
        ("host", [one.cell.place.host for one in series]),
    )
    return [(name, levels) for name, levels in several if len(set(levels)) > 1]


def _one_a_process(own: Sequence[Series]) -> list[Series]:
    """Reduce to one value per invocation: values of one process at several settings are not independent, and count once.

    With replay compilation this is the stable phase; with other parameters, the geometric mean over them.
    """
    stable = [series for series in own if series.parameters.get("phase") == "stable"]
    own = stable or list(own)
    if len(own) < 2:
        return own
    of_process: dict[str, list[float]] = {}
    for series in own:
        for sample in series.samples:
            of_process.setdefault(sample.invocation_id, []).append(sample.value)
    means = [
        math.exp(math.fsum(map(math.log, values)) / len(values)) if min(values) > 0.0 else math.nan
        for values in of_process.values()
        if len(values) == len(own)
    ]
    return [replace(own[0], parameters_text="", values=np.array(means, dtype=np.float64))]


def _benchmark(series: Series, compared: Sequence[str]) -> str:
    """Return benchmark and parameters, without the parameters that are separate factors."""
    factors = [PARAMETERS + name for name in compared]
    return f"{label_without(series.cell.place.benchmark, factors)} {series_key(series, factors)[1]}".strip()


def _heap(cell: PlannedCell) -> str:
    heap = cell.place.heap
    if heap.factor is not None:
        return f"{heap.factor:g} x"
    return "" if heap.mib is None else f"{heap.mib} MiB"


def _modifiers(cell: PlannedCell) -> str:
    return cell.place.modifiers or NO_MODIFIERS


def _table(part: _Part, kind: int, level: float) -> EffectTable:
    factors = tuple((name, tuple(dict.fromkeys(levels))) for name, levels in part.factors)
    most = len(factors) if len(factors) <= _CROSSED_IN_FULL else 2
    order = next(
        (order for order in range(most, 0, -1) if part.balanced or _cost(part, order) <= _DEAREST), 0
    )
    values = np.concatenate([one.values for one in part.series])
    problem = why_no_logs(values)
    if not order:
        problem = problem or f"too many unbalanced combinations ({len(part.series):,})"
    sizes = [len(one.values) for one in part.series]
    codes = [(name, _codes(levels, sizes)) for name, levels in part.factors]
    fit = factorial_anova(_logs(values, problem), codes, kind, order or 1)
    reason = problem or fit.reason
    return EffectTable(
        metric=part.metric,
        factors=factors,
        kind=kind,
        order=order,
        found=fit,
        words=(
            *_words(part.metric, [name for name, _ in factors], fit, reason, level),
            *_left_out(order, most),
        ),
        reason=reason,
    )


def _cost(part: _Part, order: int) -> float:
    """Return the number of operations of a fit that is not possible by sums over groups."""
    terms = [term for size in range(1, order + 1) for term in combinations(part.sizes, size)]
    # The interaction of all factors gives each combination a separate mean, which needs no columns.
    parameters = sum(math.prod(size - 1 for size in term) for term in terms if len(term) < len(part.sizes))
    return len(terms) ** 2 / 2 * len(part.series) * parameters**2


def _left_out(order: int, most: int) -> tuple[str, ...]:
    if not 0 < order < most:
        return ()
    what = "all interactions" if order == 1 else f"interactions of more than {order} factors"
    return (f"{what} are part of the error: too many unbalanced combinations",)


def _logs(values: Floats, problem: str) -> Floats:
    return np.full(len(values), math.nan) if problem else np.log(values)


def _codes(levels: Sequence[str], sizes: Sequence[int]) -> NDArray[np.int64]:
    numbers = {name: number for number, name in enumerate(dict.fromkeys(levels))}
    return np.repeat(np.array([numbers[name] for name in levels], dtype=np.int64), sizes)


def _words(
    metric: str,
    factors: Sequence[str],
    fit: FactorialAnova,
    reason: str,
    level: float,
) -> tuple[str, ...]:
    if reason:
        return (f"{metric}: effects undefined ({reason})",)
    rows = fit.rows
    main = [row for row in rows if row.source in factors]
    found = [row for row in main if row.p < 1.0 - level] + _interactions(rows, level)
    shares = ", ".join(f"{_source(row)} {_percent(row.eta2_partial)} %" for row in found)
    sentences = [f"{metric}: significant effects (partial η²): {shares}"] if found else []
    sentences += [
        f"{metric}: no significant effect of {row.source} ({f_words(row.f, row.df, fit.df_error, row.p)})"
        for row in main
        if row.p >= 1.0 - level
    ]
    unknown = [row for row in rows if math.isnan(row.f)]
    if unknown:
        reasons = " or ".join(dict.fromkeys(row.reason for row in unknown))
        sentences.append(
            f"{metric}: undefined effects of {listed([_source(row) for row in unknown])} ({reasons})"
        )
    return tuple(sentences)


def _interactions(rows: Sequence[FactorialRow], level: float) -> list[FactorialRow]:
    """Return the strongest significant interactions of two factors."""
    found = [row for row in rows if row.source.count(":") == 1 and row.p < 1.0 - level]
    return sorted(found, key=lambda row: -row.eta2_partial)[:_INTERACTIONS_NAMED]


def _source(row: FactorialRow) -> str:
    """Return `heap × collector`."""
    return row.source.replace(":", " × ")


def _percent(share: float) -> str:
    """Format a share as percent; never 100 if a remainder exists."""
    percent = 100.0 * share
    if 99.5 <= percent < 100.0:
        return f"{math.floor(percent * 100) / 100:.2f}"
    return f"{percent:.2g}" if percent < 10 else f"{percent:.0f}"
