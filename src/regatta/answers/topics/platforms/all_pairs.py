"""Compare all pairs of platforms or hosts: in each place, and over all benchmarks of a configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from regatta.answers.spine.across import PLATFORM, Across, difference_of, logs_of
from regatta.answers.spine.context import Context
from regatta.answers.spine.families.words import Sampled, family_words, leaders, ranking, winner
from regatta.answers.spine.names import heap_words
from regatta.answers.spine.parts import HEAP, INLINED, FamilyPair, Place, shared_heap
from regatta.answers.spine.samples import Series
from regatta.answers.spine.suite_means import LEAST_BENCHMARKS
from regatta.answers.spine.verdicts import agreed, judge
from regatta.answers.spine.words import sample_words
from regatta.host.values.experiment import Better, Scalar
from regatta.host.values.levels import PARAMETERS, label_without
from regatta.stats.all_pairs import simultaneous
from regatta.stats.estimate import Floats

#: of two, the comparison with the baseline is the only pair
_LEAST_NAMED = 3

#: host -> the series of one benchmark
_OnHosts = Mapping[str, Series]


@dataclass(frozen=True)
class AllPairs:
    """All pairs of platforms in one place, or over several benchmarks, for exactly these hosts."""

    #: without host and platform; over several benchmarks, also without benchmark
    place: Place = field(metadata={INLINED: ("benchmark", "runtime", "collector", "modifiers", *HEAP)})
    metric: str
    unit: str
    better: Better
    parameters: Mapping[str, Scalar]
    benchmarks: tuple[str, ...]
    #: best first
    names: tuple[str, ...]
    #: simultaneous intervals, and p adjusted over the pairs (Sidak)
    pairs: tuple[FamilyPair, ...]
    #: the best, and those that are not significantly worse
    leaders: tuple[str, ...]
    #: significantly better than all others; "" if none is
    winner: str
    #: "" with two
    words: str


def all_pairs(context: Context) -> tuple[AllPairs, ...]:
    """Return all pairs of the means over benchmarks, then of each place, in plan order.

    A mean is over the benchmarks that all platforms with values have, and over rounds that have all of them.
    """
    across = context.across
    places = [_first(on_host).cell.place for on_host in across.places]
    varying = varying_parameters(places)
    groups: dict[tuple[object, ...], dict[str, list[_OnHosts]]] = {}
    for place, on_host in zip(places, across.places, strict=True):
        first = _first(on_host)
        chosen = tuple(
            place.levels.get(factor) for factor in ("runtime", "collector", "modifiers", "heap", *varying)
        )
        key = (first.metric, first.unit, first.cell.better, chosen)
        program = label_without(place.benchmark, varying)
        groups.setdefault(key, {}).setdefault(program, []).append(on_host)
    means = [_mean(by_program, varying, context) for by_program in groups.values()]
    single = [_compared([on_host], context, _first(on_host).parameters) for on_host in across.places]
    return tuple(one for one in (*means, *single) if one is not None)


def varying_parameters(places: Sequence[Place]) -> tuple[str, ...]:
    """Return the factors of parameters of which one benchmark has several values."""
    values: dict[tuple[str, str], set[str]] = {}
    for place in places:
        levels = place.levels
        for factor, level in levels.items():
            if factor.startswith(PARAMETERS):
                values.setdefault((levels["benchmark"], factor), set()).add(level)
    return tuple(sorted({factor for (_, factor), levels in values.items() if len(levels) > 1}))


def _first(on_host: _OnHosts) -> Series:
    return next(iter(on_host.values()))


def _mean(
    by_program: Mapping[str, Sequence[_OnHosts]], varying: Sequence[str], context: Context
) -> AllPairs | None:
    """Return the pairs over the benchmarks with one series on every platform; None with fewer than two benchmarks."""
    unique = [several[0] for several in by_program.values() if len(several) == 1]
    names = [name for name in context.across.hosts if any(_has(name, one, context.across) for one in unique)]
    members = [one for one in unique if all(_has(name, one, context.across) for name in names)]
    if len(members) < LEAST_BENCHMARKS:
        return None
    levels = _first(members[0]).cell.place.levels
    values = {factor[len(PARAMETERS) :]: levels[factor] for factor in varying if factor in levels}
    return _compared(members, context, values, varying)


def _has(name: str, on_host: _OnHosts, across: Across) -> bool:
    return any(host in on_host for host in across.hosts[name])


def _compared(
    members: Sequence[_OnHosts],
    context: Context,
    parameters: Mapping[str, Scalar],
    varying: Sequence[str] = (),
) -> AllPairs | None:
    across, level = context.across, context.facts.level
    measured = {name: _on_hosts(members, hosts) for name, hosts in across.hosts.items()}
    measured = {name: own for name, own in measured.items() if own}
    if len(measured) < 2:
        return None
    logs = {name: {host: logs_of(series) for host, series in own.items()} for name, own in measured.items()}
    made = list(combinations(measured, 2))
    found = [
        simultaneous(
            difference_of(list(measured[a].values()), list(measured[b].values()), level).ratio, len(made)
        )
        for a, b in made
    ]
    first, several = _first(members[0]), len(members) > 1
    theta_percent = context.facts.theta_percent
    pairs = tuple(
        FamilyPair(a, b, one.interval, one.p, judge(one.interval, theta_percent, one.p))
        for (a, b), one in zip(made, found, strict=True)
    )
    if not several:
        # A pair with the baseline is also one of the comparisons with a baseline of the whole answer.
        adjusted = _adjusted(members[0], context)
        pairs = tuple(
            replace(pair, verdict=agreed(pair.verdict, judge(pair.ratio, theta_percent, adjusted[key])))
            if (key := frozenset((pair.a_name, pair.b_name))) in adjusted
            else pair
            for pair in pairs
        )
    cells = [one.cell.place for on_host in members for one in on_host.values()]
    place = replace(first.cell.place, host="", platform="", heap=shared_heap(cells))
    ranked = ranking(list(logs), pairs, first.cell.better)
    found_all = AllPairs(
        place=replace(place, benchmark="") if several else place,
        metric=first.metric,
        unit=first.unit,
        better=first.cell.better,
        parameters=parameters,
        benchmarks=tuple(label_without(_first(one).cell.place.benchmark, varying) for one in members),
        names=tuple(ranked),
        pairs=pairs,
        leaders=tuple(leaders(ranked, pairs)),
        winner=winner(pairs, ranked, first.cell.better),
        words="",
    )
    if len(logs) < _LEAST_NAMED:
        return found_all
    titles = {name: _title(name, own, context) for name, own in logs.items()}
    n = sum(values.size for own in logs.values() for values in own.values())
    sample = sample_words(n, "round" if several else "invocation")
    words = family_words(
        [titles[name] for name in ranked],
        [replace(pair, a_name=titles[pair.a_name], b_name=titles[pair.b_name]) for pair in pairs],
        Sampled(first.cell, first.unit, sample, theta_percent, across.by),
    )
    where = context.names.place(first.cell, first.parameters)
    if several:
        where = f"geometric mean of {len(members)} benchmarks{heap_words(place.heap)}"
    scope = "; valid for these hosts only" if across.by == PLATFORM else ""
    return replace(found_all, words=f"{where}{context.names.within(first.cell)}: {words}{scope}")


def _adjusted(on_host: _OnHosts, context: Context) -> dict[frozenset[str], float]:
    """Return pair of names -> Holm's p, for the comparisons with the baseline in one place."""
    own = {series.key for series in on_host.values()}
    return {
        frozenset((sides.a, sides.b)): p_holm
        for sides, p_holm in zip(context.across.sides, context.across_p_holm, strict=True)
        if sides.series_a[0].key in own
    }


def _title(name: str, logs: Mapping[str, Floats], context: Context) -> str:
    """Return `x86 (1 of 2 hosts: xeon)`, or the name of a host."""
    if context.across.by != PLATFORM:
        return name
    platform = next(one for one in context.platforms if one.name == name)
    return platform.title([host for host, values in logs.items() if values.size > 1] or list(logs))


def _on_hosts(members: Sequence[_OnHosts], hosts: Sequence[str]) -> dict[str, list[Series]]:
    """Return host -> the series of all members, for the hosts that have them."""
    return {host: [one[host] for one in members] for host in hosts if all(host in one for one in members)}
