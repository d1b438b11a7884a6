"""Compare every cell with its baseline: ratio paired by block if blocks are shared, else Welch's."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from regatta.answers.spine.methods import method_name
from regatta.answers.spine.multiplicity import Adjusted
from regatta.answers.spine.names import Names, full_names, short_names
from regatta.answers.spine.pairs import Pair
from regatta.answers.spine.result import Comparison
from regatta.answers.spine.samples import Series
from regatta.answers.spine.stops import Stops
from regatta.answers.spine.verdicts import Verdict, Verdicts, judge, shows_difference
from regatta.answers.spine.words import compared, counted, no_difference, sample_words, too_small
from regatta.figures.text import show_ci, show_ratio
from regatta.host.units import is_counted
from regatta.stats.estimate import Contrast, undefined
from regatta.stats.looks import adjusted_for_looks, level_of_looks
from regatta.stats.ratios import PAIRED, WELCH, georges_ratio, paired_log_ratios, welch_log_ratio
from regatta.stats.stein import STEIN, stein_log_ratio

#: a spread needs at least this many pairs
_LEAST_PAIRS = 2


@dataclass(frozen=True)
class PairContrast:
    """A ratio; why it is unpaired ("" if it is paired, or nothing can be paired); number of values left out of the pairs."""

    contrast: Contrast
    why_apart: str = ""
    left_out: int = 0


def compare_pairs(
    pairs: Sequence[Pair],
    found: Sequence[PairContrast],
    names: Names,
    theta_percent: float = 1.0,
    extra: Sequence[Adjusted] | None = None,
    verdicts: Verdicts | None = None,
) -> tuple[list[Comparison], list[str]]:
    """Compare every alternative with its baseline.

    Args:
        found: the ratio of each, from `contrasts_of` or `contrasts_by_the_paper`.
        extra: the adjustment of each, from `adjusted`; None: not adjusted.
        verdicts: on pairs of series that the answer judges elsewhere, too; these verdicts count.

    Returns:
        One comparison per pair, in the same order, and warnings about comparisons that are weaker than they look.
    """
    adjustments = [Adjusted()] * len(pairs) if extra is None else extra
    comparisons = []
    for pair, one, more in zip(pairs, found, adjustments, strict=True):
        own = judge(one.contrast.interval, theta_percent, more.p_holm)
        known = Verdict() if verdicts is None or pair.keys is None else verdicts.of(*pair.keys)
        verdict = known if known.significant else own
        comparisons.append(_comparison(pair, one.contrast, more, verdict, theta_percent, names))
    apart = Counter(one.why_apart for one in found if one.why_apart)
    partial = sum(one.left_out > 0 for one in found)
    warnings = [
        f"{counted(count, 'comparison')} unpaired ({method_name(WELCH)}): {why}"
        for why, count in sorted(apart.items())
    ]
    if partial:
        warnings.append(
            f"{counted(partial, 'comparison')} without the invocations that have no partner in their block ({method_name(PAIRED)})"
        )
    return comparisons, warnings


def contrasts_of(pairs: Sequence[Pair], level: float, stops: Stops) -> list[PairContrast]:
    """Return the ratio of every pair, on logarithms; pairs with equally many common blocks are computed together.

    Args:
        level: confidence of each single interval, between 0 and 1.
        stops: whose rules chose the number of rounds.
    """
    nominal = level_of_looks(level, stops.looks)

    def looked_at(contrast: Contrast) -> Contrast:
        return adjusted_for_looks(contrast, level, stops.looks)

    found: dict[int, PairContrast] = {}
    by_size: dict[int, list[tuple[int, list[float], list[float], int, bool]]] = {}
    for place, pair in enumerate(pairs):
        a, b = pair.a, pair.b
        lacking = _lacking(pair, level)
        if lacking is not None or a is None or b is None:
            found[place] = PairContrast(lacking or _no_values("a side", level))
            continue
        common = pair.common
        if len(common) < _LEAST_PAIRS and a.at_once:
            found[place] = PairContrast(
                _only_pairs(len(common), level, f"fewer than {_LEAST_PAIRS} valid pairs")
            )
            continue
        if len(common) < _LEAST_PAIRS:
            unpaired = welch_log_ratio(a.values, b.values, nominal, is_counted(a.unit))
            found[place] = PairContrast(looked_at(unpaired), _why_apart(a, b))
            continue
        counts = is_counted(a.unit)
        left_out = a.count + b.count - 2 * len(common)
        pilot = stops.pilot_pairs(pair)
        if pilot is not None:
            common = sorted(common, key=lambda key: key[1])
        x, y = ([side.by_block[key] for key in common] for side in (a, b))
        if pilot is not None:
            found[place] = PairContrast(stein_log_ratio(x, y, pilot, level, counts), "", left_out)
            continue
        by_size.setdefault(len(common), []).append((place, x, y, left_out, counts))
    for rows in by_size.values():
        contrasts = paired_log_ratios(
            np.array([x for _, x, _, _, _ in rows]),
            np.array([y for _, _, y, _, _ in rows]),
            nominal,
            [counts for _, _, _, _, counts in rows],
        )
        for (place, _, _, left_out, _), contrast in zip(rows, contrasts, strict=True):
            found[place] = PairContrast(looked_at(contrast), "", left_out)
    return [found[place] for place in range(len(pairs))]


def with_disturbed(
    pairs: Sequence[Pair], found: Sequence[PairContrast], level: float, by_the_paper: bool = False
) -> list[PairContrast]:
    """Replace ratios that are undefined for lack of undisturbed values by those of all values, marked and without p.

    Args:
        level: confidence of each single interval, between 0 and 1.
        by_the_paper: whether `found` is from `contrasts_by_the_paper`.
    """
    return [
        _disturbed(pair, level, by_the_paper)
        if math.isnan(one.contrast.interval.low) and pair.disturbed
        else one
        for pair, one in zip(pairs, found, strict=True)
    ]


def _disturbed(pair: Pair, level: float, by_the_paper: bool) -> PairContrast:
    a, b = (side.with_perturbed if side and side.disturbed else side for side in (pair.a, pair.b))
    every = [replace(pair, a=a, b=b)]
    ways = contrasts_by_the_paper(every, level) if by_the_paper else contrasts_of(every, level, Stops())
    contrast = ways[0].contrast
    return replace(ways[0], contrast=replace(contrast, interval=contrast.interval.disturbed(), p=math.nan))


def contrasts_by_the_paper(pairs: Sequence[Pair], level: float) -> list[PairContrast]:
    """Compare every pair as Georges et al. do: unpaired difference of the means, shown relative to the baseline's mean."""
    return [_by_the_paper(pair, level) for pair in pairs]


