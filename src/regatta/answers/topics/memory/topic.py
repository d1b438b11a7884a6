"""The topic of memory latency over the read size."""

from __future__ import annotations

from regatta.answers.topic import Topic, Words
from regatta.answers.topics.memory.compute import memory_words
from regatta.answers.topics.memory.page import memory_section

MEMORY: Topic[tuple[str, ...]] = Topic(
    "memory",
    title="Memory latency",
    empty=(),
    compute=lambda context: memory_words(context.cells, context.facts.hosts),
    words=Words(110, "Memory", lambda sentences, _: sentences),
    section=memory_section,
)
