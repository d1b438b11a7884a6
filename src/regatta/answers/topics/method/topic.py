"""How the paper's own way differs, where the experiment is answered so."""

from __future__ import annotations

from collections.abc import Sequence

from regatta.answers.page.view import View
from regatta.answers.topic import Topic, Words
from regatta.answers.topics.method.words import method_words
from regatta.figures.section import Section


def _section(sentences: Sequence[str], view: View) -> Section | None:
    return Section("method", "Method", "The paper's own way", "") if sentences else None


METHOD: Topic[tuple[str, ...]] = Topic(
    "method",
    empty=(),
    compute=lambda context: method_words(
        context.options.method,
        [one.contrast for one in context.contrasts],
        [one.contrast for one in context.ratios],
    ),
    words=Words(20, "The paper's own way", lambda sentences, _: sentences),
    section=_section,
)