def _by_the_paper(pair: Pair, level: float) -> PairContrast:
    lacking = _lacking(pair, level)
    if lacking is not None or pair.a is None or pair.b is None:
        return PairContrast(lacking or _no_values("a side", level))
    if pair.a.at_once:
        why = "invocations of `order: duet` have no means of their own"
        return PairContrast(_only_pairs(0, level, why))
    return PairContrast(georges_ratio(pair.a.values, pair.b.values, level, is_counted(pair.a.unit)))


def _lacking(pair: Pair, level: float) -> Contrast | None:
    if pair.a is None or not pair.a.count:
        return _no_values("the alternative", level)
    if pair.b is None or not pair.b.count:
        return _no_values("the baseline", level)
    return None


def _no_values(side: str, level: float) -> Contrast:
    return Contrast(undefined(0, level, PAIRED, f"{side} has no valid invocation"), math.nan)


def _only_pairs(n: int, level: float, why: str) -> Contrast:
    return Contrast(undefined(n, level, PAIRED, why), math.nan)


def _why_apart(a: Series, b: Series) -> str:
    if not a.by_block and not b.by_block:
        return "measured back to back"
    if not {key[0] for key in a.by_block} & {key[0] for key in b.by_block}:
        return "measured under different plans"
    return "fewer than 2 common blocks"


def _comparison(
    pair: Pair, contrast: Contrast, more: Adjusted, verdict: Verdict, theta_percent: float, names: Names
) -> Comparison:
    cell, base, series = pair.cell, pair.base, pair.series
    parameters = series.parameters if series else {}
    ratio = contrast.interval
    a_name, b_name, differ = short_names(cell, base)
    sample = sample_words(
        ratio.n, "block" if ratio.method.partition(", ")[0] in (PAIRED, STEIN) else "invocation"
    )
    if math.isnan(ratio.low):
        words = f"{a_name} and {b_name} not compared ({ratio.reason})"
    elif ratio.is_disturbed:
        words = f"{a_name} / {b_name} = {show_ratio(ratio.point)} {show_ci(ratio)}, disturbed: no conclusion {sample}"
    elif shows_difference(ratio):
        unit = series.unit if series else ""
        words = f"{compared(a_name, b_name, ratio, cell.metric, unit, cell.better)} {sample}"
        if more.p_holm > 1.0 - ratio.level:
            words += f"; not significant after adjustment for {counted(more.among, 'comparison')} (Holm)"
        elif verdict.significant == "no":
            words += "; not significant after adjustment for all pairs of alternatives"
        if verdict.practical == "no":
            words += f"; {too_small(theta_percent)}"
    else:
        words = f"{no_difference(a_name, b_name, ratio)} {sample}"
    a_full, b_full = full_names(cell, base)
    return Comparison(
        a=cell.cell_id,
        b=base.cell_id,
        a_name=a_full,
        b_name=b_full,
        place=cell.place,
        metric=cell.metric,
        parameters=parameters,
        ratio=ratio,
        p=contrast.p,
        words=f"{names.where(cell, parameters, differ)}: {words}",
        p_holm=more.p_holm,
        simultaneous=more.simultaneous,
        p_simultaneous=more.p_simultaneous,
        verdict=verdict,
        factors=tuple(sorted(differ)),
    )
