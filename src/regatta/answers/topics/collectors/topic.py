"""The topic of collectors: lower-bound overhead, pauses and allocation stalls."""

from __future__ import annotations

from regatta.answers.kit.topic import Document, Topic, Words
from regatta.answers.topics.collectors.compute import Overheads, judge_overheads
from regatta.answers.topics.collectors.page import collectors_section, collectors_tables
from regatta.answers.topics.collectors.words import collector_words

COLLECTORS: Topic[Overheads] = Topic(
    "collectors",
    title="GC overhead",
    empty=Overheads(),
    compute=judge_overheads,
    words=Words(
        80,
        "Collectors",
        lambda found, context: collector_words(found, context.samples, context.cells, context.names),
    ),
    document=Document(70, "overheads"),
    section=collectors_section,
    tables=collectors_tables,
    terminal=True,
    board="regatta-collectors",
)
