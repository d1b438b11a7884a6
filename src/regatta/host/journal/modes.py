"""Detect gaps or several modes in a small sample. Pure; standard library only, because the runner carries it.

Rare modes (such as 20 % slower in one run of ten) defeat every stopping rule: the spread of the pilot does not predict
later values. Cut the sample at its largest gap, and at its two largest. Divide the smallest cut gap by the standard
deviation within the parts. For normal values, the result rarely exceeds the numbers below.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

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
    for cuts, critical in enumerate(_critical(n), start=1):
        gap = gaps[cuts - 1][0]
        if gap <= least_gap:
            break
        within = _within(x, sorted(place for _, place in gaps[:cuts]))
        if gap > critical * within:
            return True
    return False


def _within(x: Sequence[float], cuts: Sequence[int]) -> float:
    """Return the pooled standard deviation within the parts."""
    total = 0.0
    for first, end in zip([0, *cuts], [*cuts, len(x)]):
        part = x[first:end]
        mean = math.fsum(part) / len(part)
        total += math.fsum((value - mean) ** 2 for value in part)
    return math.sqrt(total / (len(x) - len(cuts) - 1))


def _critical(n: int) -> tuple[float, float]:
    """Return the critical values for n >= 5: linear in 1/n between known values; above 100 as for 100."""
    if n in _CRITICAL:
        return _CRITICAL[n]
    known = sorted(_CRITICAL)
    if n > known[-1]:
        return _CRITICAL[known[-1]]
    above = next(k for k in known if k > n)
    below = known[known.index(above) - 1]
    share = (1 / n - 1 / above) / (1 / below - 1 / above)
    a, b = _CRITICAL[above], _CRITICAL[below]
    return a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])
