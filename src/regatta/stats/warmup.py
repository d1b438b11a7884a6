"""Classify the warm-up of invocations, and find the first steady iteration, by change points."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray

from regatta.stats.change_points import change_points_of_rows
from regatta.stats.estimate import NAN, Floats
from regatta.stats.intervals import t_quantile

FLAT, WARMUP, SLOWDOWN, UNSTEADY = "flat", "warmup", "slowdown", "no steady state"
#: Kinds of invocations, in the order of reports.
KINDS = (FLAT, WARMUP, SLOWDOWN, UNSTEADY)
#: Kind of several invocations that do not agree.
INCONSISTENT = "inconsistent"

#: The part of a run that must be steady at its end. Barrett et al. require 500 of 2,000 iterations.
STEADY_PART = 0.25
#: Fewer iterations do not show whether their level lasts.
LEAST_STEADY = 10
LEAST_ITERATIONS = 2 * LEAST_STEADY
#: Segments whose means differ by less than this are one level: smaller differences have no practical significance.
TOLERANCE = 0.01
_LEVEL = 0.95
#: Number of surrounding iterations for detecting a spike.
WINDOW = 200
#: Maximum distance of a value from the median, in widths from the 10th to the 90th percentile.
_WIDTHS = 3.0


@dataclass(frozen=True)
class Course:
    """The course of one invocation.

    `kind`: one of `KINDS`, "" if unknown. `start`: index of the first steady iteration, -1 without one.
    `mean`: of all iterations from there on, including spikes, which are part of the cost of the program; NaN without any.
    `breaks`: first index of each segment except the first. `reason`: why kind or mean is missing, else "".
    """

    kind: str
    start: int
    mean: float
    breaks: tuple[int, ...] = ()
    reason: str = ""


def courses_of(
    table: ArrayLike, higher_is_better: bool = False, tolerance: float = TOLERANCE
) -> list[Course]:
    """Classify invocations by the change points of their iterations.

    Spikes are replaced (`without_spikes`), and the series is split where mean or variance change. A segment is equal to the
    last one if its mean is within `tolerance` of the last mean, or within the 95 % interval of the last mean. The steady state
    begins with the first of the equal segments that reach the end without a gap. It must include the last quarter of the
    iterations, and at least ten.
    `flat`: all segments are equal. `warmup`: all unequal segments are worse. `slowdown`: one of them is better.
    `no steady state`: an unequal segment begins or lies in the last quarter.

    Args:
        table: shape (p, q), any unit: one invocation per row, in order of time; at least 20 iterations.
        higher_is_better: worse means lower.
        tolerance: >= 0, a fraction of the last segment's mean.

    Returns:
        The course of each; without a kind and with a reason for fewer than 20 iterations, or if one is not finite.

    Raises:
        ValueError: `tolerance` < 0, or `table` does not have two dimensions.

    Source: Barrett, Bolz-Tereick, Killick, Mount, Tratt, "Virtual Machine Warmup Blows Hot and Cold" (OOPSLA 2017), sections 4
    and 5. Their tolerance is absolute, a variance or 0.001 s; a relative one works for any unit.
    """
    if not tolerance >= 0.0:
        raise ValueError(f"tolerance: expected a number from 0 · got {tolerance}")
    x = np.asarray(table, dtype=np.float64)
    if x.ndim != 2:
        raise ValueError(f"table: expected invocations x iterations · got {x.ndim} dimensions")
    p, n = x.shape
    if n < LEAST_ITERATIONS:
        counted = "1 iteration is" if n == 1 else f"{n} iterations are"
        return [
            Course("", -1, NAN, reason=f"{counted} too few for change points (minimum {LEAST_ITERATIONS})")
        ] * p
    courses = [Course("", -1, NAN, reason="an iteration is not a finite number")] * p
    whole = np.flatnonzero(np.isfinite(x).all(axis=1))
    calm, _ = without_spikes(x[whole])
    for row, calm_row, breaks in zip(whole.tolist(), calm, change_points_of_rows(calm), strict=True):
        courses[row] = _course(x[row], calm_row, breaks, higher_is_better, tolerance)
    return courses


def _course(
    x: Floats, calm: Floats, breaks: tuple[int, ...], higher_is_better: bool, tolerance: float
) -> Course:
    n = int(x.size)
    segments = [calm[first:end] for first, end in pairwise((0, *breaks, n))]
    means = np.array([segment.mean() for segment in segments])
    unequal = np.flatnonzero(np.abs(means - means[-1]) > _margin(segments[-1], tolerance))
    start = (*breaks, n)[int(unequal[-1])] if unequal.size else 0
    held = max(LEAST_STEADY, math.ceil(STEADY_PART * n))
    if start > n - held:
        reason = f"a change within the last {held} of {n} iterations"
        return Course(UNSTEADY, -1, NAN, breaks, reason)
    kind = _kind(means[unequal] - means[-1], higher_is_better)
    return Course(kind, start, float(x[start:].mean()), breaks)


def without_spikes(table: ArrayLike) -> tuple[Floats, NDArray[np.bool_]]:
    """Replace every spike with the median of its surroundings.

    A spike is further from the median of the 200 surrounding iterations (or all, if fewer) than three times the distance of
    their 10th and 90th percentiles. Leading values, up to the first that is not this far, are not spikes but a warm-up. A level
    of a tenth of the iterations or more moves the percentiles and is not a spike.

    Args:
        table: shape (p, n), finite, any unit: one series per row, in order of time.

    Returns:
        The series with spikes replaced, and their positions; both of shape (p, n).

    Source: Barrett, Bolz-Tereick, Killick, Mount, Tratt, "Virtual Machine Warmup Blows Hot and Cold" (OOPSLA 2017), section 4,
    after Tukey. They omit spikes; replacing keeps the numbers of iterations. They do not judge the first 100 iterations, which
    can be all of a short series, hence the rule for leading values.
    """
    x = np.asarray(table, dtype=np.float64)
    if x.ndim != 2:
        raise ValueError(f"table: expected series x values · got {x.ndim} dimensions")
    p, n = x.shape
    if x.size == 0:
        return x.copy(), np.zeros((p, n), dtype=np.bool_)
    if n > WINDOW and p > 1:
        parts = [without_spikes(row[np.newaxis]) for row in x]
        return np.concatenate([calm for calm, _ in parts]), np.concatenate([far for _, far in parts])
    size = min(WINDOW, n)
    windows = sliding_window_view(x, size, axis=1)
    low, middle, high = np.percentile(windows, (10.0, 50.0, 90.0), axis=2)
    place = np.clip(np.arange(n) - size // 2, 0, n - size)
    middle = middle[:, place]
    far = np.abs(x - middle) > _WIDTHS * (high - low)[:, place]
    # From the first value that is not far from the median.
    far &= np.logical_or.accumulate(~far, axis=1)
    return np.where(far, middle, x), far


def common_kind(kinds: Iterable[str]) -> str:
    """Return the kind of a cell: that of its invocations if they agree, else "inconsistent"; "" if none has a kind."""
    found = Counter(kind for kind in kinds if kind)
    return "" if not found else next(iter(found)) if len(found) == 1 else INCONSISTENT


def _kind(excess: Floats, higher_is_better: bool) -> str:
    if not excess.size:
        return FLAT
    worse = excess < 0.0 if higher_is_better else excess > 0.0
    return WARMUP if bool(worse.all()) else SLOWDOWN


def _margin(last: Floats, tolerance: float) -> float:
    """Return the largest distance of the mean of an equal segment from the mean of the last one."""
    margin = tolerance * abs(float(last.mean()))
    n = int(last.size)
    # The interval of a few values is so wide that all segments would be equal to them.
    if n < LEAST_STEADY:
        return margin
    return max(margin, t_quantile(n - 1, _LEVEL) * float(last.std(ddof=1)) / math.sqrt(n))
