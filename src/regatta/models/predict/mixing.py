"""Application vectors of workloads: mixes of requests, replaced applications, speed-ups between mixes.

Source: X. Zhang, "Application-Specific Benchmarking", PhD thesis, Harvard University, 2001, section 6.2.3,
and 6.3.3.3 for the speed-up: r = s1 / s2 of the predicted kernel times, and r' = (s1 + u) / (s2 + u) with the
constant user time u.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from regatta.host.errors import RegattaError
from regatta.models.predict.prediction import common_level, total
from regatta.models.predict.times import Quantity, of_one_thread, own_user_time, quantity, user_time
from regatta.models.vectors.sums import NS, Sum, positive, ratio, summed, uncertain
from regatta.models.vectors.values import ApplicationVector, Count, SystemVector, Value

#: applications and their weights, such as requests of each kind; the weights need not sum to 1
Mix = Sequence[tuple[ApplicationVector, float]]


def normalized(mix: Mix) -> list[tuple[ApplicationVector, float]]:
    """Return the mix with weights that sum to 1, without applications of weight 0.

    Raises:
        RegattaError: a weight is negative or not finite, all are 0, or units of work differ.
    """
    for application, weight in mix:
        if not (math.isfinite(weight) and weight >= 0.0):
            raise RegattaError(
                f"mix: {application.name}", "a weight of at least 0", f"{weight:g}", f"{application.name}=1"
            )
    units = list(dict.fromkeys(application.per for application, _ in mix))
    if len(units) > 1:
        raise RegattaError(
            "mix",
            f"applications of one unit of work ({units[0]})",
            units[1],
            "mix applications with the same unit of work",
        )
    largest = max((weight for _, weight in mix), default=0.0)
    if not largest > 0.0:
        raise RegattaError("mix", "a weight above 0", "none", "give one application a weight")
    # Scaling by a power of two is exact; the sum of large weights would overflow.
    power = math.frexp(largest)[1]
    scaled = [(application, math.ldexp(weight, -power)) for application, weight in mix]
    whole = math.fsum(weight for _, weight in scaled)
    return [(application, weight / whole) for application, weight in scaled if weight > 0.0]


def mixed(name: str, mix: Mix) -> ApplicationVector:
    """Return the vector of the mean unit of work of a mix.

    Counts of one primitive with the same arguments are added, their intervals by MOVER. The user time is the
    mean if all parts have one, else undefined. The number of invocations of each value is the least of its
    uncertain parts. A value from a single invocation is uncertain although its interval has no width: its
    variation is unknown.

    Args:
        name: of the new vector.
        mix: applications and weights, such as `[(static, 0.7), (cgi, 0.3)]`.

    Raises:
        RegattaError: the mix is invalid (`normalized`), or its vectors have intervals of different levels.
    """
    parts = [(of_one_thread(application), weight) for application, weight in normalized(mix)]
    level = common_level(*(application for application, _ in parts))
    sums: dict[Hashable, Sum] = {}
    firsts: dict[Hashable, Count] = {}
    numbers: dict[Hashable, list[Value]] = {}
    for application, weight in parts:
        for number, count in enumerate(application.counts):
            entry = _entry(count)
            added = uncertain(count.count, (application.name, number), weight)
            sums[entry] = sums[entry].plus(added) if entry in sums else added
            firsts.setdefault(entry, count)
            numbers.setdefault(entry, []).append(count.count)
    counts = tuple(
        replace(count, count=replace(sums[entry].interval(), n=_invocations(numbers[entry])))
        for entry, count in firsts.items()
    )
    told = ", ".join(f"{application.name} {weight:.6g}" for application, weight in parts)
    return ApplicationVector(
        name,
        parts[0][0].per,
        counts,
        level,
        _mean_user_time(parts),
        "ns",
        provenance={"mix": told, **_where(parts)},
        pause_time=_mean_pause_time(parts),
    )


def _where(parts: Mix) -> dict[str, str]:
    """Return where all of them were traced, if that is one place."""
    first = parts[0][0].provenance
    return {
        key: first[key]
        for key in ("fingerprint", "host", "configuration")
        if key in first and all(part.provenance.get(key) == first[key] for part, _ in parts)
    }


def _entry(count: Count) -> Hashable:
    distribution = tuple((tuple(sorted(part.arguments.items())), part.share) for part in count.distribution)
    return count.primitive, tuple(sorted(count.arguments.items())), distribution, count.stands_for, count.rule


def _invocations(numbers: Sequence[Value]) -> int:
    """Return the least number of invocations of an uncertain part, the limit of precision; 0 if unknown."""
    told = [(number.is_exact and number.n > 1, number.n) for number in numbers if number.n]
    return min((n for exact, n in told if not exact), default=min((n for _, n in told), default=0))


def _mean_user_time(parts: Mix) -> Value | None:
    times = [application.user_time for application, _ in parts]
    return None if None in times else _mean_time(parts, [time for time in times if time is not None])


def _mean_pause_time(parts: Mix) -> Value | None:
    """Return the mean pause; an application without a collector, or with unknown pauses, has none."""
    times = [application.pause_time for application, _ in parts]
    if all(time is None for time in times):
        return None
    return _mean_time(parts, [Value.exact(0.0) if time is None else time for time in times])


def _mean_time(parts: Mix, times: Sequence[Value]) -> Value:
    found = summed(
        uncertain(time, application.name, weight * NS[application.time_unit])
        for (application, weight), time in zip(parts, times, strict=True)
    )
    return replace(found.interval(), n=_invocations(times))


def replaced(mix: Mix, others: Mapping[str, ApplicationVector]) -> list[tuple[ApplicationVector, float]]:
    """Return the mix with some applications replaced (`cgi=fastcgi`), which keep their weights.

    Raises:
        RegattaError: the mix has no application of that name.
    """
    names = [application.name for application, _ in mix]
    for name in others:
        if name not in names:
            raise RegattaError(
                f"replace {name}", f"an application of the mix ({', '.join(names)})", name, f"{names[0]}=..."
            )
    return [(others.get(application.name, application), weight) for application, weight in mix]


# Speed-up


#: an application -> the system on which its user time was measured; None: the system of the prediction
TracedWhere = Callable[[ApplicationVector], SystemVector | None]


@dataclass(frozen=True)
class Speedup:
    """A predicted speed-up on one system, in three variants."""

    #: u: user time per unit of work before, in ns: measured there, or scaled from where the applications were
    #: traced
    user: Value
    #: r = s1 / s2 of the predicted kernel times
    kernel: Value
    #: r' = (s1 + u) / (s2 + u): with constant user time, as in the thesis
    user_stays: Value
    #: (s1 + u1) / (s2 + u2), of the predicted elapsed times: each workload with the user time of its
    #: applications
    own_user: Value


def speedup(
    before: Mix,
    after: Mix,
    system: SystemVector,
    user: Value | None = None,
    traced: TracedWhere = lambda _: None,
    user_over_kernel: float | None = None,
) -> Speedup:
    """Predict the speed-up from one workload to another on a system.

    Common costs, and counts of applications in both mixes, affect both sides of the ratio; so does u.

    Args:
        before: current applications and weights, such as `[(static, 0.7), (cgi, 0.3)]`.
        after: the mix with replacements (`mixing.replaced`).
        system: the system for both. Neither formula holds between two systems: their user times differ.
        user: user time per unit of work before, in ns, as measured there; when None the mean over the
            applications, each scaled from where it was measured.
        traced: where each application's user time was measured.
        user_over_kernel: u / s1, at least 0, in place of both. `own_user` is then NaN.

    Returns:
        the speed-ups. Without a measured user time, those that need it are NaN with a reason.

    Raises:
        RegattaError: a mix is invalid, or an error of `predict`.
    """
    first, second = normalized(before), normalized(after)
    common_level(system, *(application for application, _ in (*first, *second)))
    s1, s2 = _mean(first, system, "kernel"), _mean(second, system, "kernel")
    if user_over_kernel is not None:
        u = s1.times(user_over_kernel)
        own_user = Value(math.nan, reason="the user time is given, not measured")
    else:
        u = _user(first, system, user, traced)
        own_user = ratio(*(_mean(mix, system, "elapsed", traced) for mix in (first, second)))
    return Speedup(positive(u.interval()), ratio(s1, s2), ratio(s1.plus(u), s2.plus(u)), own_user)


def _mean(mix: Mix, system: SystemVector, what: Quantity, traced: TracedWhere = lambda _: None) -> Sum:
    return summed(
        quantity(application, system, what, {system.name: traced(application) or system}).times(weight)
        for application, weight in mix
    )


def _user(mix: Mix, system: SystemVector, user: Value | None, traced: TracedWhere) -> Sum:
    if user is not None:
        return Sum(user.value, {"user": (1.0, user.value - user.low, user.high - user.value)}, user.reason)

    def of(application: ApplicationVector) -> Sum:
        there = traced(application)
        if there is None or there.name == system.name:
            return user_time(application)
        own = own_user_time(application, system, {system.name: there})
        return own.plus(total(application, system, "user"))

    return summed(of(application).times(weight) for application, weight in mix)


def as_mix(application: ApplicationVector) -> Mix:
    """Return a mix of one application."""
    return [(application, 1.0)]
