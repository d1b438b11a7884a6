"""Detect gaps or several modes in a small sample. Pure; standard library only, because the runner carries it.

Rare modes (such as 20 % slower in one run of ten) defeat every stopping rule: the spread of the pilot does not predict
later values. Cut the sample at its largest gap, and at its two largest. Divide the smallest cut gap by the standard
deviation within the parts. For normal values, the result rarely exceeds the numbers below.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

#: n -> critical values for one cut and for two cuts: the gap divided by the standard deviation within the parts. Normal
#: values exceed each with probability 0.0075, and either with 0.0145 to 0.015 (n = 5: one cut, 0.015). From a simulation of
#: 400,000 samples of each n (200,000 above 30) with numpy's PCG64(20070101). Detection rate for samples of ten in which
#: one value in ten is 20 % larger and at least one occurs: 100, 93 and 48 % for standard deviations of 1, 2 and 3 %.
_CRITICAL = {
    5: (11.36, math.inf),
    6: (9.82, 12.89),
    7: (7.53, 8.74),
    8: (6.18, 6.67),
    9: (5.32, 5.49),
    10: (4.70, 4.76),
    12: (3.96, 3.78),
    15: (3.32, 2.97),
    20: (2.79, 2.25),
    25: (2.56, 1.86),
    30: (2.40, 1.62),
    40: (2.20, 1.36),
    50: (2.08, 1.23),
    70: (1.96, 1.09),
    100: (1.84, 1.01),
}
_LEAST = min(_CRITICAL)

#: n -> the same ratio for the largest gap above the median, with one value above it and with more. Values with Student's
#: distribution with 3 degrees of freedom exceed the first with probability 0.004 and the second with 0.001; normal values
#: almost never. From a simulation of 400,000 samples of each n (200,000 above 30) with numpy's PCG64(20070102). With more
#: values, rare slow runs hardly affect an interval.
_SLOW = {
    5: (17.93, 17.37),
    6: (14.28, 10.19),
    7: (13.08, 8.73),
    8: (12.21, 7.19),
    9: (11.75, 6.50),
    10: (11.56, 5.85),
    12: (11.44, 5.21),
    15: (11.53, 4.82),
    20: (11.91, 4.73),
    25: (12.22, 4.56),
    30: (12.34, 4.75),
    40: (13.42, 4.77),
    50: (13.81, 5.06),
    70: (14.67, 5.29),
    100: (16.44, 5.71),
}


def modes_in(values: Sequence[float], least_gap: float) -> bool:
    """Return whether the sample has a gap that is implausible for normal values.

    Args:
        values: any order; logs for times. Fewer than 5 values show nothing.
        least_gap: smallest relevant gap, >= 0, in the unit of the values. A coarse clock splits equal times, which is
            not a mode.

    Returns:
        True for about 1.5 % of samples of normal values with relevant gaps.
    """
    n = len(values)
    if n < _LEAST:
        return False
    x = sorted(values)
    gaps = sorted(((x[i + 1] - x[i], i + 1) for i in range(n - 1)), reverse=True)
    for cuts, critical in enumerate(_critical(n, _CRITICAL), start=1):
        gap = gaps[cuts - 1][0]
        if gap <= least_gap:
            break
        within = _within(x, sorted(place for _, place in gaps[:cuts]))
        if gap > critical * within:
            return True
    return False


def slow_runs(values: Sequence[float], least_gap: float) -> int:
    """Return how many of the largest values are rare slow runs: separated by a gap that even heavy tails rarely have.

    Stricter than `modes_in`, because it makes a claim, and an unnecessary round costs less than a false claim.

    Args:
        values: any order; logs for times. Fewer than 5 or more than 100 values show nothing.
        least_gap: smallest relevant gap, >= 0, in the unit of the values.

    Returns:
        The number of values above the gap, fewer than half; 0 without one, and in about 99.5 % of samples of heavy-tailed
        values (Student's distribution with 3 degrees of freedom).
    """
    n = len(values)
    if not _LEAST <= n <= max(_SLOW):
        return 0
    x = sorted(values)
    gap, place = max((x[i] - x[i - 1], i) for i in range(n // 2 + 1, n))
    single, several = _critical(n, _SLOW)
    critical = single if n - place == 1 else several
    return n - place if gap > least_gap and gap > critical * _within(x, [place]) else 0


def _within(x: Sequence[float], cuts: Sequence[int]) -> float:
    """Return the pooled standard deviation within the parts."""
    total = 0.0
    for first, end in zip([0, *cuts], [*cuts, len(x)]):
        part = x[first:end]
        mean = math.fsum(part) / len(part)
        total += math.fsum((value - mean) ** 2 for value in part)
    return math.sqrt(total / (len(x) - len(cuts) - 1))


def _critical(n: int, table: Mapping[int, tuple[float, float]]) -> tuple[float, float]:
    """Return the critical values for n >= 5: linear in 1/n between known values; above 100 as for 100."""
    if n in table:
        return table[n]
    known = sorted(table)
    if n > known[-1]:
        return table[known[-1]]
    above = next(k for k in known if k > n)
    below = known[known.index(above) - 1]
    share = (1 / n - 1 / above) / (1 / below - 1 / above)
    a, b = table[above], table[below]
    return a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])
