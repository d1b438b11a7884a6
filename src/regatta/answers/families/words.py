"""Describe a family of collectors in words: the leader and its margin, or the collectors without significant differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from regatta.answers.methods import GEORGES_2007
from regatta.answers.parts import TukeyPair
from regatta.answers.samples import PlannedCell
from regatta.answers.words import bound_words, compared, difference, listed, shows_difference, superlative
from regatta.host.values.experiment import Better
from regatta.stats.estimate import Interval
from regatta.stats.tukey import TUKEY

#: label of pairs by the paper's method
GEORGES_TUKEY = f"{GEORGES_2007}-{TUKEY}"


def winner(pairs: Sequence[TukeyPair], names: Sequence[str], better: Better) -> str:
    """Return the alternative that is significantly better than every other one with values; "" if none is.

    If no chain of blocks connects some of them with the others, no alternative wins; a single unconnected one is ignored.
    """
    if len(tied_sets(pairs, names)) > 1:
        return ""
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


def tied_sets(pairs: Sequence[TukeyPair], ranked: Sequence[str]) -> list[list[str]]:
    """Return the sets of at least two that can be compared with each other, each in the order of `ranked`."""
    sets: list[set[str]] = []
    for pair in pairs:
        if math.isnan(pair.ratio.low):
            continue
        both = {pair.a_name, pair.b_name}
        touched = [own for own in sets if own & both]
        sets = [own for own in sets if not own & both] + [both.union(*touched)]
    ordered = [[name for name in ranked if name in own] for own in sets]
    return sorted((own for own in ordered if own), key=lambda own: ranked.index(own[0]))


@dataclass(frozen=True)
class Told:
    """Place and sample size of a family in words. `on`: the host, or "" if the sentence names it elsewhere."""

    cell: PlannedCell
    unit: str
    place: str
    many: str
    on: str


def family_words(ranked: Sequence[str], pairs: Sequence[TukeyPair], told: Told) -> str:
    """Name the leader and its margin over the second, or the collectors without significant differences.

    Args:
        ranked: the collectors with values, best first.
        pairs: pairs among them; NaN where no blocks connect the two.
        told: place and sample size in words.
    """
    sets = tied_sets(pairs, ranked)
    tied = {name for own in sets for name in own}
    apart = [name for name in ranked if name not in tied]
    if not sets:
        return f"the collectors cannot be told apart on {told.place}: {listed(apart)} cannot be compared with any: no block in common"
    words = "; ".join(_told(own, pairs, told) for own in sets)
    if len(sets) > 1:
        words += f"; no block ties {' or '.join(listed(own) for own in sets)} to the others"
    if apart:
        words += f"; {listed(apart)} cannot be compared with them: no block in common"
    return words


def _told(ranked: Sequence[str], pairs: Sequence[TukeyPair], told: Told) -> str:
    """Do the same for collectors that common blocks connect, best first."""
    cell, unit = told.cell, told.unit
    best, others = ranked[0], ranked[1:]
    ratios = {name: _ratio(pairs, best, name) for name in others}
    beside = [name for name in others if not shows_difference(ratios[name])]
    ending = f"{told.many}, on {told.on}" if told.on else told.many
    where = f"on {told.place}, {ending}"
    if not beside:
        lead = difference(others[0], ratios[others[0]], cell.metric, unit, cell.better)
        return f"{best} {superlative(cell.metric, unit, cell.better)} on {told.place}: {lead}, {ending}"
    leaders = [best, *beside]
    between = [_ratio(pairs, a, b) for i, a in enumerate(leaders) for b in leaders[i + 1 :]]
    alike = not any(shows_difference(ratio) for ratio in between)
    bound = bound_words(between if alike else [ratios[name] for name in beside])
    word = "between" if len(leaders) == 2 else "among"
    if len(leaders) == len(ranked) and alike:
        return f"no difference shown {word} {listed(leaders)} {where}; {bound}"
    told_of = f"{word} them" if alike else f"from {best}"
    behind = [
        compared(name, best, _ratio(pairs, name, best), cell.metric, unit, cell.better)
        for name in others
        if name not in beside
    ]
    return "; ".join([f"{listed(leaders)} lead {where}: no difference shown {told_of} ({bound})", *behind])


def _ratio(pairs: Sequence[TukeyPair], a: str, b: str) -> Interval:
    """Return the ratio a/b with its simultaneous interval, in whichever direction the pair is stored."""
    for pair in pairs:
        if (pair.a_name, pair.b_name) == (a, b):
            return pair.ratio
        if (pair.a_name, pair.b_name) == (b, a):
            return _turned(pair.ratio)
    raise LookupError(f"no pair of {a} and {b}")


def _turned(ratio: Interval) -> Interval:
    """Invert a ratio a/b. By the paper's method, invert the difference, which is then relative to a's mean."""
    if ratio.method == GEORGES_TUKEY:
        ends = ratio.high, ratio.low
        low, high = (1.0 - (end - 1.0) / ratio.point if ratio.point > 0.0 else math.nan for end in ends)
    else:
        low, high = _inverse(ratio.high), _inverse(ratio.low)
    return replace(ratio, point=_inverse(ratio.point), low=low, high=high)


def _inverse(value: float) -> float:
    return math.inf if value <= 0.0 else 1.0 / value
