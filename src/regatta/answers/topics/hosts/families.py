"""Find the leading collector of a benchmark over the hosts of a platform."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from regatta.answers.context import Context
from regatta.answers.families.result import Family
from regatta.answers.families.words import Told, family_words, winner
from regatta.answers.names import Names
from regatta.answers.pairs import Pair
from regatta.answers.parts import Place, TukeyPair, shared_heap
from regatta.answers.platforms import Platform
from regatta.answers.samples import PlannedCell, Samples, Series
from regatta.answers.topics.hosts.compute import counted_as, host_effect, table_of
from regatta.answers.topics.hosts.result import PlatformFamily
from regatta.answers.topics.hosts.words import dependence_words
from regatta.answers.words import counted, listed
from regatta.host.values.experiment import Better
from regatta.stats.estimate import Floats, safe_exp
from regatta.stats.hosts import HostEffect, HostInteraction, differing_hosts, host_interaction, pool_pair
from regatta.stats.intervals import why_no_logs

#: key of a family on one host: host, benchmark, runtime, modifiers, heap, metric, parameters
_Key = tuple[Place, str, str]


def leaders_over_hosts(context: Context) -> list[PlatformFamily]:
    """Return one family per platform, benchmark, runtime, modifiers, heap and parameters with at least two collectors.

    Returns:
        By platform, in plan order. With one host, the family of that host.
    """
    samples, platforms = context.samples, context.platforms
    of_host = {_key(family, family.parameters): family for family in context.families}
    groups: dict[tuple[object, ...], list[PlannedCell]] = {}
    for cell in samples.cells:
        if cell.place.collector:
            key = replace(cell.place.family, host=""), cell.metric
            groups.setdefault(key, []).append(cell)
    found: dict[str, list[PlatformFamily]] = {platform.name: [] for platform in platforms}
    of = {platform.name: platform for platform in platforms}
    for cells in groups.values():
        if len({cell.place.collector for cell in cells}) < 2:
            continue
        platform = of[cells[0].place.platform]
        for members in _by_parameters(samples, cells):
            family = _Members(platform, cells, members, of_host)
            found[platform.name].append(
                _alone(family, context.names)
                if len(platform.hosts) == 1
                else _together(family, context.facts.level, context.names)
            )
    return [one for many in found.values() for one in many]


@dataclass(frozen=True)
class _Members:
    """The cells of a family on all hosts, and the series of one set of parameters by host and collector."""

    platform: Platform
    cells: Sequence[PlannedCell]
    series: Mapping[tuple[str, str], Series]
    of_host: Mapping[_Key, Family]

    @property
    def collectors(self) -> list[str]:
        """Return the collectors in plan order."""
        return list(dict.fromkeys(cell.place.collector for cell in self.cells))

    @property
    def first(self) -> Series | None:
        """Return a series, for unit and parameters; None without values."""
        return next(iter(self.series.values()), None)

    @property
    def parameters(self) -> Mapping[str, str | int | float | bool]:
        """Return the parameters of the metric."""
        return self.first.parameters if self.first else {}

    def own(self, host: str) -> Family | None:
        """Return the family of one host."""
        cell = next((cell for cell in self.cells if cell.place.host == host), None)
        return self.of_host.get(_key(cell, self.parameters)) if cell else None

    def pairs(self, a: str, b: str) -> list[Pair]:
        """Return collectors a and b on every host of the platform that plans both."""
        cells = {(cell.place.host, cell.place.collector): cell for cell in self.cells}
        return [
            Pair(cells[host, a], cells[host, b], self.series.get((host, a)), self.series.get((host, b)))
            for host in self.platform.hosts
            if (host, a) in cells and (host, b) in cells
        ]


def _by_parameters(samples: Samples, cells: Sequence[PlannedCell]) -> list[dict[tuple[str, str], Series]]:
    found: dict[tuple[str, str], dict[tuple[str, str], Series]] = {}
    for cell in cells:
        for series in samples.own(cell):
            if series.samples:
                own = found.setdefault((series.unit, series.parameters_text), {})
                own[cell.place.host, cell.place.collector] = series
    return list(found.values()) or [{}]


def _key(of: PlannedCell | Family, parameters: Mapping[str, object]) -> _Key:
    return of.place.family, of.metric, str(sorted(parameters.items()))


def _alone(of: _Members, names: Names) -> PlatformFamily:
    """Return the result of the platform's only host as the result of the platform."""
    family = of.own(of.platform.hosts[0])
    pairs = family.pairs if family else ()
    words = family.words.replace(f", on {names.host(of.cells[0])}", "", 1) if family else "nothing is known"
    unknown = HostInteraction(math.nan, 0, math.nan, math.nan, "the platform has one host")
    hosts = of.platform.hosts if of.series else ()
    return _made(of, hosts, pairs, unknown, f"{of.platform.title()}: {words}")


