"""Several ratios together: simultaneous intervals that do not assume equal variances, of all pairs or of one baseline."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from regatta.stats.estimate import Contrast, Floats, Interval, check_level, safe_exp
from regatta.stats.hosts import FIXED_HOSTS, SIDAK_HOSTS
from regatta.stats.looks import adjusted_for_looks, level_of_looks, quantile_over_looks
from regatta.stats.multiplicity import sidak_level, sidak_p
from regatta.stats.ratios import PAIRED, WELCH, paired_log_ratios, welch_log_ratio
from regatta.stats.stein import STEIN
from regatta.stats.suite_mean import THESE

#: labels of simultaneous intervals, by the label of the single interval
SIDAK = {
    PAIRED: "sidak-paired-log-t",
    WELCH: "sidak-welch-log",
    STEIN: "sidak-stein-paired-log-t",
    FIXED_HOSTS: SIDAK_HOSTS,
    THESE: "sidak-geometric-mean-these",
}

#: a spread of differences needs at least this many
_LEAST_BLOCKS = 2


@dataclass(frozen=True)
class PairRatio:
    """Alternatives `first` and `second` (columns), and the ratio first/second, simultaneous for all pairs."""

    first: int
    second: int
    ratio: Interval
    p: float


def paired_pairs(
    tables: Sequence[Floats],
    level: float = 0.95,
    samples: Sequence[Sequence[Floats]] | None = None,
    counted: Sequence[bool] | None = None,
    looks: int = 0,
) -> list[tuple[PairRatio, ...]]:
    """Return the ratios of all pairs of the alternatives of each family, from blocks.

    Args:
        tables: each of shape (blocks, k >= 2), > 0: one value per block and alternative, NaN for a missing value.
        level: simultaneous confidence of the intervals of a family, between 0 and 1.
        samples: of each family, all values of each alternative, > 0, for pairs without common blocks; None: there are no others.
        counted: of each family, whether its values are exact counts (`paired_log_ratios`); None: no family has counts.
        looks: as in `Contrast`.

    Returns:
        For each family the m = k (k - 1) / 2 pairs (i < j), in the order (0, 1), (0, 2) ...: Student's t on the differences of
        the logarithms in the blocks that have both, at the confidence level^(1/m) (Sidak), and 1 - (1 - p)^m. Each pair has
        its own variance, so that the error of the family holds where the alternatives are not equally noisy. A pair with
        fewer than two common blocks is compared by Welch's t on the logarithms of its samples, at the same confidence, and
        labelled so; without samples it is NaN with a reason.

    Raises:
        ValueError: `level` is not between 0 and 1.

    Source: Sidak, Journal of the American Statistical Association 62 (1967): the product bound holds for any correlation of
    the differences. With variances estimated separately for each pair it is not proven, but was conservative in every
    simulation (`docs/methodology.md`).
    """
    check_level(level)
    exact = [False] * len(tables) if counted is None else counted
    shapes: dict[tuple[int, int], list[tuple[int, int, int, Floats, Floats]]] = {}
    found: list[dict[tuple[int, int], PairRatio]] = [{} for _ in tables]
    for family, table in enumerate(tables):
        alternatives = table.shape[1]
        for i, j in combinations(range(alternatives), 2):
            both = ~np.isnan(table[:, i]) & ~np.isnan(table[:, j])
            if samples is not None and both.sum() < _LEAST_BLOCKS:
                m = math.comb(alternatives, 2)
                found[family][i, j] = _apart(i, j, samples[family], level, m, exact[family], looks)
                continue
            same = shapes.setdefault((int(both.sum()), math.comb(alternatives, 2)), [])
            same.append((family, i, j, table[both, i], table[both, j]))
    for (_, m), rows in shapes.items():
        a, b = (np.stack([row[side] for row in rows]) for side in (3, 4))
        counts = [exact[row[0]] for row in rows]
        contrasts = paired_log_ratios(a, b, level_of_looks(sidak_level(level, m), looks), counts)
        for (family, i, j, _, _), contrast in zip(rows, contrasts, strict=True):
            found[family][i, j] = _simultaneous(i, j, contrast, level, m, looks)
    return [tuple(own[pair] for pair in sorted(own)) for own in found]


def welch_pairs(
    groups: Sequence[Floats], level: float = 0.95, counted: bool = False, looks: int = 0
) -> tuple[PairRatio, ...]:
    """Return the ratios of all pairs of independent samples: as `paired_pairs`, with Welch's t on logarithms.

    Args:
        groups: at least two samples, each of shape (n_i,), > 0.
        level: simultaneous confidence of all intervals, between 0 and 1.
        counted: whether the values are exact counts (`welch_log_ratio`).
        looks: as in `Contrast`.

    Raises:
        ValueError: `level` is not between 0 and 1.

    Source: Tamhane, Journal of the American Statistical Association 74 (1979), procedure T2.
    """
    check_level(level)
    pairs = list(combinations(range(len(groups)), 2))
    return tuple(_apart(i, j, groups, level, len(pairs), counted, looks) for i, j in pairs)


def sidak_method(method: str) -> str:
    """Return the label of a simultaneous interval, by the label of the single interval; a remark after a comma is kept."""
    base, comma, remark = method.partition(", ")
    return f"{SIDAK[base]}{comma}{remark}"


def _apart(
    i: int, j: int, groups: Sequence[Floats], level: float, m: int, counted: bool, looks: int
) -> PairRatio:
    contrast = welch_log_ratio(groups[i], groups[j], level_of_looks(sidak_level(level, m), looks), counted)
    return _simultaneous(i, j, contrast, level, m, looks)


def simultaneous(ratio: Contrast, m: int) -> Contrast:
    """Return one of m >= 1 ratios with a simultaneous interval, from its own interval.

    Args:
        ratio: t interval on logarithms of a ratio, with its degrees of freedom; its method is a key of `SIDAK`,
            possibly with a remark.
        m: number of ratios, such as those of all alternatives to one baseline.

    Returns:
        The ratio at the confidence level^(1/m) (Sidak), labelled with `level`, and 1 - (1 - p)^m. Each ratio keeps its own
        variance and degrees of freedom. NaN stays NaN, with its reason.

    Source: as `paired_pairs`.
    """
    own = ratio.interval
    interval = replace(own, method=sidak_method(own.method))
    if not math.isnan(own.low) and not own.is_exact:
        wider = quantile_over_looks(ratio.df, sidak_level(own.level, m), ratio.looks)
        wider /= quantile_over_looks(ratio.df, own.level, ratio.looks)
        low, point, high = (
            math.log(edge) if edge > 0.0 else -math.inf for edge in (own.low, own.point, own.high)
        )
        interval = replace(
            interval,
            low=safe_exp(point - (point - low) * wider),
            high=safe_exp(point + (high - point) * wider),
        )
    return replace(ratio, interval=interval, p=sidak_p(ratio.p, m))


def _simultaneous(i: int, j: int, contrast: Contrast, level: float, m: int, looks: int) -> PairRatio:
    contrast = adjusted_for_looks(contrast, sidak_level(level, m), looks)
    ratio = replace(contrast.interval, level=level, method=sidak_method(contrast.interval.method))
    return PairRatio(i, j, ratio, sidak_p(contrast.p, m))
