"""Describe results over hosts: the pooled answer, the hosts that differ, and the excluded hosts."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from regatta.answers.context import Context
from regatta.answers.names import short_names
from regatta.answers.pairs import Pair
from regatta.answers.platforms import Platform
from regatta.answers.result import Comparison
from regatta.answers.topics.hosts.result import HostComparison, OverHosts
from regatta.answers.words import (
    bound_words,
    compared,
    counted,
    difference,
    f_words,
    listed,
    shows_difference,
    too_small,
)
from regatta.stats.estimate import Interval
from regatta.stats.hosts import HostInteraction

#: with more hosts, single ratios are not listed
_NAMED = 4


def host_words(over: OverHosts) -> tuple[str, ...]:
    """Describe the hosts; with one host, that the result does not apply to others."""
    if len(over.hosts) == 1:
        alone = f"all of this was measured on one host ({over.hosts[0]}) and speaks of that host only"
        return (alone, *over.machines)
    measured = {one.name for one in over.platforms if one.measured}
    apart = (
        (
            f"{counted(len(over.platforms), 'platform')}, each answered by itself: what holds on one says nothing of another",
        )
        if len(over.platforms) > 1
        else ()
    )
    return (
        *apart,
        *over.machines,
        *(f"{one.title}: nothing has been measured yet" for one in over.platforms if not one.measured),
        *(one.words for one in over.leaders if len(one.hosts) > 1),
        *(one.words for one in over.comparisons if one.platform in measured),
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
        platform: platform of the hosts.
        what: unit of the sample size: `block` or `invocation`.
        context: context of the experiment.
    """
    cell, series, ratio, names = first.cell, first.series, found.ratio, context.names
    a_name, b_name, differ = short_names(cell, first.base)
    place = names.place(cell, series.parameters if series else {}) + names.within(cell, differ)
    title = platform.title(found.hosts or None, context.options.random_hosts)
    if math.isnan(ratio.low):
        verb = "compared" if len(platform.hosts) == 1 else "pooled"
        why = f"{title}: {a_name} and {b_name} cannot be {verb} on {place}: {ratio.reason}"
        return replace(found, words=why)
    where = f"on {place}, {counted(ratio.n, what)}"
    if shows_difference(ratio):
        words = f"{compared(a_name, b_name, ratio, cell.metric, found.unit, cell.better)} {where}"
        if found.practical == "no":
            words += f"; {too_small(context.facts.theta_percent)}"
    else:
        words = f"no difference shown between {a_name} and {b_name} {where}; {bound_words([ratio])}"
    test = found.interaction
    if test.p < 1.0 - ratio.level:
        words = f"on average {words}"
    parts = [f"{title}: {words}", *_without(found, sides, platform)]
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
    words = [f"{listed(absent)} had no pair"] if absent else []
    if few:
        words.append(f"{listed(few)} {'has' if len(few) == 1 else 'have'} too few to take part")
    return words


def _dependence(found: HostComparison, b_name: str, level: float) -> str:
    told = {one.host: f"{_there(found, one.ratio, b_name)} on {one.host}" for one in found.per_host}
    return dependence_words(found.interaction, level, found.hosts, found.differing, told)


def dependence_words(
    test: HostInteraction,
    level: float,
    hosts: Sequence[str],
    differing: Collection[str],
    told: Mapping[str, str],
) -> str:
    """Describe whether the result depends on the host, and which hosts differ.

    Args:
        test: test of equality on all hosts.
        level: confidence level of the test.
        hosts: measured hosts.
        differing: hosts that differ from the others, if the others agree.
        told: host -> its result.
    """
    if math.isnan(test.f):
        return f"whether it depends on the host cannot be tested: {test.reason}"
    numbers = f_words(test.f, test.df_interaction, test.df_error, test.p)
    if not test.p < 1.0 - level:
        return f"that it depends on the host is not shown ({numbers})"
    if differing:
        odd = [host for host in hosts if host in differing]
        verb = "differs" if len(odd) == 1 else "differ"
        return f"{listed(odd)} {verb} from the others ({numbers}): {', '.join(dict.fromkeys(told[host] for host in odd))}"
    if len(hosts) <= _NAMED:
        return f"{listed(list(hosts))} differ ({numbers}): {', '.join(dict.fromkeys(told[host] for host in hosts))}"
    return f"how large it is depends on the host ({numbers}), see each"


def _there(found: HostComparison, ratio: Interval, b_name: str) -> str:
    """Return `3.1 % (2.0 to 4.2) faster` for one host."""
    if math.isnan(ratio.low):
        return f"no interval ({ratio.reason})"
    return difference(b_name, ratio, found.metric, found.unit, found.better).removesuffix(f" than {b_name}")
