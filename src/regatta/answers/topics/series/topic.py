"""The metric over a numeric parameter."""

from __future__ import annotations

from regatta.answers.topic import Topic
from regatta.answers.topics.series.page import series_section

SERIES: Topic[None] = Topic("series", empty=None, section=series_section)
