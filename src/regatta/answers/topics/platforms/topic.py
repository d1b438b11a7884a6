"""The topic of platforms: how platforms, or the hosts of the only platform, compare."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from regatta.answers.kit.plain import finite, place_of, plain, row_of, text_of
from regatta.answers.kit.ranking import Standings
from regatta.answers.kit.topic import Document, Lead, Rows, Topic, Words
from regatta.answers.spine.result import Answer
from regatta.answers.topics.platforms.compute import Platforms, compare_platforms, place_on
from regatta.answers.topics.platforms.page import platforms_section, platforms_tables
from regatta.answers.topics.platforms.words import leading_words, platform_words


def _rows(found: Platforms) -> Iterator[dict[str, Any]]:
    """Yield ratios for these hosts, means over benchmarks, and all pairs of both; `value` is the ratio a/b."""
    for one in found.ratios:
        yield {
            **place_of(one), "collector": one.place.collector, "kind": "platform", "a": one.a, "b": one.b, **row_of(one.these), "p": finite(one.p),
            "p_holm": finite(one.p_holm), **plain(one.verdict), "parameters": text_of(one.parameters),
        }  # fmt: skip
    for mean in found.means:
        yield {
            **place_of(mean), "collector": mean.place.collector, "kind": "platform-mean", "a": mean.a, "b": mean.b, **row_of(mean.these),
            **plain(mean.verdict),
        }  # fmt: skip
    for every in found.all_pairs:
        for pair in every.pairs:
            kind = "platform-pair" if every.place.benchmark else "platform-mean-pair"
            yield {
                **place_of(every), "collector": every.place.collector, "kind": kind, "a": pair.a_name, "b": pair.b_name,
                **row_of(pair.ratio), "p": finite(pair.p), "parameters": text_of(every.parameters),
            }  # fmt: skip


def _standings(found: Platforms, answer: Answer) -> Iterator[Standings]:
    for one in found.all_pairs:
        places = {name: place_on(found.by, name, one.place, answer.platforms) for name in one.names}
        yield Standings(
            "platform", "", one.metric, one.better, one.parameters, places, one.pairs, one.leaders
        )


PLATFORMS: Topic[Platforms] = Topic(
    "platforms",
    title="Platforms",
    empty=Platforms(),
    compute=compare_platforms,
    words=Words(55, "Platforms", platform_words),
    document=Document(45, "platforms"),
    rows=Rows(35, _rows),
    section=platforms_section,
    tables=platforms_tables,
    terminal=True,
    standings=_standings,
    board="regatta-compare-platforms",
    methods=lambda found: {"Platforms": {one.these.method for one in found.ratios}} if found.ratios else {},
    lead=lambda found, context: Lead(leading_words(found, context)),
)
