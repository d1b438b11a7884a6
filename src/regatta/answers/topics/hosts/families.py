"""Find the leading level of each compared factor over the hosts of a platform."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from regatta.answers.spine.context import Context
from regatta.answers.spine.families.compute import least_levels
from regatta.answers.spine.families.result import Family
from regatta.answers.spine.families.words import Sampled, family_words, plural, ranking, winner
from regatta.answers.spine.pairs import Pair, series_key
from regatta.answers.spine.parts import FamilyPair, Place, level_names, shared_heap
from regatta.answers.spine.platforms import Platform
from regatta.answers.spine.samples import PlannedCell, Samples, Series
from regatta.answers.spine.verdicts import Verdicts, judge
from regatta.answers.spine.words import listed, samples_words
from regatta.answers.topics.hosts.compute import (
    counted_as,
    host_effect,
    interaction_of,
    keys_of,
    rounds_together,
)
from regatta.answers.topics.hosts.result import PlatformFamily
from regatta.answers.topics.hosts.words import dependence_words
from regatta.host.values.experiment import Scalar
from regatta.host.values.levels import components, parameters_in, place_key
from regatta.stats.hosts import HostEffect, HostInteraction, differing_hosts, pool_pair
from regatta.stats.intervals import why_no_logs

#: key of a family on one host: factor, place, metric, parameters
_Key = tuple[str, Place, str, str]


def leaders_over_hosts(context: Context, verdicts: Verdicts) -> list[PlatformFamily]:
    """Return one family per ranked factor, platform, place and parameters, of at least three levels (two collectors).

    Args:
        verdicts: of the comparisons with the baseline, on the first pair of series; those of all pairs are added.

    Returns:
        By platform, in plan order. With one host, the family of that host.
    """
    samples, platforms = context.samples, context.platforms
    of_host = {_key(one.factor, one.place, one.metric, one.parameters): one for one in context.families}
    groups: dict[tuple[str, tuple[object, ...]], list[PlannedCell]] = {}
    for cell in samples.cells:
        place = cell.place
        for factor in context.ranked:
            if place.levels.keys() >= set(components([factor])):
                where = place.platform, cell.metric, cell.better, place_key(place.levels, [factor])
                groups.setdefault((factor, where), []).append(cell)
    found: dict[str, list[PlatformFamily]] = {platform.name: [] for platform in platforms}
    of = {platform.name: platform for platform in platforms}
    for (factor, _), cells in groups.items():
        named = level_names([cell.place for cell in cells], factor)
        if len(set(named)) < least_levels(factor):
            continue
        if any(series.at_once for cell in cells for series in samples.own(cell)):
            # Two alternatives, whose ratio is a comparison.
            continue
        levels = {cell.number: name for cell, name in zip(cells, named, strict=True)}
        platform = of[cells[0].place.platform]
        for members in _by_parameters(samples, cells, levels, factor):
            family = _Members(platform, factor, cells, levels, members, of_host)
            found[platform.name].append(
                _alone(family) if len(platform.hosts) == 1 else _together(family, context, verdicts)
            )
    return [one for many in found.values() for one in many]


@dataclass(frozen=True)
class _Members:
    """The cells of a family on all hosts, and the series of one set of parameters by host and level."""

    platform: Platform
    factor: str
    cells: Sequence[PlannedCell]
    #: number of a cell -> its level
    levels: Mapping[int, str]
    series: Mapping[tuple[str, str], Series]
    of_host: Mapping[_Key, Family]

    @property
    def names(self) -> list[str]:
        """Return the levels in plan order."""
        return list(dict.fromkeys(self.levels.values()))

    @property
    def first(self) -> Series | None:
        """Return a series, for unit and parameters; None without values."""
        return next(iter(self.series.values()), None)

    @property
    def parameters(self) -> Mapping[str, Scalar]:
        """Return the parameters of the metric, without compared ones."""
        given = self.first.parameters if self.first else {}
        compared = parameters_in([self.factor])
        return {name: value for name, value in given.items() if name not in compared}

    def own(self, host: str) -> Family | None:
        """Return the family of one host."""
        cell = next((cell for cell in self.cells if cell.place.host == host), None)
        if cell is None:
            return None
        key = _key(self.factor, cell.place.without(self.factor), cell.metric, self.parameters)
        return self.of_host.get(key)

    def pairs(self, a: str, b: str) -> list[Pair]:
        """Return levels a and b on every host of the platform that plans both."""
        cells = {(cell.place.host, self.levels[cell.number]): cell for cell in self.cells}
        return [
            Pair(cells[host, a], cells[host, b], self.series.get((host, a)), self.series.get((host, b)))
            for host in self.platform.hosts
            if (host, a) in cells and (host, b) in cells
        ]


def _by_parameters(
    samples: Samples, cells: Sequence[PlannedCell], levels: Mapping[int, str], factor: str
) -> list[dict[tuple[str, str], Series]]:
    found: dict[tuple[str, str], dict[tuple[str, str], Series]] = {}
    for cell in cells:
        for series in samples.own(cell):
            if series.samples:
                own = found.setdefault(series_key(series, [factor]), {})
                own[cell.place.host, levels[cell.number]] = series
    return list(found.values()) or [{}]


def _key(factor: str, place: Place, metric: str, parameters: Mapping[str, object]) -> _Key:
    return factor, replace(place, heap=place.heap.asked), metric, str(sorted(parameters.items()))


def _alone(of: _Members) -> PlatformFamily:
    """Return the result of the platform's only host as the result of the platform."""
    family = of.own(of.platform.hosts[0])
    pairs = family.pairs if family else ()
    words = family.words if family else "not measured"
    unknown = HostInteraction(math.nan, 0, math.nan, math.nan, "the platform has one host")
    hosts = of.platform.hosts if of.series else ()
    return _made(of, hosts, pairs, unknown, f"{of.platform.title()}, {words}")


