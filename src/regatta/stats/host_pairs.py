"""All pairs of alternatives over several hosts, with intervals that hold together though each pair has an error of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence

from regatta.stats.estimate import NAN, Contrast, Interval
from regatta.stats.hosts import HostEffect, PooledEffect, pool_hosts
from regatta.stats.studentized_range import quantile, upper_tail

GAMES_HOWELL = "games-howell"


def pool_pair(effects: Sequence[HostEffect], alternatives: int, level: float = 0.95) -> PooledEffect:
    """Pool one of all the pairs among some alternatives over fixed hosts.

    Args:
        effects: the pair's difference on each host.
        alternatives: how many there are, at least 2: each pair is one of so many that are looked at.
        level: confidence that the intervals of all pairs hold together, between 0 and 1.

    Returns:
        As `pool_hosts` with fixed hosts, but ± q(level; k, ν)/√2 · standard error, and p of the studentized range with ν
        degrees of freedom, which are the pair's own.

    Raises:
        ValueError: `level` is not between 0 and 1, or there are fewer than two alternatives.

    Source: Games and Howell, Journal of Educational Statistics 1 (1976).
    """
    pooled = pool_hosts(effects, level)
    own = pooled.contrast.interval
    if math.isnan(own.low):
        interval = Interval(own.n, own.point, NAN, NAN, level, GAMES_HOWELL, own.reason)
        return PooledEffect(Contrast(interval, NAN), pooled.interaction, pooled.hosts, pooled.taken)
    error = pooled.error / math.sqrt(2.0)
    df = pooled.contrast.df
    half = quantile(level, alternatives, df) * error
    interval = Interval(own.n, own.point, own.point - half, own.point + half, level, GAMES_HOWELL)
    p = float(upper_tail([abs(own.point) / error], alternatives, df)[0])
    return PooledEffect(
        Contrast(interval, p, df), pooled.interaction, pooled.hosts, pooled.taken, pooled.error
    )
