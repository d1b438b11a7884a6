"""The topic of all pairs of alternatives over a suite."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from regatta.answers.kit.plain import finite, place_of, row_of
from regatta.answers.kit.ranking import Standings
from regatta.answers.kit.topic import Document, Rows, Topic, Words
from regatta.answers.spine.result import Answer
from regatta.answers.topics.suite_pairs.compute import SuitePairs, compare_all
from regatta.answers.topics.suite_pairs.page import suite_pairs_section, suite_pairs_tables


def _rows(found: Sequence[SuitePairs]) -> Iterator[dict[str, Any]]:
    """Yield the pairs; `value` is the ratio a/b."""
    for one in found:
        for pair in one.pairs:
            yield {
                **place_of(one), "benchmark": one.suite, "kind": "suite-pair", "a": pair.a_name, "b": pair.b_name,
                **row_of(pair.ratio), "p": finite(pair.p),
            }  # fmt: skip


def _standings(found: Sequence[SuitePairs], _: Answer) -> Iterator[Standings]:
    for one in found:
        places = dict(zip(one.names, one.places, strict=True))
        yield Standings("suite", one.baseline, one.metric, one.better, {}, places, one.pairs, one.leaders)


SUITE_PAIRS: Topic[tuple[SuitePairs, ...]] = Topic(
    "suite_pairs",
    title="Leaders over a suite",
    empty=(),
    compute=compare_all,
    words=Words(41, "Leaders over a suite", lambda found, _: [one.words for one in found]),
    document=Document(21, "suite_pairs"),
    rows=Rows(21, _rows),
    section=suite_pairs_section,
    tables=suite_pairs_tables,
    terminal=True,
    standings=_standings,
    methods=lambda found: (
        {"Pairs over a suite": {p.ratio.method for one in found for p in one.pairs}} if found else {}
    ),
)
