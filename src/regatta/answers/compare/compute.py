"""Estimate from foreign measurements the same values as from Regatta's own records."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np

from regatta.answers.compare.table import ForeignTable
from regatta.answers.spine.methods import METHODS, REGATTA
from regatta.stats.anova import Anova, block_anova, one_way
from regatta.stats.bca import BCA, bca_means
from regatta.stats.differences import (
    PAIRED_DIFFERENCE,
    WELCH_DIFFERENCE,
    paired_difference,
    stratified_t,
    welch_difference,
)
from regatta.stats.estimate import Contrast, Floats, Interval, exact, only_rounding, safe_exp, undefined
from regatta.stats.intervals import GEORGES_2007, mean_interval, why_no_logs
from regatta.stats.median import median_interval
from regatta.stats.moments import standard_deviation
from regatta.stats.multiplicity import sidak_level, sidak_p
from regatta.stats.ratios import WELCH, do_not_vary, georges_ratio, paired_log_ratio, welch_log_ratio
from regatta.stats.strata import StrataAnova, independent_anova, strata_anova
from regatta.stats.tukey import TUKEY, tukey

RESAMPLES = 9999
#: with more values, t and BCa agree, and resampling takes seconds
MOST_FOR_BCA = 20_000


@dataclass(frozen=True)
class GroupMean:
    """Mean of a group with its interval and standard deviation."""

    interval: Interval
    deviation: float


@dataclass(frozen=True)
class PairAnswer:
    """Two groups: the difference a - b in the unit of the values, and the ratio a/b."""

    a: str
    b: str
    difference: Contrast
    ratio: Interval


@dataclass(frozen=True)
class ForeignAnswer:
    """The result of `regatta compare`.

    `welch`, `paired`: every pair by itself. `anova`: one factor (with a block column: after blocks). `factorial`: several
    factors, replaces `anova` (with a block column: each term is tested in the stratum in which it varies). `simultaneous`: all
    pairs, with intervals that hold together and adjusted p values. `notes`: properties of the data that the reader must know.
    """

    table: ForeignTable
    level: float
    method: str
    kind: int
    seed: int
    means: Mapping[str, GroupMean]
    welch: tuple[PairAnswer, ...]
    paired: tuple[PairAnswer, ...]
    anova: Anova | None
    factorial: StrataAnova | None
    simultaneous: tuple[PairAnswer, ...]
    medians: Mapping[str, Interval]
    bca: Mapping[str, Interval]
    notes: tuple[str, ...]


def answer_foreign(
    table: ForeignTable, level: float = 0.95, method: str = REGATTA, kind: int = 2, seed: int = 1
) -> ForeignAnswer:
    """Estimate everything that the columns of the table allow.

    Args:
        level: confidence, between 0 and 1.
        method: `regatta`: ratios of logarithms, and pairs that do not assume equal variances. `georges2007`: z from 30
            values on, integer degrees of freedom, ratios relative to the mean of b, Tukey's simultaneous intervals, and an
            analysis of several factors without blocks.
        kind: type of the sums of squares of several factors: 1, 2 or 3.

    Raises:
        ValueError: invalid method, kind or level.
    """
    if method not in METHODS:
        raise ValueError(f"method: expected one of {', '.join(METHODS)} · got {method}")
    names, groups = table.by.names, table.groups()
    blocks = table.blocks() if table.block else None
    several = len(table.order) > 1
    factorial = _factorial(table, method, kind) if several else None
    fit = one_way(groups) if blocks is None else block_anova(blocks)
    return ForeignAnswer(
        table=table,
        level=level,
        method=method,
        kind=kind,
        seed=seed,
        means={name: _mean(x, level, method) for name, x in zip(names, groups, strict=True)},
        welch=tuple(
            _welch(names[i], names[j], groups[i], groups[j], level, method, table.counts)
            for i, j in combinations(range(len(names)), 2)
        ),
        paired=_paired(names, blocks, level, table.counts),
        anova=None if several else fit,
        factorial=factorial,
        simultaneous=_by_tukey(table, fit, factorial, level)
        if method == GEORGES_2007
        else simultaneous_pairs(table, groups, blocks, level),
        medians={name: median_interval(x, level) for name, x in zip(names, groups, strict=True)},
        bca=dict(zip(names, _bca(groups, level, seed), strict=True)),
        notes=_notes(table, method),
    )


def _mean(x: Floats, level: float, method: str) -> GroupMean:
    interval = mean_interval(x, level, GEORGES_2007 if method == GEORGES_2007 else "t")
    return GroupMean(interval, standard_deviation(x))


def _welch(a: str, b: str, x: Floats, y: Floats, level: float, method: str, counts: bool) -> PairAnswer:
    if method == GEORGES_2007:
        difference = welch_difference(x, y, level, GEORGES_2007)
        ratio = georges_ratio(x, y, level, counts)
    else:
        difference = welch_difference(x, y, level, WELCH_DIFFERENCE)
        ratio = welch_log_ratio(x, y, level, counts)
    return PairAnswer(a, b, _exactly(difference, x, y) if counts else difference, ratio.interval)


def _exactly(difference: Contrast, x: Floats, y: Floats) -> Contrast:
    """Return the difference of two groups of counts; exact if the counts of each do not vary."""
    return _without_variance(difference, float(x[0] - y[0])) if do_not_vary(x, y) else difference


def _without_variance(difference: Contrast, by: float) -> Contrast:
    own = difference.interval
    return exact(by, own.n, own.level, own.method, math.nan, equal=0.0)


def _paired(
    names: tuple[str, ...], blocks: Floats | None, level: float, counts: bool
) -> tuple[PairAnswer, ...]:
    """Compare all pairs of groups in the blocks that contain both; levels of further factors are never mixed in a pair."""
    if blocks is None:
        return ()
    found = []
    for i, j in combinations(range(len(names)), 2):
        both = ~np.isnan(blocks[:, i]) & ~np.isnan(blocks[:, j])
        x, y = blocks[both, i], blocks[both, j]
        difference = paired_difference(x, y, level)
        if not both.any():
            reason = "no common block"
            difference = Contrast(undefined(0, level, PAIRED_DIFFERENCE, reason), math.nan)
        elif counts:
            difference = _exactly(difference, x, y)
        ratio = paired_log_ratio(x, y, level, counts).interval
        found.append(PairAnswer(names[i], names[j], difference, ratio))
    return tuple(found)


def simultaneous_pairs(
    table: ForeignTable, groups: Sequence[Floats], blocks: Floats | None, level: float
) -> tuple[PairAnswer, ...]:
    """Compare all pairs together, each with its own variance: paired by block, or by Welch's t within the further factors.

    Args:
        groups: the values of each group.
        blocks: shape (blocks, groups), NaN where missing; None without a block column.
        level: simultaneous confidence of all intervals, between 0 and 1.

    Returns:
        The m pairs (i < j) at the confidence level^(1/m) (Sidak), with p values adjusted over them. The difference of a pair is in
        the unit of the values, the ratio on logarithms. A pair with fewer than two common blocks is NaN with a reason.

    Source: as `stats.all_pairs`.
    """
    names = table.by.names
    if len(names) < 2:
        return ()
    strata = table.strata() if blocks is None and table.factors else None
    pairs = list(combinations(range(len(names)), 2))
    single = sidak_level(level, len(pairs))
    if blocks is not None:
        alone = [(pair.difference, pair.ratio) for pair in _paired(names, blocks, single, table.counts)]
    elif strata is None:
        alone = [
            (pair.difference, pair.ratio)
            for i, j in pairs
            for pair in [_welch(names[i], names[j], groups[i], groups[j], single, REGATTA, table.counts)]
        ]
    else:
        alone = [_within(strata[i], strata[j], single, table.counts) for i, j in pairs]
    return tuple(
        PairAnswer(
            names[i],
            names[j],
            Contrast(
                replace(difference.interval, level=level, method=f"sidak-{difference.interval.method}"),
                sidak_p(difference.p, len(pairs)),
                difference.df,
            ),
            replace(ratio, level=level, method=f"sidak-{ratio.method}"),
        )
        for (i, j), (difference, ratio) in zip(pairs, alone, strict=True)
    )


def _within(
    a: Sequence[Floats], b: Sequence[Floats], level: float, counts: bool
) -> tuple[Contrast, Interval]:
    difference = stratified_t(a, b, level, WELCH_DIFFERENCE)
    used = [side for x, y in zip(a, b, strict=True) if x.size and y.size for side in (x, y)]
    problem = next(filter(None, map(why_no_logs, used)), "")
    same = counts and bool(used) and do_not_vary(*used)
    if same:
        difference = _without_variance(difference, _unless_rounding(difference.interval.point, used))
    if problem:
        return difference, undefined(difference.interval.n, level, WELCH, problem)
    log_a, log_b = ([np.log(x) for x in side] for side in (a, b))
    on_logs = stratified_t(log_a, log_b, level, WELCH, least=1.0).interval
    if same:
        by = _unless_rounding(on_logs.point, [np.log(side) for side in used])
        return difference, exact(safe_exp(by), on_logs.n, level, WELCH, math.nan).interval
    return difference, on_logs.mapped(safe_exp)


def _unless_rounding(by: float, sides: Sequence[Floats]) -> float:
    """Return a mean of differences, or 0 if it is only the rounding of differences that cancel."""
    largest = max(1.0, *(float(np.abs(side).max()) for side in sides))
    return 0.0 if only_rounding(abs(by), largest) else by


def _by_tukey(
    table: ForeignTable, fit: Anova, factorial: StrataAnova | None, level: float
) -> tuple[PairAnswer, ...]:
    """Return Tukey's differences, and as ratio their share of the mean of b, which is taken as known."""
    names, groups = table.by.names, table.groups()
    if factorial is not None and table.block is None:
        fit = _with_error_of(fit, factorial)
    found = []
    for pair in tukey(fit, level):
        baseline = _baseline(table, pair.first, pair.second)
        difference = Contrast(pair.difference, pair.p)
        x, y = groups[pair.first], groups[pair.second]
        if table.counts and do_not_vary(x, y) and baseline > 0.0:
            # Tukey's common variance does not describe counts that do not vary.
            difference = _exactly(difference, x, y)
            ratio = exact(float(x[0] / y[0]), pair.difference.n, level, TUKEY, math.nan).interval
        elif baseline > 0.0:
            ratio = pair.difference.mapped(partial(_share, baseline=baseline))
        else:
            reason = pair.difference.reason or "the baseline's mean is not positive"
            ratio = undefined(pair.difference.n, level, TUKEY, reason)
        found.append(PairAnswer(names[pair.first], names[pair.second], difference, ratio))
    return tuple(found)


