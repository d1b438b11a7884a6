"""The error of a model itself, which no number of measurements makes smaller, in the interval of a predicted number."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from scipy.special import stdtrit

from regatta.models.vectors.values import Value


@dataclass(frozen=True)
class ModelError:
    """Standard deviation of the logarithm of predicted / true: `base`, and `per_log` for each unit of a log ratio."""

    base: float
    per_log: float
    #: number of independent errors of the fit
    applications: int

    def quantile(self, level: float) -> float:
        """Return half the length of an interval, in standard deviations, for a level from 0 to 1."""
        return float(stdtrit(self.applications - 1, 0.5 + level / 2))

    def half_width(self, log_ratio: float, level: float) -> float:
        """Return half the length of the interval of log (predicted / true), for a level from 0 to 1."""
        return self.quantile(level) * math.hypot(self.base, self.per_log * log_ratio)


def with_model_error(number: Value, error: ModelError, level: float, log_ratio: float = 0.0) -> Value:
    """Return a predicted time or ratio whose interval also contains the model's own error.

    On each side, the distances on the logarithmic scale add as the root of the sum of squares, because the two errors are
    independent.

    Args:
        number: at least 0, with an interval from the errors of costs and counts. One without an interval stays without.
        level: of that interval, from 0 to 1.
        log_ratio: logarithm of the ratio to the other system.
    """
    if not (number.value > 0.0 and math.isfinite(number.value)):
        return number
    half = error.half_width(log_ratio, level)

    def end(old: float, sign: float) -> float:
        if not 0.0 < old < math.inf:
            return old
        return number.value * math.exp(sign * math.hypot(half, math.log(old / number.value)))

    return replace(number, low=end(number.low, -1.0), high=end(number.high, 1.0))
