"""Compare all collectors of one benchmark, runtime and heap: ANOVA with blocks, and Tukey's intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from regatta.answers.blocks import LEAST_BLOCKS, block_table
from regatta.answers.families.result import Family
from regatta.answers.families.words import GEORGES_TUKEY, Told, family_words
from regatta.answers.methods import GEORGES_2007, REGATTA
from regatta.answers.names import Names
from regatta.answers.pairs import comparison_groups
from regatta.answers.parts import TukeyPair
from regatta.answers.samples import PlannedCell, Samples, Series
from regatta.answers.words import counted, listed
from regatta.stats.anova import Anova, block_anova_many, one_way, one_way_many
from regatta.stats.estimate import Floats, safe_exp
from regatta.stats.intervals import why_no_logs
from regatta.stats.multiplicity import benjamini_hochberg
from regatta.stats.tukey import PairDifference, tukey_many


def judge_families(
    samples: Samples, level: float, names: Names, method: str = REGATTA
) -> tuple[list[Family], list[str]]:
    """Compare the collectors of each host, benchmark, runtime, modifiers, heap and set of parameters.

    Args:
        samples: samples of the experiment; only the cells' own metrics are compared.
        level: simultaneous confidence of all intervals of a family, between 0 and 1.
        names: names for the sentences.
        method: `regatta`: on logarithms, with blocks where blocks are shared. `georges2007`: one-way on the values,
            differences shown relative to the mean of `b`.

    Returns:
        Families of at least two planned collectors, in plan order, and warnings about families without common blocks. `q`
        is the p-value of a family, adjusted over all families (Benjamini-Hochberg).
    """
    asked = list(_ask(samples, names))
    together = [one for one in asked if not one.problem]
    tables = [_values(one, method) for one in together]
    fits = _fit_all(tables)
    families: list[Family] = []
    unblocked = 0
    judged = iter(zip(tables, fits, tukey_many(fits, level), strict=True))
    for one in asked:
        if one.problem:
            families.append(_without_values(one))
            continue
        values, fit, pairs = next(judged)
        families.append(_judged(one, values, fit, pairs, method, names))
        unblocked += method == REGATTA and not values.blocks
    adjusted = benjamini_hochberg([family.p for family in families]).tolist()
    families = [replace(family, q=q) for family, q in zip(families, adjusted, strict=True)]
    warnings = []
    if unblocked:
        what = "1 family of collectors" if unblocked == 1 else f"{unblocked} families of collectors"
        warnings.append(f"{what} not interleaved: judged without blocks (one-way analysis of variance)")
    return families, warnings


@dataclass(frozen=True)
class _Asked:
    """A family before the analysis. `problem`: why it cannot be analysed, else ""."""

    family: Family
    present: list[Series]
    absent: list[str]
    place: str
    problem: str


@dataclass(frozen=True)
class _Values:
    """The input of a fit: a table of (blocks, collectors), or groups of values with `blocks` 0."""

    groups: list[Floats]
    table: Floats
    blocks: int


def _ask(samples: Samples, names: Names) -> Iterator[_Asked]:
    for group in comparison_groups(samples.cells):
        for cells in _families(group):
            for key in _series_keys(samples, cells):
                yield _asked(cells, [_find(samples, cell, key) for cell in cells], names)


def _values(asked: _Asked, method: str) -> _Values:
    nothing = np.empty((0, len(asked.present)))
    if method == GEORGES_2007:
        return _Values([s.values for s in asked.present], nothing, 0)
    table = block_table(asked.present)
    if len(table) >= LEAST_BLOCKS:
        return _Values([], np.log(table), len(table))
    return _Values([np.log(s.values) for s in asked.present], nothing, 0)


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


def _families(group: Sequence[PlannedCell]) -> list[list[PlannedCell]]:
    found: dict[tuple[str, str], list[PlannedCell]] = {}
    for cell in group:
        if cell.place.collector:
            found.setdefault((cell.place.runtime, cell.place.modifiers), []).append(cell)
    return [cells for cells in found.values() if len(cells) >= 2]


def _series_keys(samples: Samples, cells: Sequence[PlannedCell]) -> list[tuple[str, str]]:
    keys = [(s.unit, s.parameters_text) for c in cells for s in samples.own(c)]
    return list(dict.fromkeys(keys)) or [("", "")]


def _find(samples: Samples, cell: PlannedCell, key: tuple[str, str]) -> Series | None:
    return next(
        (s for s in samples.own(cell) if (s.unit, s.parameters_text) == key and s.samples),
        None,
    )


def _asked(cells: Sequence[PlannedCell], series: Sequence[Series | None], names: Names) -> _Asked:
    first = cells[0]
    present = [s for s in series if s is not None]
    absent = [cell.place.collector for cell, s in zip(cells, series, strict=True) if s is None]
    parameters = present[0].parameters if present else {}
    family = Family(
        place=replace(first.place, collector=""),
        metric=first.metric,
        parameters=parameters,
        names=tuple(cell.place.collector for cell in cells),
        f=math.nan,
        df_between=math.nan,
        df_error=math.nan,
        p=math.nan,
        method="block-anova+tukey",
        pairs=(),
        words="",
    )
    problem = next(filter(None, (why_no_logs(s.values) for s in present)), "")
    if not present:
        problem = "no collector has valid invocations"
    elif len(present) < 2:
        problem = problem or f"only {present[0].cell.place.collector} has valid invocations"
    return _Asked(
        family, present, absent, names.place(first, parameters) + names.within(first, ("collector",)), problem
    )


def _without_values(asked: _Asked) -> Family:
    words = f"the collectors cannot be compared on {asked.place}: {asked.problem}"
    return replace(asked.family, reason=asked.problem, words=words)


def _judged(
    asked: _Asked, values: _Values, fit: Anova, found: Sequence[PairDifference], method: str, names: Names
) -> Family:
    collectors = [s.cell.place.collector for s in asked.present]
    means = [float(s.values.mean()) for s in asked.present]
    pairs = tuple(
        TukeyPair(collectors[p.first], collectors[p.second], interval, p.p)
        for p in found
        for interval in [
            replace(p.difference.mapped(_share_of(means[p.second])), method=GEORGES_TUKEY)
            if method == GEORGES_2007
            else p.difference.mapped(safe_exp)
        ]
    )
    if fit.reason:
        words = f"the collectors cannot be told apart on {asked.place}: {fit.reason}"
    else:
        invocations = counted(int(np.diag(fit.counts).sum()), "invocation")
        many = counted(values.blocks, "block") if values.blocks else invocations
        first = asked.present[0]
        told = Told(first.cell, first.unit, asked.place, many, names.host(first.cell))
        words = family_words(_ranked(collectors, fit, first.cell.better == "lower"), pairs, told)
    if asked.absent:
        words += f"; {listed(asked.absent)} {'has' if len(asked.absent) == 1 else 'have'} no valid invocation"
    way = f"{fit.method}+tukey"
    return replace(
        asked.family,
        f=fit.f,
        df_between=float(fit.df_between),
        df_error=float(fit.df_error),
        p=fit.p,
        method=f"{GEORGES_2007}-{way}" if method == GEORGES_2007 else way,
        pairs=pairs,
        words=words,
        reason=fit.reason,
    )


def _ranked(collectors: Sequence[str], fit: Anova, lower_is_better: bool) -> list[str]:
    """Rank the collectors, best first. The order is meaningful only among collectors that share blocks."""
    effects = fit.effects if lower_is_better else -fit.effects
    return [collectors[place] for place in np.argsort(effects, kind="stable").tolist()]


def _share_of(mean: float) -> Callable[[float], float]:
    """Return a function from a difference to b to a ratio a/b, with b's mean taken as known."""
    return lambda difference: 1.0 + difference / mean
