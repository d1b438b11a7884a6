"""The error of the model itself: a call of an application does not cost what it costs in a loop of a microbenchmark.

Intervals of costs and counts shrink with more invocations. What remains is the model's own error, which grows with the difference
between two systems. With predicted times P and true times T of one application on systems a and b,

    log (Pa / Pb) - log (Ta / Tb)  has the variance  base^2 + (per_log log (Pa / Pb))^2.

For one time, b is the system on which the application was traced. The numbers come from the applications and systems of
docs/vectors.md, and `perf/accuracy/predicting.py` finds them again. It also counts how often intervals contain the measured value of
applications and systems that were left out. N applications give Student's quantile with N - 1 degrees of freedom.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from regatta.models.vectors.model_error import ModelError, with_model_error
from regatta.models.vectors.values import ApplicationVector, SystemVector, Value


@dataclass(frozen=True)
class ModelErrors:
    """The model's own errors for applications whose primitives are of one kind."""

    #: of the ratio of an application's times on two systems
    ratios: ModelError
    #: of its time on one system; the other one is where it was traced
    times: ModelError
    #: of the ratio of two applications' times on one system
    speedups: ModelError


_RATIOS = ModelError(0.139, 0.067, 10)
#: primitives that are methods of a library, in user mode only
OF_LIBRARIES = ModelErrors(_RATIOS, ModelError(0.113, 0.049, 6), ModelError(0.240, 0.0, 6))
#: primitives in the kernel
OF_SYSTEM_CALLS = ModelErrors(_RATIOS, ModelError(0.356, 0.0, 4), ModelError(0.365, 0.0, 4))


def errors_of(application: ApplicationVector, systems: Iterable[SystemVector]) -> ModelErrors:
    """Return the model's own errors by the kind of the application's primitives: in the kernel, if any of them is or may be."""
    used = {count.primitive for count in application.counts}
    primitives = (cost for system in systems for name, cost in system.primitives.items() if name in used)
    return OF_LIBRARIES if all(one.user_share.value == 1.0 for one in primitives) else OF_SYSTEM_CALLS


def ratio_with_model_error(number: Value, errors: ModelErrors, level: float) -> Value:
    """Return the predicted ratio of two systems' times, with the model's own error in its interval."""
    distance = math.log(number.value) if number.value > 0.0 else 0.0
    return with_model_error(number, errors.ratios, level, distance)


def time_with_model_error(
    number: Value, errors: ModelErrors, level: float, time_ns: float, traced_ns: float
) -> Value:
    """Return a predicted time, or a part of it, with the model's own error in its interval.

    Args:
        number: the time or a part of it.
        errors: of its application.
        level: of its interval.
        time_ns, traced_ns: predicted times of the application there and on the system where it was traced; NaN if unknown. The
            distance between the systems then counts as 0.
    """
    known = time_ns > 0.0 and traced_ns > 0.0
    return with_model_error(number, errors.times, level, math.log(time_ns / traced_ns) if known else 0.0)
