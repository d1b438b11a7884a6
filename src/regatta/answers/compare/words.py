"""Describe a comparison of foreign measurements in sentences, without claims beyond the evidence."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from regatta.answers.compare.compute import ForeignAnswer
from regatta.answers.verdicts import shows_difference
from regatta.answers.words import bound_words, compared
from regatta.figures.text import show_percent
from regatta.stats.estimate import Interval
from regatta.stats.intervals import mean_interval

#: further significant pairs appear in the table only
_MOST = 10


def foreign_sentences(answer: ForeignAnswer) -> list[str]:
    """List the significant pairs, then the pairs without a significant difference, then the pairs that cannot be compared."""
    if len(answer.means) == 1:
        return [f"Nothing to compare: only one group ({next(iter(answer.means))})"]
    pairs, how = _pairs(answer)
    value = answer.table.value
    differ: list[str] = []
    alike: list[tuple[str, Interval | None, Interval]] = []
    unknown: dict[str, list[str]] = {}
    baselines = _baselines(answer)
    for a, b, interval in pairs:
        if math.isnan(interval.low):
            unknown.setdefault(interval.reason, []).append(f"{a} / {b}")
            continue
        share = _share(interval, baselines[a, b])
        if interval.low <= 0.0 <= interval.high:
            alike.append((f"{a} / {b}", share, interval))
        elif share is not None:
            differ.append(compared(a, b, share, value, "", "lower"))
        else:
            differ.append(_absolute(a, b, interval, value))
    sentences = [f"{sentence} ({how})" for sentence in differ[:_MOST]]
    if len(differ) > _MOST:
        sentences.append(f"{len(differ)} of {len(pairs)} pairs differ significantly (all in the table)")
    if alike:
        who = _named([names for names, _, _ in alike])
        sentences.append(f"{who}: no significant difference, {_bound(alike, value)} ({how})")
    return sentences + [f"{_named(who)}: undefined ({reason})" for reason, who in unknown.items()]


def _named(pairs: Sequence[str]) -> str:
    return ", ".join(pairs) if len(pairs) <= _MOST else f"{len(pairs)} pairs"


def _pairs(answer: ForeignAnswer) -> tuple[list[tuple[str, str, Interval]], str]:
    """Return the pairs that answer the question, and their method."""
    names, level = answer.table.by.names, show_percent(answer.level)
    if len(names) == 2 and answer.factorial is None:
        # Two alternatives need no correction for multiple comparisons, and Tukey's interval would assume equal variances.
        pair = (answer.paired or answer.welch)[0]
        interval = pair.difference.interval
        blocks = f"paired, n = {interval.n} blocks, {level} CI"
        return [(pair.a, pair.b, interval)], blocks if answer.paired else f"Welch, {level} CI"
    found = [(names[p.first], names[p.second], p.difference) for p in answer.tukey]
    return found, f"Tukey, simultaneous {level} CI"


def _baselines(answer: ForeignAnswer) -> dict[tuple[str, str], float]:
    """Return b's mean for every a and b, over the values behind their difference.

    With blocks, these are the values of the blocks that contain both.

    NaN if no block contains both: a difference through a chain of other groups is not relative to a single level.
    """
    names = answer.table.by.names
    if answer.table.block is None:
        return {(a, b): answer.means[b].interval.point for a in names for b in names}
    blocks = answer.table.blocks()
    found = {}
    for i, a in enumerate(names):
        for j, b in enumerate(names):
            both = ~np.isnan(blocks[:, i]) & ~np.isnan(blocks[:, j])
            found[a, b] = mean_interval(blocks[both, j]).point
    return found


def _share(difference: Interval, baseline: float) -> Interval | None:
    """Return the difference relative to b's mean, plus 1; None if that mean is not positive."""
    if not baseline > 0.0:
        return None
    point, low, high = (1.0 + edge / baseline for edge in (difference.point, difference.low, difference.high))
    share = Interval(difference.n, point, low, high, difference.level, difference.method, "")
    return share if shows_difference(share) == (not difference.low <= 0.0 <= difference.high) else None


def _absolute(a: str, b: str, difference: Interval, value: str) -> str:
    word = "lower" if difference.point < 0.0 else "higher"
    edges = sorted(abs(edge) for edge in (difference.low, difference.high))
    return f"{a} has {abs(difference.point):.4g} [{edges[0]:.4g}, {edges[1]:.4g}] {word} {value} than {b}"


def _bound(alike: Sequence[tuple[str, Interval | None, Interval]], value: str) -> str:
    shares = [share for _, share, _ in alike if share is not None]
    if len(shares) == len(alike):
        return bound_words(shares)
    largest = max(abs(edge) for _, _, interval in alike for edge in (interval.low, interval.high))
    return f"likely at most {largest:.3g} {value}"
