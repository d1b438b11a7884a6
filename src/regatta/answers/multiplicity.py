"""Adjust for multiple comparisons: Holm over all, Dunnett among those with the same baseline."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from regatta.answers.blocks import fit_logs
from regatta.answers.pairs import Pair
from regatta.answers.samples import Series
from regatta.stats.dunnett import dunnett_many
from regatta.stats.estimate import Interval, safe_exp
from regatta.stats.intervals import why_no_logs
from regatta.stats.multiplicity import holm


@dataclass(frozen=True)
class Adjusted:
    """An adjusted comparison. `among`: number of comparisons with a p-value. NaN and None if nothing was adjusted."""

    p_holm: float = math.nan
    among: int = 0
    #: simultaneous interval of the ratio, over the alternatives of the same baseline
    simultaneous: Interval | None = None
    p_simultaneous: float = math.nan


def adjusted(pairs: Sequence[Pair], p: Sequence[float], level: float) -> list[Adjusted]:
    """Adjust the comparisons of an answer.

    Args:
        pairs: all comparisons with a baseline on the cells' own metric.
        p: unadjusted p-values, NaN if undefined.
        level: simultaneous confidence of the intervals of one baseline, between 0 and 1.

    Returns:
        For each comparison Holm's p over the whole set. Dunnett's interval and p if at least two alternatives of a host,
        benchmark and heap share the baseline.
    """
    among = sum(not math.isnan(one) for one in p)
    together = _dunnett(pairs, level)
    return [
        Adjusted(float(p_holm), among, *together.get(place, (None, math.nan)))
        for place, p_holm in enumerate(holm(p))
    ]


def _dunnett(pairs: Sequence[Pair], level: float) -> dict[int, tuple[Interval, float]]:
    """Return pair index -> simultaneous ratio and p."""
    groups: dict[tuple[int, str], list[int]] = {}
    for place, pair in enumerate(pairs):
        if pair.a is not None and pair.b is not None and pair.a.samples and pair.b.samples:
            groups.setdefault((pair.base.number, f"{pair.b.unit} {pair.b.parameters_text}"), []).append(place)
    # A single alternative needs no adjustment.
    columns = [(places, _columns(pairs, places)) for places in groups.values() if len(places) >= 2]
    usable = [(places, series) for places, series in columns if series]
    fits = fit_logs([series for _, series in usable])
    found: dict[int, tuple[Interval, float]] = {}
    for (places, _), differences in zip(usable, dunnett_many(fits, 0, level), strict=True):
        for one in differences:
            found[places[one.first - 1]] = (one.difference.mapped(safe_exp), one.p)
    return found


def _columns(pairs: Sequence[Pair], places: Sequence[int]) -> list[Series]:
    """Return the baseline and its alternatives; empty if one of them has no logarithms."""
    series = [pairs[places[0]].b, *(pairs[place].a for place in places)]
    present = [one for one in series if one is not None]
    return [] if any(why_no_logs(one.values) for one in present) else present
