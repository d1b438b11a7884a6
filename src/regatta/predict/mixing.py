"""Application vectors of workloads: mixes of requests, replaced applications, mean requests.

Source: X. Zhang, "Application-Specific Benchmarking", PhD thesis, Harvard University, 2001, section 6.2.3.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

from regatta.host.errors import RegattaError
from regatta.predict.prediction import common_level
from regatta.predict.sums import NS, Sum, uncertain
from regatta.predict.times import of_one_thread
from regatta.spec.vectors import ApplicationVector, Count, Value

#: applications and their weights, such as requests of each kind; the weights need not sum to 1
Mix = Sequence[tuple[ApplicationVector, float]]

#: primitives that transfer the body of a response, and primitives that are used once per connection
BODY = (
    "tcp_transfer", "tcp_sendfile", "pipe_read", "socket_rw", "file_read", "mmap_read",
)  # fmt: skip
CONNECTION = ("tcp_connect",)


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


def connections_per_request(persistent: float, requests: float) -> float:
    """Return the mean number of TCP connections per request.

    Args:
        persistent: share of the requests on persistent connections, 0 to 1.
        requests: requests per persistent connection, 1 or more; each other request has a separate connection.

    Raises:
        RegattaError: a value is outside its range.
    """
    if not 0.0 <= persistent <= 1.0:
        raise RegattaError("connections", "a share from 0 to 1", f"{persistent:g}", "0.7")
    if not 1.0 <= requests < math.inf:
        raise RegattaError("connections", "at least 1 request per connection", f"{requests:g}", "10")
    return (1.0 - persistent) + persistent / requests


def averaged(
    application: ApplicationVector,
    name: str = "",
    traced_bytes: float | None = None,
    mean_bytes: float | None = None,
    connections: float | None = None,
) -> ApplicationVector:
    """Return the vector of a workload's mean request, from that of the one request that was traced.

    An entry of `BODY` carries the response if it moves at least the traced size; other entries, such as the reading of the
    request, are kept. Counts of bytes, which include headers, grow by the difference of the sizes. One call for a whole body
    gets the new size as its `bytes`; if it takes several calls, their number grows in proportion. These changes are exact:
    intervals of counts keep their distances.

    Args:
        application: the vector of one request.
        name: of the new vector; the old one when "".
        traced_bytes: size of the response that was traced, above 0.
        mean_bytes: mean size of the workload's responses.
        connections: TCP connections per request (`connections_per_request`); as traced when None.

    Raises:
        RegattaError: one of the sizes is missing or not above 0, or connections are negative.
    """
    sizes = [size for size in (traced_bytes, mean_bytes) if size is not None]
    if len(sizes) == 1 or not all(0.0 < size < math.inf for size in sizes):
        raise RegattaError("averaged", "both sizes above 0", f"{traced_bytes} and {mean_bytes}", "give both")
    if connections is not None and not 0.0 <= connections < math.inf:
        raise RegattaError("averaged", "connections of at least 0", f"{connections:g}", "0.37")
    counts = []
    for count in application.counts:
        if connections is not None and count.primitive in CONNECTION:
            count = replace(count, count=Value.exact(connections))
        elif traced_bytes is not None and mean_bytes is not None and count.primitive in BODY:
            count = _resized(count, traced_bytes, mean_bytes)
        counts.append(count)
    return replace(application, name=name or application.name, counts=tuple(counts))


def _resized(count: Count, traced: float, mean: float) -> Count:
    number = count.count
    if count.distribution:
        return count
    size = count.arguments.get("bytes")
    if size is None:
        return count if number.value < traced else replace(count, count=_moved(number, mean - traced))
    if size * number.value < traced:
        return count
    if size >= traced:
        return replace(count, arguments={**count.arguments, "bytes": size + mean - traced})
    factor = mean / traced
    scaled = replace(number, value=number.value * factor, low=number.low * factor, high=number.high * factor)
    return replace(count, count=scaled)


def _moved(number: Value, by: float) -> Value:
    return replace(number, value=number.value + by, low=number.low + by, high=number.high + by)
