"""The metric against the size of the heap."""

from __future__ import annotations

from regatta.answers.topic import Topic
from regatta.answers.topics.heap.page import heap_section

HEAP: Topic[None] = Topic("heap", empty=None, section=heap_section)
