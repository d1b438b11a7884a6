"""Compare platforms, or the hosts of the only platform: ratios per benchmark and over all benchmarks.

Hosts share no blocks, so the samples are independent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

import numpy as np

from regatta.answers.kit.ranking import ranked
from regatta.answers.spine.across import Sides, difference_of
from regatta.answers.spine.context import Context
from regatta.answers.spine.parts import HEAP, INLINED, Place, shared_heap
from regatta.answers.spine.rounds import FEW_ROUNDS, round_means
from regatta.answers.spine.samples import Series
from regatta.answers.spine.suite_means import LEAST_BENCHMARKS, exact_point
from regatta.answers.spine.verdicts import VERDICT, Verdict, agreed, judge
from regatta.answers.topics.platforms.all_pairs import AllPairs, all_pairs, varying_parameters
from regatta.host.units import is_counted
from regatta.host.values.experiment import Better, Scalar
from regatta.host.values.levels import PARAMETERS, label_without
from regatta.stats.all_pairs import simultaneous
from regatta.stats.estimate import Contrast, Floats, Interval, safe_exp, undefined
from regatta.stats.hosts import RANDOM_HOSTS, HostEffect, pool_hosts, unpaired_effect, with_exact_ratio
from regatta.stats.ratios import do_not_vary
from regatta.stats.suite_mean import log_variance, suite_ratio, together

#: fewer rounds have no variance
LEAST_ROUNDS = 2


@dataclass(frozen=True)
class PlatformRatio:
    """Platform `a` over platform `b` in one place: the ratio of their geometric means."""

    a: str
    b: str
    #: host -> geometric mean of its values, for the hosts in the ratio: those with at least two values
    hosts_a: Mapping[str, float]
    hosts_b: Mapping[str, float]
    #: without host and platform
    place: Place = field(metadata={INLINED: ("benchmark", "runtime", "collector", "modifiers", *HEAP)})
    #: the place in words
    where: str
    metric: str
    unit: str
    better: Better
    parameters: Mapping[str, Scalar]
    #: for exactly these hosts
    these: Interval
    p: float
    #: for hosts like these; undefined with one host on a side
    like_these: Interval
    #: of `these`, by Holm's p and among all pairs of the place
    verdict: Verdict = field(metadata={INLINED: VERDICT})
    #: degrees of freedom of `these`
    df: float = math.nan
    #: p adjusted over all comparisons of the answer with a baseline (Holm)
    p_holm: float = math.nan


@dataclass(frozen=True)
class PlatformMean:
    """The geometric mean of the ratios of all benchmarks, of one configuration and heap."""

    a: str
    b: str
    place: Place = field(metadata={INLINED: ("runtime", "collector", "modifiers", *HEAP)})
    metric: str
    unit: str
    better: Better
    #: values of the parameters of which benchmarks have several
    parameters: Mapping[str, str]
    benchmarks: tuple[str, ...]
    #: excluded benchmarks with reasons
    left_out: tuple[tuple[str, str], ...]
    #: the hosts with at least two rounds that have all benchmarks
    hosts_a: tuple[str, ...]
    hosts_b: tuple[str, ...]
    #: for exactly these benchmarks and hosts
    these: Interval
    #: for similar benchmarks on these hosts
    like_these: Interval
    #: for these benchmarks on similar hosts; undefined with one host on a side
    similar_hosts: Interval
    #: of `these`, among all pairs of platforms
    verdict: Verdict = field(metadata={INLINED: VERDICT})


@dataclass(frozen=True)
class PlatformTimes:
    """When a platform was measured, and how much its values changed meanwhile."""

    platform: str
    first_utc_ns: int
    last_utc_ns: int
    #: values of the second half of the rounds over those of the first half, mean of the hosts
    drift: Interval


@dataclass(frozen=True)
class Platforms:
    """The comparison of platforms (or hosts, see `by`) with the first, or with the baseline; empty if none was asked for."""

    #: `platform` or `host`
    by: str = ""
    #: name -> hosts with records, in plan order
    hosts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ratios: tuple[PlatformRatio, ...] = ()
    means: tuple[PlatformMean, ...] = ()
    times: tuple[PlatformTimes, ...] = ()
    #: the baseline, if it has no records; then there are no ratios
    missing: str = ""
    #: of each place and of the means over benchmarks
    all_pairs: tuple[AllPairs, ...] = ()


def place_on(by: str, name: str, place: Place, platforms: Mapping[str, str]) -> Place:
    """Return the place on a platform, or on a host of the only platform.

    Args:
        by: `platform` or `host`.
        name: of the platform or host.
        place: without both.
        platforms: host -> platform.
    """
    if by == "platform":
        return replace(place, platform=name)
    return replace(place, host=name, platform=platforms.get(name, ""))


def compare_platforms(context: Context) -> Platforms:
    """Compare every platform with the baseline, if the spec or the baseline asks for platforms.

    Returns:
        Ratios in plan order. With a single platform, its hosts are compared. Empty with a single host.
    """
    across, level = context.across, context.facts.level
    if not across.sides:
        return Platforms(across.by, across.hosts, missing=across.missing)
    sides = [
        _measured(one, p_holm, context)
        for one, p_holm in zip(across.sides, context.across_p_holm, strict=True)
    ]
    return Platforms(
        across.by,
        across.hosts,
        tuple(one.ratio for one in sides),
        tuple(_means(sides, context)),
        tuple(_times(name, own, across.places, level) for name, own in across.hosts.items()),
        all_pairs=all_pairs(context),
    )


def rankings(means: Sequence[PlatformMean]) -> list[list[tuple[int, PlatformMean | None]]]:
    """Return ranks and means of each place, metric and set of benchmarks, best first; None is the baseline."""
    groups: dict[tuple[object, ...], list[PlatformMean]] = {}
    for mean in means:
        # The size of a heap that is a factor may differ between platforms.
        key = (
            mean.place.configuration, mean.place.heap.asked, *mean.parameters.items(), mean.metric, mean.b, frozenset(mean.benchmarks),
        )  # fmt: skip
        groups.setdefault(key, []).append(mean)
    return [
        ranked(None, ((mean.these.point, mean) for mean in group), group[0].better)
        for group in groups.values()
    ]


def alone(found: Platforms) -> list[list[PlatformRatio]]:
    """Return the ratios of each place whose configuration has no mean over benchmarks, such as one program of a user's own."""

    def group(one: PlatformRatio | PlatformMean) -> tuple[object, ...]:
        return one.place.configuration, one.place.heap.asked, one.metric

    means = {group(mean) for mean in found.means}
    groups: dict[tuple[object, ...], list[PlatformRatio]] = {}
    for one in found.ratios:
        if group(one) not in means:
            key = (*group(one), one.place.benchmark, str(sorted(one.parameters.items())))
            groups.setdefault(key, []).append(one)
    return list(groups.values())


