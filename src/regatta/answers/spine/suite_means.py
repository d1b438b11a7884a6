"""Average the ratios of two alternatives over the benchmarks of a suite."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from regatta.answers.spine.pairs import Pair
from regatta.answers.spine.rounds import FEW_ROUNDS, round_means
from regatta.host.values.benchmark_label import parts_of_label
from regatta.stats.all_pairs import sidak_method, simultaneous
from regatta.stats.estimate import Contrast, Interval
from regatta.stats.hosts import platform_difference
from regatta.stats.multiplicity import sidak_level, sidak_p
from regatta.stats.ratios import WELCH
from regatta.stats.suite_mean import SuiteRatio, Together, log_variance, suite_ratio, together

#: a suite has at least two benchmarks
LEAST_BENCHMARKS = 2

#: pairs of one alternative and one baseline, with their ratios on logarithms
Measured = list[tuple[Pair, Contrast]]


def suite_of(pair: Pair) -> str:
    """Return the suite of a pair's benchmark; "" without one."""
    return parts_of_label(pair.cell.place.benchmark).suite


def why_no_ratio(several: Sequence[tuple[Pair, Contrast]]) -> str:
    """Return why a benchmark has no unique ratio; "" if it has one."""
    if len(several) > 1:
        return f"{len(several)} settings, so the ratio is ambiguous"
    interval = several[0][1].interval
    if not (math.isfinite(interval.point) and interval.point > 0.0):
        return interval.reason or "the ratio is not a positive number"
    return ""


def suite_mean(measured: Measured, level: float) -> SuiteRatio:
    """Return the geometric mean of one ratio per benchmark.

    Args:
        measured: one for each benchmark, with a positive ratio.
        level: confidence of each interval, between 0 and 1.
    """
    logs = [math.log(contrast.interval.point) for _, contrast in measured]
    variances = [log_variance(contrast.interval, contrast.df, contrast.looks) for _, contrast in measured]
    dfs = [contrast.df for _, contrast in measured]
    exactly = [exact_point(contrast.interval) for _, contrast in measured]
    looks = _looks(measured)
    shared = None if looks else _unpaired(measured)
    return suite_ratio(logs, variances, dfs, level, shared, exactly, looks)


def simultaneous_mean(measured: Measured, level: float, m: int) -> Contrast:
    """Return the geometric mean over exactly these benchmarks, with an interval that is simultaneous for `m` such means.

    Args:
        measured, level: as in `suite_mean`.
        m: number of means that are compared together, at least 1.
    """
    if not _looks(measured):
        found = suite_mean(measured, level)
        df = found.df if math.isfinite(found.p) else math.nan
        return simultaneous(Contrast(found.these, found.p, df), m)
    found = suite_mean(measured, sidak_level(level, m))
    interval = replace(found.these, level=level, method=sidak_method(found.these.method))
    return Contrast(interval, sidak_p(found.p, m))


def _looks(measured: Measured) -> int:
    return max((contrast.looks for _, contrast in measured), default=0)


def exact_point(ratio: Interval) -> float:
    """Return a ratio if it is exact, else NaN."""
    return ratio.point if ratio.is_exact else math.nan


def _unpaired(measured: Measured) -> Together | None:
    """Combine the unpaired ratios: on each side, the benchmarks of a round share its conditions. None with fewer than two."""
    apart = [
        (place, pair.a, pair.b)
        for place, (pair, contrast) in enumerate(measured)
        if contrast.interval.method == WELCH and pair.a and pair.b
    ]
    if len(apart) < LEAST_BENCHMARKS:
        return None
    a, b = round_means([own for _, own, _ in apart]), round_means([own for _, _, own in apart])
    found = together([place for place, _, _ in apart], platform_difference([a], [b]).these)
    return replace(found, reason=FEW_ROUNDS) if min(a.size, b.size) < 2 else found
