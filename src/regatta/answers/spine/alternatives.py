"""Describe each alternative against the baseline over all its places in one sentence, and then the exceptions."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from regatta.answers.spine.context import Context
from regatta.answers.spine.groups import grouped
from regatta.answers.spine.names import Names, short_names
from regatta.answers.spine.pairs import Pair
from regatta.answers.spine.result import Comparison
from regatta.answers.spine.suite_means import suite_mean
from regatta.answers.spine.words import is_speed
from regatta.figures.text import show_ci, show_ratio
from regatta.stats.estimate import DISTURBED, Contrast

#: with fewer places, their own sentences are as short
LEAST_PLACES = 4
#: maximum number of places that an exception names
_NAMED = 3
_SAME, _UNDEFINED = "no significant difference", "not compared"


@dataclass(frozen=True)
class _At:
    """The comparison at one place."""

    pair: Pair
    contrast: Contrast
    comparison: Comparison


def against_baseline(context: Context, apart: Collection[str] = ()) -> list[str]:
    """Return one sentence per alternative, for baselines that the user chose and alternatives with at least 4 places.

    Each ends with the geometric mean of the ratios at these places, which all weigh the same.

    Args:
        context: of the experiment; only the cells' own metrics are described.
        apart: ids of cells that other sentences cover.
    """
    if not context.baseline:
        return []
    groups: dict[tuple[object, ...], list[_At]] = {}
    for pair, one, comparison in zip(context.pairs, context.ratios, context.comparisons, strict=True):
        a_name, b_name, _ = short_names(pair.cell, pair.base)
        if comparison.a not in apart:
            key = (pair.cell.place.host, comparison.metric, pair.cell.better, a_name, b_name)
            groups.setdefault(key, []).append(_At(pair, one.contrast, comparison))
    hosts, metrics = ({key[at] for key in groups} for at in (0, 1))
    return [
        _sentence(many, _which(many[0], len(hosts) > 1, len(metrics) > 1), context.names, context.facts.level)
        for many in groups.values()
        if len(many) >= LEAST_PLACES
    ]


def _which(one: _At, by_host: bool, by_metric: bool) -> str:
    """Return what distinguishes a sentence from those of other hosts and metrics, such as `, cpu on host alpha`."""
    metric = f", {one.comparison.metric}" if by_metric else ""
    return metric + (f"{' ' if metric else ', '}on host {one.pair.cell.place.host}" if by_host else "")


def _sentence(many: Sequence[_At], which: str, names: Names, level: float) -> str:
    by_outcome = grouped(many, _outcome)
    most = max(by_outcome, key=lambda outcome: len(by_outcome[outcome]))
    a_name, b_name, _ = short_names(many[0].pair.cell, many[0].pair.base)
    parts = [
        f"{a_name} against {b_name}{which}: {most} in {len(by_outcome[most])} of {len(many)} places"
        f"{_sizes(most, by_outcome[most])}"
    ]
    known = [(one.pair, one.contrast) for one in many if _is_known(one)]
    if len(known) >= LEAST_PLACES:
        mean = suite_mean(known, level).these
        over = "" if len(known) == len(many) else f" of {len(known)}"
        parts.append(f"geometric mean{over} {show_ratio(mean.point)} {show_ci(mean)}".rstrip())
    rest = {outcome: ones for outcome, ones in by_outcome.items() if outcome != most}
    return "; ".join([*parts, *_exceptions(rest, names)])


def _is_known(one: _At) -> bool:
    point = one.contrast.interval.point
    return math.isfinite(point) and point > 0.0


def _outcome(one: _At) -> str:
    ratio, cell = one.comparison.ratio, one.pair.cell
    if math.isnan(ratio.low):
        return _UNDEFINED
    if ratio.is_disturbed:
        return DISTURBED
    if one.comparison.verdict.significant != "yes":
        return _SAME
    unit = one.pair.series.unit if one.pair.series else ""
    if is_speed(unit, cell.better):
        return "faster" if (ratio.point < 1.0) == (cell.better == "lower") else "slower"
    return f"{'lower' if ratio.point < 1.0 else 'higher'} {cell.metric}"


def _sizes(outcome: str, many: Sequence[_At]) -> str:
    """Return `, by 4 to 22 %` for significant differences."""
    if outcome in (_SAME, _UNDEFINED, DISTURBED):
        return ""
    sizes = [abs(one.comparison.ratio.point - 1.0) * 100.0 for one in many]
    low, high = (f"{size:.2g}" if size < 99.5 else f"{size:.0f}" for size in (min(sizes), max(sizes)))
    return f", by {low} %" if low == high else f", by {low} to {high} %"


def _exceptions(by_outcome: Mapping[str, Sequence[_At]], names: Names) -> list[str]:
    found = []
    for outcome, many in by_outcome.items():
        where = [
            names.where(one.pair.cell, one.comparison.parameters, one.comparison.factors)
            for one in many[:_NAMED]
        ]
        more = [f"and {len(many) - _NAMED} more"] if len(many) > _NAMED else []
        found.append(f"{outcome} in {len(many)} ({'; '.join([*where, *more])})")
    return found
