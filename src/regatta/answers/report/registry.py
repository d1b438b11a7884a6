"""List all topics, one per line.

To add a topic, create a folder whose `topic.py` defines one `Topic`, and list it here. To remove one, delete
both; the type checker finds other uses (points in InfluxDB, `regatta reference`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pkgutil import resolve_name
from typing import Any, Protocol, TypeVar

from regatta.answers.kit.topic import Topic, Words
from regatta.answers.kit.view import View
from regatta.answers.topics.aa.topic import AA
from regatta.answers.topics.capacity.topic import CAPACITY
from regatta.answers.topics.chat.topic import CHAT
from regatta.answers.topics.collectors.topic import COLLECTORS
from regatta.answers.topics.comparisons.topic import COMPARISONS
from regatta.answers.topics.counters.topic import COUNTERS
from regatta.answers.topics.coverage.topic import COVERAGE
from regatta.answers.topics.dependence.topic import DEPENDENCE
from regatta.answers.topics.duet.topic import DUETS
from regatta.answers.topics.effects.topic import EFFECTS
from regatta.answers.topics.families.topic import FAMILIES
from regatta.answers.topics.growth.topic import GROWTH
from regatta.answers.topics.heap.topic import HEAP
from regatta.answers.topics.hosts.topic import HOSTS
from regatta.answers.topics.latency.topic import LATENCY
from regatta.answers.topics.levels.topic import LEVELS
from regatta.answers.topics.load.topic import LOAD
from regatta.answers.topics.memory.topic import MEMORY
from regatta.answers.topics.method.topic import METHOD
from regatta.answers.topics.normality.topic import NORMALITY
from regatta.answers.topics.order.topic import ORDER
from regatta.answers.topics.outliers.topic import OUTLIERS
from regatta.answers.topics.platforms.topic import PLATFORMS
from regatta.answers.topics.ratios.topic import RATIOS
from regatta.answers.topics.replay.topic import REPLAY
from regatta.answers.topics.runtimes.topic import RUNTIMES
from regatta.answers.topics.scores.topic import SCORES
from regatta.answers.topics.series.topic import SERIES
from regatta.answers.topics.sleeps.topic import SLEEPS
from regatta.answers.topics.spread.topic import SPREAD
from regatta.answers.topics.steady.topic import STEADY
from regatta.answers.topics.stopping.topic import STOPPING
from regatta.answers.topics.suite_pairs.topic import SUITE_PAIRS
from regatta.answers.topics.suites.topic import SUITES
from regatta.figures.section import Section

#: of the models, which this package must not import
EVENTS: Topic[Any] = resolve_name("regatta.models.kernel_traces.topic.topic:EVENTS")
PREDICTIONS: Topic[Any] = resolve_name("regatta.models.predict.topic.topic:PREDICTIONS")

#: in page order
TOPICS: tuple[Topic[Any], ...] = (
    # the answer
    COVERAGE,
    METHOD,
    RATIOS,
    COMPARISONS,
    FAMILIES,
    RUNTIMES,
    SUITES,
    SUITE_PAIRS,
    SCORES,
    PLATFORMS,
    HOSTS,
    # its factors
    HEAP,
    COLLECTORS,
    LATENCY,
    CAPACITY,
    LOAD,
    CHAT,
    COUNTERS,
    GROWTH,
    EVENTS,
    PREDICTIONS,
    MEMORY,
    SLEEPS,
    SERIES,
    EFFECTS,
    REPLAY,
    # distribution and number of the values
    SPREAD,
    NORMALITY,
    LEVELS,
    STEADY,
    STOPPING,
    DUETS,
    # validity of the values
    ORDER,
    DEPENDENCE,
    OUTLIERS,
    AA,
)


class _Placed(Protocol):
    @property
    def place(self) -> int: ...


Part = TypeVar("Part", bound=_Placed)


def in_order(part: Callable[[Topic[Any]], Part | None]) -> list[tuple[Topic[Any], Part]]:
    """Return the topics that have a part (words, document, rows) with that part, ordered by its place."""
    found = [(topic, own) for topic in TOPICS if (own := part(topic)) is not None]
    return sorted(found, key=lambda pair: pair[1].place)


def findings_in_order(
    findings: Mapping[str, tuple[str, ...]],
) -> list[tuple[Topic[Any], Words[Any], tuple[str, ...]]]:
    """Return each topic that has findings, with its words and the sentences, in reading order."""
    return [
        (topic, words, findings[topic.key])
        for topic, words in in_order(lambda topic: topic.words)
        if topic.key in findings
    ]


def sections_of(view: View) -> list[Section]:
    """Return the non-empty sections of the page."""
    found = (topic.section_of(view) for topic in TOPICS)
    return [section for section in found if section is not None]
