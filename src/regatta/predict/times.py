"""The times of an application that vectors tell: of its primitives, or with its own user time, as sums that share errors."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Literal

from regatta.predict.prediction import total
from regatta.predict.sums import NS, Sum, spread, uncertain
from regatta.spec.vectors import ApplicationVector, ConstantCost, SystemVector, Value

#: `time`: of the primitives; `kernel`, `user`: their parts; `elapsed`: with the application's own time in user mode
Quantity = Literal["time", "kernel", "user", "elapsed"]
#: for each system's name the one on which an application's user time was measured; what is not in it is that system itself
TracedOn = Mapping[str, SystemVector]
#: the primitive of a system vector by which an application's own work in user mode is brought from one system to another
USER_WORK = "user_work"


def quantity(
    application: ApplicationVector,
    system: SystemVector,
    what: Quantity = "time",
    traced_on: TracedOn | None = None,
) -> Sum:
    """A predicted time for one unit of an application's work, in ns.

    Args:
        application: its vector.
        system: what it runs on.
        what: which time. `elapsed` needs the application's measured user time.
        traced_on: where the user time was measured.

    Raises:
        RegattaError: an argument is missing.
    """
    if what != "elapsed":
        return total(application, system, what)
    return total(application, system).plus(own_user_time(application, system, traced_on))


def user_time(application: ApplicationVector) -> Sum:
    """The measured user time in ns; NaN with a reason where it was not measured."""
    if application.user_time is None:
        return Sum(math.nan, reason=f"the user time of {application.name} was not measured")
    return uncertain(application.user_time, ("user_time", application.name), NS[application.time_unit])


def own_user_time(
    application: ApplicationVector, system: SystemVector, traced_on: TracedOn | None = None
) -> Sum:
    """The user time on a system that is not its primitives', in ns.

    It is what was measured less the primitives' user part there, at least 0, times what `user_work` costs on the system
    over what it costs there, so that a slower processor, or a part of one, is in it. Where one of both does not have that
    cost the time is taken to be the same on all systems (`brings_user_time` says so). The interval of the product is that of
    its differential.
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
    # A system that was changed, and itself as it was, have the error of this cost in common.
    scaled = found.times(here_cost.value / there_cost.value)
    by_here = spread(here_cost, ("cost", system.name, USER_WORK, 0), found.value / there_cost.value)
    by_there = spread(there_cost, ("cost", there.name, USER_WORK, 0), -scaled.value / there_cost.value)
    return scaled.plus(Sum(0.0, by_here, here_cost.reason)).plus(Sum(0.0, by_there, there_cost.reason))


def _at_least_0(found: Sum, source: Hashable) -> Sum:
    """The sum, or 0 with what its interval has above 0, where it is below 0."""
    if not found.value < 0.0:
        return found
    high = found.interval().high
    if high <= 0.0:
        return Sum(0.0)
    return Sum(0.0, {source: (1.0, 0.0, high)}, found.reason)


def brings_user_time(system: SystemVector, there: SystemVector) -> bool:
    """Whether both have the cost by which an application's own work in user mode is brought from one to the other."""
    return _user_work_of(system, there) is not None


def _user_work_of(system: SystemVector, there: SystemVector) -> tuple[Value, Value] | None:
    """What `user_work` costs on each, in ns; None where they cannot be compared by it."""
    here_cost, there_cost = _user_work(system), _user_work(there)
    if here_cost is None or there_cost is None or there_cost.value <= 0.0:
        return None
    return here_cost, there_cost


def _user_work(system: SystemVector) -> Value | None:
    """In ns."""
    primitive = system.primitives.get(USER_WORK)
    if primitive is None or not isinstance(primitive.cost, ConstantCost):
        return None
    factor, cost = NS[system.time_unit], primitive.cost.cost
    return Value(cost.value * factor, cost.low * factor, cost.high * factor, cost.n, cost.reason)
