"""Application vectors of workloads: mixes of requests, replaced applications.

Source: X. Zhang, "Application-Specific Benchmarking", PhD thesis, Harvard University, 2001, section 6.2.3.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

from regatta.host.errors import RegattaError
from regatta.models.predict.prediction import common_level
from regatta.models.predict.times import of_one_thread
from regatta.models.vectors.sums import NS, Sum, uncertain
from regatta.models.vectors.values import ApplicationVector, Count, Value

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

    Counts of one primitive with the same arguments are added, their intervals by MOVER. The user time is the mean if all parts
    have one, else undefined. The number of invocations of each value is the least of its uncertain parts. A value from a single
    invocation is uncertain although its interval has no width: its variation is unknown.

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
    """Return the least number of invocations of an uncertain part, which limits the precision of an interval; 0 if unknown."""
    told = [
        (number.low == number.value == number.high and number.n > 1, number.n)
        for number in numbers
        if number.n
    ]
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
    found = Sum(0.0)
    for (application, weight), time in zip(parts, times, strict=True):
        found = found.plus(uncertain(time, application.name, weight * NS[application.time_unit]))
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
