"""Predict the speed-up of a workload when one application replaces another.

Source: X. Zhang, "Application-Specific Benchmarking", PhD thesis, Harvard University, 2001, section 6.3.3.3:
r = s1 / s2 of the predicted kernel times, and r' = (s1 + u) / (s2 + u) with the constant user time u.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from regatta.models.predict.mixing import Mix, normalized
from regatta.models.predict.prediction import common_level, total
from regatta.models.predict.times import Quantity, own_user_time, quantity, user_time
from regatta.models.vectors.sums import Sum, positive, ratio
from regatta.models.vectors.values import ApplicationVector, SystemVector, Value

#: an application -> the system on which its user time was measured; None: the system of the prediction
TracedWhere = Callable[[ApplicationVector], SystemVector | None]


@dataclass(frozen=True)
class Speedup:
    """A predicted speed-up on one system, in three variants."""

    #: u: user time per unit of work before, in ns: measured there, or scaled from where the applications were traced
    user: Value
    #: r = s1 / s2 of the predicted kernel times
    kernel: Value
    #: r' = (s1 + u) / (s2 + u): with constant user time, as in the thesis
    user_stays: Value
    #: (s1 + u1) / (s2 + u2), of the predicted elapsed times: each workload with the user time of its applications
    own_user: Value


def speedup(
    before: Mix,
    after: Mix,
    system: SystemVector,
    user: Value | None = None,
    traced: TracedWhere = lambda _: None,
) -> Speedup:
    """Predict the speed-up from one workload to another on a system.

    Common costs, and counts of applications in both mixes, affect both sides of the ratio; so does u.

    Args:
        before: current applications and weights, such as `[(static, 0.7), (cgi, 0.3)]`.
        after: the mix with replacements (`mixing.replaced`).
        system: the system for both. Neither formula holds between two systems: their user times differ.
        user: user time per unit of work before, in ns, as measured there; when None the mean over the applications, each
            scaled from where it was measured.
        traced: where each application's user time was measured.

    Returns:
        the speed-ups. Without a measured user time, those that need it are NaN with a reason.

    Raises:
        RegattaError: a mix is invalid, or an error of `predict`.
    """
    first, second = normalized(before), normalized(after)
    common_level(system, *(application for application, _ in (*first, *second)))
    s1, s2 = _mean(first, system, "kernel"), _mean(second, system, "kernel")
    u = _user(first, system, user, traced)
    elapsed = [_mean(mix, system, "elapsed", traced) for mix in (first, second)]
    return Speedup(positive(u.interval()), ratio(s1, s2), ratio(s1.plus(u), s2.plus(u)), ratio(*elapsed))


def _mean(mix: Mix, system: SystemVector, what: Quantity, traced: TracedWhere = lambda _: None) -> Sum:
    found = Sum(0.0)
    for application, weight in mix:
        there = {system.name: traced(application) or system}
        found = found.plus(quantity(application, system, what, there).times(weight))
    return found


def _user(mix: Mix, system: SystemVector, user: Value | None, traced: TracedWhere) -> Sum:
    if user is not None:
        return Sum(user.value, {"user": (1.0, user.value - user.low, user.high - user.value)}, user.reason)
    found = Sum(0.0)
    for application, weight in mix:
        there = traced(application)
        if there is None or there.name == system.name:
            its = user_time(application)
        else:
            its = own_user_time(application, system, {system.name: there}).plus(
                total(application, system, "user")
            )
        found = found.plus(its.times(weight))
    return found


def as_mix(application: ApplicationVector) -> Mix:
    """Return a mix of one application."""
    return [(application, 1.0)]
