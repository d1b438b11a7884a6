"""The topic of compilation control: conclusions with and without it."""

from __future__ import annotations

from regatta.answers.topic import Document, Topic, Words
from regatta.answers.topics.replay.compute import CompilationControl, judge_control
from regatta.answers.topics.replay.page import replay_section, replay_tables

REPLAY: Topic[tuple[CompilationControl, ...]] = Topic(
    "replay",
    title="Compilation control",
    empty=(),
    compute=lambda context: judge_control(
        context.families, context.facts.controlled, context.facts.steady.method
    ),
    words=Words(170, "Compilation control", lambda found, _: [one.words for one in found]),
    document=Document(10, "compilation"),
    section=replay_section,
    tables=replay_tables,
)
