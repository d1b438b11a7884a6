"""What a family of collectors shows, in words: who leads, by how much, or who cannot be told from whom."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from regatta.analysis.methods import GEORGES_2007
from regatta.analysis.names import Names
from regatta.analysis.samples import Series
from regatta.analysis.words import bound_words, compared, difference, listed, shows_difference, superlative
from regatta.model.answer import Estimate, TukeyPair
from regatta.model.experiment import Better
from regatta.stats.anova import Anova
from regatta.stats.tukey import TUKEY

#: how pairs by the paper's way are marked
GEORGES_TUKEY = f"{GEORGES_2007}-{TUKEY}"


def winner(pairs: Sequence[TukeyPair], names: Sequence[str], better: Better) -> str:
    """The one that is shown to be better than every other with values; "" when none is."""
    for name in names:
        ratios = [
            _ratio(pairs, name, other)
            for other in names
            if any({p.a_name, p.b_name} == {name, other} for p in pairs)
        ]
        ratios = [ratio for ratio in ratios if not math.isnan(ratio.low)]
        if ratios and all(r.high < 1.0 if better == "lower" else r.low > 1.0 for r in ratios):
            return name
    return ""


def family_words(
    series: Sequence[Series], fit: Anova, pairs: Sequence[TukeyPair], place: str, many: str, names: Names
) -> str:
    """Who leads, by how much over the second, or who cannot be told from whom."""
    cell = series[0].cell
    ranked = [series[i].cell.collector for i in _ranking(fit, cell.better == "lower")]
    tied = {name for pair in pairs if not math.isnan(pair.ratio.low) for name in (pair.a_name, pair.b_name)}
    ranked, apart = [n for n in ranked if n in tied], [n for n in ranked if n not in tied]
    if apart:
        beside = f"{listed(apart)} cannot be compared with {'them' if len(ranked) > 1 else 'any'}: no block in common"
        rest = [one for one in series if one.cell.collector in tied]
        if len(rest) < 2:
            return f"the collectors cannot be told apart on {place}: {beside}"
        return f"{_told(rest, ranked, pairs, place, many, names)}; {beside}"
    return _told(series, ranked, pairs, place, many, names)


def _told(
    series: Sequence[Series],
    ranked: Sequence[str],
    pairs: Sequence[TukeyPair],
    place: str,
    many: str,
    names: Names,
) -> str:
    """The same of collectors that are tied by common blocks, the best first."""
    cell, unit = series[0].cell, series[0].unit
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
        compared(name, best, _ratio(pairs, name, best), cell.metric, unit, cell.better)
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
            return _turned(pair.ratio)
    raise LookupError(f"no pair of {a} and {b}")


def _turned(ratio: Estimate) -> Estimate:
    """b/a for a/b. By the paper's way it is a difference that is turned, and then a share of a's mean instead of b's."""
    if ratio.method == GEORGES_TUKEY:
        ends = ratio.high, ratio.low
        low, high = (1.0 - (end - 1.0) / ratio.point if ratio.point > 0.0 else math.nan for end in ends)
    else:
        low, high = _inverse(ratio.high), _inverse(ratio.low)
    return replace(ratio, point=_inverse(ratio.point), low=low, high=high)


def _inverse(value: float) -> float:
    return math.inf if value <= 0.0 else 1.0 / value
