"""The topic of geometric means over the benchmarks of a suite."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from regatta.answers.kit.plain import finite, place_of, plain, row_of
from regatta.answers.kit.topic import Document, Rows, Topic, Words
from regatta.answers.topics.suites.compute import SuiteComparison, judge_suites
from regatta.answers.topics.suites.page import suites_section, suites_tables


def _document(suites: Sequence[SuiteComparison]) -> list[dict[str, Any]]:
    return [{**plain(suite), "generalises": suite.generalises} for suite in suites]


def _rows(suites: Sequence[SuiteComparison]) -> Iterator[dict[str, Any]]:
    """Yield means for these and for similar benchmarks; `value` is the ratio a/b."""
    for suite in suites:
        common = {**place_of(suite), "benchmark": suite.suite, "a": suite.a_name, "b": suite.b_name}
        yield {
            **common,
            "kind": "suite",
            **row_of(suite.these),
            "p": finite(suite.p),
            **plain(suite.verdict),
        }
        yield {**common, "kind": "suite-like-these", **row_of(suite.like_these)}


SUITES: Topic[tuple[SuiteComparison, ...]] = Topic(
    "suites",
    title="Suite means",
    empty=(),
    compute=judge_suites,
    words=Words(40, "Over a suite", lambda suites, _: [suite.words for suite in suites]),
    document=Document(20, "suites", _document),
    rows=Rows(20, _rows),
    section=suites_section,
    tables=suites_tables,
    terminal=True,
)
