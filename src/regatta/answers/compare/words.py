"""Describe a comparison of foreign measurements in sentences, without claims beyond the evidence."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from regatta.answers.compare.compute import ForeignAnswer
from regatta.answers.words import bound_words, compared, listed, shows_difference
from regatta.figures.text import show_percent
from regatta.stats.estimate import Interval
from regatta.stats.intervals import mean_interval

#: further significant pairs appear in the table only
_MOST = 10


def foreign_sentences(answer: ForeignAnswer) -> list[str]:
    """List the significant pairs, then the pairs without a significant difference, then the pairs that cannot be compared."""
    if len(answer.means) == 1:
        return [f"only one group ({next(iter(answer.means))}), so there is nothing to compare it with"]
    pairs, how = _pairs(answer)
    value = answer.table.value
    differ: list[str] = []
    alike: list[tuple[str, Interval | None, Interval]] = []
    unknown: dict[str, list[str]] = {}
    baselines = _baselines(answer)
    for a, b, interval in pairs:
        if math.isnan(interval.low):
            unknown.setdefault(interval.reason, []).append(f"{a} and {b}")
            continue
        share = _share(interval, baselines[a, b])
        if interval.low <= 0.0 <= interval.high:
            alike.append((f"{a} and {b}", share, interval))
        elif share is not None:
            differ.append(compared(a, b, share, value, "", "lower"))
        else:
            differ.append(_absolute(a, b, interval, value))
    sentences = [f"{sentence} ({how})" for sentence in differ[:_MOST]]
    if len(differ) > _MOST:
        sentences.append(f"{len(differ)} of {len(pairs)} pairs differ; the table has them all")
    if alike:
        sentences.append(f"no difference shown between {_between(alike)}; {_bound(alike, value)} ({how})")
    sentences += [
        f"{listed(who[:_MOST])}{' and others' if len(who) > _MOST else ''} cannot be compared: {reason}"
        for reason, who in unknown.items()
    ]
    return [
        sentence[0].upper() + sentence[1:] if sentence.startswith("no ") else sentence
        for sentence in sentences
    ]


def _pairs(answer: ForeignAnswer) -> tuple[list[tuple[str, str, Interval]], str]:
    """Return the pairs that answer the question, and their method."""
    names, level = answer.table.by.names, show_percent(answer.level)
    if len(names) == 2 and answer.factorial is None:
        # Two alternatives need no correction for multiple comparisons, and Tukey's interval would assume equal variances.
        pair = (answer.paired or answer.welch)[0]
        interval = pair.difference.interval
        blocks = f"paired in {interval.n} blocks, {level}"
        return [(pair.a, pair.b, interval)], blocks if answer.paired else f"Welch, {level}"
    found = [(names[p.first], names[p.second], p.difference) for p in answer.tukey]
    return found, f"Tukey, {level} for all pairs together"


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


def _between(alike: Sequence[tuple[str, Interval | None, Interval]]) -> str:
    who = [names for names, _, _ in alike]
    if len(who) > _MOST:
        return f"{len(who)} pairs (the table has them)"
    return who[0] if len(who) == 1 else ", nor between ".join(who)


def _bound(alike: Sequence[tuple[str, Interval | None, Interval]], value: str) -> str:
    shares = [share for _, share, _ in alike if share is not None]
    if len(shares) == len(alike):
        return bound_words(shares)
    largest = max(abs(edge) for _, _, interval in alike for edge in (interval.low, interval.high))
    return f"any is likely below {largest:.3g} in {value}"
