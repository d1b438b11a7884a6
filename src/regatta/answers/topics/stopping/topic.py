"""The topic of block groups with a variable number of rounds."""

from __future__ import annotations

from regatta.answers.kit.topic import Document, Topic, Words
from regatta.answers.topics.stopping.compute import StoppedGroup, judge_stops, stop_words
from regatta.answers.topics.stopping.page import stopping_section, stopping_tables

STOPPING: Topic[tuple[StoppedGroup, ...]] = Topic(
    "stopping",
    title="Repetitions",
    empty=(),
    compute=judge_stops,
    words=Words(30, "Stopping", lambda groups, _: stop_words(groups)),
    document=Document(100, "stopping"),
    section=stopping_section,
    tables=stopping_tables,
)
