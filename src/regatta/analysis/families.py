"""All collectors of one benchmark, runtime and heap at once: analysis of variance with blocks, and Tukey's intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from regatta.analysis.comparisons import comparison_groups, estimate_of
from regatta.analysis.names import Names
from regatta.analysis.samples import PlannedCell, Samples, Series
from regatta.analysis.words import bound_words, counted, difference, listed, shows_difference, superlative
from regatta.model.answer import Estimate, Family, TukeyPair
from regatta.model.experiment import Better
from regatta.stats.anova import Anova, block_anova, one_way
from regatta.stats.estimate import Floats, safe_exp
from regatta.stats.intervals import why_no_logs
from regatta.stats.tukey import tukey

#: fewer shared blocks than this leave no error to judge by
_LEAST_BLOCKS = 2


def judge_families(samples: Samples, level: float, names: Names) -> tuple[list[Family], list[str]]:
    """Compare the collectors of each host, benchmark, runtime, modifiers, heap and set of parameters.

    Args:
        samples: of the experiment; the cells' own metric is judged, on logs.
        level: confidence that all intervals of a family hold together, between 0 and 1.
        names: for the sentences.

    Returns:
        Families of at least two planned collectors, in the order of the plan, and warnings of those without common blocks.
    """
    families: list[Family] = []
    unblocked = 0
    for group in comparison_groups(samples.cells):
        for cells in _families(group):
            for key in _series_keys(samples, cells):
                series = [_find(samples, cell, key) for cell in cells]
                family, blocked = _judge(cells, series, level, names)
                families.append(family)
                unblocked += not blocked
    warnings = []
    if unblocked:
        what = "1 family of collectors" if unblocked == 1 else f"{unblocked} families of collectors"
        warnings.append(f"{what} not interleaved: judged without blocks (one-way analysis of variance)")
    return families, warnings


def winner(pairs: Sequence[TukeyPair], names: Sequence[str], better: Better) -> str:
    """The one that is shown to be better than every other with values; "" when none is."""
    for name in names:
        ratios = [
            _ratio(pairs, name, other)
            for other in names
            if any({p.a_name, p.b_name} == {name, other} for p in pairs)
        ]
        if ratios and all(r.high < 1.0 if better == "lower" else r.low > 1.0 for r in ratios):
            return name
    return ""


def _families(group: Sequence[PlannedCell]) -> list[list[PlannedCell]]:
    found: dict[tuple[str, str], list[PlannedCell]] = {}
    for cell in group:
        if cell.collector:
            found.setdefault((cell.runtime, cell.modifiers), []).append(cell)
    return [cells for cells in found.values() if len(cells) >= 2]


def _series_keys(samples: Samples, cells: Sequence[PlannedCell]) -> list[tuple[str, str]]:
    keys = [
        (s.unit, s.parameters_text)
        for c in cells
        for s in samples.series.get(c.number, ())
        if s.metric == c.metric
    ]
    return list(dict.fromkeys(keys)) or [("", "")]


def _find(samples: Samples, cell: PlannedCell, key: tuple[str, str]) -> Series | None:
    return next(
        (
            s
            for s in samples.series.get(cell.number, ())
            if s.metric == cell.metric and (s.unit, s.parameters_text) == key and s.samples
        ),
        None,
    )


def _judge(
    cells: Sequence[PlannedCell], series: Sequence[Series | None], level: float, names: Names
) -> tuple[Family, bool]:
    first = cells[0]
    present = [s for s in series if s is not None]
    absent = [cell.collector for cell, s in zip(cells, series, strict=True) if s is None]
    parameters = present[0].parameters if present else {}
    family = Family(
        host=first.host,
        benchmark=first.benchmark,
        runtime=first.runtime,
        modifiers=first.modifiers,
        heap_factor=first.heap_factor,
        heap_mib=first.heap_mib,
        metric=first.metric,
        parameters=parameters,
        names=tuple(cell.collector for cell in cells),
        f=math.nan,
        df_between=math.nan,
        df_error=math.nan,
        p=math.nan,
        method="block-anova+tukey",
        pairs=(),
        words="",
    )
    place = names.place(first, parameters) + names.within(first)
    problem = next(filter(None, (why_no_logs(s.values) for s in present)), "")
    if len(present) < 2 or problem:
        if present:
            problem = problem or f"only {present[0].cell.collector} has valid invocations"
        else:
            problem = "no collector has valid invocations"
        words = f"the collectors cannot be compared on {place}: {problem}"
        return replace(family, reason=problem, words=words), True
    table = _block_table(present)
    blocked = len(table) >= _LEAST_BLOCKS
    fit = block_anova(np.log(table)) if blocked else one_way([np.log(s.values) for s in present])
    found = [s.cell.collector for s in present]
    pairs = tuple(
        TukeyPair(found[p.first], found[p.second], estimate_of(p.difference.mapped(safe_exp)), p.p)
        for p in tukey(fit, level)
    )
    words = (
        f"the collectors cannot be told apart on {place}: {fit.reason}"
        if fit.reason
        else _words(present, fit, pairs, place, _how_many(fit, len(table), blocked), names)
    )
    if absent:
        words += f"; {listed(absent)} {'has' if len(absent) == 1 else 'have'} no valid invocation"
    return (
        replace(
            family,
            f=fit.f,
            df_between=float(fit.df_between),
            df_error=float(fit.df_error),
            p=fit.p,
            method=f"{fit.method}+tukey",
            pairs=pairs,
            words=words,
            reason=fit.reason,
        ),
        blocked,
    )


def _block_table(series: Sequence[Series]) -> Floats:
    """Shape (blocks, collectors): blocks that hold at least two of them; NaN where one is missing."""
    held: dict[tuple[str, int, int], list[float]] = {}
    for column, one in enumerate(series):
        for key, value in one.by_block.items():
            held.setdefault(key, [math.nan] * len(series))[column] = value
    rows = [row for row in held.values() if sum(not math.isnan(value) for value in row) >= 2]
    return np.array(rows, dtype=np.float64).reshape(-1, len(series))


def _how_many(fit: Anova, blocks: int, blocked: bool) -> str:
    return counted(blocks, "block") if blocked else counted(int(np.diag(fit.counts).sum()), "invocation")


def _words(
    series: Sequence[Series], fit: Anova, pairs: Sequence[TukeyPair], place: str, many: str, names: Names
) -> str:
    """Who leads, by how much over the second, or who cannot be told from whom."""
    cell, unit = series[0].cell, series[0].unit
    ranked = [series[i].cell.collector for i in _ranking(fit, cell.better == "lower")]
    best, others = ranked[0], ranked[1:]
    ratios = {name: _ratio(pairs, best, name) for name in others}
    beside = [name for name in others if not shows_difference(ratios[name])]
    where = f"on {place}, {many}, on {names.host(cell)}"
    if not beside:
        lead = difference(others[0], ratios[others[0]], cell.metric, unit, cell.better)
        return f"{best} {superlative(cell.metric, unit, cell.better)} on {place}: {lead}, {many}, on {names.host(cell)}"
    leaders = [best, *beside]
    between = [_ratio(pairs, a, b) for i, a in enumerate(leaders) for b in leaders[i + 1 :]]
    alike = not any(shows_difference(ratio) for ratio in between)
    bound = bound_words(between if alike else [ratios[name] for name in beside])
    word = "between" if len(leaders) == 2 else "among"
    if len(leaders) == len(ranked) and alike:
        return f"no difference shown {word} {listed(leaders)} {where}; {bound}"
    told = f"{word} them" if alike else f"from {best}"
    behind = [
        f"{name} is {difference(best, _ratio(pairs, name, best), cell.metric, unit, cell.better)}"
        for name in others
        if name not in beside
    ]
    return "; ".join([f"{listed(leaders)} lead {where}: no difference shown {told} ({bound})", *behind])


def _ranking(fit: Anova, lower_is_better: bool) -> list[int]:
    effects = fit.effects if lower_is_better else -fit.effects
    order: list[int] = np.argsort(effects, kind="stable").tolist()
    return order


def _ratio(pairs: Sequence[TukeyPair], a: str, b: str) -> Estimate:
    """The ratio a/b with its simultaneous interval, whichever way round the pair is kept."""
    for pair in pairs:
        if (pair.a_name, pair.b_name) == (a, b):
            return pair.ratio
        if (pair.a_name, pair.b_name) == (b, a):
            ratio = pair.ratio
            return replace(
                ratio, point=_inverse(ratio.point), low=_inverse(ratio.high), high=_inverse(ratio.low)
            )
    raise LookupError(f"no pair of {a} and {b}")


def _inverse(value: float) -> float:
    return math.inf if value == 0.0 else 1.0 / value
