"""What ran at all: how many cells completed, and which combinations are not possible."""

from __future__ import annotations

from collections.abc import Sequence

from regatta.answers.context import Context
from regatta.answers.topic import Lead, Topic, Words
from regatta.answers.topics.coverage.words import coverage_words


def _headline(sentences: Sequence[str], context: Context, _: Lead) -> Sequence[str] | None:
    """All that is said where no cell was to run twice: one number each says nothing of which is faster."""
    once = all(cell.planned - cell.discarded_rounds <= 1 for cell in context.samples.cells)
    return sentences if sentences and once else None


COVERAGE: Topic[tuple[str, ...]] = Topic(
    "coverage",
    empty=(),
    compute=lambda context: coverage_words(context.cells, context.samples.failures, context.impossible),
    words=Words(10, "What ran", lambda sentences, _: sentences),
    headline=_headline,
)
