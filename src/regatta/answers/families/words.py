"""What a family of collectors shows, in words: who leads, by how much, or who cannot be told from whom."""

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

#: how pairs by the paper's way are marked
GEORGES_TUKEY = f"{GEORGES_2007}-{TUKEY}"


def winner(pairs: Sequence[TukeyPair], names: Sequence[str], better: Better) -> str:
    """The one that is shown to be better than every other with values; "" when none is.

    Where no chain of blocks ties some to the others, there is none for all; a single one that nothing ties is passed over.
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
    """Sets of at least two that can be compared with each other, each in the order of `ranked`."""
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
    """Where a family was measured and how often, in words. `on`: the host, or "" where the sentence says it elsewhere."""

    cell: PlannedCell
    unit: str
    place: str
    many: str
    on: str


def family_words(ranked: Sequence[str], pairs: Sequence[TukeyPair], told: Told) -> str:
    """Who leads, by how much over the second, or who cannot be told from whom.

    Args:
        ranked: the collectors with values, the best first.
        pairs: among them; NaN where nothing ties the two.
        told: where it was.
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
    """The same of collectors that are tied by common blocks, the best first."""
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
    """The ratio a/b with its simultaneous interval, whichever way round the pair is kept."""
    for pair in pairs:
        if (pair.a_name, pair.b_name) == (a, b):
            return pair.ratio
        if (pair.a_name, pair.b_name) == (b, a):
            return _turned(pair.ratio)
    raise LookupError(f"no pair of {a} and {b}")


def _turned(ratio: Interval) -> Interval:
    """b/a for a/b. By the paper's way it is a difference that is turned, and then a share of a's mean instead of b's."""
    if ratio.method == GEORGES_TUKEY:
        ends = ratio.high, ratio.low
        low, high = (1.0 - (end - 1.0) / ratio.point if ratio.point > 0.0 else math.nan for end in ends)
    else:
        low, high = _inverse(ratio.high), _inverse(ratio.low)
    return replace(ratio, point=_inverse(ratio.point), low=low, high=high)


def _inverse(value: float) -> float:
    return math.inf if value <= 0.0 else 1.0 / value
