"""Topics: the parts of a report that answer one further question each. Here is only which there are, in their order.

A topic's own file imports `regatta.figures.topic`, and this one imports it.
"""

from __future__ import annotations

from collections.abc import Callable

from regatta.answers.page.comparisons import comparisons_topic, method_topic
from regatta.answers.page.figure_topics import (
    curves_topic,
    heap_topic,
    order_topic,
    ratios_topic,
    spread_topic,
)
from regatta.answers.page.looks import Looks
from regatta.answers.page.panels import Panel
from regatta.answers.result import Answer
from regatta.answers.topics.aa.page import aa_topic
from regatta.answers.topics.chat.page import chat_topic
from regatta.answers.topics.collectors.page import collectors_topic
from regatta.answers.topics.dependence.page import runs_topic
from regatta.answers.topics.effects.page import effects_topic, levels_topic
from regatta.answers.topics.families.page import pairs_topic
from regatta.answers.topics.hosts.page import hosts_topic
from regatta.answers.topics.latency.page import latency_topic
from regatta.answers.topics.load.page import scaling_topic
from regatta.answers.topics.memory.page import memory_topic
from regatta.answers.topics.outliers.page import outliers_topic
from regatta.answers.topics.replay.page import replay_topic
from regatta.answers.topics.scores.page import scores_topic
from regatta.answers.topics.sleeps.page import sleeps_topic
from regatta.answers.topics.steady.page import steady_topic
from regatta.answers.topics.stopping.page import stopping_topic
from regatta.answers.topics.suites.page import suites_topic
from regatta.figures.topic import Table, Topic

__all__ = ["TOPICS", "Table", "Topic", "topics_of"]

#: each gives its topic, or None where the answer has nothing on it; in the order of the page
TOPICS: tuple[Callable[[Answer, list[Panel], Looks], Topic | None], ...] = (
    # the answer
    method_topic,
    ratios_topic,
    comparisons_topic,
    pairs_topic,
    suites_topic,
    scores_topic,
    hosts_topic,
    # what it hangs on
    heap_topic,
    collectors_topic,
    latency_topic,
    scaling_topic,
    chat_topic,
    memory_topic,
    sleeps_topic,
    curves_topic,
    effects_topic,
    replay_topic,
    # how the values lie, and how many there are
    spread_topic,
    levels_topic,
    steady_topic,
    stopping_topic,
    # whether they can be trusted
    order_topic,
    runs_topic,
    outliers_topic,
    aa_topic,
)


def topics_of(answer: Answer, panels: list[Panel], looks: Looks) -> list[Topic]:
    """The topics on which the answer has something to say."""
    found = (make(answer, panels, looks) for make in TOPICS)
    return [topic for topic in found if topic is not None]
