"""The bias-corrected and accelerated bootstrap, for many cells at once.

It follows a skewness that the t interval ignores, but resamples of few values vary too little. Nominal 95 % intervals of 5
normal values cover about 85 %, of 10 about 90 %, of 30 about 94 %. The BCa interval is therefore an addition to the t interval
and never the default.

Source: Efron, "Better Bootstrap Confidence Intervals", Journal of the American Statistical Association 82 (1987); quantiles
between two resamples on the normal scale: Davison and Hinkley, "Bootstrap Methods and their Application", equation 5.8, as in
R's `boot.ci`. Of the resamples that equal the estimate, half count as below it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from regatta.stats.estimate import ROUNDING_ULPS, Floats, check_level

BCA = "bca"
#: Nominal 95 % intervals of fewer normal values cover 79 % (n = 4), 73 % (3) or 50 % (2): too little to report.
LEAST_VALUES = 5
#: Fewer resamples do not resolve the quantiles.
LEAST_RESAMPLES = 99
#: Maximum number of doubles in each temporary array: 16 MB.
_CHUNK = 2**21
#: Statistics closer than this share of their range come from the same resample in a different order.
_SAME = 1e-12
_BEYOND = "a corrected quantile lies beyond the resamples"
_TOO_ALIKE = "the resamples do not vary enough around the estimate"
_EPSILON = float(np.finfo(np.float64).eps)

Indices = np.ndarray[tuple[int, ...], np.dtype[np.int64]]
#: Yields matrices of shape (some resamples, n): how often each value is drawn. Each call yields all resamples, identically.
_Counts = Callable[[], Iterable[Floats]]


@dataclass(frozen=True)
class BcaMeans:
    """Means and intervals of many cells, each of shape (cells,). `reasons`: why a cell has no interval, else ""."""

    point: Floats
    low: Floats
    high: Floats
    reasons: tuple[str, ...]


def bca_means(
    table: ArrayLike, level: float = 0.95, resamples: int = 9999, *, generator: np.random.Generator
) -> BcaMeans:
    """Return BCa intervals of the means of many cells of equal size, from the same resampled positions.

    Args:
        table: shape (cells, n), each cell in any unit.
        level: confidence of each individual interval, between 0 and 1.
        resamples: number of resamples, at least 99.
        generator: draws the positions. Sharing them among cells does not change any individual interval.

    Returns:
        Mean, low and high of each cell in its unit. NaN with a reason for fewer than 5 values, equal values, a value that is
        not finite, or if a corrected quantile is outside the resamples. 1000 cells of n = 30 take about 0.1 s.

    Raises:
        ValueError: `table` does not have two dimensions, `resamples` is too small, or `level` is not between 0 and 1.

    Source: see the module.
    """
    x = np.asarray(table, dtype=np.float64)
    if x.ndim != 2:
        raise ValueError(f"table: expected shape (cells, n) · got {x.shape}")
    check_level(level)
    _check_resamples(resamples)
    return _means(x, level, _drawn(x.shape[1], resamples, generator), resamples)


def _means(x: Floats, level: float, counts: _Counts, resamples: int) -> BcaMeans:
    cells, n = x.shape
    point, low, high = (np.full(cells, np.nan) for _ in range(3))
    reasons = [""] * cells
    step = max(1, _CHUNK // resamples)
    for start in range(0, cells, step):
        rows = slice(start, start + step)
        part, mean, exponent, finite = _centred(x[rows])
        spread = part.max(axis=1, initial=0.0) - part.min(axis=1, initial=0.0)
        usable = finite & (spread > ROUNDING_ULPS * _EPSILON) & (n >= LEAST_VALUES)
        point[rows] = np.where(finite, np.ldexp(mean, exponent), np.nan)
        for i in np.flatnonzero(~usable).tolist():
            reasons[start + i] = _why_no_values(x[start + i])
        if not usable.any():
            continue
        part = part[usable]
        boot = np.concatenate([part @ block.T for block in counts()], axis=1) / n
        same = _SAME * spread[usable] + ROUNDING_ULPS * _EPSILON
        found_low, found_high, why = _edges(boot, np.zeros(len(part)), _acceleration(part), level, same)
        where = start + np.flatnonzero(usable)
        shift, scale = mean[usable], exponent[usable]
        # No resample lies outside the data, but subtracting and adding the mean can exceed them by rounding.
        low[where] = np.maximum(np.ldexp(found_low + shift, scale), x[where].min(axis=1))
        high[where] = np.minimum(np.ldexp(found_high + shift, scale), x[where].max(axis=1))
        for cell, reason in zip(where.tolist(), why, strict=True):
            reasons[cell] = reason
    return BcaMeans(point, low, high, tuple(reasons))


def _centred(x: Floats) -> tuple[Floats, Floats, Indices, NDArray[np.bool_]]:
    """Return centered rows, their means, the power of two that scales both, and which rows are finite (the others are 0).

    Scaling by powers of two is exact and prevents overflow of squares and sums. The mean is subtracted twice to remove the
    rounding error of common leading digits.
    """
    cells, n = x.shape
    finite = np.isfinite(x).all(axis=1) & np.full(cells, n > 0)
    x = np.where(finite[:, None], x, 0.0)
    exponent = np.frexp(np.abs(x).max(axis=1, initial=0.0))[1].astype(np.int64)
    part = np.ldexp(x, -exponent[:, None])
    mean = part.sum(axis=1) / max(n, 1)
    part = part - mean[:, None]
    rest = part.sum(axis=1) / max(n, 1)
    return part - rest[:, None], mean + rest, exponent, finite


def _edges(
    boot: Floats, point: Floats, acceleration: Floats, level: float, same: Floats
) -> tuple[Floats, Floats, tuple[str, ...]]:
    """Return both edges of each row of `boot`, shape (cells, resamples), which is sorted in place. NaN with a reason.

    α = Φ(z0 + (z0 + z)/(1 - a (z0 + z))), z0 = Φ⁻¹(share of resamples below the point).
    """
    resamples = boot.shape[1]
    under = (boot < (point - same)[:, None]).sum(axis=1)
    over = (boot > (point + same)[:, None]).sum(axis=1)
    bias = ndtri((under + 0.5 * (resamples - under - over)) / resamples)
    boot.sort(axis=1)
    spread = boot[:, -1] - boot[:, 0] > 2.0 * same
    known = spread & np.isfinite(bias) & np.isfinite(acceleration)
    bias, acceleration = np.where(known, bias, 0.0), np.where(known, acceleration, 0.0)
    edges, inside = [], known.copy()
    z = float(ndtri(0.5 + level / 2))
    for side in (-z, z):
        stretch = 1.0 - acceleration * (bias + side)
        inside &= stretch > 0.0
        target = bias + (bias + side) / np.where(stretch > 0.0, stretch, 1.0)
        below = np.floor((resamples + 1) * ndtr(target)).astype(np.int64)
        inside &= (below >= 1) & (below < resamples)
        below = np.clip(below, 1, resamples - 1)
        left, right = ndtri(below / (resamples + 1)), ndtri((below + 1) / (resamples + 1))
        rows = np.arange(len(boot))
        first, second = boot[rows, below - 1], boot[rows, below]
        edges.append(first + (target - left) / (right - left) * (second - first))
    usable = inside & (edges[1] > edges[0])
    low, high = (np.where(usable, edge, np.nan) for edge in edges)
    reasons = tuple(
        "" if good else _BEYOND if varies and not held else _TOO_ALIKE
        for good, varies, held in zip(usable.tolist(), known.tolist(), inside.tolist(), strict=True)
    )
    return low, high, reasons


def _acceleration(influence: Floats) -> Floats:
    """Return Σ L³/(6 (Σ L²)^1.5) of each row; NaN for a row without variation."""
    largest = np.abs(influence).max(axis=1, keepdims=True)
    scaled = influence / np.where(largest > 0.0, largest, np.nan)
    result: Floats = (scaled**3).sum(axis=1) / (6.0 * (scaled**2).sum(axis=1) ** 1.5)
    return result


def _drawn(n: int, resamples: int, generator: np.random.Generator) -> _Counts:
    """Return resamples, drawn again from stored seeds at each call to save memory for large n."""
    size = max(1, min(resamples, _CHUNK // max(n, 1)))
    starts = range(0, resamples, size)
    seeds = generator.integers(0, 2**63, len(starts))

    def blocks() -> Iterator[Floats]:
        for start, seed in zip(starts, seeds.tolist(), strict=True):
            rows = min(size, resamples - start)
            yield _count_matrix(np.random.default_rng(seed).integers(0, n, (rows, n)), n)

    if len(starts) > 1 or n == 0:
        return blocks
    kept = tuple(blocks())
    return lambda: kept


def _count_matrix(indices: Indices, n: int) -> Floats:
    """Return how often each of n values occurs in each resample: shape (resamples, n)."""
    rows = len(indices)
    cells = indices + np.arange(rows)[:, None] * n
    return np.bincount(cells.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)


def _why_no_values(x: Floats) -> str:
    n = x.size
    if n == 0:
        return "no values"
    if not np.isfinite(x).all():
        return "a value is not a finite number"
    if n == 1:
        return "one value has no variance"
    if n < LEAST_VALUES:
        return f"{n} values have too few different resamples"
    return f"all {n} values are equal, so the variance is unknown"


def _check_resamples(resamples: int) -> None:
    if resamples < LEAST_RESAMPLES:
        raise ValueError(f"resamples: expected at least {LEAST_RESAMPLES} · got {resamples}")
