"""Shifts of the level over successive experiments, with the ratio after to before."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from regatta.stats.change_points import change_points, schwarz_penalty
from regatta.stats.estimate import NAN, Contrast, Floats, check_level
from regatta.stats.intervals import t_two_sided_p, why_no_logs
from regatta.stats.ratios import welch_log_ratio

INVOCATIONS, EXPERIMENTS = "invocations", "experiments"
#: With fewer experiments a step between two of them is indistinguishable from the variation between experiments.
LEAST_TO_SEE_VARIATION = 5
#: Minimum median step between neighbors, in standard errors, for experiments to count as replicates; 0.67 by chance.
#: Simulated with experiments of ten values. Without differences between experiments, it is exceeded in 15 of 100 series of five
#: experiments and 2 of 100 of twenty, which only costs power. If experiments differ as much as invocations, it is exceeded in
#: 83 and 98.
_VISIBLE = 1.2


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

    `unit`: the replicate, `invocations` or `experiments`. `step`: the median step between neighboring experiments in standard
    errors, 0.67 by chance; NaN with fewer than five. `reason`: why there is no result, else "".
    """

    unit: str
    shifts: tuple[Shift, ...] = ()
    step: float = NAN
    reason: str = ""


def find_shifts(groups: Sequence[ArrayLike], level: float = 0.95) -> Shifts:
    """Find the shifts of the level of a series of experiments.

    Breaks can only lie between experiments. If steps between neighbors are no larger than invocations explain, each invocation
    is a replicate, and breaks are change points of the logarithms, with penalty 3 log n. If experiments themselves vary
    (different day, different build of the same sources), each experiment is a replicate. The series of mean logarithms is then
    split recursively where the two sides differ most. A shift is kept if its p value times the number of possible positions is
    below 1 - `level`. Series without a shift thus show one in (1 - `level`) of all cases.

    Args:
        groups: values > 0 of each experiment, in order of time; empty groups are skipped.
        level: confidence of the intervals, between 0 and 1.

    Returns:
        The shifts, with Welch's interval of the ratio. With invocations as replicates it applies to these experiments; with
        experiments, to experiments like these.

    Raises:
        ValueError: `level` is not between 0 and 1.

    Source: change points: see `change_points`; binary segmentation: Vostrikova, Soviet Mathematics Doklady 24 (1981), with
    Bonferroni's bound over the positions; reason not to use single invocations: Kalibera and Jones, "Rigorous benchmarking in
    reasonable time" (ISMM 2013), section 3.
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
    step = _median_step(logs)
    if step > _VISIBLE:
        means = [np.atleast_1d(math.exp(log.mean())) for log in logs]
        found = _kept(_halves(np.array([float(log.mean()) for log in logs]), level), means, level)
        unit = EXPERIMENTS
    else:
        found = _kept(_breaks(logs), [arrays[number] for number in kept], level)
        unit = INVOCATIONS
    return Shifts(unit, tuple(Shift(kept[s.at], s.ratio, s.before, s.after) for s in found), step)


def _median_step(logs: Sequence[Floats]) -> float:
    """Return the median of the steps between neighboring experiments, each in its standard error."""
    steps = []
    for a, b in pairwise(logs):
        if min(a.size, b.size) < 2:
            continue
        error = math.sqrt(float(a.var(ddof=1)) / a.size + float(b.var(ddof=1)) / b.size)
        if error > 0.0:
            steps.append(abs(float(b.mean() - a.mean())) / error)
    return float(np.median(steps)) if len(steps) >= LEAST_TO_SEE_VARIATION - 1 else NAN


def _breaks(logs: Sequence[Floats]) -> list[int]:
    """Return the change points of all invocations, as indices of experiments."""
    ends = np.cumsum([log.size for log in logs])
    series = np.concatenate(logs)
    found = change_points(series, schwarz_penalty(series.size), allowed=ends[:-1])
    return [int(np.searchsorted(ends, place, side="right")) for place in found]


def _halves(means: Floats, level: float, first: int = 0) -> list[int]:
    """Split where the two sides differ most, while the difference is larger than chance explains at the best of all positions."""
    n = int(means.size)
    places = range(2, n - 1)
    if not places:
        return []
    best, p = 0, 1.0
    for place in places:
        a, b = means[:place], means[place:]
        rest = float(((a - a.mean()) ** 2).sum() + ((b - b.mean()) ** 2).sum())
        error = math.sqrt(rest / (n - 2) * (1.0 / a.size + 1.0 / b.size))
        difference = abs(float(b.mean() - a.mean()))
        here = t_two_sided_p(difference / error, n - 2) if error > 0.0 else 0.0 if difference > 0.0 else 1.0
        if here < p:
            best, p = place, here
    if p * len(places) >= 1.0 - level:
        return []
    return [
        *_halves(means[:best], level, first),
        first + best,
        *_halves(means[best:], level, first + best),
    ]


def _kept(breaks: list[int], values: Sequence[Floats], level: float) -> list[Shift]:
    """Drop the least significant break, one at a time, until each remaining break is significant."""
    # The values determined the breaks, so correct for all possible segments, not only those at a fixed position.
    limit = (1.0 - level) / max(1, len(values) * (len(values) - 1) // 2)
    while True:
        found = []
        for before, at, after in zip((0, *breaks), breaks, (*breaks[1:], len(values)), strict=False):
            ratio = welch_log_ratio(
                np.concatenate(values[at:after]), np.concatenate(values[before:at]), level
            )
            found.append(Shift(at, ratio, at - before, after - at))
        doubtful = [shift for shift in found if not shift.ratio.p < limit]
        if not doubtful:
            return found
        worst = max(doubtful, key=lambda shift: math.inf if math.isnan(shift.ratio.p) else shift.ratio.p)
        breaks = [at for at in breaks if at != worst.at]
