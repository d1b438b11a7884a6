"""The same comparison on several hosts: pooled over them, and whether it is the same on all."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from regatta.analysis.blocks import LEAST_BLOCKS, block_table
from regatta.analysis.comparisons import estimate_of
from regatta.analysis.names import Names, configuration, short_names
from regatta.analysis.pairs import Pair
from regatta.analysis.samples import PlannedCell, Samples, Series
from regatta.analysis.words import (
    bound_words,
    compared,
    counted,
    f_words,
    listed,
    practical,
    shows_difference,
    too_small,
)
from regatta.model.answer import Comparison
from regatta.model.estimate import Estimate
from regatta.model.hosts import HostComparison, HostFamily, HostRatio, HostTest, OverHosts
from regatta.stats.estimate import safe_exp
from regatta.stats.hosts import (
    RANDOM_HOSTS,
    HostEffect,
    HostInteraction,
    PooledEffect,
    host_interaction,
    paired_effect,
    pool_hosts,
    unpaired_effect,
)
from regatta.stats.intervals import why_no_logs

#: two alternatives have the F test of their own comparison
_LEAST_ALTERNATIVES = 3

_Sides = list[tuple[Pair, Comparison]]


def judge_hosts(
    samples: Samples,
    pairs: Sequence[Pair],
    comparisons: Sequence[Comparison],
    level: float,
    theta_percent: float,
    names: Names,
    random: bool = False,
) -> OverHosts:
    """Pool every comparison over the hosts on which it was made.

    Args:
        samples: of the experiment.
        pairs: all cells with their baselines.
        comparisons: of the same pairs, host by host.
        level: confidence of each interval by itself, between 0 and 1.
        theta_percent: differences below it do not matter.
        names: for the sentences.
        random: False, and the answer is for these hosts; True, and it is for hosts like these (t on the hosts' means).

    Returns:
        One comparison for all hosts together, with the F test of host x alternative; nothing with one host.
    """
    hosts = tuple(dict.fromkeys(cell.host for cell in samples.cells))
    if len(hosts) < 2:
        return OverHosts(hosts, random)
    groups: dict[tuple[object, ...], _Sides] = {}
    for pair, comparison in zip(pairs, comparisons, strict=True):
        groups.setdefault(_identity(pair), []).append((pair, comparison))
    _give_missing_parameters(groups)
    found = [
        _over_hosts(sides, level, theta_percent, names, random)
        for sides in groups.values()
        if len({pair.cell.host for pair, _ in sides}) > 1
    ]
    return OverHosts(hosts, random, tuple(found), tuple(_families(samples, level, names)))


def host_words(over: OverHosts) -> tuple[str, ...]:
    """What is to be said of hosts: with one, that nothing is known of others."""
    if len(over.hosts) == 1:
        return (f"all of this was measured on one host ({over.hosts[0]}) and speaks of that host only",)
    return (*(one.words for one in over.comparisons), *(one.words for one in over.families))


def _identity(pair: Pair) -> tuple[object, ...]:
    cell, base = pair.cell, pair.base
    series = pair.series
    key = (series.unit, series.parameters_text) if series else None
    return (cell.benchmark, cell.heap, cell.metric, configuration(cell), configuration(base), key)


def _give_missing_parameters(groups: dict[tuple[object, ...], _Sides]) -> None:
    """Where a host has no value at all, its pair belongs to what the others measured."""
    for key in [key for key in groups if key[-1] is None]:
        others = [other for other in groups if other[:-1] == key[:-1] and other is not key]
        for other in others:
            groups[other] += groups[key]
        if others:
            del groups[key]


def _over_hosts(
    sides: _Sides, level: float, theta_percent: float, names: Names, random: bool
) -> HostComparison:
    blocked = all(len(pair.common) >= LEAST_BLOCKS for pair, _ in sides if pair.a and pair.b)
    pooled = pool_hosts([_effect(pair, blocked) for pair, _ in sides], level, random)
    ratio = estimate_of(pooled.contrast.interval.mapped(safe_exp))
    first = next((pair for pair, _ in sides if pair.series), sides[0][0])
    cell, base, series = first.cell, first.base, first.series
    parameters = series.parameters if series else {}
    unit = series.unit if series else ""
    matters = practical(ratio, theta_percent)
    interaction = _test(pooled.interaction)
    return HostComparison(
        a_name=configuration(cell),
        b_name=configuration(base),
        benchmark=cell.benchmark,
        heap_factor=cell.heap_factor,
        heap_mib=_one_size([pair.cell for pair, _ in sides]),
        metric=cell.metric,
        unit=unit,
        better=cell.better,
        parameters=parameters,
        ratio=ratio,
        p=pooled.contrast.p,
        practical=matters,
        per_host=tuple(HostRatio(comparison.host, comparison.ratio) for _, comparison in sides),
        interaction=interaction,
        words=_words(first, sides, pooled, ratio, blocked, theta_percent, names),
    )


def _effect(pair: Pair, blocked: bool) -> HostEffect:
    """The difference of logs on one host; inside its blocks where all hosts have them."""
    if pair.a is None or pair.b is None or any(why_no_logs(side.values) for side in (pair.a, pair.b)):
        return paired_effect([])
    if blocked:
        a, b = ([side.by_block[key] for key in pair.common] for side in (pair.a, pair.b))
        return paired_effect(np.log(a) - np.log(b))
    return unpaired_effect(np.log(pair.a.values), np.log(pair.b.values))


def _words(
    first: Pair,
    sides: _Sides,
    pooled: PooledEffect,
    ratio: Estimate,
    blocked: bool,
    theta_percent: float,
    names: Names,
) -> str:
    cell, series = first.cell, first.series
    a_name, b_name, differ = short_names(cell, first.base)
    place = names.place(cell, series.parameters if series else {}) + names.within(cell, differ)
    if math.isnan(ratio.low):
        return f"{a_name} and {b_name} cannot be pooled over hosts on {place}: {ratio.reason}"
    these = f"hosts like these {pooled.hosts}" if ratio.method == RANDOM_HOSTS else _these(pooled.hosts)
    where = f"on {place}, {counted(ratio.n, 'block' if blocked else 'invocation')}, on {these}"
    if shows_difference(ratio):
        unit = series.unit if series else ""
        words = f"{compared(a_name, b_name, ratio, cell.metric, unit, cell.better)} {where}"
        if practical(ratio, theta_percent) == "no":
            words += f"; {too_small(theta_percent)}"
    else:
        words = f"no difference shown between {a_name} and {b_name} {where}; {bound_words([ratio])}"
    absent = [comparison.host for pair, comparison in sides if not (pair.a and pair.b)]
    if absent:
        words += f"; {listed(absent)} had no pair"
    return f"{words}; {_interaction_words(_test(pooled.interaction), ratio.level)}"


def _these(hosts: int) -> str:
    return "one host" if hosts == 1 else f"these {hosts} hosts"


def _interaction_words(test: HostTest, level: float) -> str:
    if math.isnan(test.f):
        return f"whether it depends on the host cannot be tested: {test.reason}"
    numbers = f_words(test.f, test.df_interaction, test.df_error, test.p)
    if test.p < 1.0 - level:
        return f"how large it is depends on the host ({numbers}), see each"
    return f"that it depends on the host is not shown ({numbers})"


def _test(found: HostInteraction) -> HostTest:
    return HostTest(found.f, found.df_interaction, found.df_error, found.p, found.reason)


def _families(samples: Samples, level: float, names: Names) -> list[HostFamily]:
    """The F test over all alternatives of a benchmark and heap, where there are more than two."""
    groups: dict[tuple[object, ...], list[tuple[PlannedCell, Series]]] = {}
    for cell in samples.cells:
        for series in samples.series.get(cell.number, ()):
            if series.metric == cell.metric and series.by_block and not why_no_logs(series.values):
                key = (cell.benchmark, cell.heap, cell.metric, series.unit, series.parameters_text)
                groups.setdefault(key, []).append((cell, series))
    found = []
    for members in groups.values():
        alternatives = list(dict.fromkeys(configuration(cell) for cell, _ in members))
        hosts = list(dict.fromkeys(cell.host for cell, _ in members))
        if len(alternatives) < _LEAST_ALTERNATIVES or len(hosts) < 2:
            continue
        tables = [_table(members, host, alternatives) for host in hosts]
        found.append(_family(members, alternatives, _test(host_interaction(tables)), level, names))
    return found


def _table(
    members: Sequence[tuple[PlannedCell, Series]], host: str, alternatives: Sequence[str]
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Shape (blocks, alternatives) of logs on one host; a column of NaN for what was not measured there."""
    own = {configuration(cell): series for cell, series in members if cell.host == host}
    present = [name for name in alternatives if name in own]
    part = np.log(block_table([own[name] for name in present]))
    table = np.full((len(part), len(alternatives)), math.nan)
    table[:, [alternatives.index(name) for name in present]] = part
    return table


def _family(
    members: Sequence[tuple[PlannedCell, Series]],
    alternatives: Sequence[str],
    test: HostTest,
    level: float,
    names: Names,
) -> HostFamily:
    cell, series = members[0]
    place = names.place(cell, series.parameters)
    many = f"all {len(alternatives)} alternatives on {place}"
    if math.isnan(test.f):
        words = f"{many}: whether their differences depend on the host cannot be tested: {test.reason}"
    else:
        numbers = f_words(test.f, test.df_interaction, test.df_error, test.p)
        shown = "depend on the host" if test.p < 1.0 - level else "are not shown to depend on the host"
        words = f"{many}: their differences {shown} ({numbers})"
    return HostFamily(
        benchmark=cell.benchmark,
        heap_factor=cell.heap_factor,
        heap_mib=_one_size([cell for cell, _ in members]),
        metric=cell.metric,
        parameters=series.parameters,
        names=tuple(alternatives),
        interaction=test,
        words=words,
    )


def _one_size(cells: Sequence[PlannedCell]) -> int | None:
    sizes = {cell.heap_mib for cell in cells}
    return sizes.pop() if len(sizes) == 1 else None
