"""What the hosts of an experiment say together, each platform by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from regatta.answers.baseline import asks_beyond_collectors
from regatta.answers.context import Context
from regatta.answers.plain import finite, place_of, row_of, text_of
from regatta.answers.topic import Document, Lead, Rows, Topic, Words
from regatta.answers.topics.hosts.headline import headline_of_hosts
from regatta.answers.topics.hosts.page import hosts_section, hosts_tables
from regatta.answers.topics.hosts.result import OverHosts
from regatta.answers.topics.hosts.together import judge_hosts
from regatta.answers.topics.hosts.words import host_words
from regatta.answers.words import capitalised


def _compute(context: Context) -> OverHosts:
    return judge_hosts(
        context.samples,
        context.platforms,
        context.pairs,
        context.comparisons,
        context.families,
        context.facts,
        context.names,
        context.options.random_hosts,
    )


def _headline(over: OverHosts, context: Context, lead: Lead) -> Sequence[str] | None:
    """Where there are several hosts, each platform is told by itself."""
    if len(over.hosts) < 2:
        return None
    asked = asks_beyond_collectors(context.baseline)
    own = headline_of_hosts(context.samples.cells, context.cells, context.names, over, lead.cells, asked)
    return capitalised([*lead.sentences, *own])


def _methods(over: OverHosts) -> dict[str, set[str]]:
    found = {one.ratio.method for one in over.comparisons if len(one.hosts) > 1}
    return {"Over the hosts of a platform": found}


def _rows(over: OverHosts) -> Iterator[dict[str, Any]]:
    """Comparisons over all hosts; `value` is the ratio a/b."""
    for one in over.comparisons:
        yield {
            **place_of(one), "kind": "hosts", "a": one.a_name, "b": one.b_name, **row_of(one.ratio), "p": finite(one.p),
            "practical": one.practical, "parameters": text_of(one.parameters),
        }  # fmt: skip


HOSTS: Topic[OverHosts] = Topic(
    "hosts",
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
