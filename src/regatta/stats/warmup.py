"""Does an invocation warm up, and from which iteration on is it steady? By change points."""

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
#: of invocations, in the order in which they are told
KINDS = (FLAT, WARMUP, SLOWDOWN, UNSTEADY)
#: of several invocations that do not agree
INCONSISTENT = "inconsistent"

#: The part of a run that must be steady at its end: Barrett et al. ask for 500 of 2,000 iterations.
STEADY_PART = 0.25
#: In fewer iterations nobody sees whether what they settle on lasts.
LEAST_STEADY = 10
LEAST_ITERATIONS = 2 * LEAST_STEADY
#: Means of segments that lie closer than this are one level: less is of no practical interest.
TOLERANCE = 0.01
_LEVEL = 0.95
#: iterations around one in which a spike stands out
WINDOW = 200
#: How many widths from the 10th to the 90th percentile a value may lie away from the median.
_WIDTHS = 3.0


@dataclass(frozen=True)
class Course:
    """How one invocation went.

    `kind`: one of `KINDS`, "" when it cannot be told. `start`: index of the first steady iteration, -1 when there is none.
    `mean`: of all iterations from there on, spikes included (they are part of what the program costs); NaN when there are
    none. `breaks`: first index of each segment but the first. `spikes`: how many iterations were taken for such.
    `reason`: why there is no kind or no mean, else "".
    """

    kind: str
    start: int
    mean: float
    breaks: tuple[int, ...] = ()
    spikes: int = 0
    reason: str = ""


def courses_of(
    table: ArrayLike, higher_is_better: bool = False, tolerance: float = TOLERANCE
) -> list[Course]:
    """Classify invocations by the change points of their iterations.

    Spikes are put aside (`without_spikes`), the rest is cut where mean or variance change. Segments whose mean lies within
    `tolerance` of the last one's, or within the 95 % interval of the last one's mean, are its equals; the steady state begins
    with the first of those that reach to the end in a row. It must hold for the last quarter of the iterations, and for ten.
    `flat`: all segments are equal. `warmup`: those that are not are all worse. `slowdown`: one of them is better.
    `no steady state`: a segment that is not equal begins or lies in the last quarter.

    Args:
        table: shape (p, q), any unit: an invocation a row, in order of time; at least 20 iterations.
        higher_is_better: worse means lower.
        tolerance: >= 0, a fraction of the last segment's mean.

    Returns:
        The course of each; without a kind and with a reason for fewer than 20 iterations, or when one is not finite.

    Raises:
        ValueError: `tolerance` < 0, or `table` has not two dimensions.

    Source: Barrett, Bolz-Tereick, Killick, Mount, Tratt, "Virtual Machine Warmup Blows Hot and Cold" (OOPSLA 2017), sections
    4 and 5. Theirs is an absolute tolerance, a variance or 0.001 s; a relative one serves any unit.
    """
    if not tolerance >= 0.0:
        raise ValueError(f"tolerance: expected a number from 0 · got {tolerance}")
    x = np.asarray(table, dtype=np.float64)
    if x.ndim != 2:
        raise ValueError(f"table: expected invocations x iterations · got {x.ndim} dimensions")
    p, n = x.shape
    if n < LEAST_ITERATIONS:
        counted = "1 iteration is" if n == 1 else f"{n} iterations are"
        return [Course("", -1, NAN, reason=f"{counted} too few to tell, it takes {LEAST_ITERATIONS}")] * p
    courses = [Course("", -1, NAN, reason="an iteration is not a finite number")] * p
    whole = np.flatnonzero(np.isfinite(x).all(axis=1))
    calm, spikes = without_spikes(x[whole])
    for row, calm_row, spike_count, breaks in zip(
        whole.tolist(), calm, spikes.sum(axis=1).tolist(), change_points_of_rows(calm), strict=True
    ):
        courses[row] = _course(x[row], calm_row, breaks, spike_count, higher_is_better, tolerance)
    return courses


def _course(
    x: Floats, calm: Floats, breaks: tuple[int, ...], spikes: int, higher_is_better: bool, tolerance: float
) -> Course:
    n = int(x.size)
    segments = [calm[first:end] for first, end in pairwise((0, *breaks, n))]
    means = np.array([segment.mean() for segment in segments])
    unequal = np.flatnonzero(np.abs(means - means[-1]) > _margin(segments[-1], tolerance))
    start = (*breaks, n)[int(unequal[-1])] if unequal.size else 0
    held = max(LEAST_STEADY, math.ceil(STEADY_PART * n))
    if start > n - held:
        reason = f"a change within the last {held} of {n} iterations"
        return Course(UNSTEADY, -1, NAN, breaks, spikes, reason)
    kind = _kind(means[unequal] - means[-1], higher_is_better)
    return Course(kind, start, float(x[start:].mean()), breaks, spikes)


def without_spikes(table: ArrayLike) -> tuple[Floats, NDArray[np.bool_]]:
    """Put the median of its surroundings in the place of every spike.

    A spike lies further from the median of the 200 iterations around it (of all, where there are fewer) than three times
    the distance of their 10th and 90th percentiles. Values at the very beginning, up to the first that is none, are no
    spikes: that is how a warm-up looks. What takes a tenth of the iterations or more moves the percentiles and is none.

    Args:
        table: shape (p, n), finite, any unit: a series a row, in order of time.

    Returns:
        The series with spikes replaced, and where they are; both of shape (p, n).

    Source: Barrett, Bolz-Tereick, Killick, Mount, Tratt, "Virtual Machine Warmup Blows Hot and Cold" (OOPSLA 2017),
    section 4, after Tukey. They leave spikes out; replacing keeps every iteration at its number. They judge none of the
    first 100 iterations, which here would be all of a short series: hence the rule about the beginning.
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
    # From the first value on that is none.
    far &= np.logical_or.accumulate(~far, axis=1)
    return np.where(far, middle, x), far


def common_kind(kinds: Iterable[str]) -> str:
    """The class of a cell: that of its invocations when they agree, else "inconsistent"; "" when none has one."""
    found = Counter(kind for kind in kinds if kind)
    return "" if not found else next(iter(found)) if len(found) == 1 else INCONSISTENT


def _kind(excess: Floats, higher_is_better: bool) -> str:
    if not excess.size:
        return FLAT
    worse = excess < 0.0 if higher_is_better else excess > 0.0
    return WARMUP if bool(worse.all()) else SLOWDOWN


def _margin(last: Floats, tolerance: float) -> float:
    """How far from the last segment's mean an equal one's may lie."""
    margin = tolerance * abs(float(last.mean()))
    n = int(last.size)
    # The interval of a few values is so wide that everything would be equal to them.
    if n < LEAST_STEADY:
        return margin
    return max(margin, t_quantile(n - 1, _LEVEL) * float(last.std(ddof=1)) / math.sqrt(n))
