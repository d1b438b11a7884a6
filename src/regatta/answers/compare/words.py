"""Describe a comparison of foreign measurements in sentences, without claims beyond the evidence."""

from __future__ import annotations

import math
from collections.abc import Sequence

from regatta.answers.compare.compute import ForeignAnswer, PairAnswer
from regatta.answers.spine.verdicts import shows_difference
from regatta.answers.spine.words import bound_words, compared
from regatta.figures.text import show_percent
from regatta.stats.estimate import Interval
from regatta.stats.intervals import GEORGES_2007

#: in place of a method and a level
EXACT = "counts without variance"
#: further significant pairs appear in the table only
_MOST = 10


def foreign_sentences(answer: ForeignAnswer) -> list[str]:
    """List the significant pairs, then the pairs without a significant difference, then the pairs that cannot be compared."""
    if len(answer.means) == 1:
        return [f"Nothing to compare: only one group ({next(iter(answer.means))})"]
    pairs, how = _pairs(answer)
    value = answer.table.value
    differ: list[str] = []
    equal: list[str] = []
    alike: list[tuple[str, Interval | None, Interval]] = []
    unknown: dict[str, list[str]] = {}
    for pair in pairs:
        a, b, interval = pair.a, pair.b, pair.difference.interval
        if math.isnan(interval.low):
            unknown.setdefault(interval.reason, []).append(f"{a} / {b}")
            continue
        ratio = None if math.isnan(pair.ratio.low) else pair.ratio
        if interval.is_exact and not interval.point:
            equal.append(f"{a} / {b}")
        elif not interval.low <= 0.0 <= interval.high if ratio is None else shows_difference(ratio):
            differ.append(f"{_difference(pair, value)} ({EXACT if interval.is_exact else how})")
        else:
            alike.append((f"{a} / {b}", ratio, interval))
    sentences = differ[:_MOST]
    if len(differ) > _MOST:
        sentences.append(f"{len(differ)} of {len(pairs)} pairs differ significantly (all in the table)")
    if equal:
        sentences.append(f"{_named(equal)}: exactly equal ({EXACT})")
    if alike:
        who = _named([names for names, _, _ in alike])
        sentences.append(f"{who}: no significant difference, {_bound(alike, value)} ({how})")
    return sentences + [f"{_named(who)}: undefined ({reason})" for reason, who in unknown.items()]


def _difference(pair: PairAnswer, value: str) -> str:
    if math.isnan(pair.ratio.low):
        return _absolute(pair.a, pair.b, pair.difference.interval, value)
    return compared(pair.a, pair.b, pair.ratio, value, "", "lower")


def _named(pairs: Sequence[str]) -> str:
    return ", ".join(pairs) if len(pairs) <= _MOST else f"{len(pairs)} pairs"


def _pairs(answer: ForeignAnswer) -> tuple[tuple[PairAnswer, ...], str]:
    """Return the pairs that answer the question, and their method."""
    table, level = answer.table, show_percent(answer.level)
    if len(table.by.names) == 2 and answer.factorial is None:
        # Two alternatives need no correction for multiple comparisons, and Tukey's interval would assume equal variances.
        if answer.paired:
            n = answer.paired[0].difference.interval.n
            return answer.paired, f"paired, n = {n} blocks, {level} CI"
        return answer.welch, f"Welch, {level} CI"
    return answer.simultaneous, f"{simultaneous_method(answer)}, simultaneous {level} CI"


def simultaneous_method(answer: ForeignAnswer) -> str:
    """Return the method of the simultaneous intervals in words: `paired`, `Welch within heap`, `Tukey`."""
    table = answer.table
    if answer.method == GEORGES_2007:
        return "Tukey"
    if table.block:
        return "paired"
    return f"Welch within {', '.join(one.column for one in table.factors)}" if table.factors else "Welch"


def _absolute(a: str, b: str, difference: Interval, value: str) -> str:
    word = "lower" if difference.point < 0.0 else "higher"
    if difference.is_exact:
        return f"{a} has exactly {abs(difference.point):.6g} {word} {value} than {b}"
    edges = sorted(abs(edge) for edge in (difference.low, difference.high))
    return f"{a} has {abs(difference.point):.4g} [{edges[0]:.4g}, {edges[1]:.4g}] {word} {value} than {b}"


def _bound(alike: Sequence[tuple[str, Interval | None, Interval]], value: str) -> str:
    shares = [share for _, share, _ in alike if share is not None]
    if len(shares) == len(alike):
        return bound_words(shares)
    largest = max(abs(edge) for _, _, interval in alike for edge in (interval.low, interval.high))
    return f"likely at most {largest:.3g} {value}"
