"""Collectors among each other. The families themselves belong to every answer (`regatta.answers.families`)."""

from __future__ import annotations

from regatta.answers.topic import Topic
from regatta.answers.topics.families.page import families_section, families_tables

FAMILIES: Topic[None] = Topic(
    "families",
    empty=None,
    section=families_section,
    tables=families_tables,
    terminal="Collectors among each other",
)
