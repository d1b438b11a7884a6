"""Compare all alternatives of one place that differ in one factor: ANOVA with blocks, and the ratios of all pairs."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from regatta.answers.spine.blocks import LEAST_BLOCKS, block_table
from regatta.answers.spine.families.result import Family
from regatta.answers.spine.families.words import (
    GEORGES_TUKEY,
    Sampled,
    family_words,
    plural,
    ranking,
    unpaired_of,
)
from regatta.answers.spine.groups import grouped
from regatta.answers.spine.methods import REGATTA, method_name
from regatta.answers.spine.names import Names
from regatta.answers.spine.pairs import comparison_groups, series_key
from regatta.answers.spine.parts import FamilyPair, level_names, shared_heap
from regatta.answers.spine.samples import PlannedCell, Samples, Series
from regatta.answers.spine.verdicts import Verdicts, judge
from regatta.answers.spine.words import counted, listed, sample_words, samples_words
from regatta.host.units import is_counted
from regatta.host.values.levels import ALWAYS, components, parameters_in, place_key
from regatta.stats.all_pairs import SIDAK, paired_pairs, welch_pairs
from regatta.stats.anova import Anova, block_anova_many, one_way, one_way_many
from regatta.stats.estimate import Floats, exact
from regatta.stats.intervals import GEORGES_2007, why_no_logs
from regatta.stats.multiplicity import benjamini_hochberg
from regatta.stats.ratios import WELCH, do_not_vary
from regatta.stats.tukey import PairDifference, tukey_many

#: for answers that are about collectors alone
ONLY_COLLECTORS = ("collector",)
#: least number of collectors that are a family
_LEAST_COLLECTORS = 2
#: the same for other factors: of two levels, the comparison with the baseline is the only pair
_LEAST_LEVELS = 3


def judge_families(
    samples: Samples,
    level: float,
    names: Names,
    method: str = REGATTA,
    factors: Sequence[str] = ALWAYS,
    theta_percent: float = 1.0,
    verdicts: Verdicts | None = None,
    looks: int = 0,
) -> tuple[list[Family], list[str]]:
    """Compare the levels of each factor, on each host and for each combination of levels of the other factors.

    Args:
        samples: samples of the experiment; only the cells' own metrics are compared.
        level: simultaneous confidence of all intervals of a family, between 0 and 1.
        method: `regatta`: on logarithms, with blocks where blocks are shared, and pairs that do not assume equal variances.
            `georges2007`: one-way on the values, and Tukey's differences relative to the mean of `b`.
        factors: the compared factors, and crossings of them.
        verdicts: of the comparisons with the baseline; those of all pairs are added.
        looks: as in `Contrast`. The p of an analysis of variance is then unknown.

    Returns:
        Families of at least three planned alternatives (two collectors), in plan order, and warnings about families without
        common blocks, and pairs without them. `q` is the smallest adjusted p of a family's pairs (by the paper, p of its F), adjusted over all families
        of its factor (Benjamini-Hochberg).
    """
    asked = list(_ask(samples, names, factors))
    together = [one for one in asked if not one.problem]
    tables = [_values(one, method) for one in together]
    fits = _fit_all(tables if method == GEORGES_2007 else [_logs(one) for one in tables])
    families: list[Family] = []
    unblocked = unpaired = 0
    verdicts = Verdicts() if verdicts is None else verdicts
    unjudged = _all_pairs(together, tables, fits, method, level, looks)
    for one, pairs in zip(together, unjudged, strict=True):
        for pair in pairs:
            verdicts.add(*one.keys(pair), judge(pair.ratio, theta_percent, pair.p))
    judged = iter(zip(tables, fits, unjudged, strict=True))
    for one in asked:
        if one.problem:
            families.append(_without_values(one))
            continue
        values, fit, pairs = next(judged)
        pairs = tuple(replace(pair, verdict=verdicts.of(*one.keys(pair))) for pair in pairs)
        family = _judged(one, values, fit, pairs, method, theta_percent)
        families.append(replace(family, p=math.nan) if looks else family)
        unblocked += method == REGATTA and not values.blocks
        unpaired += len(unpaired_of(pairs)) if values.blocks else 0
    for factor in factors:
        places = [place for place, family in enumerate(families) if family.factor == factor]
        decisive = [_decisive(families[place], method) for place in places]
        adjusted = benjamini_hochberg(decisive).tolist()
        for place, q in zip(places, adjusted, strict=True):
            families[place] = replace(families[place], q=q)
    warnings = []
    if unblocked:
        warnings.append(f"{counted(unblocked, 'group')} of alternatives without common blocks: one-way ANOVA")
    if unpaired:
        warnings.append(
            f"{counted(unpaired, 'pair')} of alternatives unpaired ({method_name(SIDAK[WELCH])}): fewer than 2 common blocks"
        )
    return families, warnings


@dataclass(frozen=True)
class _FamilyValues:
    """A family before the analysis. `problem`: why it cannot be analysed, else ""."""

    family: Family
    present: list[Series]
    absent: list[str]
    place: str
    problem: str

    @property
    def compared(self) -> list[str]:
        """Return the names of `present`."""
        return [name for name in self.family.names if name not in self.absent]

    def keys(self, pair: FamilyPair) -> tuple[Hashable, Hashable]:
        """Return the keys of the series of a pair."""
        of = dict(zip(self.compared, self.present, strict=True))
        return of[pair.a_name].key, of[pair.b_name].key


@dataclass(frozen=True)
class _Values:
    """The input of a fit: all values of each alternative, and a table of (blocks, alternatives) unless `blocks` is 0."""

    groups: list[Floats]
    table: Floats
    blocks: int
    #: whether they are exact counts
    counted: bool


def _ask(samples: Samples, names: Names, factors: Sequence[str]) -> Iterator[_FamilyValues]:
    for group in comparison_groups(samples.cells, {*ALWAYS, *factors}):
        for factor in factors:
            for cells in _families(group, factor):
                found = [_series_by_key(samples, cell, factor) for cell in cells]
                if any(series and series.at_once for own in found for series in own.values()):
                    # Two alternatives, whose ratio is a comparison.
                    continue
                for key in dict.fromkeys(key for own in found for key in own) or [("", "")]:
                    yield _asked(factor, cells, [own.get(key) for own in found], names)


def _values(asked: _FamilyValues, method: str) -> _Values:
    nothing = np.empty((0, len(asked.present)))
    counted = is_counted(asked.present[0].unit)
    groups = [s.values for s in asked.present]
    if method == GEORGES_2007:
        return _Values(groups, nothing, 0, counted)
    table = block_table(asked.present)
    if len(table) >= LEAST_BLOCKS:
        return _Values(groups, table, len(table), counted)
    return _Values(groups, nothing, 0, counted)


def _logs(values: _Values) -> _Values:
    return _Values(
        [np.log(group) for group in values.groups], np.log(values.table), values.blocks, values.counted
    )


def _all_pairs(
    asked: Sequence[_FamilyValues],
    values: Sequence[_Values],
    fits: Sequence[Anova],
    method: str,
    level: float,
    looks: int,
) -> list[tuple[FamilyPair, ...]]:
    """Return all pairs of each family, as ratios with simultaneous intervals."""
    if method == GEORGES_2007:
        tukeys = tukey_many(fits, level)
        return [
            _by_the_paper(one, own, pairs, level)
            for one, own, pairs in zip(asked, values, tukeys, strict=True)
        ]
    blocked = [one for one in values if one.blocks]
    paired = iter(
        paired_pairs(
            [one.table for one in blocked],
            level,
            [one.groups for one in blocked],
            [one.counted for one in blocked],
            looks,
        )
    )
    found = [
        next(paired) if one.blocks else welch_pairs(one.groups, level, one.counted, looks) for one in values
    ]
    return [
        tuple(FamilyPair(names[p.first], names[p.second], p.ratio, p.p) for p in pairs)
        for pairs, names in zip(found, (one.compared for one in asked), strict=True)
    ]


def _by_the_paper(
    asked: _FamilyValues, values: _Values, pairs: Sequence[PairDifference], level: float
) -> tuple[FamilyPair, ...]:
    """Return Tukey's differences as ratios, with the mean of the second alternative taken as known.

    Tukey's common variance does not describe counts that do not vary: their ratio is exact.
    """
    names = asked.compared
    means = [float(s.values.mean()) for s in asked.present]
    found = []
    for pair in pairs:
        ratio, p = pair.difference.mapped(_share_of(means[pair.second])), pair.p
        a, b = (values.groups[place] for place in (pair.first, pair.second))
        if values.counted and do_not_vary(a, b):
            contrast = exact(float(a[0] / b[0]), ratio.n, level, GEORGES_TUKEY, math.nan)
            ratio, p = contrast.interval, contrast.p
        else:
            ratio = replace(ratio, method=GEORGES_TUKEY)
        found.append(FamilyPair(names[pair.first], names[pair.second], ratio, p))
    return tuple(found)


def _fit_all(families: Sequence[_Values]) -> list[Anova]:
    """Fit all families; families of one shape are fitted together."""
    shapes: dict[tuple[bool, tuple[int, ...]], list[int]] = {}
    for place, one in enumerate(families):
        shape = one.table.shape if one.blocks else tuple(group.size for group in one.groups)
        shapes.setdefault((one.blocks > 0, shape), []).append(place)
    fits: dict[int, Anova] = {}
    for (blocked, shape), places in shapes.items():
        if blocked:
            fitted = block_anova_many(np.stack([families[place].table for place in places]))
        elif len(set(shape)) == 1:
            fitted = one_way_many(np.stack([np.stack(families[place].groups, axis=1) for place in places]))
        else:
            fitted = [one_way(families[place].groups) for place in places]
        fits.update(zip(places, fitted, strict=True))
    return [fits[place] for place in range(len(families))]


def _families(group: Sequence[PlannedCell], factor: str) -> list[list[PlannedCell]]:
    found = grouped(
        (cell for cell in group if cell.place.levels.keys() >= set(components([factor]))),
        lambda cell: place_key(cell.place.levels, [factor]),
    )
    return [cells for cells in found.values() if len(cells) >= least_levels(factor)]


def least_levels(factor: str) -> int:
    """Return the least number of levels of a factor that are compared together."""
    return _LEAST_COLLECTORS if factor == "collector" else _LEAST_LEVELS


def _series_by_key(samples: Samples, cell: PlannedCell, factor: str) -> dict[tuple[str, str], Series | None]:
    """Return unit and parameters -> series; None for a series without valid samples."""
    return {series_key(s, [factor]): s if s.count else None for s in samples.own(cell)}


def _asked(
    factor: str, cells: Sequence[PlannedCell], series: Sequence[Series | None], names: Names
) -> _FamilyValues:
    first = cells[0]
    present = [s for s in series if s is not None]
    names_of = level_names([cell.place for cell in cells], factor)
    of_cell = {cell.number: name for cell, name in zip(cells, names_of, strict=True)}
    absent = [of_cell[cell.number] for cell, s in zip(cells, series, strict=True) if s is None]
    compared = parameters_in([factor])
    given = present[0].parameters if present else {}
    parameters = {name: value for name, value in given.items() if name not in compared}
    family = Family(
        factor=factor,
        better=first.better,
        benchmarks=tuple(dict.fromkeys(cell.place.benchmark for cell in cells)),
        place=replace(first.place, heap=shared_heap(cell.place for cell in cells)).without(factor),
        metric=first.metric,
        parameters=parameters,
        names=tuple(of_cell.values()),
        f=math.nan,
        df_between=math.nan,
        df_error=math.nan,
        p=math.nan,
        method="block-anova+sidak",
        pairs=(),
        words="",
    )
    problem = next(filter(None, (why_no_logs(s.values) for s in present)), "")
    if not present:
        problem = f"none of the {plural(factor)} has valid, undisturbed invocations"
    elif len(present) < 2:
        problem = problem or f"only {of_cell[present[0].cell.number]} has valid, undisturbed invocations"
    return _FamilyValues(
        family, present, absent, names.where(first, parameters, components([factor])), problem
    )


def _without_values(asked: _FamilyValues) -> Family:
    words = f"{asked.place}: {plural(asked.family.factor)} not compared ({asked.problem})"
    return replace(asked.family, reason=asked.problem, words=words)


def _judged(
    asked: _FamilyValues,
    values: _Values,
    fit: Anova,
    pairs: tuple[FamilyPair, ...],
    method: str,
    theta_percent: float,
) -> Family:
    factor = asked.family.factor
    # Counts without variance have no F, but exact ratios.
    if fit.reason and not any(pair.ratio.is_exact for pair in pairs):
        words = f"{plural(factor)} not compared ({fit.reason})"
    else:
        first = asked.present[0]
        sampled = Sampled(first.cell, first.unit, _sample(values, pairs), theta_percent, factor)
        words = family_words(ranking(asked.compared, pairs, first.cell.better), pairs, sampled)
    if asked.absent:
        words += f"; no valid invocation: {listed(asked.absent)}"
    return replace(
        asked.family,
        f=fit.f,
        df_between=float(fit.df_between),
        df_error=float(fit.df_error),
        p=fit.p,
        method=f"{GEORGES_2007}-{fit.method}+tukey" if method == GEORGES_2007 else f"{fit.method}+sidak",
        pairs=pairs,
        p_pairs=_smallest(pairs),
        words=f"{asked.place}: {words}",
        reason=fit.reason,
    )


def _smallest(pairs: Sequence[FamilyPair]) -> float:
    """Return the smallest adjusted p of the pairs, which is one of all of them; NaN without any."""
    return min((pair.p for pair in pairs if not math.isnan(pair.p)), default=math.nan)


def _decisive(family: Family, method: str) -> float:
    """Return the p of "no alternative differs" that does not depend on equal variances; the paper assumes them.

    Counts without variance have no F.
    """
    return family.p if method == GEORGES_2007 and not math.isnan(family.p) else family.p_pairs


def _sample(values: _Values, pairs: Sequence[FamilyPair]) -> str:
    """Return the sample size in words: of the family, or of its pairs if blocks are incomplete."""
    if not values.blocks:
        return sample_words(sum(group.size for group in values.groups), "invocation")
    apart = unpaired_of(pairs)
    known = [pair for pair in pairs if not math.isnan(pair.ratio.low)]
    if known and all(pair in apart for pair in known):
        return sample_words(sum(group.size for group in values.groups), "invocation")
    sizes = [pair.ratio.n for pair in known if pair not in apart] or [values.blocks]
    return samples_words(sizes, "block")


def _share_of(mean: float) -> Callable[[float], float]:
    """Return a function from a difference to b to a ratio a/b, with b's mean taken as known."""
    return lambda difference: 1.0 + difference / mean
