"""Variance at every level of a nested experiment: iterations in invocations in builds or hosts, after Kalibera and Jones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from regatta.stats.estimate import NAN


@dataclass(frozen=True)
class VarianceLevels:
    """Variance by level, the lowest (iterations) first.

    `counts`: r_1 ... r_k, repetitions at each level inside the one above. `s_squared`: biased estimates S_i², unit of the
    values squared. `t_squared`: unbiased T_i²; a negative one means that the level adds no detectable variance; it is clipped
    only for display. NaN if it cannot be estimated, with `reason`.
    """

    counts: tuple[int, ...]
    s_squared: tuple[float, ...]
    t_squared: tuple[float, ...]
    reason: str = ""


@dataclass(frozen=True)
class Repetitions:
    """The optimal repetitions of a level inside the one above.

    `count`: >= 1, infinite, or NaN. `reason`: why it is not finite.
    """

    count: float
    reason: str = ""


def levels_of(counts: Sequence[int], s_squared: Sequence[float]) -> VarianceLevels:
    """Split the variance of a balanced nested experiment among its levels, from the biased variance of each.

    Args:
        counts: r_1 ... r_k, >= 1, lowest level first.
        s_squared: S_1² ... S_k², >= 0, unit of the values squared: S_i² is the variance of the means at level i inside the
            level above, averaged over it. NaN for a level with one repetition.

    Returns:
        T_1² = S_1², T_i² = S_i² - S_(i-1)²/r_(i-1). NaN with a reason for a level with one repetition (and for the T² of the
        level above).

    Raises:
        ValueError: the numbers of variances and counts differ, or are 0.

    Source: Kalibera and Jones, "Rigorous Benchmarking in Reasonable Time", ISMM 2013.
    """
    if not counts or len(counts) != len(s_squared):
        raise ValueError(f"levels: expected a variance a level · got {len(counts)} and {len(s_squared)}")
    t_squared = [s_squared[0]]
    t_squared += [
        s - below / count for s, below, count in zip(s_squared[1:], s_squared, counts, strict=False)
    ]
    alone = [str(level) for level, count in enumerate(counts, 1) if count == 1]
    reason = f"one repetition at level {' and '.join(alone)} has no variance" if alone else ""
    return VarianceLevels(tuple(counts), tuple(s_squared), tuple(t_squared), reason)


def time_for_precision(
    t_squared: Sequence[float], costs: Sequence[float], iterations: float, instead_of: float
) -> float:
    """Return the time that one number of iterations per invocation needs for the precision of another, as a share of its time.

    The variance of the mean of n invocations of r iterations is (T_1²/r + T_2²) / n, and their time is n (c_1 r + c_2). So the
    time for a given variance is proportional to (T_1²/r + T_2²) (c_1 r + c_2).

    Args:
        t_squared: T_1² and T_2², unit of the values squared; one below 0 counts as 0. Their sum is above 0.
        costs: c_1 and c_2, > 0, in one unit.
        iterations, instead_of: r of either, >= 1.

    Source: the minimized product in Kalibera and Jones (ISMM 2013), section 6.
    """
    within, between = (max(0.0, value) for value in t_squared)

    def product(count: float) -> float:
        return (within / count + between) * (costs[0] * count + costs[1])

    return product(iterations) / product(instead_of)


def optimal_repetitions(levels: VarianceLevels, costs: Sequence[float]) -> tuple[Repetitions, ...]:
    """Return the repetitions of each level except the highest that give the narrowest interval for a given time.

    Args:
        levels: from a pilot experiment of k levels.
        costs: shape (k,), > 0, lowest level first: c_1 of an iteration, c_2 of starting an invocation (with its warm-up), ...;
            any unit, the same for all.

    Returns:
        k - 1 numbers, lowest level first: r_i = ⌈√(c_(i+1)/c_i · T_i²/T_(i+1)²)⌉. 1 if the level adds no variance. Infinite if
        only the level above adds none, so that one repetition of it is enough. NaN if a T² is unknown. The highest level is
        repeated until the interval is narrow enough.

    Raises:
        ValueError: the number of costs differs from the number of levels, or a cost is not positive.

    Source: Kalibera and Jones (ISMM 2013).
    """
    if len(costs) != len(levels.counts) or not all(cost > 0 and math.isfinite(cost) for cost in costs):
        raise ValueError(f"costs: expected {len(levels.counts)} positive numbers · got {list(costs)}")
    found = []
    for i, (low, high) in enumerate(zip(levels.t_squared, levels.t_squared[1:], strict=False)):
        if math.isnan(low) or math.isnan(high):
            found.append(Repetitions(NAN, levels.reason))
        elif low <= 0.0:
            found.append(Repetitions(1.0))
        elif high <= 0.0:
            found.append(Repetitions(math.inf, f"level {i + 2} adds no visible variance"))
        else:
            found.append(Repetitions(float(math.ceil(math.sqrt(costs[i + 1] / costs[i] * low / high)))))
    return tuple(found)