@dataclass(frozen=True)
class _Measured:
    """A ratio, and host -> the series of each side."""

    ratio: PlatformRatio
    a: Mapping[str, Series]
    b: Mapping[str, Series]


def _measured(sides: Sides, p_holm: float, context: Context) -> _Measured:
    found = sides.difference
    of_a, of_b = (
        {one.cell.place.host: one for one, counts in zip(own, taken, strict=True) if counts}
        for own, taken in ((sides.series_a, found.taken_a), (sides.series_b, found.taken_b))
    )
    these = found.ratio.interval
    first = sides.series_a[0]
    place = replace(
        first.cell.place,
        host="",
        platform="",
        heap=shared_heap(one.cell.place for one in (*sides.series_a, *sides.series_b)),
    )
    ratio = PlatformRatio(
        a=sides.a,
        b=sides.b,
        hosts_a=_geometric_means(of_a),
        hosts_b=_geometric_means(of_b),
        place=place,
        where=context.names.place(first.cell, first.parameters) + context.names.within(first.cell),
        metric=first.metric,
        unit=first.unit,
        better=first.cell.better,
        parameters=first.parameters,
        these=these,
        p=found.these.p,
        like_these=found.like_these.interval.mapped(safe_exp),
        verdict=agreed(judge(these, context.facts.theta_percent, p_holm), _among_all(found.ratio, context)),
        df=found.these.df,
        p_holm=p_holm,
    )
    return _Measured(ratio, of_a, of_b)


def _geometric_means(series: Mapping[str, Series]) -> dict[str, float]:
    return {host: math.exp(np.log(one.values).mean()) for host, one in series.items()}


def _means(measured: Sequence[_Measured], context: Context) -> list[PlatformMean]:
    """Return the mean over all benchmarks of each configuration, heap, metric, and value of a parameter with several values.

    A benchmark with several ratios in one place (several settings of its metric) is excluded and named.
    """
    varying = varying_parameters([one.ratio.place for one in measured])
    groups: dict[tuple[object, ...], dict[str, list[_Measured]]] = {}
    for of_place in measured:
        one = of_place.ratio
        levels = one.place.levels
        chosen = tuple(
            levels.get(factor) for factor in ("runtime", "collector", "modifiers", "heap", *varying)
        )
        key = (one.a, one.b, one.metric, one.unit, one.better, chosen)
        program = label_without(one.place.benchmark, varying)
        groups.setdefault(key, {}).setdefault(program, []).append(of_place)
    found = (_mean(by_benchmark, varying, context) for by_benchmark in groups.values())
    return [one for one in found if one is not None]