def _together(of: _Members, level: float, names: Names) -> PlatformFamily:
    present = [name for name in of.collectors if any((host, name) in of.series for host in of.platform.hosts)]
    cell = of.first.cell if of.first else of.cells[0]
    place = names.place(cell, of.parameters) + names.within(cell, ("collector",))
    problem = next(filter(None, (why_no_logs(series.values) for series in of.series.values())), "")
    if len(present) < 2 or problem:
        why = problem or (
            f"only {present[0]} has valid invocations" if present else "no collector has valid invocations"
        )
        title = of.platform.title(None)
        unknown = HostInteraction(math.nan, 0, math.nan, math.nan, why)
        return _made(of, (), (), unknown, f"{title}: the collectors cannot be compared on {place}: {why}")
    pooled = _pairs(of, present, level)
    pairs, hosts = pooled.pairs, pooled.hosts
    test = host_interaction(_tables(of, present, hosts))
    ranked = sorted(present, key=lambda name: _standing(name, pairs, cell.better))
    n = max(pair.ratio.n for pair in pairs)
    many = counted(n, pooled.what)
    told = Told(cell, of.first.unit if of.first else "", place, many, "")
    parts = [family_words(ranked, pairs, told), *_lacking(of, present, hosts)]
    if len(hosts) > 1:
        parts.append(_dependence(of, pooled, ranked[0], test, level))
    return _made(of, hosts, pairs, test, f"{of.platform.title(hosts)}: {'; '.join(parts)}")


def _made(
    of: _Members, hosts: tuple[str, ...], pairs: tuple[TukeyPair, ...], test: HostInteraction, words: str
) -> PlatformFamily:
    cell = of.cells[0]
    return PlatformFamily(
        platform=of.platform.name,
        hosts=hosts,
        benchmark=cell.place.benchmark,
        runtime=cell.place.runtime,
        modifiers=cell.place.modifiers,
        heap=shared_heap(one.place for one in of.cells),
        metric=cell.metric,
        parameters=of.parameters,
        names=tuple(of.collectors),
        pairs=pairs,
        winner=winner(pairs, of.collectors, cell.better),
        interaction=test,
        words=words,
    )


@dataclass(frozen=True)
class _Pooled:
    """All pairs: their effects per host, the pooled effects, and p of "equal on all hosts"."""

    effects: Mapping[tuple[str, str], tuple[Sequence[str], Sequence[HostEffect]]]
    pairs: tuple[TukeyPair, ...]
    depends: Mapping[tuple[str, str], float]
    #: the hosts of any pair
    hosts: tuple[str, ...]
    #: unit of the sample size
    what: str


def _pairs(of: _Members, present: Sequence[str], level: float) -> _Pooled:
    made = {(a, b): of.pairs(a, b) for a, b in combinations(present, 2)}
    effects, found, depends, used = {}, [], {}, set()
    for (a, b), pairs in made.items():
        on, own = [pair.cell.place.host for pair in pairs], [host_effect(pair) for pair in pairs]
        effects[a, b] = on, own
        pooled = pool_pair(own, len(present), level)
        depends[a, b] = pooled.interaction.p
        used |= {host for host, taken in zip(on, pooled.taken, strict=True) if taken}
        ratio = pooled.contrast.interval.mapped(safe_exp)
        found.append(TukeyPair(a, b, ratio, pooled.contrast.p))
    hosts = tuple(host for host in of.platform.hosts if host in used)
    what = counted_as([pair for pairs in made.values() for pair in pairs if pair.cell.place.host in used])
    return _Pooled(effects, tuple(found), depends, hosts, what)


def _tables(of: _Members, present: Sequence[str], hosts: Sequence[str]) -> list[Floats]:
    members = [(series.cell, series) for (_, name), series in of.series.items() if name in present]
    alternatives = list(dict.fromkeys(cell.place.configuration for cell, _ in members))
    return [table_of(members, host, alternatives) for host in hosts]


def _standing(name: str, pairs: Sequence[TukeyPair], better: Better) -> float:
    """Return the mean logarithm of its ratios to the others; the best has the smallest."""
    logs = [
        (1.0 if pair.a_name == name else -1.0) * math.log(pair.ratio.point)
        for pair in pairs
        if name in (pair.a_name, pair.b_name) and pair.ratio.point > 0.0
    ]
    mean = math.fsum(logs) / len(logs) if logs else math.inf
    return mean if better == "lower" else -mean


def _lacking(of: _Members, present: Sequence[str], hosts: Sequence[str]) -> list[str]:
    """Report collectors without values on some or all of these hosts."""
    words = []
    for name in of.collectors:
        without = [host for host in hosts if (host, name) not in of.series]
        if name not in present:
            words.append(f"{name} has no valid invocation")
        elif without:
            words.append(f"{name} has no valid invocation on {listed(without)}")
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
    told = {
        host: f"{name or 'no single leader'} leads on {'every host' if everywhere else host}"
        for host, name in leaders.items()
    }
    return dependence_words(test, level, pooled.hosts, odd, told)
