"""Every comparison with the baseline, among many."""

from __future__ import annotations

from regatta.answers.topic import Topic
from regatta.answers.topics.comparisons.page import comparisons_section, comparisons_tables

COMPARISONS: Topic[None] = Topic(
    "comparisons",
    empty=None,
    section=comparisons_section,
    tables=comparisons_tables,
    terminal="Comparisons with the baseline",
)
