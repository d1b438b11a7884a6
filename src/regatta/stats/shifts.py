"""Shifts of the level over successive experiments, with the ratio after to before."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from regatta.stats.change_points import change_points, schwarz_penalty
from regatta.stats.estimate import NAN, Contrast, Floats, check_level, safe_exp
from regatta.stats.intervals import why_no_logs
from regatta.stats.level_shifts import levels_of
from regatta.stats.ratios import do_not_vary, welch_log_ratio

INVOCATIONS, EXPERIMENTS = "invocations", "experiments"
#: With fewer experiments a step between two of them is indistinguishable from the variation between experiments.
LEAST_TO_SEE_VARIATION = 5


@dataclass(frozen=True)
class Shift:
    """One shift.

    `at`: index of the first experiment after it. `ratio`: geometric means after to before, between neighboring shifts.
    `before`, `after`: the numbers of experiments in that range.
    """

    at: int
    ratio: Contrast
    before: int
    after: int


@dataclass(frozen=True)
class Shifts:
    """The shifts of one series, oldest first.

    `unit`: the replicate, `invocations` or `experiments`. `autocorrelation`: between successive experiments, around the
    levels, 0 to 0.9. `false_rate`: share of unchanged series of this length and autocorrelation that show a shift. Both are NaN
    with fewer than five experiments, which do not show how much experiments vary. `reason`: why there is no result, else "".
    """

    unit: str
    shifts: tuple[Shift, ...] = ()
    autocorrelation: float = NAN
    false_rate: float = NAN
    reason: str = ""


def find_shifts(groups: Sequence[ArrayLike], level: float = 0.95, counted: bool = False) -> Shifts:
    """Find the shifts of the level of a series of experiments.

    Breaks can only lie between experiments. From five experiments on, the mean logarithm of an experiment is one value, because
    experiments on the same code vary (another day, another build) and resemble their neighbors: see `levels_of`. A shift must
    also exceed what the invocations explain, by Welch's test with Bonferroni's bound over the places. With fewer experiments, each
    invocation is a replicate, and breaks are change points of the logarithms, with penalty 3 log n, whose p value times
    the number of possible segments is below 1 - `level`.

    Args:
        groups: values > 0 of each experiment, in order of time; empty groups are skipped.
        level: confidence of the intervals, between 0 and 1.
        counted: whether the values are exact counts, never rounded by a clock.

    Returns:
        The shifts with the ratio of geometric means after to before. With invocations as replicates, Welch's interval applies to
        these experiments; with experiments, Student's interval applies to experiments like these. Counts that do not vary between
        two shifts have an exact ratio, as in `welch_log_ratio`; with experiments, if they do not vary between any.

    Raises:
        ValueError: `level` is not between 0 and 1.

    Source: see `levels_of` and `change_points`; reason not to use single invocations: Kalibera and Jones, "Rigorous
    benchmarking in reasonable time" (ISMM 2013), section 3.
    """
    check_level(level)
    arrays = [np.asarray(group, dtype=np.float64).ravel() for group in groups]
    kept = [number for number, array in enumerate(arrays) if array.size]
    problem = next((why for number in kept if (why := why_no_logs(arrays[number]))), "")
    if problem:
        return Shifts(INVOCATIONS, reason=problem)
    if len(kept) < 2:
        return Shifts(INVOCATIONS, reason="one experiment has no history" if kept else "no values")
    logs = [np.log(arrays[number]) for number in kept]
    if len(kept) >= LEAST_TO_SEE_VARIATION:
        arrays = [arrays[number] for number in kept]

        def change_of(before: int, at: int, end: int) -> Contrast:
            after, earlier = (np.concatenate(part) for part in (arrays[at:end], arrays[before:at]))
            return welch_log_ratio(after, earlier, level, counted)

        def beyond_invocations(before: int, at: int, end: int) -> bool:
            return change_of(before, at, end).p < (1.0 - level) / (len(arrays) - 1)

        means = np.array([float(log.mean()) for log in logs])
        exactly = counted and all(map(do_not_vary, arrays))
        levels = levels_of(means, level, beyond_invocations, exactly)
        ends = (0, *levels.breaks, len(kept))
        shifts = []
        for before, at, after, p, change in zip(
            ends, levels.breaks, ends[2:], levels.p, levels.changes, strict=False
        ):
            ratio = Contrast(change.interval.mapped(safe_exp), p, change.df)
            if change.interval.is_exact:
                # The same ratio, without the rounding of logarithms.
                point = change_of(before, at, after).interval.point
                ratio = Contrast(replace(change.interval, point=point, low=point, high=point), change.p)
            shifts.append(Shift(kept[at], ratio, at - before, after - at))
        return Shifts(EXPERIMENTS, tuple(shifts), levels.autocorrelation, levels.false_rate)
    found = _kept(_breaks(logs), [arrays[number] for number in kept], level, counted)
    return Shifts(INVOCATIONS, tuple(Shift(kept[s.at], s.ratio, s.before, s.after) for s in found))


def _breaks(logs: Sequence[Floats]) -> list[int]:
    """Return the change points of all invocations, as indices of experiments."""
    ends = np.cumsum([log.size for log in logs])
    series = np.concatenate(logs)
    found = change_points(series, schwarz_penalty(series.size), allowed=ends[:-1])
    return [int(np.searchsorted(ends, place, side="right")) for place in found]


def _kept(breaks: list[int], values: Sequence[Floats], level: float, counted: bool) -> list[Shift]:
    """Drop the least significant break, one at a time, until each remaining break is significant."""
    # The values determined the breaks, so correct for all possible segments, not only those at a fixed position.
    limit = (1.0 - level) / max(1, len(values) * (len(values) - 1) // 2)
    while True:
        found = []
        for before, at, after in zip((0, *breaks), breaks, (*breaks[1:], len(values)), strict=False):
            ratio = welch_log_ratio(
                np.concatenate(values[at:after]), np.concatenate(values[before:at]), level, counted
            )
            found.append(Shift(at, ratio, at - before, after - at))
        doubtful = [shift for shift in found if not shift.ratio.p < limit]
        if not doubtful:
            return found
        worst = max(doubtful, key=lambda shift: math.inf if math.isnan(shift.ratio.p) else shift.ratio.p)
        breaks = [at for at in breaks if at != worst.at]
