"""The proportion of events in n trials, with an exact interval, and a test of whether it exceeds an expected rate."""

from __future__ import annotations

from scipy.special import bdtrc, betaincinv

from regatta.stats.estimate import Interval, check_level, undefined

CLOPPER_PEARSON = "clopper-pearson"


def proportion_interval(hits: int, n: int, level: float = 0.95) -> Interval:
    """Return the proportion of hits in n independent trials with the exact interval.

    Args:
        hits: 0 to n.
        n: trials, >= 0.
        level: confidence, between 0 and 1; the coverage is at least this.

    Returns:
        hits/n with its interval, between 0 and 1. NaN with a reason if n = 0.

    Raises:
        ValueError: `hits` is not between 0 and n, or `level` not between 0 and 1.

    Source: Clopper and Pearson, Biometrika 26 (1934), through quantiles of the beta distribution.
    """
    check_level(level)
    if not 0 <= hits <= n:
        raise ValueError(f"hits: expected 0 to {n} · got {hits}")
    if n == 0:
        return undefined(0, level, CLOPPER_PEARSON, "no trials")
    tail = (1.0 - level) / 2.0
    low = float(betaincinv(hits, n - hits + 1, tail)) if hits else 0.0
    high = float(betaincinv(hits + 1, n - hits, 1.0 - tail)) if hits < n else 1.0
    return Interval(n, hits / n, low, high, level, CLOPPER_PEARSON)


def too_often_p(hits: int, n: int, rate: float) -> float:
    """Return P(at least `hits` in n trials) at probability `rate` (0 to 1) each: the upper tail of the binomial."""
    if not 0 <= hits <= n:
        raise ValueError(f"hits: expected 0 to {n} · got {hits}")
    return 1.0 if hits == 0 else float(bdtrc(hits - 1, n, rate))
