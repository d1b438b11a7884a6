"""What many comparisons at once do to each: Holm over all, Dunnett among those that share a baseline."""

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
    """One comparison among many. `among`: how many have a p value at all. NaN and None where nothing was adjusted."""

    p_holm: float = math.nan
    among: int = 0
    #: the ratio with an interval that holds together with those of its siblings
    simultaneous: Interval | None = None
    p_simultaneous: float = math.nan


def adjusted(pairs: Sequence[Pair], p: Sequence[float], level: float) -> list[Adjusted]:
    """Adjust the comparisons of an answer.

    Args:
        pairs: all comparisons with a baseline on the cells' own metric: the headline set.
        p: of each by itself, NaN where it is undefined.
        level: confidence that the simultaneous intervals of one baseline hold together, between 0 and 1.

    Returns:
        For each comparison Holm's p over the whole set; Dunnett's interval and p where at least two alternatives of a host,
        benchmark and heap are compared with one baseline.
    """
    among = sum(not math.isnan(one) for one in p)
    together = _dunnett(pairs, level)
    return [
        Adjusted(float(p_holm), among, *together.get(place, (None, math.nan)))
        for place, p_holm in enumerate(holm(p))
    ]


def _dunnett(pairs: Sequence[Pair], level: float) -> dict[int, tuple[Interval, float]]:
    """Place of a pair -> its simultaneous ratio and p."""
    groups: dict[tuple[int, str], list[int]] = {}
    for place, pair in enumerate(pairs):
        if pair.a is not None and pair.b is not None and pair.a.samples and pair.b.samples:
            groups.setdefault((pair.base.number, f"{pair.b.unit} {pair.b.parameters_text}"), []).append(place)
    # One alternative alone has nothing to be adjusted for.
    columns = [(places, _columns(pairs, places)) for places in groups.values() if len(places) >= 2]
    usable = [(places, series) for places, series in columns if series]
    fits = fit_logs([series for _, series in usable])
    found: dict[int, tuple[Interval, float]] = {}
    for (places, _), differences in zip(usable, dunnett_many(fits, 0, level), strict=True):
        for one in differences:
            found[places[one.first - 1]] = (one.difference.mapped(safe_exp), one.p)
    return found


def _columns(pairs: Sequence[Pair], places: Sequence[int]) -> list[Series]:
    """The baseline and its alternatives; nothing where one has no logarithms."""
    series = [pairs[places[0]].b, *(pairs[place].a for place in places)]
    present = [one for one in series if one is not None]
    return [] if any(why_no_logs(one.values) for one in present) else present
