"""Times of an application from vectors, of its primitives or with its user time, as sums that share errors."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Literal

from regatta.predict.prediction import total
from regatta.predict.sums import NS, Sum, spread, uncertain
from regatta.spec.vectors import ApplicationVector, ConstantCost, SystemVector, Value

#: `time`: of the primitives; `kernel`, `user`: their parts; `elapsed`: with the application's user time
Quantity = Literal["time", "kernel", "user", "elapsed"]
#: name of a system -> the system on which an application's user time was measured; default: that system itself
TracedOn = Mapping[str, SystemVector]
#: the primitive of a system vector that scales an application's user time from one system to another
USER_WORK = "user_work"


def quantity(
    application: ApplicationVector,
    system: SystemVector,
    what: Quantity = "time",
    traced_on: TracedOn | None = None,
) -> Sum:
    """Return a predicted time per unit of an application's work, in ns.

    Args:
        application: its vector.
        system: its vector.
        what: which time. `elapsed` needs the application's measured user time.
        traced_on: where the user time was measured.

    Raises:
        RegattaError: an argument is missing.
    """
    if what != "elapsed":
        return total(application, system, what)
    return total(application, system).plus(own_user_time(application, system, traced_on))


def user_time(application: ApplicationVector) -> Sum:
    """Return the measured user time in ns; NaN with a reason if it was not measured."""
    if application.user_time is None:
        return Sum(math.nan, reason=f"no measured user time of {application.name}")
    return uncertain(application.user_time, ("user_time", application.name), NS[application.time_unit])


def own_user_time(
    application: ApplicationVector, system: SystemVector, traced_on: TracedOn | None = None
) -> Sum:
    """Return the user time on a system without that of its primitives, in ns.

    It is the measured user time minus the primitives' user part there, at least 0, times the ratio of the `user_work` costs of
    the two systems. The ratio accounts for a slower processor, or a share of one. If one of the two lacks that cost, the time
    is assumed to be the same on all systems (`brings_user_time` returns it). The interval of the product is that of its
    differential.
    """
    there = (traced_on or {}).get(system.name, system)
    found = _at_least_0(
        user_time(application).minus(total(application, there, "user")),
        ("own user time", application.name, there.name),
    )
    costs = _user_work_of(system, there)
    if costs is None:
        return found
    here_cost, there_cost = costs
    # A changed system and its original share the error of this cost.
    scaled = found.times(here_cost.value / there_cost.value)
    by_here = spread(here_cost, ("cost", system.name, USER_WORK, 0), found.value / there_cost.value)
    by_there = spread(there_cost, ("cost", there.name, USER_WORK, 0), -scaled.value / there_cost.value)
    return scaled.plus(Sum(0.0, by_here, here_cost.reason)).plus(Sum(0.0, by_there, there_cost.reason))


def _at_least_0(found: Sum, source: Hashable) -> Sum:
    """Return the sum; if it is below 0, return 0 with the part of its interval above 0."""
    if not found.value < 0.0:
        return found
    high = found.interval().high
    if high <= 0.0:
        return Sum(0.0)
    return Sum(0.0, {source: (1.0, 0.0, high)}, found.reason)


def brings_user_time(system: SystemVector, there: SystemVector) -> bool:
    """Return whether both have the cost that scales an application's user time from one to the other."""
    return _user_work_of(system, there) is not None


def _user_work_of(system: SystemVector, there: SystemVector) -> tuple[Value, Value] | None:
    """Return the `user_work` costs of both in ns; None if they are not comparable."""
    here_cost, there_cost = _user_work(system), _user_work(there)
    if here_cost is None or there_cost is None or there_cost.value <= 0.0:
        return None
    return here_cost, there_cost


def _user_work(system: SystemVector) -> Value | None:
    """Return the `user_work` cost in ns."""
    primitive = system.primitives.get(USER_WORK)
    if primitive is None or not isinstance(primitive.cost, ConstantCost):
        return None
    factor, cost = NS[system.time_unit], primitive.cost.cost
    return Value(cost.value * factor, cost.low * factor, cost.high * factor, cost.n, cost.reason)