def _together(of: _Members, context: Context, verdicts: Verdicts) -> PlatformFamily:
    level, names, theta_percent = context.facts.level, context.names, context.facts.theta_percent
    present = [name for name in of.names if any((host, name) in of.series for host in of.platform.hosts)]
    cell = of.first.cell if of.first else of.cells[0]
    compared = components([of.factor])
    place = names.place(cell, of.parameters, compared) + names.within(cell, compared)
    problem = next(filter(None, (why_no_logs(series.values) for series in of.series.values())), "")
    if len(present) < 2 or problem:
        none = f"none of the {plural(of.factor)} has valid, undisturbed invocations"
        why = problem or (f"only {present[0]} has valid, undisturbed invocations" if present else none)
        unknown = HostInteraction(math.nan, 0, math.nan, math.nan, why)
        words = f"{of.platform.title()}, {place}: {plural(of.factor)} not compared ({why})"
        return _made(of, (), (), unknown, words)
    pooled = _pairs(of, present, context, verdicts)
    pairs, hosts = pooled.pairs, pooled.hosts
    alternatives = list(dict.fromkeys(name for _, name in of.series))
    test = interaction_of(of.series, hosts, alternatives, context.stops.looks)
    ranked = ranking(present, pairs, cell.better)
    sizes = [pair.ratio.n for pair in pairs if not math.isnan(pair.ratio.low)] or [0]
    sample = samples_words(sizes, pooled.what)
    sampled = Sampled(cell, of.first.unit if of.first else "", sample, theta_percent, of.factor)
    parts = [family_words(ranked, pairs, sampled), *_lacking(of, present, hosts)]
    if len(hosts) > 1:
        parts.append(_dependence(of, pooled, ranked[0], test, level))
    return _made(of, hosts, pairs, test, f"{of.platform.title(hosts)}, {place}: {'; '.join(parts)}")


