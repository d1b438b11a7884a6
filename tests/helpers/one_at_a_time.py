"""What `regatta.stats` estimates of many at once, asked for one, as published examples have it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regatta.stats.levels import VarianceLevels, levels_of
from regatta.stats.prevalent import INDICATIVE, MISLEADING_AND_INCORRECT, MISLEADING_BUT_CORRECT
from regatta.stats.steady import steady_windows
from regatta.stats.warmup import TOLERANCE, Course, courses_of


class Window(NamedTuple):
    """The steady window of one invocation."""

    start: int
    mean: float


def course_of(iterations: ArrayLike, higher_is_better: bool = False, tolerance: float = TOLERANCE) -> Course:
    """The course of one invocation."""
    return courses_of(np.asarray(iterations, dtype=np.float64).reshape(1, -1), higher_is_better, tolerance)[0]


def steady_window(iterations: ArrayLike, window: int = 10, threshold: float = 0.02) -> Window:
    """The steady window of one invocation."""
    found = steady_windows(np.asarray(iterations, dtype=np.float64).reshape(1, -1), window, threshold)
    return Window(int(found.start[0]), float(found.mean[0]))


def variance_levels(values: ArrayLike) -> VarianceLevels:
    """Variances by level of values of shape (r_k, ..., r_1), which the product reduces in its database."""
    means = np.asarray(values, dtype=np.float64)
    counts, s_squared = means.shape[::-1], []
    for count in counts:
        s_squared.append(float(means.var(axis=-1, ddof=1).mean()) if count > 1 else float("nan"))
        means = means.mean(axis=-1)
    return levels_of(counts, s_squared)


def classify(verdict: ArrayLike, difference: ArrayLike, theta: float) -> NDArray[np.int_]:
    """Table 4 of Georges et al., as it is written: the class of each claim, -1 where there is no difference to classify."""
    verdict, difference = np.broadcast_arrays(np.asarray(verdict), np.asarray(difference, dtype=np.float64))
    claimed = (np.abs(difference) >= theta) & (difference != 0.0)
    same = np.sign(difference) == verdict
    row = np.where(verdict == 0, INDICATIVE, np.where(same, MISLEADING_BUT_CORRECT, MISLEADING_AND_INCORRECT))
    return np.where(np.isnan(difference), -1, row + claimed)
