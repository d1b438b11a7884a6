"""Multivariate analysis of variance of one factor: a test of whether the alternatives differ in several responses jointly."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import fdtrc

from regatta.stats.estimate import NAN, Floats, only_rounding

#: If the error correlations have an eigenvalue below this, responses are linear combinations of others, up to rounding.
_SINGULAR = 1e-10


@dataclass(frozen=True)
class ManovaStatistic:
    """A statistic, its F transformation, its degrees of freedom (can be fractions), and p. NaN when undefined.

    Roy's statistic with several nonzero eigenvalues has no p: `f` is then an upper bound, and `p_lower_bound` the p that belongs to
    it. It is not a test: under the null hypothesis, it is below 0.05 far more often than in 5 % of analyses.
    """

    value: float
    f: float
    df_between: float
    df_error: float
    p: float
    p_lower_bound: float = NAN


@dataclass(frozen=True)
class Manova:
    """The four usual statistics. `n` counts rows. `reason`: why they are NaN, else ""."""

    wilks: ManovaStatistic
    pillai: ManovaStatistic
    hotelling_lawley: ManovaStatistic
    roy: ManovaStatistic
    n: int
    reason: str = ""


def manova(table: ArrayLike, groups: ArrayLike) -> Manova:
    """Return the one-way multivariate analysis of variance.

    Args:
        table: shape (n, responses): a row holds values measured together, such as all benchmarks of one block and alternative.
        groups: shape (n,), whole numbers: the alternative of each row.

    Returns:
        With H and E the matrices of sums of squares and products between and within groups, and λ the eigenvalues of E^-1 H:
        Wilks Π 1/(1 + λ), Pillai Σ λ/(1 + λ), Hotelling and Lawley Σ λ, Roy max λ, each with the F approximation that R uses.
        NaN with a reason if a value is not finite, with fewer than two groups, or if E is singular.

    Raises:
        ValueError: the shapes do not fit.

    Source: Rencher, "Methods of Multivariate Analysis", section 6.1; the approximations: Rao (1951) for Wilks, Pillai (1955).
    """
    y = np.asarray(table, dtype=np.float64)
    codes = np.asarray(groups)
    if y.ndim != 2 or codes.shape != y.shape[:1]:
        raise ValueError(f"manova: expected (n, responses) and (n,) · got {y.shape} and {codes.shape}")
    n, p = y.shape
    if not y.size:
        return _unknown(n, "no values")
    if not np.isfinite(y).all():
        return _unknown(n, "a value is not a finite number")
    present, group = np.unique(codes, return_inverse=True)
    q = present.size - 1
    df_error = n - present.size
    if q < 1:
        return _unknown(n, "fewer than two alternatives have values")
    if df_error < p:
        return _unknown(n, f"too few rows: {df_error} degrees of freedom for the errors of {p} responses")
    scaled, largest = _scaled(y)
    centred = scaled - scaled.mean(axis=0)
    return _judged(centred, group, largest, df_error)


def block_manova(table: ArrayLike) -> Manova:
    """Return the multivariate analysis of variance of one factor in complete blocks.

    Args:
        table: shape (blocks, alternatives, responses): all values of a block were measured under the same conditions.

    Returns:
        As `manova`, after the mean of each block is subtracted, with (blocks - 1) (alternatives - 1) degrees of freedom for the
        errors; `n` counts blocks times alternatives.

    Raises:
        ValueError: the table does not have three dimensions.

    Source: Rencher, "Methods of Multivariate Analysis", section 6.5, for the two-way model without interaction.
    """
    y = np.asarray(table, dtype=np.float64)
    if y.ndim != 3:
        raise ValueError(f"manova: expected (blocks, alternatives, responses) · got {y.shape}")
    blocks, k, p = y.shape
    n = blocks * k
    if not y.size:
        return _unknown(n, "no values")
    if not np.isfinite(y).all():
        return _unknown(n, "a value is not a finite number")
    if k < 2:
        return _unknown(n, "fewer than two alternatives have values")
    df_error = (blocks - 1) * (k - 1)
    if df_error < p:
        return _unknown(n, f"too few blocks: {df_error} degrees of freedom for the errors of {p} responses")
    scaled, largest = _scaled(y.reshape(n, p))
    within_blocks = scaled.reshape(y.shape) - scaled.reshape(y.shape).mean(axis=1, keepdims=True)
    return _judged(within_blocks.reshape(n, p), np.tile(np.arange(k), blocks), largest, df_error)


def _judged(
    centred: Floats, group: np.ndarray[tuple[int, ...], np.dtype[np.intp]], largest: Floats, df_error: int
) -> Manova:
    n, p = centred.shape
    groups = int(group.max()) + 1
    q = groups - 1
    between, within, constant = _deviations(centred, group, groups, largest, df_error)
    if constant:
        return _unknown(n, "a response does not vary within alternatives, so its variance is unknown")
    error = within.T @ within
    if float(np.linalg.eigvalsh(error)[0]) < _SINGULAR:
        return _unknown(n, "the responses are not independent of each other: one is a sum of others")
    root = np.linalg.inv(np.linalg.cholesky(error))
    eigenvalues = np.maximum(np.linalg.eigvalsh(root @ (between.T @ between) @ root.T), 0.0)
    return Manova(
        _wilks(eigenvalues, p, q, df_error),
        _pillai(eigenvalues, p, q, df_error),
        _hotelling_lawley(eigenvalues, p, q, df_error),
        _roy(eigenvalues, p, q, df_error),
        n,
    )


def _scaled(y: Floats) -> tuple[Floats, Floats]:
    """Return each response times a power of two, below 1, and its largest magnitude."""
    largest = np.abs(y).max(axis=0)
    scale = np.ldexp(1.0, -np.frexp(np.where(largest > 0, largest, 1.0))[1])
    return y * scale, largest * scale


def _deviations(
    centred: Floats,
    group: np.ndarray[tuple[int, ...], np.dtype[np.intp]],
    groups: int,
    largest: Floats,
    df_error: int,
) -> tuple[Floats, Floats, bool]:
    """Return the centered group mean and the deviation of each row, in units of the length of the errors.

    The last value is true if a response has no errors beyond rounding of values as large as `largest`.
    """
    centred = centred - centred.mean(axis=0)
    counts = np.bincount(group, minlength=groups)
    means = np.column_stack(
        [np.bincount(group, weights=column, minlength=groups) / counts for column in centred.T]
    )
    within = centred - means[group]
    length = np.sqrt((within**2).sum(axis=0))
    spread = length / math.sqrt(df_error)
    if any(only_rounding(s, big) for s, big in zip(spread.tolist(), largest.tolist(), strict=True)):
        return means, within, True
    return means[group] / length, within / length, False


def _statistic(value: float, f: float, df1: float, df2: float) -> ManovaStatistic:
    if df1 <= 0 or df2 <= 0 or not math.isfinite(f):
        return ManovaStatistic(value, NAN, df1, df2, NAN)
    return ManovaStatistic(value, f, df1, df2, float(fdtrc(df1, df2, f)))


def _wilks(eigenvalues: Floats, p: int, q: int, df_error: int) -> ManovaStatistic:
    value = math.exp(-float(np.log1p(eigenvalues).sum()))
    half = df_error - 0.5 * (p - q + 1)
    squares = p * p + q * q - 5
    root = math.sqrt(((p * q) ** 2 - 4) / squares) if squares > 0 else 1.0
    df2 = half * root - (p * q - 2) / 2
    f = (value ** (-1.0 / root) - 1.0) * df2 / (p * q) if value > 0 else NAN
    return _statistic(value, f, p * q, df2)


def _pillai(eigenvalues: Floats, p: int, q: int, df_error: int) -> ManovaStatistic:
    value = float((eigenvalues / (1.0 + eigenvalues)).sum())
    s = min(p, q)
    first, second = abs(p - q) + s, df_error - p + s
    f = second / first * value / (s - value) if value < s else NAN
    return _statistic(value, f, s * first, s * second)


def _hotelling_lawley(eigenvalues: Floats, p: int, q: int, df_error: int) -> ManovaStatistic:
    value = float(eigenvalues.sum())
    s = min(p, q)
    first, second = abs(p - q) + s, s * (df_error - p - 1) + 2
    return _statistic(value, second * value / (s * s * first), s * first, second)


def _roy(eigenvalues: Floats, p: int, q: int, df_error: int) -> ManovaStatistic:
    value = float(eigenvalues.max())
    larger = max(p, q)
    df2 = df_error - larger + q
    found = _statistic(value, df2 * value / larger, larger, df2)
    # With one response or two alternatives, only one eigenvalue is not 0, and F is exact.
    return found if min(p, q) < 2 else replace(found, p=NAN, p_lower_bound=found.p)


def _unknown(n: int, reason: str) -> Manova:
    nothing = ManovaStatistic(NAN, NAN, NAN, NAN, NAN)
    return Manova(nothing, nothing, nothing, nothing, n, reason)
