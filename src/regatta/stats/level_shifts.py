"""Shifts of the level of a series whose successive values are correlated, such as the mean of every night."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, pairwise

import numpy as np
from scipy.special import stdtr

from regatta.stats.estimate import NAN, Contrast, Floats, Interval, exact, only_rounding, undefined
from regatta.stats.intervals import t_quantile

AR1 = "ar1-log-t"
#: least number of values of a level
LEAST = 2
#: Autocorrelations that are considered, all equally likely beforehand. A series with more than the last is not
#: distinguishable from one whose level shifts, at the lengths of a history.
RHOS = np.linspace(0.0, 0.6, 7)
#: Autocorrelations for which the rate of false shifts is known: a stronger one than `RHOS` is not assumed, but reported.
WIDE = np.linspace(0.0, 0.9, 10)
#: Unchanged series that are simulated per autocorrelation: at most, and at least for long series, which take longer.
_SIMULATED, _SIMULATED_LONG = 400, 100
#: values that are simulated per autocorrelation
_VALUES = 40_000
#: Seed of the simulated series, so that equal data give equal answers.
_SEED = 1
#: Lengths of the simulated series. Between them, p is interpolated: parts of many series have all lengths.
_LENGTHS = (*range(2 * LEAST, 12), 12, 14, 17, 20, 25, 32, 40, 50, 60, 80, 100, 150, 200, 300, 500, 1000)
#: Share of the errors that one shift may make; the rest is left to a level that changes twice.
_ONE = 0.8
#: With more places for a pair of shifts, the simulation takes seconds. The final places are taken from all.
_PLACES_OF_PAIRS = 20
#: Sum of squares, of values with a sum of squares of 1, that is only rounding.
_NOTHING = 1e-24
#: The tail of the simulated statistics from this share on is continued as an exponential.
_TAIL = 0.1


@dataclass(frozen=True)
class Levels:
    """The levels of a series between its shifts.

    `breaks`: index of the first value after each shift. `p`: of each shift, the share of unchanged series with such a
    difference at any place. `changes`: of each shift, the mean after it minus the mean before it. `autocorrelation`: of the
    deviations from the levels, 0 to 0.9. `false_rate`: share of unchanged series with this autocorrelation that show a shift.
    """

    breaks: tuple[int, ...]
    p: tuple[float, ...]
    changes: tuple[Contrast, ...]
    autocorrelation: float
    false_rate: float


def levels_of(
    values: Floats,
    level: float = 0.95,
    credible: Callable[[int, int, int], bool] = lambda *_: True,
    counted: bool = False,
) -> Levels:
    """Find the shifts of the level of a series with correlated values.

    The model is a constant level with normal deviations, and an autocorrelation of first order between 0 and 0.6 that is
    unknown: likelihoods are averaged over it, with mean, shift and variance integrated out. The statistic is the largest
    ratio of this likelihood with one shift (two shifts) to the one without, over all places. p is the share of simulated
    unchanged series that exceed it, averaged over the autocorrelation. The series is split where p is below 1 - `level`, and each
    part is searched again. A shift whose interval includes 0 is dropped.

    Args:
        values: shape (n >= 4,), finite, in the order of time.
        level: confidence of the intervals, between 0 and 1; 1 - `level` is the share of false shifts that is aimed at.
        credible: whether a shift at b can be one, given the start a of the level before it and the end c of the level after it.
        counted: whether the values are logarithms of exact counts, never rounded by a clock.

    Returns:
        The shifts with Student's intervals, averaged over the autocorrelation with its likelihood as weight. Counts that do not
        vary around any level change exactly; without that, such changes are undefined, and dropped.

    Source: likelihood with mean and variance integrated out: Tiao and Tan, Biometrika 53 (1966); largest likelihood ratio
    over all places: James, James and Siegmund, Biometrika 74 (1987); two changes at once: Olshen, Venkatraman, Lucito and
    Wigler, Biostatistics 5 (2004); Monte Carlo test: Barnard, Journal of the Royal Statistical Society B 25 (1963).
    """
    n = int(values.size)
    found = dict(_splits(values, 1.0 - level))
    while True:
        breaks = tuple(sorted(found))
        changes, weights = _fitted(values, breaks, level, counted)
        ends = (0, *breaks, n)
        doubtful = [
            (abs(one.interval.point), at)
            for before, at, after, one in zip(ends, breaks, ends[2:], changes, strict=False)
            if not ((one.interval.low > 0.0 or one.interval.high < 0.0) and credible(before, at, after))
        ]
        if not doubtful:
            break
        del found[min(doubtful)[1]]
    rates = _rates(n, round(1.0 - level, 12))
    return Levels(
        breaks, tuple(found[at] for at in breaks), changes, float(weights @ WIDE), float(weights @ rates)
    )


def _splits(values: Floats, alpha: float, first: int = 0) -> list[tuple[int, float]]:
    """Return the places of shifts, counted from `first`, and their p."""
    n = int(values.size)
    ready = _standardized(values)
    if n < 2 * LEAST or ready is None:
        return []
    one, pair = _statistics(ready[np.newaxis])
    p = min(1.0, _p_of(float(one[0].max()), n, 0) / _ONE)
    places: list[int] = []
    if p < alpha:
        places = [_single(n)[int(one[0].argmax())]]
    elif pair.shape[1]:
        p = min(1.0, _p_of(float(pair[0].max()), n, 1) / (1.0 - _ONE))
        if p < alpha:
            everywhere = _pairs(n, n)
            places = list(everywhere[int(_likelihoods(ready[np.newaxis], everywhere)[0].argmax())])
    if not places:
        return []
    found = [(first + place, p) for place in places]
    for start, end in pairwise((0, *places, n)):
        found += _splits(values[start:end], alpha, first + start)
    return found


def _standardized(values: Floats) -> Floats | None:
    """Return deviations from the mean with a sum of squares of 1; None without any spread."""
    largest = float(np.abs(values).max()) if values.size else 0.0
    if values.size < 2 or only_rounding(float(np.ptp(values)), max(1.0, largest)):
        return None
    d = values - values.mean()
    d = d / np.abs(d).max()
    ready: Floats = d / math.sqrt(float(d @ d))
    return ready


def _single(n: int) -> list[int]:
    return list(range(LEAST, n - LEAST + 1))


def _pairs(n: int, most: int) -> list[tuple[int, int]]:
    """Return the pairs of places with at least `LEAST` values between them, of at most some `most` places."""
    places = _single(n)
    places = places[:: math.ceil(len(places) / most)] if places else []
    return [(a, b) for a, b in combinations(places, 2) if b - a >= LEAST]


def _whitening(n: int, rho: float) -> Floats:
    """Return the matrix that makes values with autocorrelation `rho` independent, with the variance of the innovations."""
    matrix = np.eye(n) - rho * np.eye(n, k=-1)
    matrix[0, 0] = math.sqrt(1.0 - rho * rho)
    return matrix


def _statistics(rows: Floats) -> tuple[Floats, Floats]:
    """Return log likelihood ratios of each row (standardized): with a shift at each place, and with a pair of shifts."""
    n = rows.shape[1]
    return _likelihoods(rows, [(a,) for a in _single(n)]), _likelihoods(rows, _pairs(n, _PLACES_OF_PAIRS))


def _likelihoods(rows: Floats, models: Sequence[tuple[int, ...]]) -> Floats:
    """Return the log of the likelihood of each model (one or two shifts) relative to that of no shift, up to a constant.

    Args:
        rows: shape (r, n), each with mean 0 and a sum of squares of 1.
        models: m places of one or two shifts.

    Returns:
        Shape (r, m).
    """
    r, n = rows.shape
    if not models:
        return np.empty((r, 0))
    shifts = len(models[0])
    places = sorted({place for model in models for place in model})
    index = np.searchsorted(places, models)
    steps = (np.arange(n) >= np.array(places)[:, np.newaxis]).astype(np.float64)
    none, some = np.zeros(r), np.zeros((r, len(models)))
    for rho in RHOS.tolist():
        matrix = _whitening(n, rho)
        ones = matrix @ np.ones(n)
        size = float(ones @ ones)
        z, u = rows @ matrix.T, steps @ matrix.T
        u -= np.outer(u @ ones / size, ones)
        squares = np.einsum("ij,ij->i", u, u)
        u /= np.sqrt(squares)[:, np.newaxis]
        rest = np.einsum("ij,ij->i", z, z) - (z @ ones) ** 2 / size
        b = z @ u.T
        if shifts == 1:
            determinant = squares[index[:, 0]]
            explained = b[:, index[:, 0]] ** 2
        else:
            i, j = index[:, 0], index[:, 1]
            g = (u @ u.T)[i, j]
            determinant = squares[i] * squares[j] * (1.0 - g * g)
            explained = (b[:, i] ** 2 + b[:, j] ** 2 - 2.0 * g * b[:, i] * b[:, j]) / (1.0 - g * g)
        left = np.maximum(rest[:, np.newaxis] - explained, _NOTHING)
        common = math.sqrt((1.0 - rho * rho) / size)
        none += common * rest ** (-0.5 * (n - 1))
        some += common / np.sqrt(determinant) * left ** (-0.5 * (n - 1 - shifts))
    ratios: Floats = np.log(some) - np.log(none)[:, np.newaxis]
    return ratios


@lru_cache(maxsize=512)
def _simulated(n: int) -> tuple[Floats, Floats]:
    """Return the statistics of unchanged series of n values: one shift, and two, each of shape (autocorrelations, series)."""
    random = np.random.default_rng([_SEED, n])
    many = min(_SIMULATED, max(_SIMULATED_LONG, _VALUES // n))
    one, two = [], []
    for rho in WIDE.tolist():
        innovations = random.normal(size=(many, n))
        rows: Floats = np.linalg.solve(_whitening(n, rho), innovations.T).T.astype(np.float64, copy=False)
        rows -= rows.mean(axis=1, keepdims=True)
        rows /= np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, np.newaxis]
        singles, pairs = _statistics(rows)
        one.append(singles.max(axis=1))
        two.append(pairs.max(axis=1) if pairs.shape[1] else np.full(len(rows), -np.inf))
    return np.array(one), np.array(two)


@lru_cache(maxsize=512)
def _tail(n: int, which: int) -> tuple[Floats, float, float]:
    """Return the sorted simulated statistics, where their tail begins, and its mean excess."""
    ordered = np.sort(_simulated(n)[which][: len(RHOS)], axis=None)
    start = float(np.quantile(ordered, 1.0 - _TAIL))
    return ordered, start, float((ordered[ordered > start] - start).mean()) if math.isfinite(start) else 1.0


def _around(n: int) -> tuple[tuple[int, float], ...]:
    """Return the neighboring simulated lengths, and their weights."""
    place = int(np.searchsorted(_LENGTHS, n))
    if place == len(_LENGTHS) or _LENGTHS[place] == n:
        return ((min(n, _LENGTHS[-1]), 1.0),)
    low, high = _LENGTHS[place - 1 : place + 1]
    share = math.log(n / low) / math.log(high / low)
    return (low, 1.0 - share), (high, share)


def _p_of(statistic: float, n: int, which: int) -> float:
    """Return the share of unchanged series with at least this statistic."""
    return sum(weight * _p_at(statistic, length, which) for length, weight in _around(n))


def _p_at(statistic: float, n: int, which: int) -> float:
    ordered, start, excess = _tail(n, which)
    if not math.isfinite(start):
        # too short for a pair of shifts
        return 1.0
    if statistic > start:
        # The ratio of sums of squares has a power as its tail, so that its logarithm has an exponential one.
        return _TAIL * math.exp(-(statistic - start) / excess)
    return 1.0 - float(np.searchsorted(ordered, statistic)) / ordered.size


def _rates(n: int, alpha: float) -> Floats:
    """Return the share of unchanged series that show a shift, for each autocorrelation of `WIDE`."""
    rates: Floats = sum(
        (weight * _rates_at(length, alpha) for length, weight in _around(n)), np.zeros(len(WIDE))
    )
    return rates


@lru_cache(maxsize=512)
def _rates_at(n: int, alpha: float) -> Floats:
    one, two = _simulated(n)
    shown = one > _limit(n, 0, alpha * _ONE)
    if math.isfinite(float(two.max())):
        shown |= two > _limit(n, 1, alpha * (1.0 - _ONE))
    rates: Floats = shown.mean(axis=1)
    return rates


def _limit(n: int, which: int, alpha: float) -> float:
    """Return the statistic whose p is `alpha`."""
    ordered, start, excess = _tail(n, which)
    return (
        start - excess * math.log(alpha / _TAIL) if alpha < _TAIL else float(np.quantile(ordered, 1 - alpha))
    )


def _fitted(
    values: Floats, breaks: tuple[int, ...], level: float, counted: bool
) -> tuple[tuple[Contrast, ...], Floats]:
    """Return the change at each break, and the weight of each autocorrelation of `WIDE`, given the breaks."""
    n, parts = int(values.size), len(breaks) + 1
    ends = (0, *breaks, n)
    design = np.zeros((n, parts))
    for part, (start, end) in enumerate(pairwise(ends)):
        design[start:end, part] = 1.0
    means = np.array([values[start:end].mean() for start, end in pairwise(ends)])
    df = n - parts
    rest = values - design @ means
    sizes = [after - before for before, after in zip(ends, ends[2:], strict=False)]
    largest = max(1.0, float(np.abs(values).max()))
    if df < 1 or only_rounding(float(np.ptp(rest)), largest):
        changes = [(size, float(b - a)) for size, (a, b) in zip(sizes, pairwise(means), strict=True)]
        return _unvaried(changes, level, counted and df >= 1), np.full(len(WIDE), 1.0 / len(WIDE))
    scale = float(np.abs(rest).max())
    averages = design / design.sum(axis=0)
    contrasts = averages[:, 1:] - averages[:, :-1]
    logs, errors = [], []
    lags = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    for rho in WIDE.tolist():
        matrix = _whitening(n, rho)
        x, z = matrix @ design, matrix @ (rest / scale)
        z = z - x @ np.linalg.lstsq(x, z, rcond=None)[0]
        squares = float(z @ z)
        logs.append(
            0.5 * math.log(1.0 - rho * rho)
            - 0.5 * np.linalg.slogdet(x.T @ x)[1]
            - 0.5 * df * math.log(squares)
        )
        covariance = rho**lags / (1.0 - rho * rho) * squares / df
        errors.append(np.sqrt(np.einsum("ij,ik,kj->j", contrasts, covariance, contrasts)) * scale)
    wide = np.exp(np.array(logs) - max(logs))
    weights = wide[: len(RHOS)] / wide[: len(RHOS)].sum()
    found = []
    for number, size in enumerate(sizes):
        point, error = float(means[number + 1] - means[number]), np.array(errors)[: len(RHOS), number]
        half = _half_width(error, weights, df, level)
        p = 2.0 * float(weights @ stdtr(df, -abs(point) / error))
        found.append(Contrast(Interval(size, point, point - half, point + half, level, AR1), p, df))
    return tuple(found), wide / wide.sum()


def _unvaried(changes: Sequence[tuple[int, float]], level: float, counted: bool) -> tuple[Contrast, ...]:
    """Return changes between levels without deviations, by size: exact for counts, else undefined."""
    if counted:
        return tuple(exact(by, n, level, AR1, NAN, equal=0.0) for n, by in changes)
    reason = "all values of each level are equal, so the variance is unknown"
    return tuple(Contrast(undefined(n, level, AR1, reason, by), NAN) for n, by in changes)


def _half_width(errors: Floats, weights: Floats, df: float, level: float) -> float:
    """Return h with P(|T| <= h) = `level`, for a mixture of Student's t with these standard errors."""
    low, high = (t_quantile(df, level) * float(edge) for edge in (errors.min(), errors.max()))
    for _ in range(60):
        middle = 0.5 * (low + high)
        if 2.0 * float(weights @ stdtr(df, middle / errors)) - 1.0 < level:
            low = middle
        else:
            high = middle
    return high
