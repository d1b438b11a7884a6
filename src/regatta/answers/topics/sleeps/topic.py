"""The topic of actual and requested sleep durations."""

from __future__ import annotations

from regatta.answers.topic import Topic, Words
from regatta.answers.topics.sleeps.compute import sleep_words
from regatta.answers.topics.sleeps.page import sleeps_section

SLEEPS: Topic[tuple[str, ...]] = Topic(
    "sleeps",
    title="Sleep duration",
    empty=(),
    compute=lambda context: sleep_words(context.cells),
    words=Words(120, "Sleeps", lambda sentences, _: sentences),
    section=sleeps_section,
)