def _made(
    of: _Members, hosts: tuple[str, ...], pairs: tuple[FamilyPair, ...], test: HostInteraction, words: str
) -> PlatformFamily:
    cell = of.cells[0]
    shared = replace(cell.place, host="", heap=shared_heap(one.place for one in of.cells))
    return PlatformFamily(
        place=shared.without(of.factor),
        factor=of.factor,
        hosts=hosts,
        metric=cell.metric,
        parameters=of.parameters,
        names=tuple(of.names),
        pairs=pairs,
        winner=winner(pairs, of.names, cell.better),
        interaction=test,
        words=words,
    )


@dataclass(frozen=True)
class _Pooled:
    """All pairs: their effects per host, the pooled effects, and p of "equal on all hosts"."""

    effects: Mapping[tuple[str, str], tuple[Sequence[str], Sequence[HostEffect]]]
    pairs: tuple[FamilyPair, ...]
    depends: Mapping[tuple[str, str], float]
    #: the hosts of any pair
    hosts: tuple[str, ...]
    #: unit of the sample size
    what: str


def _pairs(of: _Members, present: Sequence[str], context: Context, verdicts: Verdicts) -> _Pooled:
    level, theta_percent, looks = context.facts.level, context.facts.theta_percent, context.stops.looks
    made = {(a, b): of.pairs(a, b) for a, b in combinations(present, 2)}
    effects, found, depends, used = {}, [], {}, set()
    kinds: set[str] = set()
    for (a, b), pairs in made.items():
        on, own = [pair.cell.place.host for pair in pairs], [host_effect(pair) for pair in pairs]
        effects[a, b] = on, own
        rounds = rounds_together(pairs, context)
        pooled = pool_pair(own, len(present), level, looks, rounds)
        depends[a, b] = pooled.interaction.p
        taken = {host for host, taken in zip(on, pooled.taken, strict=True) if taken}
        used |= taken
        ratio = pooled.ratio
        if taken:
            own_pairs = [pair for pair in pairs if pair.cell.place.host in taken]
            kinds.add(counted_as(own_pairs, rounds, ratio))
        verdict = judge(ratio, theta_percent, pooled.contrast.p)
        if keys := keys_of(pairs):
            verdicts.add(*keys, verdict)
            verdict = verdicts.of(*keys)
        found.append(FamilyPair(a, b, ratio, pooled.contrast.p, verdict))
    hosts = tuple(host for host in of.platform.hosts if host in used)
    what = kinds.pop() if len(kinds) == 1 else "value"
    return _Pooled(effects, tuple(found), depends, hosts, what)


def _lacking(of: _Members, present: Sequence[str], hosts: Sequence[str]) -> list[str]:
    """Report levels without values on some or all of these hosts."""
    words = []
    for name in of.names:
        without = [host for host in hosts if (host, name) not in of.series]
        if name not in present:
            words.append(f"no valid invocation: {name}")
        elif without:
            words.append(f"no valid invocation: {name} on {listed(without)}")
    return words


def _dependence(of: _Members, pooled: _Pooled, best: str, test: HostInteraction, level: float) -> str:
    """Describe whether the leader depends on the host, and name the hosts that differ in the most host-dependent pair."""
    with_best = {pair: p for pair, p in pooled.depends.items() if best in pair}
    most, least_p = min(with_best.items(), key=lambda item: (math.isnan(item[1]), item[1]))
    on, effects = pooled.effects[most]
    # The smallest p, adjusted (Holm) for the pairs with the best.
    shown = len(with_best) * least_p < 1.0 - level
    odd = [on[place] for place in differing_hosts(effects, level)] if shown else []
    families = {host: of.own(host) for host in pooled.hosts}
    leaders = {
        host: winner(family.pairs, family.names, of.cells[0].better) if family else ""
        for host, family in families.items()
    }
    everywhere = len(set(leaders.values())) == 1
    results = {
        host: f"{f'{name} wins' if name else 'no significant winner'} on {'every host' if everywhere else host}"
        for host, name in leaders.items()
    }
    return dependence_words(test, level, pooled.hosts, odd, results)
