"""Lower-bound overhead: the total cost of each alternative relative to the smallest cost without identifiable overhead.

The overhead of a collector cannot be measured against a program without a collector, because no such program exists. The total
cost of a collector minus its identifiable cost (its pauses) is an upper bound of the cost of the program alone. The smallest of
these bounds is the tightest: the distilled cost. A total relative to it has at least that overhead.

Source: Cai, Blackburn, Bond and Maas, Distilling the Real Cost of Production Garbage Collectors, ISPASS 2022.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regatta.stats.estimate import Floats, Interval, check_level, only_rounding, undefined
from regatta.stats.intervals import t_quantile

LOWER_BOUND = "lower-bound-overhead"
#: Fewer rounds are too few for a bootstrap.
LEAST_ROUNDS = 5
LEAST_RESAMPLES = 2000
#: Prefix of the reason for a bound below 1, which carries no information.
BELOW_ONE = "below 1, which is impossible for an overhead: "
#: The cheapest is chosen from all of these parts except one; its cost comes from that one.
_PARTS = 5


@dataclass(frozen=True)
class LowerBounds:
    """The result of `lower_bound_overheads`.

    `distilled`: the distilled cost in the unit of the totals. `cheapest`: column with the smallest mean cost; -1 if undefined.
    `overheads`: of each column, the ratio of its mean total to the distilled cost.
    """

    distilled: Interval
    cheapest: int
    overheads: tuple[Interval, ...]


@dataclass(frozen=True)
class _Distilled:
    #: Shape (n,): the cost of the column chosen as cheapest without this round; NaN if it has no value in this round.
    by_round: Floats
    mean: float
    #: Shape (resamples,): log of the smallest mean cost in each resample.
    resampled: Floats


def lower_bound_overheads(
    totals: ArrayLike,
    identifiable: ArrayLike,
    generator: np.random.Generator,
    level: float = 0.95,
    resamples: int = LEAST_RESAMPLES,
) -> LowerBounds:
    """Return lower bounds of the overhead of each alternative.

    Args:
        totals: shape (rounds, alternatives), > 0, one unit: total cost, one invocation per round; NaN if missing. An
            alternative is a collector at one heap size.
        identifiable: same shape and unit, >= 0 and below the total: the identifiable cost of the collector; NaN: unknown.
        generator: draws the resamples and the parts.
        level: confidence of each individual interval, between 0 and 1.
        resamples: number of resamples of rounds, at least 2,000.

    Returns:
        Distilled cost, min over alternatives of mean(total - identifiable), and for each alternative mean(total) relative to
        it. The smallest of several means is biased downwards, more so if many are nearly equal. So the cheapest is chosen from
        four fifths of the rounds and its cost is taken from the last fifth, in turn. The distilled cost is then at most
        slightly too high, and the bounds still hold. The interval is on logs, ± t(1 - α/2; n - 1) times the larger of two
        standard errors: the linear one of this ratio, and that of the ratio with the plain minimum over resampled rounds (a
        minimum per resample). In simulations with normal errors it covers 95 % if one alternative is clearly cheapest. It
        covers 88 to 93 % if 5 to 105 are exactly equal; percentile and BCa intervals then cover 1 to 76 %. A bound below 1
        carries no information, because overhead is never negative; it is kept, with a reason. NaN with a reason: no total, no
        known identifiable cost, fewer than 5 rounds, no spread.

    Raises:
        ValueError: shapes differ, `resamples` is too small, or `level` is not between 0 and 1.

    Source: see the module; for the bias of a selected minimum, and for selection and estimation on different parts: Hastie,
    Tibshirani and Friedman, The Elements of Statistical Learning, section 7.10.
    """
    check_level(level)
    total, known = np.asarray(totals, dtype=np.float64), np.asarray(identifiable, dtype=np.float64)
    if total.ndim != 2 or total.shape != known.shape:
        raise ValueError(
            f"totals and identifiable: expected one shape (rounds, alternatives) · got {total.shape}, {known.shape}"
        )
    if resamples < LEAST_RESAMPLES:
        raise ValueError(f"resamples: expected at least {LEAST_RESAMPLES} · got {resamples}")
    total = np.where(np.isfinite(total) & (total > 0.0), total, np.nan)
    cost = total - np.where(known >= 0.0, known, np.nan)
    counts = np.isfinite(total).sum(axis=0)
    weights = _resampled(len(total), resamples, generator)
    eligible = _eligible(cost)
    if not eligible.any():
        reason = _why_no_distilled(total, known)
        nothing = undefined(0, level, LOWER_BOUND, reason)
        return LowerBounds(nothing, -1, tuple(undefined(int(n), level, LOWER_BOUND, reason) for n in counts))
    columns = np.flatnonzero(eligible)
    distilled = _distil(cost[:, columns], weights, generator)
    cheapest = int(columns[int(np.argmin(_means(cost[:, columns])))])
    resampled = np.log(_weighted_means(weights, total)) - distilled.resampled[:, None]
    overheads = tuple(
        _explained(
            _overhead(total[:, column], distilled, resampled[:, column], level), bool(eligible[column])
        )
        for column in range(total.shape[1])
    )
    return LowerBounds(_distilled_interval(distilled, level), cheapest, overheads)


def _eligible(cost: Floats) -> NDArray[np.bool_]:
    """Return the columns that can be the cheapest. The mean of a few values is too often the smallest by chance."""
    counts = np.isfinite(cost).sum(axis=0)
    mean = _means(cost)
    least = min(LEAST_ROUNDS, int(counts.max(initial=0)))
    eligible: NDArray[np.bool_] = (counts > 0) & (counts >= least) & (np.nan_to_num(mean, nan=-1.0) > 0.0)
    return eligible


def _means(table: Floats) -> Floats:
    present = np.isfinite(table)
    counts = present.sum(axis=0)
    sums = np.where(present, table, 0.0).sum(axis=0)
    result: Floats = np.divide(sums, counts, out=np.full(table.shape[1], np.nan), where=counts > 0)
    return result


def _resampled(n: int, resamples: int, generator: np.random.Generator) -> Floats:
    """Return shape (resamples, n): how often each round is drawn."""
    if n == 0:
        return np.zeros((resamples, 0))
    return generator.multinomial(n, np.full(n, 1.0 / n), size=resamples).astype(np.float64)


def _weighted_means(weights: Floats, table: Floats) -> Floats:
    """Return shape (resamples, columns): means over the drawn rounds; NaN for a column without values in them."""
    present = np.isfinite(table)
    if present.all():
        mean: Floats = weights @ (table / max(1, len(table)))
        return mean
    counts = weights @ present.astype(np.float64)
    sums = weights @ np.where(present, table, 0.0)
    result: Floats = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0.0)
    return result


def _distil(cost: Floats, weights: Floats, generator: np.random.Generator) -> _Distilled:
    n = len(cost)
    parts = min(_PARTS, n)
    part = generator.permutation(n) % parts
    by_round = np.full(n, np.nan)
    for number in range(parts):
        chosen_from = _means(cost[part != number]) if parts > 1 else _means(cost)
        if np.isfinite(chosen_from).any():
            by_round[part == number] = cost[part == number, int(np.nanargmin(chosen_from))]
    smallest = np.fmin.reduce(_weighted_means(weights, cost), axis=1)
    resampled = np.log(np.where(smallest > 0.0, smallest, np.nan))
    mean = float(_means(by_round[:, None])[0])
    return _Distilled(by_round, mean if mean > 0.0 else math.nan, resampled)


def _overhead(total: Floats, distilled: _Distilled, resampled: Floats, level: float) -> Interval:
    n = int(np.isfinite(total).sum())
    if n == 0:
        return undefined(0, level, LOWER_BOUND, "no values")
    mean = float(_means(total[:, None])[0])
    point = mean / distilled.mean
    if math.isnan(point):
        return undefined(n, level, LOWER_BOUND, "the distilled cost is not a positive number")
    parts = _influence(total, mean) - _influence(distilled.by_round, distilled.mean)
    return _interval(point, parts, resampled, n, level)


def _explained(bound: Interval, eligible: bool) -> Interval:
    """Add the reason to a bound below 1, which carries no information."""
    if not bound.point < 1.0 or bound.reason:
        return bound
    why = (
        "the cheapest was selected from other rounds, where it cost more than this alternative does here"
        if eligible
        else "its own identifiable cost is unknown or has too few rounds, so it cannot be the cheapest itself"
    )
    return replace(bound, reason=BELOW_ONE + why)


def _distilled_interval(distilled: _Distilled, level: float) -> Interval:
    n = int(np.isfinite(distilled.by_round).sum())
    if math.isnan(distilled.mean):
        return undefined(n, level, LOWER_BOUND, "the distilled cost is not a positive number")
    parts = _influence(distilled.by_round, distilled.mean)
    return _interval(distilled.mean, parts, distilled.resampled, n, level)


def _influence(values: Floats, mean: float) -> Floats:
    """Return shape (rounds,): the contribution of each round to the log of the mean, times the number of rounds."""
    present = np.isfinite(values)
    share = len(values) / present.sum()
    return np.where(present, (values - mean) / mean * share, 0.0)


def _interval(point: float, parts: Floats, resampled: Floats, n: int, level: float) -> Interval:
    if n < LEAST_ROUNDS:
        return undefined(n, level, LOWER_BOUND, f"fewer than {LEAST_ROUNDS} rounds", point)
    rounds = len(parts)
    linear = math.sqrt(float(parts @ parts) / (rounds * (rounds - 1)))
    drawn = resampled[np.isfinite(resampled)]
    again = float(drawn.std()) * math.sqrt(n / (n - 1)) if drawn.size else 0.0
    error = max(linear, again)
    if only_rounding(error, 1.0):
        return undefined(n, level, LOWER_BOUND, "all values are equal, so the variance is unknown", point)
    half = t_quantile(n - 1, level) * error
    return Interval(n, point, point * math.exp(-half), point * math.exp(half), level, LOWER_BOUND)


def _why_no_distilled(total: Floats, known: Floats) -> str:
    if not np.isfinite(total).any():
        return "no values"
    if not np.isfinite(known).any():
        return "no alternative has an identifiable cost of the collector"
    return "the identifiable cost of the collector is as large as the total"
