"""Describe a family in words: the leader and its margin, or the alternatives without significant differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from regatta.answers.spine.parts import FamilyPair
from regatta.answers.spine.samples import PlannedCell
from regatta.answers.spine.words import bound_words, compared, counted, difference, listed, superlative
from regatta.host.values.experiment import Better
from regatta.host.values.levels import CROSSED, PARAMETERS, components
from regatta.stats.all_pairs import SIDAK
from regatta.stats.estimate import Interval
from regatta.stats.intervals import GEORGES_2007
from regatta.stats.ratios import WELCH
from regatta.stats.tukey import TUKEY

#: label of pairs by the paper's method
GEORGES_TUKEY = f"{GEORGES_2007}-{TUKEY}"
#: more unpaired pairs are counted
_NAMED = 3


def winner(pairs: Sequence[FamilyPair], names: Sequence[str], better: Better) -> str:
    """Return the alternative that is better than every other one with values; "" if none is.

    All its differences are significant, and none of them is known to be smaller than theta. If one with values cannot be
    compared with it (one value, or no variance), it does not win.
    """
    for name in names:
        own = [
            pair_of(pairs, name, other)
            for other in names
            if any({p.a_name, p.b_name} == {name, other} for p in pairs)
        ]
        if own and all(pair.verdict.matters and not _is_worse(pair.ratio, better) for pair in own):
            return name
    return ""


def leaders(ranked: Sequence[str], pairs: Sequence[FamilyPair]) -> list[str]:
    """Return the best of `ranked` (best first) and those that do not differ from it; empty without intervals.

    Those differ whose difference is significant, and not known to be smaller than theta.
    """
    known = [pair for pair in pairs if not math.isnan(pair.ratio.low)]
    judged = [name for name in ranked if any(name in (pair.a_name, pair.b_name) for pair in known)]
    alike = {
        name
        for pair in known
        if judged[0] in (pair.a_name, pair.b_name) and not pair.verdict.matters
        for name in (pair.a_name, pair.b_name)
    }
    return [name for name in judged if name == judged[0] or name in alike]


def unpaired_of(pairs: Sequence[FamilyPair]) -> list[FamilyPair]:
    """Return the pairs that were compared as independent samples."""
    return [
        pair
        for pair in pairs
        if pair.ratio.method.partition(", ")[0] == SIDAK[WELCH] and not math.isnan(pair.ratio.low)
    ]


def ranking(names: Sequence[str], pairs: Sequence[FamilyPair], better: Better) -> list[str]:
    """Return the alternatives by the mean logarithm of their ratios to the others, best first.

    The order is meaningful only among those that can be compared.
    """

    def standing(name: str) -> float:
        logs = [
            (1.0 if pair.a_name == name else -1.0) * math.log(pair.ratio.point)
            for pair in pairs
            if name in (pair.a_name, pair.b_name) and pair.ratio.point > 0.0
        ]
        if not logs:
            return math.inf
        mean = math.fsum(logs) / len(logs)
        return mean if better == "lower" else -mean

    return sorted(names, key=standing)


def tied_sets(pairs: Sequence[FamilyPair], ranked: Sequence[str]) -> list[list[str]]:
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


def plural(factor: str) -> str:
    """Return `collectors`, `runtimes`, `modifiers`, `heaps`, `values of threads`, `combinations of runtime and heap`."""
    if CROSSED in factor:
        return "combinations of " + listed([one.removeprefix(PARAMETERS) for one in components([factor])])
    if factor.startswith(PARAMETERS):
        return f"values of {factor[len(PARAMETERS) :]}"
    return factor if factor.endswith("s") else f"{factor}s"


@dataclass(frozen=True)
class Sampled:
    """Subject of a family. `sample`: its sample size in words, `(n = 10 blocks)`. `factor`: the compared factor."""

    cell: PlannedCell
    unit: str
    sample: str
    #: smaller differences are not practically significant
    theta_percent: float
    factor: str = "collector"


def family_words(ranked: Sequence[str], pairs: Sequence[FamilyPair], sampled: Sampled) -> str:
    """Name the leader and its margin over the second, or the alternatives without significant differences.

    Args:
        ranked: the alternatives with values, best first.
        pairs: pairs among them; NaN where the two cannot be compared.
        sampled: metric and sample size.
    """
    sets = tied_sets(pairs, ranked)
    tied = {name for own in sets for name in own}
    apart = [name for name in ranked if name not in tied]
    if not sets:
        return f"{plural(sampled.factor)} not compared ({_why_not(pairs)})"
    if len(sets) == 1 and not apart:
        words = _connected(sets[0], pairs, sampled)
    else:
        words = "; ".join(f"among {listed(own)}, {_connected(own, pairs, sampled)}" for own in sets)
    if len(sets) > 1:
        words += f"; these sets are not compared ({_why_not(_between(sets, pairs))})"
    if apart:
        alone = [pair for pair in pairs if {pair.a_name, pair.b_name} & set(apart)]
        words += f"; not compared ({_why_not(alone)}): {listed(apart)}"
    unpaired = unpaired_of(pairs)
    if len(unpaired) < sum(not math.isnan(pair.ratio.low) for pair in pairs):
        words += _unpaired(unpaired)
    return words


def _between(sets: Sequence[Sequence[str]], pairs: Sequence[FamilyPair]) -> list[FamilyPair]:
    """Return the pairs of alternatives of two sets."""
    of = {name: number for number, own in enumerate(sets) for name in own}
    return [p for p in pairs if p.a_name in of and p.b_name in of and of[p.a_name] != of[p.b_name]]


def _why_not(pairs: Sequence[FamilyPair]) -> str:
    """Return why pairs are undefined."""
    reasons = dict.fromkeys(pair.ratio.reason for pair in pairs if pair.ratio.reason)
    return " or ".join(reasons) or "no common blocks"


def _unpaired(pairs: Sequence[FamilyPair]) -> str:
    """Return `; unpaired (no common blocks): z / g1`, if only some pairs are."""
    if not pairs:
        return ""
    names = [f"{pair.a_name} / {pair.b_name}" for pair in pairs]
    many = listed(names) if len(names) <= _NAMED else counted(len(names), "pair")
    return f"; unpaired (fewer than 2 common blocks): {many}"


def _connected(ranked: Sequence[str], pairs: Sequence[FamilyPair], sampled: Sampled) -> str:
    """Do the same for alternatives that can be compared, best first."""
    cell, unit = sampled.cell, sampled.unit
    best, others = ranked[0], ranked[1:]
    with_best = {name: pair_of(pairs, best, name) for name in others}

    def behind_best(name: str) -> str:
        return compared(name, best, pair_of(pairs, name, best).ratio, cell.metric, unit, cell.better)

    ahead = [
        name
        for name, pair in with_best.items()
        if pair.verdict.matters and _is_worse(pair.ratio, cell.better)
    ]
    if ahead:
        # Pairs that have other blocks can contradict each other.
        found = "; ".join(behind_best(name) for name in ahead)
        return f"no common order, because pairs have different blocks: {found} {sampled.sample}"
    beside = [name for name, pair in with_best.items() if not pair.verdict.matters]
    if not beside:
        margin = difference(others[0], with_best[others[0]].ratio, cell.metric, unit, cell.better)
        return f"{best} {superlative(cell.metric, unit, cell.better)}, {margin} {sampled.sample}"
    leaders = [best, *beside]
    between = [pair_of(pairs, a, b) for i, a in enumerate(leaders) for b in leaders[i + 1 :]]
    alike = not any(pair.verdict.matters for pair in between)
    bound = bound_words([pair.ratio for pair in (between if alike else (with_best[n] for n in beside))])
    behind = [behind_best(name) for name in others if name not in beside]
    kind = _kind_of_difference(between if alike else [with_best[n] for n in beside], sampled.theta_percent)
    if not alike:
        leading = f"{listed(leaders)} lead (no {kind} from {best}; {bound})"
    elif behind:
        leading = f"{listed(leaders)} lead, with no {kind} between them ({bound})"
    else:
        leading = f"no {kind} between {listed(leaders)} ({bound})"
    return f"{'; '.join([leading, *behind])} {sampled.sample}"


def _kind_of_difference(pairs: Sequence[FamilyPair], theta_percent: float) -> str:
    """Return which kind of difference none of these pairs has."""
    if not any(pair.verdict.significant == "yes" for pair in pairs):
        return "significant difference"
    if all(pair.verdict.practical == "no" for pair in pairs):
        return "practically significant difference"
    return f"significant difference beyond ±{theta_percent:g} %"


def _is_worse(ratio: Interval, better: Better) -> bool:
    """Return whether an alternative with this ratio to another is worse."""
    return ratio.point > 1.0 if better == "lower" else ratio.point < 1.0


def pair_of(pairs: Sequence[FamilyPair], a: str, b: str) -> FamilyPair:
    """Return the pair a/b, in whichever direction it is stored."""
    for pair in pairs:
        if (pair.a_name, pair.b_name) == (a, b):
            return pair
        if (pair.a_name, pair.b_name) == (b, a):
            return FamilyPair(a, b, _turned(pair.ratio), pair.p, pair.verdict)
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
