"""Describe results over hosts: the pooled answer, the hosts that differ, and the excluded hosts."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from regatta.answers.spine.context import Context
from regatta.answers.spine.names import short_names
from regatta.answers.spine.pairs import Pair
from regatta.answers.spine.platforms import Platform
from regatta.answers.spine.result import Comparison
from regatta.answers.spine.verdicts import shows_difference
from regatta.answers.spine.words import (
    compared,
    difference,
    f_words,
    listed,
    no_difference,
    sample_words,
    too_small,
)
from regatta.answers.topics.hosts.result import HostComparison, OverHosts
from regatta.stats.estimate import Interval
from regatta.stats.hosts import HostInteraction

#: with more hosts, single ratios are not listed
_NAMED = 4


def host_words(over: OverHosts) -> tuple[str, ...]:
    """Describe the hosts; with one host, that the result does not apply to others."""
    if len(over.hosts) == 1:
        alone = f"measured on one host ({over.hosts[0]}): results apply to this host only"
        return (alone, *over.machines)
    measured = {one.name for one in over.platforms if one.measured}
    separate = f"{len(over.platforms)} platforms, analyzed separately: results of one do not apply to another"
    return (
        *([separate] if len(over.platforms) > 1 else []),
        *over.machines,
        *(f"{one.title}: not measured yet" for one in over.platforms if not one.measured),
        *(one.words for one in over.leaders if len(one.hosts) > 1),
        *(one.words for one in over.comparisons if one.place.platform in measured),
        *(one.words for one in over.families),
    )


def comparison_words(
    found: HostComparison,
    first: Pair,
    sides: Sequence[tuple[Pair, Comparison]],
    platform: Platform,
    what: str,
    context: Context,
) -> HostComparison:
    """Return the comparison with its sentence.

    Args:
        found: the comparison, its words empty.
        first: a pair with values, for the names of the alternatives.
        sides: each host's pair and comparison.
        what: unit of the sample size: `block` or `invocation`.
    """
    cell, series, ratio, names = first.cell, first.series, found.ratio, context.names
    a_name, b_name, differ = short_names(cell, first.base)
    place = names.place(cell, series.parameters if series else {}, differ) + names.within(cell, differ)
    where = f"{platform.title(found.hosts or None, context.options.random_hosts)}, {place}"
    if math.isnan(ratio.low):
        verb = "compared" if len(platform.hosts) == 1 else "pooled"
        return replace(found, words=f"{where}: {a_name} and {b_name} not {verb} ({ratio.reason})")
    sample = sample_words(ratio.n, what)
    if shows_difference(ratio):
        words = f"{compared(a_name, b_name, ratio, cell.metric, found.unit, cell.better)} {sample}"
        if found.verdict.significant == "no":
            words += "; not significant after adjustment for all comparisons"
        if found.verdict.practical == "no":
            words += f"; {too_small(context.facts.theta_percent)}"
    else:
        words = f"{no_difference(a_name, b_name, ratio)} {sample}"
    if found.interaction.p < 1.0 - ratio.level:
        words = f"on average {words}"
    parts = [f"{where}: {words}", *_without(found, sides, platform)]
    if len(found.hosts) > 1:
        parts.append(_dependence(found, b_name, ratio.level))
    return replace(found, words="; ".join(parts))


def _without(
    found: HostComparison, sides: Sequence[tuple[Pair, Comparison]], platform: Platform
) -> list[str]:
    """Report hosts that are excluded although they have measurements, with reasons."""
    absent = [
        c.place.host for pair, c in sides if not (pair.a and pair.b) and c.place.host in platform.measured
    ]
    few = [c.place.host for pair, c in sides if pair.a and pair.b and c.place.host not in found.hosts]
    kinds = (("without a pair", absent), ("excluded (too few values)", few))
    return [f"{what}: {listed(hosts)}" for what, hosts in kinds if hosts]


def _dependence(found: HostComparison, b_name: str, level: float) -> str:
    results = {one.host: f"{_there(found, one.ratio, b_name)} on {one.host}" for one in found.per_host}
    return dependence_words(found.interaction, level, found.hosts, found.differing, results)


def dependence_words(
    test: HostInteraction,
    level: float,
    hosts: Sequence[str],
    differing: Collection[str],
    results: Mapping[str, str],
) -> str:
    """Describe whether the result depends on the host, and which hosts differ.

    Args:
        test: test of equality on all hosts.
        level: confidence level of the test.
        differing: hosts that differ from the others, if the others agree.
        results: host -> its result.
    """
    if math.isnan(test.p):
        return f"dependence on the host undefined ({test.reason})"
    numbers = interaction_words(test)
    if not test.p < 1.0 - level:
        return f"no significant dependence on the host ({numbers})"
    odd = [host for host in hosts if host in differing]
    named = odd or list(hosts)
    if len(named) > _NAMED:
        return f"significant dependence on the host ({numbers}), see the hosts"
    values = ", ".join(dict.fromkeys(results[host] for host in named))
    outliers = "; different from the others" if odd and len(set(results.values())) > 1 else ""
    return f"significant dependence on the host ({numbers}){outliers}: {values}"


def interaction_words(test: HostInteraction) -> str:
    """Return `F(2, 27) = 5.12, p = 0.0131`, or that the ratios are exact; the test has a p."""
    if math.isnan(test.f):
        return test.reason
    return f_words(test.f, test.df_interaction, test.df_error, test.p)


def _there(found: HostComparison, ratio: Interval, b_name: str) -> str:
    """Return `3.1 % [2.0, 4.2] faster` for one host."""
    if math.isnan(ratio.low):
        return f"undefined ({ratio.reason})"
    return difference(b_name, ratio, found.metric, found.unit, found.better).removesuffix(f" than {b_name}")
