"""An A/A test: the same configuration twice."""

from __future__ import annotations

from regatta.answers.topic import Document, Topic, Words
from regatta.answers.topics.aa.compute import Gate, judge_gates
from regatta.answers.topics.aa.page import aa_section, aa_tables

#: one gate per host
AA: Topic[tuple[Gate, ...]] = Topic(
    "aa",
    empty=(),
    compute=lambda context: judge_gates(context.samples, context.facts.level),
    words=Words(180, "A/A test", lambda gates, _: [gate.words for gate in gates]),
    document=Document(120, "gates"),
    section=aa_section,
    tables=aa_tables,
)
