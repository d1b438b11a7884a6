"""Pool comparisons over the hosts of a platform, and test whether they are the same on all hosts.

Platforms are never pooled: results of one platform do not apply to another.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from regatta.answers.spine.blocks import LEAST_BLOCKS, block_table
from regatta.answers.spine.context import Context
from regatta.answers.spine.names import full_names
from regatta.answers.spine.pairs import Pair, differing, series_key
from regatta.answers.spine.parts import level_names, shared_heap
from regatta.answers.spine.platforms import Platform
from regatta.answers.spine.result import Comparison
from regatta.answers.spine.samples import PlannedCell, Series
from regatta.answers.spine.verdicts import Verdict, Verdicts, judge
from regatta.answers.topics.hosts.result import HostComparison, HostFamily, HostRatio
from regatta.answers.topics.hosts.words import comparison_words, interaction_words
from regatta.host.units import is_counted
from regatta.host.values.levels import ALWAYS, CROSSED, parameters_in, place_key
from regatta.stats.estimate import Floats, Interval
from regatta.stats.hosts import (
    HostEffect,
    HostInteraction,
    differing_hosts,
    exact_interaction,
    host_interaction,
    paired_effect,
    pool_hosts,
    unpaired_effect,
    with_exact_ratio,
)
from regatta.stats.intervals import why_no_logs
from regatta.stats.multiplicity import holm
from regatta.stats.ratios import do_not_vary

#: for two alternatives, their comparison already has an F test
_LEAST_ALTERNATIVES = 3

#: a comparison on each host, in plan order
Sides = list[tuple[Pair, Comparison]]


def compare_over_hosts(context: Context, verdicts: Verdicts) -> Callable[[], list[HostComparison]]:
    """Pool every comparison over the hosts of each platform.

    Args:
        verdicts: on the first pair of each comparison; those of the comparisons are added.

    Returns:
        A function that returns the comparisons with the verdicts known by then: by platform, in plan order. With one host,
        the result of that host.
    """
    groups: dict[tuple[object, ...], Sides] = {}
    for pair, comparison in zip(context.pairs, context.comparisons, strict=True):
        groups.setdefault(_identity(pair), []).append((pair, comparison))
    _give_missing_parameters(groups)
    of = {platform.name: platform for platform in context.platforms}
    pooled = [_over_hosts(of[sides[0][0].cell.place.platform], sides, context) for sides in groups.values()]
    pooled.sort(key=lambda one: list(of).index(one.platform.name))
    adjusted = iter(holm([one.found.p for one in pooled if one.several]).tolist())
    pooled = [
        replace(one, found=replace(one.found, p_holm=next(adjusted))) if one.several else one
        for one in pooled
    ]
    for one in pooled:
        if one.several and one.keys:
            own = judge(one.found.ratio, context.facts.theta_percent, one.found.p_holm)
            verdicts.add(*one.keys, own)
    return lambda: [_judged(one, verdicts, context) for one in pooled]


def keys_of(pairs: Sequence[Pair]) -> tuple[Hashable, Hashable] | None:
    """Return the keys of the first pair that has both series: it stands for the same alternatives on all hosts."""
    return next((keys for pair in pairs if (keys := pair.keys) is not None), None)


@dataclass(frozen=True)
class _Pooled:
    """A comparison without its verdict and words; `what`: unit of the sample size."""

    found: HostComparison
    platform: Platform
    sides: Sides
    first: Pair
    what: str
    #: whether it is over several hosts, or about hosts like them
    several: bool

    @property
    def keys(self) -> tuple[Hashable, Hashable] | None:
        return keys_of([pair for pair, _ in self.sides])


def _judged(one: _Pooled, verdicts: Verdicts, context: Context) -> HostComparison:
    found = one.found
    if one.several and one.keys:
        own = [comparison for _, comparison in one.sides if comparison.place.host in found.hosts]
        depends = found.interaction.p < 1.0 - context.facts.level
        found = replace(found, verdict=_over(verdicts.of(*one.keys), found.ratio, own, depends))
    return comparison_words(found, one.first, one.sides, one.platform, one.what, context)


def _identity(pair: Pair) -> tuple[object, ...]:
    cell, base = pair.cell, pair.base
    series = pair.series
    key = (series.unit, series.parameters_text) if series else None
    levels = [frozenset(side.place.levels.items()) for side in (cell, base)]
    return cell.place.platform, cell.metric, *levels, key


def _give_missing_parameters(groups: dict[tuple[object, ...], Sides]) -> None:
    """Assign the pair of a host without values to the parameters measured on other hosts."""
    for key in [key for key in groups if key[-1] is None]:
        others = [other for other in groups if other[:-1] == key[:-1] and other is not key]
        for other in others:
            groups[other] += groups[key]
        if others:
            del groups[key]


def _over_hosts(platform: Platform, sides: Sides, context: Context) -> _Pooled:
    level = context.facts.level
    # Inference is for these hosts, or for similar hosts (t on the hosts' means).
    random = context.options.random_hosts
    effects = [host_effect(pair) for pair, _ in sides]
    rounds = rounds_together([pair for pair, _ in sides], context)
    pooled = pool_hosts(effects, level, random, context.stops.looks, rounds)
    hosts = tuple(c.place.host for (_, c), taken in zip(sides, pooled.taken, strict=True) if taken)
    ratio, p = pooled.ratio, pooled.contrast.p
    p_holm, verdict = math.nan, Verdict()
    several = len(platform.hosts) > 1 or random
    if not several:
        # The result of the single host applies, with its method.
        alone = sides[0][1]
        ratio, p, p_holm, verdict = alone.ratio, alone.p, alone.p_holm, alone.verdict
        hosts = () if math.isnan(ratio.point) else platform.hosts
    used = [pair for pair, comparison in sides if comparison.place.host in hosts]
    what = counted_as(used, rounds, ratio)
    shown = pooled.interaction.p < 1.0 - level
    odd = differing_hosts(effects, level) if shown else []
    first = next((pair for pair, _ in sides if pair.series), sides[0][0])
    cell, base, series = first.cell, first.base, first.series
    a_name, b_name = full_names(cell, base)
    found = HostComparison(
        place=replace(cell.place, host="", heap=shared_heap(pair.cell.place for pair, _ in sides)),
        hosts=hosts,
        a=cell.cell_id,
        a_name=a_name,
        b_name=b_name,
        factors=differing(cell, base),
        metric=cell.metric,
        unit=series.unit if series else "",
        better=cell.better,
        parameters=series.parameters if series else {},
        ratio=ratio,
        p=p,
        p_holm=p_holm,
        verdict=verdict,
        per_host=tuple(HostRatio(comparison.place.host, comparison.ratio) for _, comparison in sides),
        interaction=pooled.interaction,
        differing=tuple(sides[place][1].place.host for place in odd),
        words="",
    )
    return _Pooled(found, platform, sides, first, what, several)


def _over(pooled: Verdict, ratio: Interval, own: Sequence[Comparison], depends: bool) -> Verdict:
    """Return the pooled verdict; practically `open` if the difference depends on the host and matters on only some hosts."""
    same = {(one.verdict.practical, one.ratio.point < 1.0) for one in own} == {
        (pooled.practical, ratio.point < 1.0)
    }
    return pooled if same or not depends or not pooled.practical else replace(pooled, practical="open")


def host_effect(pair: Pair) -> HostEffect:
    """Return the difference of logarithms on one host, within blocks if at least two are available."""
    if pair.a is None or pair.b is None or any(why_no_logs(side.all_values) for side in (pair.a, pair.b)):
        return paired_effect([])
    if len(pair.common) >= LEAST_BLOCKS:
        a, b = (np.array([side.by_block[key] for key in pair.common]) for side in (pair.a, pair.b))
        effect = paired_effect(np.log(a) - np.log(b))
    elif pair.a.at_once:
        return paired_effect([])
    else:
        a, b = pair.a.values, pair.b.values
        effect = unpaired_effect(np.log(a), np.log(b))
    return with_exact_ratio(effect, a, b) if is_counted(pair.a.unit) else effect


def rounds_together(pairs: Sequence[Pair], context: Context) -> Floats | None:
    """Return the differences of logarithms (hosts, rounds) in the rounds that all hosts of a comparison have, with two values or more.

    None where each host decided for itself, or where a host has no blocks: its rounds decided nothing.
    """
    if not context.stops.together:
        return None
    used = [pair for pair in pairs if pair.a and pair.b]
    if not used or any(len(pair.common) < LEAST_BLOCKS for pair in used):
        return None
    by_round = [
        {key[1]: math.log(pair.a.by_block[key]) - math.log(pair.b.by_block[key]) for key in pair.common}
        for pair in used
        if pair.a and pair.b and not any(why_no_logs(side.all_values) for side in (pair.a, pair.b))
    ]
    rounds = sorted(set.intersection(*map(set, by_round))) if by_round else []
    return np.array([[one[round_] for round_ in rounds] for one in by_round]) if len(rounds) > 1 else None


def counted_as(pairs: Sequence[Pair], rounds: Floats | None, ratio: Interval) -> str:
    """Return the unit of the values of these hosts: `block`, `invocation`, or `value` for both; `round` if it is of mean rounds.

    `rounds`: see `rounds_together`.
    """
    if rounds is not None and len(rounds) > 1 and ratio.n == rounds.shape[1]:
        return "round"
    blocked = {len(pair.common) >= LEAST_BLOCKS for pair in pairs if pair.a and pair.b}
    if len(blocked) > 1:
        return "value"
    return "block" if True in blocked else "invocation"


def families_over_hosts(context: Context) -> list[HostFamily]:
    """Test all alternatives of a place (F test), if more than two, on platforms with several hosts."""
    groups: dict[tuple[object, ...], list[tuple[PlannedCell, Series]]] = {}
    for cell in context.samples.cells:
        place = cell.place.platform, cell.metric, cell.better, place_key(cell.place.levels, context.compared)
        for series in context.samples.own(cell):
            if series.by_block and not why_no_logs(series.all_values):
                key = (*place, *series_key(series, context.compared))
                groups.setdefault(key, []).append((cell, series))
    of = {platform.name: platform for platform in context.platforms}
    found = []
    for members in groups.values():
        cells = [cell for cell, _ in members]
        named = _alternatives(cells, context.compared)
        alternatives, hosts = (
            list(dict.fromkeys(named)),
            list(dict.fromkeys(cell.place.host for cell in cells)),
        )
        if len(alternatives) < _LEAST_ALTERNATIVES or len(hosts) < 2:
            continue
        table = {(cell.place.host, name): series for (cell, series), name in zip(members, named, strict=True)}
        test = interaction_of(table, hosts, alternatives, context.stops.looks)
        title = of[cells[0].place.platform].title(hosts)
        found.append(_family(members, alternatives, test, context, title))
    return found


def _alternatives(cells: Sequence[PlannedCell], compared: Sequence[str]) -> list[str]:
    """Name cells by their configurations, and by their levels of the other compared factors."""
    places = [cell.place for cell in cells]
    others = [level_names(places, factor) for factor in compared if factor not in ALWAYS]
    names = zip((place.configuration for place in places), *others, strict=True)
    return [" ".join(filter(None, parts)) for parts in names]


def interaction_of(
    series: Mapping[tuple[str, str], Series], hosts: Sequence[str], alternatives: Sequence[str], looks: int
) -> HostInteraction:
    """Test whether the alternatives differ by the same amounts on every host; exactly for counts that do not vary.

    Args:
        series: by host and alternative.
        alternatives: names, in the order of the columns.
        looks: as in `Contrast`.
    """
    counts = [one for (host, _), one in series.items() if host in hosts]
    exact = all(is_counted(one.unit) for one in counts) and do_not_vary(*(one.all_values for one in counts))
    if not counts or not exact:
        return host_interaction([table_of(series, host, alternatives) for host in hosts], looks)
    ratios = [
        [
            series[host, a].all_values[0] / series[host, b].all_values[0]
            for host in hosts
            if {(host, a), (host, b)} <= series.keys()
        ]
        for a, b in combinations(alternatives, 2)
    ]
    ratios = [on_hosts for on_hosts in ratios if len(on_hosts) > 1]
    if not ratios:
        return HostInteraction(math.nan, 0, math.nan, math.nan, "no two hosts share two alternatives")
    return exact_interaction(ratios)


def table_of(series: Mapping[tuple[str, str], Series], host: str, alternatives: Sequence[str]) -> Floats:
    """Return shape (blocks, alternatives) of logarithms on one host; a column is NaN if not measured there.

    Args:
        series: by host and alternative.
        host: one of these hosts.
        alternatives: names, in the order of the columns.
    """
    present = [name for name in alternatives if (host, name) in series]
    part = np.log(block_table([series[host, name] for name in present]))
    table = np.full((len(part), len(alternatives)), math.nan)
    table[:, [alternatives.index(name) for name in present]] = part
    return table


def _family(
    members: Sequence[tuple[PlannedCell, Series]],
    alternatives: Sequence[str],
    test: HostInteraction,
    context: Context,
    title: str,
) -> HostFamily:
    cell, series = members[0]
    if math.isnan(test.p):
        found = f"dependence on the host undefined ({test.reason})"
    else:
        verdict = "significant" if test.p < 1.0 - context.facts.level else "no significant"
        found = f"{verdict} dependence on the host ({interaction_words(test)})"
    hidden = parameters_in(context.compared)
    parameters = {name: value for name, value in series.parameters.items() if name not in hidden}
    shared = replace(cell.place, host="", heap=shared_heap(cell.place for cell, _ in members))
    where = f"{title}, {context.names.place(cell, parameters, context.compared)}"
    return HostFamily(
        place=shared.without(CROSSED.join(context.compared)),
        metric=cell.metric,
        parameters=parameters,
        names=tuple(alternatives),
        interaction=test,
        words=f"{where}: {len(alternatives)} alternatives: {found}",
    )