def _share(difference: float, baseline: float) -> float:
    return 1.0 + difference / baseline


def _baseline(table: ForeignTable, first: int, second: int) -> float:
    """Return the mean of the second group, with blocks: over those that contain both; NaN without any."""
    if table.block is None:
        return mean_interval(table.groups()[second]).point
    blocks = table.blocks()
    both = ~np.isnan(blocks[:, first]) & ~np.isnan(blocks[:, second])
    return mean_interval(blocks[both, second]).point


def _factorial(table: ForeignTable, method: str, kind: int) -> StrataAnova:
    """Return the analysis of several factors, with its errors even if an empty cell leaves its type undefined."""
    fit = _factorial_of(table, method, kind)
    # The errors are the same for all types.
    return fit if fit.strata else replace(fit, strata=_factorial_of(table, method, 1).strata)


def _factorial_of(table: ForeignTable, method: str, kind: int) -> StrataAnova:
    labels = {labels.column: labels for labels in (table.by, *table.factors)}
    factors = [(name, labels[name].codes) for name in table.order]
    if table.block is None or method == GEORGES_2007:
        return independent_anova(table.values, factors, kind)
    return strata_anova(table.values, factors, [("blocks", table.block.codes)], kind)


def _with_error_of(fit: Anova, factorial: StrataAnova) -> Anova:
    """Compare the group means with the error of the factorial model, as R's TukeyHSD does for the first factor."""
    if not factorial.strata:
        return replace(fit, reason=factorial.reason)
    (error,) = factorial.strata
    return replace(fit, df_error=error.df_error, mean_square_error=error.ss_error / error.df_error, reason="")


