"""Percentiles of the latency of requests."""

from __future__ import annotations

from regatta.answers.topic import Topic
from regatta.answers.topics.latency.page import latency_section

LATENCY: Topic[None] = Topic("latency", empty=None, section=latency_section)
