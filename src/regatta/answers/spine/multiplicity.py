"""Adjust for multiple comparisons: Holm over all, Sidak among those with the same baseline."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from regatta.answers.spine.pairs import Pair
from regatta.stats.all_pairs import simultaneous
from regatta.stats.estimate import Contrast, Interval
from regatta.stats.multiplicity import holm


@dataclass(frozen=True)
class Adjusted:
    """An adjusted comparison. `among`: number of comparisons with a p-value. NaN and None if nothing was adjusted."""

    p_holm: float = math.nan
    among: int = 0
    #: simultaneous interval of the ratio, over the alternatives of the same baseline
    simultaneous: Interval | None = None
    p_simultaneous: float = math.nan


def adjusted(
    pairs: Sequence[Pair], ratios: Sequence[Contrast], further: Sequence[float] = ()
) -> list[Adjusted]:
    """Adjust the comparisons of an answer.

    Args:
        pairs: all comparisons with a baseline on the cells' own metric.
        ratios: their ratios, unadjusted; p is NaN if undefined.
        further: p of the other comparisons of the answer with a baseline, those of platforms.

    Returns:
        For each comparison Holm's p over the whole set with `further`. A simultaneous interval and p if at least two alternatives of a host,
        benchmark and heap share the baseline. They do not assume that alternatives vary equally.
    """
    p = [*(one.p for one in ratios), *further]
    among = sum(not math.isnan(one) for one in p)
    together = _of_one_baseline(pairs, ratios)
    found = []
    for place, p_holm in enumerate(holm(p)[: len(pairs)]):
        own = together.get(place)
        of_baseline = (None, math.nan) if own is None else (own.interval, own.p)
        found.append(Adjusted(float(p_holm), among, *of_baseline))
    return found


def _of_one_baseline(pairs: Sequence[Pair], ratios: Sequence[Contrast]) -> dict[int, Contrast]:
    """Return pair index -> simultaneous ratio."""
    groups: dict[tuple[int, str], list[int]] = {}
    for place, pair in enumerate(pairs):
        if pair.a is not None and pair.b is not None and pair.a.samples and pair.b.samples:
            groups.setdefault((pair.base.number, f"{pair.b.unit} {pair.b.parameters_text}"), []).append(place)
    # A single alternative needs no adjustment.
    return {
        place: simultaneous(ratios[place], len(places))
        for places in groups.values()
        if len(places) >= 2
        for place in places
    }