def _bca(groups: Sequence[Floats], level: float, seed: int) -> list[Interval]:
    """Return the BCa interval of each group. Groups of equal size share resamples, as does the same group in other files."""
    found: list[Interval] = [undefined(0, level, BCA, "no values")] * len(groups)
    for n in {x.size for x in groups}:
        members = [i for i, x in enumerate(groups) if x.size == n]
        if n > MOST_FOR_BCA:
            reason = f"not resampled: Student's interval is equivalent for more than {MOST_FOR_BCA:,} values"
            for i in members:
                found[i] = undefined(n, level, BCA, reason, mean_interval(groups[i], level).point)
            continue
        generator = np.random.default_rng(seed)
        means = bca_means(np.stack([groups[i] for i in members]), level, RESAMPLES, generator=generator)
        for place, i in enumerate(members):
            point, low, high = (float(column[place]) for column in (means.point, means.low, means.high))
            found[i] = Interval(n, point, low, high, level, BCA, means.reasons[place])
    return found


def _notes(table: ForeignTable, method: str) -> tuple[str, ...]:
    notes = []
    if table.left_out:
        notes.append(f"excluded rows without {table.value}: {table.left_out}")
    constant = [name for name, x in zip(table.by.names, table.groups(), strict=True) if do_not_vary(x)]
    whole = bool((table.values >= 0.0).all() and (table.values == np.rint(table.values)).all())
    if len(constant) > 1 and whole and not table.counts:
        notes.append(
            f"the values of {len(constant)} groups do not vary: if {table.value} is an exact count, such as instructions or"
            " bytes, --counts gives exact ratios"
        )
    if table.block:
        blocks = table.blocks()
        partial = int((np.isnan(blocks).any(axis=1)).sum())
        if partial:
            notes.append(f"{partial} of {len(blocks)} blocks lack a group; each pair uses its common blocks")
    if table.factors:
        if table.block and method == GEORGES_2007:
            notes.append(
                f"{GEORGES_2007}: the ANOVA of several factors ignores blocks of {table.block.column}; pairs use them"
            )
        if not _balanced(table):
            notes.append(
                f"the groups of {table.by.column} are not balanced over {', '.join(f.column for f in table.factors)}:"
                " differences of their means include effects of these factors"
            )
    return tuple(notes)


def _balanced(table: ForeignTable) -> bool:
    """Return whether each group has the same share of its values at every combination of the further factors."""
    keys = np.column_stack([other.codes for other in table.factors])
    _, place = np.unique(keys, axis=0, return_inverse=True)
    place = place.ravel()
    counts = np.zeros((len(table.by.names), int(place.max()) + 1), dtype=np.int64)
    np.add.at(counts, (table.by.codes, place), 1)
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0))
    return bool((counts * counts.sum() == expected).all())