def _mean(
    by_benchmark: Mapping[str, Sequence[_Measured]], varying: Sequence[str], context: Context
) -> PlatformMean | None:
    members: list[_Measured] = []
    left_out: list[tuple[str, str]] = []
    for benchmark, several in by_benchmark.items():
        reason = (
            f"{len(several)} settings, so the ratio is ambiguous"
            if len(several) > 1
            else several[0].ratio.these.reason
        )
        if reason:
            left_out.append((benchmark, reason))
        else:
            members.append(several[0])
    if len(members) < LEAST_BENCHMARKS:
        return None
    ratios, level = [one.ratio for one in members], context.facts.level
    on_a, on_b = _rounds([one.a for one in members]), _rounds([one.b for one in members])
    found = difference_of(
        [[one.a[host] for one in members] for host in on_a],
        [[one.b[host] for one in members] for host in on_b],
        level,
    )
    shared = together(range(len(members)), found.these)
    mean = suite_ratio(
        [math.log(one.these.point) for one in ratios],
        [log_variance(one.these, one.df) for one in ratios],
        [one.df for one in ratios],
        level,
        shared if on_a and on_b else replace(shared, reason=FEW_ROUNDS),
        [exact_point(one.these) for one in ratios],
    )
    first, levels = ratios[0], ratios[0].place.levels
    similar_hosts = found.like_these.interval.mapped(safe_exp)
    if any(one.a.keys() != members[0].a.keys() or one.b.keys() != members[0].b.keys() for one in members):
        reason = "not every host has all benchmarks"
        similar_hosts = undefined(similar_hosts.n, level, RANDOM_HOSTS, reason)
    return PlatformMean(
        first.a,
        first.b,
        replace(first.place, benchmark="", heap=shared_heap(one.place for one in ratios)),
        first.metric,
        first.unit,
        first.better,
        {factor[len(PARAMETERS) :]: levels[factor] for factor in varying if factor in levels},
        tuple(label_without(one.place.benchmark, varying) for one in ratios),
        tuple(left_out),
        tuple(on_a),
        tuple(on_b),
        mean.these,
        mean.like_these,
        similar_hosts,
        _among_all(Contrast(mean.these, mean.p, mean.df), context),
    )


def _among_all(ratio: Contrast, context: Context) -> Verdict:
    """Return the verdict on a ratio as one of all pairs of platforms with values."""
    if math.isnan(ratio.interval.low):
        return Verdict()
    one = simultaneous(ratio, math.comb(len(context.across.hosts), 2))
    return judge(one.interval, context.facts.theta_percent, one.p)


def _rounds(members: Sequence[Mapping[str, Series]]) -> dict[str, Floats]:
    """Return host -> the mean logarithm of all benchmarks in each complete round, for hosts with at least two of them."""
    hosts = [host for host in members[0] if all(host in one for one in members)]
    found = {host: round_means([one[host] for one in members]) for host in hosts}
    return {host: means for host, means in found.items() if means.size >= LEAST_ROUNDS}


def _times(
    name: str, hosts: Sequence[str], series: Sequence[Mapping[str, Series]], level: float
) -> PlatformTimes:
    own = {host: [on_host[host] for on_host in series if host in on_host] for host in hosts}
    starts = [sample.started_utc_ns for many in own.values() for one in many for sample in one.samples]
    drift = pool_hosts([_change(many) for many in own.values()], level).ratio
    return PlatformTimes(name, min(starts, default=0), max(starts, default=0), drift)


def _change(series: Sequence[Series]) -> HostEffect:
    """Return the change from the first half of a host's rounds to the second, on logarithms.

    One value per round, because the series of a host share the conditions of a round: the mean deviation of its values from
    the means of their series. Counts that do not vary have no change.
    """
    rounds: dict[int, list[float]] = {}
    for one in series:
        logs = np.log(one.values)
        for sample, deviation in zip(one.samples, (logs - logs.mean()).tolist(), strict=True):
            rounds.setdefault(sample.round, []).append(deviation)
    means = [fmean(rounds[key]) for key in sorted(rounds)]
    half = len(means) // 2
    effect = unpaired_effect(means[-half:] if half else [], means[:half])
    if not all(is_counted(one.unit) and do_not_vary(one.values) for one in series):
        return effect
    unchanged = np.ones(LEAST_ROUNDS)
    return with_exact_ratio(effect, unchanged, unchanged)
