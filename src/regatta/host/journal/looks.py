"""When the rule `decide` looks at the values, and what it then says. Pure; standard library only, because the runner carries it.

A comparison is looked at after 3, 4, ... 10 rounds, and then whenever a tenth more rounds are there. At each look, the ordinary
interval of Student's t for the mean difference of logarithms is formed, at one level that is the same for all looks. It is so
high that all intervals together contain the true ratio with the probability of the experiment (`regatta.stats.looks`). So what
an interval says may be believed whenever measuring stops:

- it excludes equality: one alternative has larger values;
- it excludes every relevant difference: they are equivalent;
- neither, and after all rounds that are left this would hardly change: undecided.

Source: C. Jennison and B. W. Turnbull, Interim analyses: the repeated confidence interval approach, Journal of the Royal
Statistical Society B 51 (1989); the form of the boundary (one nominal level): S. J. Pocock, Biometrika 64 (1977).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

#: rounds before the first look, and until which each round is looked at
FIRST, DENSE = 3, 10
#: rounds between two later looks, as a share of those before
_GROWTH = 1.1
#: fewer differences show neither a dependence nor what remains to be expected
LEAST_SEEN = 10
#: chance of a decision in all remaining rounds below which measuring stops
FUTILE = 0.05
#: lag-1 correlation of neighbours that independent differences exceed with probability 0.005, times the root of their number
_DEPENDENT = 2.576

#: of a relative to b: its values are smaller, larger, differ by less than is relevant, or it is not known
Outcome = Literal["less", "greater", "equivalent", "undecided"]


def looks_until(maximum: int, pilot: int = FIRST) -> list[int]:
    """Return the numbers of rounds after which a comparison is looked at, ascending: from `pilot` to `maximum`.

    Empty if the maximum is below the pilot, which is at least 3.
    """
    found = list(range(FIRST, min(DENSE, maximum) + 1))
    while found and found[-1] < maximum:
        found.append(min(maximum, math.floor(found[-1] * _GROWTH + 0.5)))
    return [pilot, *(one for one in found if one > pilot)] if pilot <= maximum else []


def several_looks(pilot: int, maximum: int) -> int:
    """Return the largest number of rounds if there are several looks until then, for which intervals are adjusted; else 0."""
    return maximum if pilot < maximum else 0


@dataclass(frozen=True)
class Limits:
    """`t`: two-sided quantiles of Student's t for 1, 2, ... degrees of freedom, at the level of each look. `relevance`: the largest
    irrelevant difference of logarithms.
    """

    t: Sequence[float]
    relevance: float

    def quantile(self, n: int) -> float:
        """Return t of n >= 2 values."""
        return self.t[min(n - 1, len(self.t)) - 1]


@dataclass(frozen=True)
class Look:
    """What a look says. `outcome` is None if measuring goes on."""

    outcome: Outcome | None
    #: number of differences, their mean and standard deviation, and the half-width of the interval
    n: int
    mean: float
    sd: float
    half_width: float
    #: chance of a decision in all remaining rounds; NaN: unknown
    chance: float = math.nan


def look(differences: Sequence[float], limits: Limits, left: int) -> Look:
    """Look at a comparison.

    Args:
        differences: log a - log b of at least 3 blocks, in order of rounds.
        limits: quantiles for at least as many degrees of freedom as there are rounds at most.
        left: rounds that can still be measured; 0: this is the last look.
    """
    n = len(differences)
    mean, sd = statistics.fmean(differences), statistics.stdev(differences)
    half = limits.quantile(n) * sd / math.sqrt(n)
    if abs(mean) + half < limits.relevance:
        return Look("equivalent", n, mean, sd, half)
    if abs(mean) > half:
        return Look("less" if mean < 0 else "greater", n, mean, sd, half)
    if not left:
        return Look("undecided", n, mean, sd, half)
    chance = _chance(n, mean, sd, limits, left) if n >= LEAST_SEEN else math.nan
    return Look("undecided" if chance < FUTILE else None, n, mean, sd, half, chance)


def rounds_expected(found: Look, limits: Limits, rounds: int) -> int | None:
    """Return about how many rounds give an answer, with the mean and the spread of a look.

    The interval must be narrow enough to exclude equality, or every relevant difference; the smaller number is returned.

    Args:
        found: of a look without an answer, at 2 or more differences.
        limits: with their quantiles.
        rounds: those before the look, of which some have no difference; so it is assumed of later ones.

    Returns:
        More than `rounds`. None without a spread.
    """
    if found.sd <= 0.0:
        return None
    nearer = max(abs(found.mean), limits.relevance - abs(found.mean))

    # The half-width falls with n. Beyond the quantiles, the last one counts.
    few, enough = found.n, max(found.n + 1, math.floor((limits.t[-1] * found.sd / nearer) ** 2) + 1)
    while limits.quantile(enough) * found.sd / math.sqrt(enough) >= nearer:
        few, enough = enough, 2 * enough
    while enough - few > 1:
        middle = (few + enough) // 2
        is_enough = limits.quantile(middle) * found.sd / math.sqrt(middle) < nearer
        few, enough = (few, middle) if is_enough else (middle, enough)
    return math.ceil(enough * rounds / found.n)


def is_dependent(differences: Sequence[float]) -> bool:
    """Return whether neighbours are so similar or so different that the differences are not independent.

    Args:
        differences: in order of rounds; fewer than 10 show nothing.

    Returns:
        True for about 1 % of series of independent normal values (the quantile is that of many values).
    """
    n = len(differences)
    if n < LEAST_SEEN:
        return False
    mean = statistics.fmean(differences)
    rest = [value - mean for value in differences]
    total = math.fsum(value * value for value in rest)
    return total > 0 and abs(
        math.fsum(a * b for a, b in zip(rest, rest[1:]))
    ) > _DEPENDENT * total / math.sqrt(n)


def _chance(n: int, mean: float, sd: float, limits: Limits, left: int) -> float:
    """Return the chance that the last look decides, as the values so far predict its mean, with the spread so far.

    The chance that any look decides is hardly larger, because the last interval is the narrowest.

    Source: D. J. Spiegelhalter, L. S. Freedman and P. R. Blackburn, Monitoring clinical trials: conditional or predictive power?,
    Controlled Clinical Trials 7 (1986).
    """
    end = n + left
    last = statistics.NormalDist(mean, sd * math.sqrt(1 / n - 1 / end))
    half = limits.quantile(end) * sd / math.sqrt(end)
    chance = last.cdf(-half) + 1 - last.cdf(half)
    inside = limits.relevance - half
    if inside > 0:
        # Both may hold for one mean; their sum is then too large, and measuring goes on rather than stopping too early.
        chance += last.cdf(inside) - last.cdf(-inside)
    return min(1.0, chance)
