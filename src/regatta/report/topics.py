"""Topics: the parts of a report that answer one further question each, with sentences, tables and figures of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from regatta.model.answer import Answer
from regatta.report.axes import Group
from regatta.report.looks import Looks
from regatta.report.panels import Panel


@dataclass(frozen=True)
class Table:
    """A plain table of texts. `numeric`: the columns that are set right; `title` may be empty."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    numeric: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Topic:
    """One section. `anchor` is its place in the page, `short` its name in the navigation, `words` how to read it."""

    anchor: str
    short: str
    title: str
    words: str
    #: what was found, to be read aloud
    sentences: tuple[str, ...] = ()
    tables: list[Table] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)


#: each gives its topic, or None where the answer has nothing on it; in the order of the page
TOPICS: tuple[Callable[[Answer, list[Panel], Looks], Topic | None], ...] = ()


def topics_of(answer: Answer, panels: list[Panel], looks: Looks) -> list[Topic]:
    """The topics on which the answer has something to say."""
    found = (make(answer, panels, looks) for make in TOPICS)
    return [topic for topic in found if topic is not None]
