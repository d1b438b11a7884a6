"""The topic of hosts: results over the hosts of an experiment, separate for each platform."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from regatta.answers.kit.plain import finite, place_of, plain, row_of, text_of
from regatta.answers.kit.topic import Document, Lead, Rows, Topic, Words
from regatta.answers.spine.context import Context
from regatta.answers.spine.platforms import machine_words
from regatta.answers.spine.verdicts import Verdicts
from regatta.answers.topics.hosts.compute import compare_over_hosts, families_over_hosts
from regatta.answers.topics.hosts.families import leaders_over_hosts
from regatta.answers.topics.hosts.headline import headline_of_hosts
from regatta.answers.topics.hosts.page import hosts_section, hosts_tables
from regatta.answers.topics.hosts.result import OverHosts, PlatformHosts
from regatta.answers.topics.hosts.words import host_words


def _compute(context: Context) -> OverHosts:
    """Compute results by platform; for a single host only its name and kind of machine."""
    facts, platforms = context.facts, context.platforms
    # Results for similar hosts instead of only these; then collectors have no common leader.
    random = context.options.random_hosts
    hosts = tuple(host for platform in platforms for host in platform.hosts)
    machines = machine_words({host: facts.hosts[host] for host in hosts if host in facts.hosts})
    if len(hosts) < 2:
        return OverHosts(hosts, random, machines=machines)
    verdicts = Verdicts()
    comparisons = compare_over_hosts(context, verdicts)
    leaders = () if random else tuple(leaders_over_hosts(context, verdicts))
    return OverHosts(
        hosts,
        random,
        tuple(comparisons()),
        tuple(families_over_hosts(context)),
        tuple(
            PlatformHosts(p.name, p.hosts, tuple(h for h in p.hosts if h in p.measured), p.title(p.measured))
            for p in platforms
        ),
        leaders,
        machines,
    )


def _headline(over: OverHosts, context: Context, lead: Lead) -> Sequence[str] | None:
    """Replace the first sentences with one part per platform, if there are several hosts."""
    if len(over.hosts) < 2:
        return None
    return [*lead.sentences, *headline_of_hosts(over, context, lead.cells)]


def _methods(over: OverHosts) -> dict[str, set[str]]:
    found = {one.ratio.method for one in over.comparisons if len(one.hosts) > 1}
    return {"Over the hosts of a platform": found}


def _rows(over: OverHosts) -> Iterator[dict[str, Any]]:
    """Yield comparisons over all hosts; `value` is the ratio a/b."""
    for one in over.comparisons:
        yield {
            **place_of(one), "kind": "hosts", "a": one.a_name, "b": one.b_name, **row_of(one.ratio), "p": finite(one.p),
            "p_holm": finite(one.p_holm), **plain(one.verdict), "parameters": text_of(one.parameters),
        }  # fmt: skip


HOSTS: Topic[OverHosts] = Topic(
    "hosts",
    title="Hosts",
    empty=OverHosts(),
    compute=_compute,
    words=Words(60, "Hosts", lambda over, _: host_words(over)),
    document=Document(40, "over_hosts"),
    rows=Rows(30, _rows),
    section=hosts_section,
    tables=hosts_tables,
    methods=_methods,
    headline=_headline,
)
