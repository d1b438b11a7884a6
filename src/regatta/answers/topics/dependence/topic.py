"""The topic of dependence of invocations on previous ones."""

from __future__ import annotations

from regatta.answers.kit.topic import Document, Topic, Words
from regatta.answers.topics.dependence.compute import Dependence, dependence_words, dependences
from regatta.answers.topics.dependence.page import dependence_section, dependence_tables

#: one value per cell
DEPENDENCE: Topic[tuple[Dependence, ...]] = Topic(
    "dependence",
    title="Independence of invocations",
    empty=(),
    compute=lambda context: dependences(context.cells, context.facts.level),
    words=Words(
        160, "Order of the invocations", lambda found, context: dependence_words(found, context.facts.level)
    ),
    document=Document(140, "dependences"),
    section=dependence_section,
    tables=dependence_tables,
)
