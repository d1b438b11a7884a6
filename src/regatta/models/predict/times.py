"""Times of an application from vectors, of its primitives or with its user time, as sums that share errors."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from typing import Literal

from scipy.special import ndtri

from regatta.models.predict.prediction import total
from regatta.models.vectors.costs import combined
from regatta.models.vectors.sums import NS, Sum, spread, uncertain
from regatta.models.vectors.values import (
    ApplicationVector,
    ConstantCost,
    Count,
    PrimitiveCost,
    SystemVector,
    TableCost,
    TablePoint,
    Value,
)

#: `time`: of the primitives; `kernel`, `user`: their parts; `elapsed`: with the application's user time
Quantity = Literal["time", "kernel", "user", "elapsed"]
#: name of a system -> the system on which an application's user time was measured; default: that system itself
TracedOn = Mapping[str, SystemVector]
#: the primitive of a system vector that scales an application's user time from one system to another
USER_WORK = "user_work"
#: key in an application's provenance: number of threads by which its counts were divided
PARALLELISM = "parallelism"


def quantity(
    application: ApplicationVector,
    system: SystemVector,
    what: Quantity = "time",
    traced_on: TracedOn | None = None,
) -> Sum:
    """Return a predicted time per unit of an application's work, in ns.

    `elapsed` needs the application's measured user time, and `traced_on`: where it was measured.

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
    the two systems, which accounts for a slower processor, a share of one, or another compiler. If one of the two lacks that
    cost, the time is assumed to be the same on all systems (`brings_user_time` returns it).

    `user_work` may have several kinds (a table). The ratio is then their mean: the application's own code is a mixture of
    them with unknown shares w of its time. If each mixture is equally likely, w is a Dirichlet variable with parameters 1,
    and with K kinds the ratio sum(w r) has the variance sum((r - mean(r))^2) / (K (K + 1)). The interval includes it. The
    shares are those of the application, and so move its times on all systems together.

    Pauses of a garbage collector are neither primitives nor own code. They are assumed to be those of the traced run.

    Counts that were changed after tracing do not change this time.
    """
    there = (traced_on or {}).get(system.name, system)
    pauses = pause_time(application)
    found = _at_least_0(
        _left_of_user_time(application, there),
        ("own user time", application.name, there.name),
    )
    costs = _user_work_of(system, there)
    if not costs:
        return found.plus(pauses)
    ratios = [here_cost.value / there_cost.value for here_cost, there_cost in costs]
    mean = math.fsum(ratios) / len(ratios)
    half = float(ndtri(0.5 + system.level / 2)) / math.sqrt(len(ratios) * (len(ratios) + 1))
    scaled = found.times(mean)
    for kind, (each, (here_cost, there_cost)) in enumerate(zip(ratios, costs, strict=True)):
        # A changed system and its original share the error of this cost.
        part = found.value / (len(ratios) * there_cost.value)
        by_here = spread(here_cost, ("cost", system.name, USER_WORK, kind), part)
        by_there = spread(there_cost, ("cost", there.name, USER_WORK, kind), -part * each)
        scaled = scaled.plus(Sum(0.0, by_here, here_cost.reason)).plus(Sum(0.0, by_there, there_cost.reason))
        if each != mean:
            share: dict[Hashable, tuple[float, float, float]] = {
                ("share of user_work", application.name, kind): (found.value * (each - mean), half, half)
            }
            scaled = scaled.plus(Sum(0.0, share))
    return scaled.plus(pauses)


def pause_time(application: ApplicationVector) -> Sum:
    """Return the pauses of a garbage collector in ns; 0 if they are unknown."""
    if application.pause_time is None:
        return Sum(0.0)
    return uncertain(application.pause_time, ("pause_time", application.name), NS[application.time_unit])


def _left_of_user_time(application: ApplicationVector, there: SystemVector) -> Sum:
    """Return the measured user time minus pauses and the primitives' user part there: below 0 if these are too large."""
    traced = replace(application, counts=application.traced_counts or application.counts)
    return user_time(application).minus(pause_time(application)).minus(total(traced, there, "user"))


def overcounted(application: ApplicationVector, there: SystemVector) -> float:
    """Return by which share of the user time the primitives and pauses exceed it where it was measured; 0 if they do not."""
    left = _left_of_user_time(application, there)
    whole = user_time(application)
    return max(0.0, -left.value / whole.value) if whole.value > 0.0 and math.isfinite(left.value) else 0.0


def of_one_thread(application: ApplicationVector) -> ApplicationVector:
    """Return the vector with the counts of one of the threads that work at the same time.

    Counts are those of all threads, but `user_time` is elapsed time. With P threads at work, a count takes 1 / P of the elapsed
    time that it takes alone. P is assumed to be the same on all systems. The provenance keeps it as `parallelism`.
    """
    if application.parallelism == 1.0:
        return application

    def divided(counts: tuple[Count, ...]) -> tuple[Count, ...]:
        return tuple(replace(one, count=one.count.times(1.0 / application.parallelism)) for one in counts)

    return replace(
        application,
        counts=divided(application.counts),
        traced_counts=divided(application.traced_counts),
        parallelism=1.0,
        provenance={**application.provenance, PARALLELISM: f"{application.parallelism:.3g}"},
    )


def with_own_code(
    systems: Mapping[str, SystemVector], times: Mapping[str, Mapping[str, Value]]
) -> dict[str, SystemVector]:
    """Return system vectors, by name, whose `user_work` is the work of benchmarks, one kind for each.

    `times`: system -> benchmark -> its time there, in ns. A system without them loses its `user_work`.
    """
    common = common_benchmarks(times.values())
    found = {}
    for name, system in systems.items():
        primitives = {key: cost for key, cost in system.primitives.items() if key != USER_WORK}
        if times[name]:
            factor = 1.0 / NS[system.time_unit]
            points = tuple(
                TablePoint((float(kind),), combined([times[name][benchmark]], [(0, 1.0)], factor))
                for kind, benchmark in enumerate(common)
            )
            primitives[USER_WORK] = PrimitiveCost("operation", TableCost(("kind",), points))
        found[name] = replace(system, primitives=primitives)
    return found


def common_benchmarks(times: Iterable[Mapping[str, Value]]) -> list[str]:
    """Return the benchmarks that all systems have that have any, in order."""
    each = [set(of_system) for of_system in times if of_system]
    return sorted(set.intersection(*each)) if each else []


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
    return bool(_user_work_of(system, there))


def _user_work_of(system: SystemVector, there: SystemVector) -> list[tuple[Value, Value]]:
    """Return the `user_work` costs of both in ns, of each kind; none if they are not comparable."""
    here_costs, there_costs = _user_work(system), _user_work(there)
    if here_costs.keys() != there_costs.keys() or any(cost.value <= 0.0 for cost in there_costs.values()):
        return []
    return [(cost, there_costs[kind]) for kind, cost in here_costs.items()]


def _user_work(system: SystemVector) -> dict[tuple[float, ...], Value]:
    """Return the `user_work` cost in ns, by kind."""
    primitive = system.primitives.get(USER_WORK)
    costs: dict[tuple[float, ...], Value] = {}
    if primitive is not None and isinstance(primitive.cost, ConstantCost):
        costs = {(): primitive.cost.cost}
    elif primitive is not None and isinstance(primitive.cost, TableCost):
        costs = {point.at: point.cost for point in primitive.cost.points}
    return {kind: cost.times(NS[system.time_unit]) for kind, cost in costs.items()}
