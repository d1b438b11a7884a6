"""Forest plots of the ratios to the baseline."""

from __future__ import annotations

from regatta.answers.topic import Topic
from regatta.answers.topics.ratios.page import ratios_section

RATIOS: Topic[None] = Topic("ratios", empty=None, section=ratios_section)
