"""The topic of scores of suites against reference machines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from regatta.answers.kit.plain import plain, row_of, text_of
from regatta.answers.kit.topic import Document, Lead, Rows, Topic, Words
from regatta.answers.spine.context import Context
from regatta.answers.topics.scores.compute import SuiteScore, find_references, judge_scores
from regatta.answers.topics.scores.page import scores_section, scores_tables


def _compute(context: Context) -> tuple[SuiteScore, ...]:
    cells = context.cells
    several_hosts = len({cell.place.host for cell in cells}) > 1
    return judge_scores(cells, find_references(cells), context.facts.level, several_hosts)


def _words(scores: Sequence[SuiteScore], _: Context) -> tuple[str, ...]:
    return tuple(score.words for score in scores)


def _document(scores: Sequence[SuiteScore]) -> list[dict[str, Any]]:
    return [{**plain(score), "of": score.of, "complete": score.complete} for score in scores]


def _rows(scores: Sequence[SuiteScore]) -> Iterator[dict[str, Any]]:
    """Yield the scores of benchmarks and suites; `value` is the speed relative to machine `b`."""
    for score in scores:
        common = {"host": score.host, "metric": score.kind, "a": score.configuration, "b": score.machine}
        for member in score.members:
            yield {**common, "kind": "score", "benchmark": member.benchmark, **row_of(member.score)}
        parameters = text_of({**score.parameters, "copies": score.copies, "size": score.size})
        yield {
            **common, "kind": "suite-score", "benchmark": score.suite, **row_of(score.overall), "parameters": parameters,
        }  # fmt: skip


SCORES: Topic[tuple[SuiteScore, ...]] = Topic(
    "scores",
    title="Scores",
    empty=(),
    compute=_compute,
    words=Words(50, "Scores", _words),
    document=Document(30, "scores", _document),
    rows=Rows(10, _rows),
    section=scores_section,
    tables=scores_tables,
    terminal=True,
    lead=lambda scores, context: Lead(_words(scores, context)),
)
