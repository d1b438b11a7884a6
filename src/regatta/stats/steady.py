"""The steady state of Georges et al.: the first window of iterations whose coefficient of variation is small."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray

from regatta.stats.estimate import Floats

#: Maximum number of window values in one step: 32 MB.
_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class SteadyWindows:
    """The steady windows of p invocations, each array of shape (p,).

    `start`: index of the first iteration, -1 without a steady window. `mean`: of its iterations, else NaN.
    """

    start: NDArray[np.intp]
    mean: Floats


def steady_windows(table: ArrayLike, window: int = 10, threshold: float = 0.02) -> SteadyWindows:
    """Find the first `window` successive iterations of each invocation with a coefficient of variation below `threshold`.

    Args:
        table: shape (p, q), > 0, any unit, in order of time: one invocation per row; NaN where a row has fewer iterations (no
            window includes a NaN).
        window: number of successive iterations, at least 2 (k in the paper).
        threshold: > 0, a fraction: 0.02 is 2 %.

    Raises:
        ValueError: `window` < 2, `threshold` <= 0, or `table` does not have two dimensions.

    Source: Georges, Buytaert and Eeckhout, "Statistically Rigorous Java Performance Evaluation" (OOPSLA 2007), section 4.2.
    """
    x = np.asarray(table, dtype=np.float64)
    if x.ndim != 2:
        raise ValueError(f"table: expected invocations x iterations · got {x.ndim} dimensions")
    if window < 2:
        raise ValueError(f"window: expected at least 2 iterations · got {window}")
    if not threshold > 0.0:
        raise ValueError(f"threshold: expected a number above 0 · got {threshold}")
    p = x.shape[0]
    start = np.full(p, -1, dtype=np.intp)
    mean = np.full(p, np.nan)
    for rows, first, part in _parts(x, window):
        means, covs = _coefficients(part, window)
        steady = (covs < threshold) & (start[rows] < 0)[:, np.newaxis]
        reached = steady.any(axis=1)
        place = steady.argmax(axis=1)
        row = np.arange(part.shape[0])
        index = np.arange(p)[rows]
        start[index[reached]] = first + place[reached]
        mean[index[reached]] = means[row[reached], place[reached]]
    return SteadyWindows(start, mean)


def _parts(x: Floats, window: int) -> Iterator[tuple[slice, int, Floats]]:
    """Yield parts of the table whose windows fit into memory: rows, first column, values."""
    p, q = x.shape
    if p == 0 or q < window:
        return
    columns = min(q, max(_AT_ONCE // window, 1) + window - 1)
    rows = max(1, _AT_ONCE // ((columns - window + 1) * window))
    for top in range(0, p, rows):
        for first in range(0, q - window + 1, columns - window + 1):
            yield slice(top, min(p, top + rows)), first, x[top : top + rows, first : first + columns]


def _coefficients(x: Floats, window: int) -> tuple[Floats, Floats]:
    """Return mean and coefficient of variation of every window; NaN for a window without a positive mean."""
    windows = sliding_window_view(x, window, axis=1)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        means: Floats = windows.mean(axis=2)
        deviations = windows - means[:, :, np.newaxis]
        variances = np.einsum("ijk,ijk->ij", deviations, deviations) / (window - 1)
        covs: Floats = np.where(means > 0.0, np.sqrt(variances) / means, np.nan)
    return means, covs
