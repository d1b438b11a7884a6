"""What the hosts of an experiment say together, each platform by itself."""

from __future__ import annotations

from collections.abc import Sequence

from regatta.answers.facts import Facts
from regatta.answers.families.result import Family
from regatta.answers.names import Names
from regatta.answers.pairs import Pair
from regatta.answers.platforms import Platform, machine_words
from regatta.answers.result import Comparison
from regatta.answers.samples import Samples
from regatta.answers.topics.hosts.compute import compare_over_hosts, families_over_hosts
from regatta.answers.topics.hosts.families import leaders_over_hosts
from regatta.answers.topics.hosts.result import OverHosts, PlatformHosts


def judge_hosts(
    samples: Samples,
    platforms: Sequence[Platform],
    pairs: Sequence[Pair],
    comparisons: Sequence[Comparison],
    families: Sequence[Family],
    facts: Facts,
    names: Names,
    random: bool = False,
) -> OverHosts:
    """Pool everything over the hosts of each platform.

    Args:
        samples: of the experiment.
        platforms: all, from `planned_platforms`.
        pairs: all cells with their baselines.
        comparisons: of the same pairs, host by host.
        families: of collectors, host by host.
        facts: of the experiment.
        names: for the sentences.
        random: what is said is for hosts like these, not only for these; collectors then have no common leader.

    Returns:
        By platform; of a single host only its name and what kind of machine it is.
    """
    hosts = tuple(host for platform in platforms for host in platform.hosts)
    machines = machine_words({host: facts.hosts[host] for host in hosts if host in facts.hosts})
    if len(hosts) < 2:
        return OverHosts(hosts, random, machines=machines)
    return OverHosts(
        hosts,
        random,
        tuple(
            compare_over_hosts(platforms, pairs, comparisons, facts.level, facts.theta_percent, names, random)
        ),
        tuple(families_over_hosts(samples, platforms, facts.level, names)),
        tuple(
            PlatformHosts(p.name, p.hosts, tuple(h for h in p.hosts if h in p.measured), p.title(p.measured))
            for p in platforms
        ),
        () if random else tuple(leaders_over_hosts(samples, platforms, families, facts.level, names)),
        machines,
    )
