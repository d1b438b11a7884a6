"""Compare the same cells on several platforms, or on the hosts of the only one: independent samples, because hosts share no blocks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from regatta.answers.spine.platforms import Platform
from regatta.answers.spine.rounds import round_means
from regatta.answers.spine.samples import Samples, Series
from regatta.host.units import is_counted
from regatta.host.values.levels import Levels, place_key
from regatta.stats.estimate import Floats
from regatta.stats.hosts import PlatformDifference, exact_ratio_of, platform_difference
from regatta.stats.intervals import why_no_logs

#: the factor
PLATFORM = "platform"


@dataclass(frozen=True)
class Sides:
    """Platform `a` and the baseline `b` in one place."""

    a: str
    b: str
    #: series of the hosts, in plan order
    series_a: tuple[Series, ...]
    series_b: tuple[Series, ...]
    #: of the logarithms
    difference: PlatformDifference


@dataclass(frozen=True)
class Across:
    """What is compared across platforms (or hosts, see `by`); empty if that was not asked for."""

    #: `platform` or `host`
    by: str = ""
    #: name -> hosts with records, in plan order
    hosts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: the baseline, if it has no records; then nothing is compared
    missing: str = ""
    #: host -> series, for each set of levels, metric, unit and parameters; only values with logarithms
    places: tuple[Mapping[str, Series], ...] = ()
    #: every place and platform with the baseline
    sides: tuple[Sides, ...] = ()


def across_platforms(
    samples: Samples, platforms: Sequence[Platform], compare: Sequence[str], baseline: Levels, level: float
) -> Across:
    """Compare every platform with the baseline, if the spec or the baseline asks for platforms.

    Args:
        platforms: all, with the hosts that have records.
        compare: the compared factors of the spec.
        baseline: its platform is the baseline; without one, the first platform is.
        level: confidence of each interval, between 0 and 1.

    Returns:
        Differences in plan order. With a single platform, its hosts are compared. Empty with a single host.
    """
    wanted = baseline.get(PLATFORM)
    if PLATFORM not in compare and wanted is None:
        return Across()
    by = PLATFORM if len(platforms) > 1 else "host"
    hosts = {
        name: measured
        for platform in platforms
        for name, own in (
            [(platform.name, platform.hosts)] if by == PLATFORM else [(h, (h,)) for h in platform.hosts]
        )
        if (measured := tuple(host for host in own if host in platform.measured))
    }
    if not hosts:
        return Across()
    base = wanted or next(iter(hosts))
    if by == "host" and base == platforms[0].name:
        # The only platform: its first host is the baseline.
        base = next(iter(hosts))
    if base not in hosts:
        return Across(by, hosts, missing=base)
    if len(hosts) < 2:
        return Across()
    places = _by_place(samples)
    sides = [
        found
        for on_host in places
        for name in hosts
        if name != base and (found := _sides(name, base, hosts, on_host, level)) is not None
    ]
    return Across(by, hosts, "", tuple(places), tuple(sides))


def _by_place(samples: Samples) -> list[dict[str, Series]]:
    found: dict[tuple[object, ...], dict[str, Series]] = {}
    for cell in samples.cells:
        for series in samples.own(cell):
            if series.samples and not why_no_logs(series.values):
                key = (place_key(cell.place.levels, ()), series.metric, series.unit, series.parameters_text)
                found.setdefault(key, {})[cell.place.host] = series
    return list(found.values())


def _sides(
    a: str, b: str, hosts: Mapping[str, Sequence[str]], on_host: Mapping[str, Series], level: float
) -> Sides | None:
    of_a, of_b = (tuple(on_host[host] for host in hosts[name] if host in on_host) for name in (a, b))
    if not of_a or not of_b:
        return None
    return Sides(a, b, of_a, of_b, difference_of([[one] for one in of_a], [[one] for one in of_b], level))


def difference_of(
    a: Sequence[Sequence[Series]], b: Sequence[Sequence[Series]], level: float
) -> PlatformDifference:
    """Return the difference of logarithms of two groups of hosts; over several benchmarks, of the means of their rounds.

    Args:
        a: of each host of the first group, the series of each benchmark; the benchmarks are the same on all hosts.
        b: the same for the second group.
        level: confidence of each interval, between 0 and 1.
    """
    logs_a, logs_b = ([logs_of(host) for host in group] for group in (a, b))
    # Hosts with a single value are ignored.
    used_a, used_b = ([host for host in group if logs_of(host).size >= 2] for group in (a, b))
    exact_ratio = math.nan
    if all(is_counted(one.unit) for host in (*used_a, *used_b) for one in host):
        counts_a, counts_b = ([[one.values for one in host] for host in used] for used in (used_a, used_b))
        exact_ratio = exact_ratio_of(counts_a, counts_b)
    return platform_difference(logs_a, logs_b, level, exact_ratio)


def logs_of(series: Sequence[Series]) -> Floats:
    """Return the logarithms of the values of a host; over several benchmarks, the mean of each round."""
    return np.log(series[0].values) if len(series) == 1 else round_means(series)
