"""How the invocations of each cell are spread."""

from __future__ import annotations

from regatta.answers.topic import Topic
from regatta.answers.topics.spread.page import spread_section

SPREAD: Topic[None] = Topic("spread", empty=None, section=spread_section)
