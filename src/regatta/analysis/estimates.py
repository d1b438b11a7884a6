"""From what `regatta.stats` estimated to the model's own shape."""

from __future__ import annotations

from regatta.model.estimate import Estimate
from regatta.stats.estimate import Interval


def estimate_of(interval: Interval) -> Estimate:
    """The model's shape of what `regatta.stats` estimated."""
    return Estimate(
        interval.n,
        interval.point,
        interval.low,
        interval.high,
        interval.level,
        interval.method,
        interval.reason,
    )
