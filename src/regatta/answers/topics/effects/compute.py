"""Compute how much each factor explains: ANOVA over a whole experiment, on logarithms."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations, repeat

import numpy as np
from numpy.typing import NDArray

from regatta.answers.spine.context import Context
from regatta.answers.spine.pairs import series_key
from regatta.answers.spine.parts import INLINED
from regatta.answers.spine.samples import BlockKey, PlannedCell, Series
from regatta.answers.spine.words import counted, f_words, listed
from regatta.answers.topics.effects.manovas import Manova, judge_manovas, manova_words
from regatta.host.values.cell import NO_MODIFIERS
from regatta.host.values.levels import PARAMETERS, label_without, parameters_in
from regatta.stats.estimate import Floats
from regatta.stats.intervals import why_no_logs
from regatta.stats.strata import VALUES, StrataAnova, StrataRow, independent_anova, strata_anova


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
    found: StrataAnova = field(metadata={INLINED: ("rows", "strata", "n", "method")})
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
#: A fit costs about combinations x parameters² operations, terms² / 2 times as many if it is unbalanced: this many take 1 to 2
#: seconds.
_DEAREST = 2e10
#: maximum number of interactions per table in sentences
_INTERACTIONS_NAMED = 3


@dataclass(frozen=True)
class _Part:
    """Values of one table, their levels of the factors that vary, and their units.

    `factors`: name, and the level of each value. `blocks`: host and block of each value; None if no block or round holds two
    values. `outside`: number of excluded values without a block. `constant`: factors that cannot be separated from the host.
    """

    metric: str
    values: Floats
    factors: list[tuple[str, list[str]]]
    blocks: list[tuple[str, BlockKey]] | None
    outside: int = 0
    by_host: bool = False
    constant: tuple[str, ...] = ()

    @property
    def sizes(self) -> list[int]:
        """Return the number of levels of each factor."""
        return [len(set(levels)) for _, levels in self.factors]

    @property
    def cells(self) -> Counter[tuple[str, ...]]:
        """Return the number of values of each combination of levels."""
        return Counter(zip(*(levels for _, levels in self.factors), strict=True))


def _part(metric: str, series: Sequence[Series], compared: Sequence[str]) -> _Part:
    """Return the values of a table with their units."""
    blocks = [(one.cell.place.host, key) for one in series for key in one.by_block]
    rounds = {(host, key[:2]) for host, key in blocks}
    blocked = len(rounds) < len(blocks)
    values = [np.array(list(one.by_block.values())) if blocked else one.values for one in series]
    part = _Part(
        metric,
        np.concatenate(values),
        _factors(series, list(map(len, values)), compared),
        blocks if blocked else None,
        sum(len(one.values) for one in series) - sum(map(len, values)),
    )
    return _without_confounded_hosts(part) if blocked else part


def _without_confounded_hosts(part: _Part) -> _Part:
    """Test a factor that is constant on every host against hosts, or exclude it if each of its levels has one host."""
    hosts = dict(part.factors).get("host")
    if hosts is None:
        return part
    confounded = [
        (name, levels)
        for name, levels in part.factors
        if name != "host" and len(set(zip(hosts, levels, strict=True))) == len(set(hosts))
    ]
    separable = [name for name, levels in confounded if len(set(levels)) < len(set(hosts))]
    constant = tuple(name for name, _ in confounded if name not in separable)
    factors = [(name, levels) for name, levels in part.factors if name not in constant]
    if not separable:
        return replace(part, factors=factors, constant=constant)
    # Hosts are the units, so each host counts with one value per combination.
    means: dict[tuple[str, ...], list[float]] = {}
    for value, *levels in zip(part.values.tolist(), *(levels for _, levels in factors), strict=True):
        means.setdefault(tuple(levels), []).append(value)
    columns = zip(*means, strict=True)
    return replace(
        part,
        values=np.array([_geometric(values) for values in means.values()], dtype=np.float64),
        factors=[(name, list(column)) for (name, _), column in zip(factors, columns, strict=True)],
        by_host=True,
        constant=constant,
    )


def judge_effects(context: Context) -> Effects:
    """Return one table per compared metric and platform, with separate tables for Java and native programs.

    Returns:
        The result of `judge_manovas`, and tables of at least two factors with at least two levels. Factors are benchmark
        (with its parameters), compared parameters, heap, collector, runtime, modifiers and host. Values that missing combinations make
        undefined are NaN with a reason. Nothing if a rule looked at the values several times: then no F test has its p.
    """
    samples, level = context.samples, context.facts.level
    if context.stops.looks:
        return Effects()
    groups: dict[tuple[str, str, str, bool], list[Series]] = {}
    for cell in samples.cells:
        for series in _one_a_process(samples.own(cell)):
            if len(series.values):
                key = (cell.place.platform, cell.metric, cell.better, bool(cell.place.collector))
                groups.setdefault(key, []).append(series)
    tables = []
    several = len({cell.place.platform for cell in samples.cells}) > 1
    for (platform, metric, _, _), many in groups.items():
        part = _part(metric, many, context.compared)
        if len(part.factors) - part.by_host >= 2:
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


def _factors(
    series: Sequence[Series], counts: Sequence[int], compared: Sequence[str]
) -> list[tuple[str, list[str]]]:
    """Return names of the factors with at least two levels, and the level of each value, `counts` of each series."""
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
    of_values = ((name, list(chain.from_iterable(map(repeat, levels, counts)))) for name, levels in several)
    return [(name, levels) for name, levels in of_values if len(set(levels)) > 1]


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
    means = [_geometric(values) for values in of_process.values() if len(values) == len(own)]
    by_block = {
        key: _geometric([series.by_block[key] for series in own])
        for key in own[0].by_block
        if all(key in series.by_block for series in own)
    }
    values = np.array(means, dtype=np.float64)
    return [replace(own[0], parameters_text="", values=values, by_block=by_block)]


def _geometric(values: Sequence[float]) -> float:
    return math.exp(math.fsum(map(math.log, values)) / len(values)) if min(values) > 0.0 else math.nan


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
    factors = [(name, levels) for name, levels in part.factors if not (part.by_host and name == "host")]
    named = tuple((name, tuple(dict.fromkeys(levels))) for name, levels in factors)
    most = len(factors) if len(factors) <= _CROSSED_IN_FULL else 2
    order = next((order for order in range(most, 0, -1) if _cost(part, order) <= _DEAREST), 0)
    problem = why_no_logs(part.values)
    if not order:
        problem = problem or f"too many combinations ({len(part.cells):,})"
    codes = [(name, _codes(levels)) for name, levels in factors]
    logs = _logs(part.values, problem)
    units = _units(part)
    if units:
        fit = strata_anova(logs, codes, units, kind, order or 1)
    else:
        fit = independent_anova(logs, codes, kind, order or 1)
    reason = problem or fit.reason
    return EffectTable(
        metric=part.metric,
        factors=named,
        kind=kind,
        order=order,
        found=fit,
        words=(
            *_words(part.metric, [name for name, _ in factors], fit, reason, level),
            *_remarks(part, order, most),
        ),
        reason=reason,
    )


def _units(part: _Part) -> list[tuple[str, NDArray[np.int64]]]:
    """Return the nested units whose values are not independent, from the smallest to the largest."""
    if part.by_host:
        return [("hosts", _codes(dict(part.factors)["host"]))]
    if part.blocks is None:
        return []
    rounds = [(host, key[:2]) for host, key in part.blocks]
    return [("blocks", _codes(part.blocks)), ("rounds", _codes(rounds))]


def _cost(part: _Part, order: int) -> float:
    """Return the number of operations of a fit."""
    cells = part.cells
    balanced = len(cells) == math.prod(part.sizes) and len(set(cells.values())) == 1
    terms = [term for size in range(1, order + 1) for term in combinations(part.sizes, size)]
    parameters = sum(math.prod(size - 1 for size in term) for term in terms)
    return (1 if balanced else len(terms) ** 2 / 2) * len(cells) * parameters**2


def _remarks(part: _Part, order: int, most: int) -> list[str]:
    remarks = []
    if 0 < order < most:
        what = "interactions" if order == 1 else f"interactions of more than {order} factors"
        remarks.append(f"the model has no {what}: too many combinations")
    if part.blocks is None:
        remarks.append("no blocks are shared: the ANOVA assumes independent values with equal variances")
    elif part.outside:
        remarks.append(f"{counted(part.outside, 'value')} outside blocks excluded from the ANOVA")
    if part.by_host:
        remarks.append("all effects are tested against hosts, each with one mean per combination")
    remarks += [f"{part.metric}: {name} is not testable (one host per level)" for name in part.constant]
    return remarks


def _logs(values: Floats, problem: str) -> Floats:
    return np.full(len(values), math.nan) if problem else np.log(values)


def _codes(levels: Sequence[Hashable]) -> NDArray[np.int64]:
    numbers = {name: number for number, name in enumerate(dict.fromkeys(levels))}
    return np.array([numbers[name] for name in levels], dtype=np.int64)


def _words(
    metric: str, factors: Sequence[str], fit: StrataAnova, reason: str, level: float
) -> tuple[str, ...]:
    if reason:
        return (f"{metric}: effects undefined ({reason})",)
    rows = fit.rows
    main = [row for row in rows if row.source in factors]
    found = [row for row in main if row.p < 1.0 - level] + _interactions(rows, level)
    shares = ", ".join(f"{_source(row)} {_percent(row.eta2_partial)} %" for row in found)
    sentences = [f"{metric}: significant effects (partial η²): {shares}"] if found else []
    sentences += [
        f"{metric}: no significant effect of {row.source}"
        f" ({f_words(row.f, row.df_approx, row.df_error_approx, row.p)}{_tested(row)})"
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


def _tested(row: StrataRow) -> str:
    return "" if row.stratum == VALUES else f", tested {row.stratum}"


def _interactions(rows: Sequence[StrataRow], level: float) -> list[StrataRow]:
    """Return the strongest significant interactions of two factors."""
    found = [row for row in rows if row.source.count(":") == 1 and row.p < 1.0 - level]
    return sorted(found, key=lambda row: -row.eta2_partial)[:_INTERACTIONS_NAMED]


def _source(row: StrataRow) -> str:
    """Return `heap × collector`."""
    return row.source.replace(":", " × ")


def _percent(share: float) -> str:
    """Format a share as percent; never 100 if a remainder exists."""
    percent = 100.0 * share
    if 99.5 <= percent < 100.0:
        return f"{math.floor(percent * 100) / 100:.2f}"
    return f"{percent:.2g}" if percent < 10 else f"{percent:.0f}"
