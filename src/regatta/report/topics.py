"""Topics: the parts of a report that answer one further question each. Here is only which there are, in their order.

A topic's own file imports `regatta.report.topic`, and this one imports it.
"""

from __future__ import annotations

from collections.abc import Callable

from regatta.model.answer import Answer
from regatta.report.aa import aa_topic
from regatta.report.chat import chat_topic
from regatta.report.collectors import collectors_topic
from regatta.report.comparisons import comparisons_topic, method_topic
from regatta.report.effects import effects_topic, levels_topic
from regatta.report.figure_topics import curves_topic, heap_topic, order_topic, ratios_topic, spread_topic
from regatta.report.hosts import hosts_topic
from regatta.report.latency import latency_topic
from regatta.report.looks import Looks
from regatta.report.memory import memory_topic
from regatta.report.outliers import outliers_topic
from regatta.report.panels import Panel
from regatta.report.replay import replay_topic
from regatta.report.runs import runs_topic
from regatta.report.scaling import scaling_topic
from regatta.report.scores import scores_topic
from regatta.report.sleeps import sleeps_topic
from regatta.report.steady import steady_topic
from regatta.report.stopping import stopping_topic
from regatta.report.suites import suites_topic
from regatta.report.topic import Table, Topic
from regatta.report.tukey_plot import pairs_topic

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
