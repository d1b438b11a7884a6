"""Define a topic: one subject of an answer, from its computation to its figures.

`regatta.answers.report.registry` lists all topics; avoid naming a topic elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from regatta.answers.kit.plain import plain
from regatta.answers.kit.ranking import Standings
from regatta.answers.kit.view import View
from regatta.answers.spine.context import Context
from regatta.answers.spine.result import Answer
from regatta.figures.section import Section, Table

T = TypeVar("T")


@dataclass(frozen=True)
class Lead:
    """The contribution of topics to the first sentences of an answer."""

    sentences: tuple[str, ...] = ()
    #: ids of cells that the sentences cover, so that their means are not repeated
    cells: frozenset[str] = frozenset()
    #: the ones among them whose comparisons are covered, too
    compared: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Words(Generic[T]):
    """The findings of a topic in sentences, in ascending order of `place`."""

    place: int
    #: key of the findings in the JSON document; people see the topic's title
    key: str
    of: Callable[[T, Context], Sequence[str]]


@dataclass(frozen=True)
class Document(Generic[T]):
    """A topic's member of the JSON document, in ascending order of `place`; `of` returns a JSON value."""

    place: int
    key: str
    of: Callable[[T], Any] = plain


@dataclass(frozen=True)
class Rows(Generic[T]):
    """A topic's rows of the CSV (`regatta.answers.report.documents.COLUMNS`), in ascending order of `place`."""

    place: int
    of: Callable[[T], Iterator[dict[str, Any]]]


@dataclass(frozen=True)
class Replacement:
    """Points in InfluxDB, and the conditions of the earlier points of a measurement that they replace."""

    measurement: str
    conditions: Sequence[str]
    points: Sequence[Any]


@dataclass(frozen=True)
class Topic(Generic[T]):
    """One subject. All fields except `key`, `title` and `empty` are optional."""

    #: the name of its folder
    key: str
    #: heading on a page and in a terminal
    title: str
    #: the result if the topic has nothing to report
    empty: T
    compute: Callable[[Context], T] | None = None
    words: Words[T] | None = None
    document: Document[T] | None = None
    rows: Rows[T] | None = None
    #: the section of the page without its title, sentences and tables; None if the answer has no such section
    section: Callable[[T, View], Section | None] | None = None
    tables: Callable[[T, View], Sequence[Table]] | None = None
    #: a terminal shows its tables without a request
    terminal: bool = False
    #: takes long to compute; the first screen is without it
    slow: bool = False
    #: computed quantity -> methods, for the report's account of methods
    methods: Callable[[T], Mapping[str, set[str]]] | None = None
    #: the order of its alternatives and all their pairs, which become points in InfluxDB
    standings: Callable[[T, Answer], Iterable[Standings]] | None = None
    #: further points in InfluxDB, given the start of the newest record in ns, UTC
    points: Callable[[T, int], Replacement | None] | None = None
    #: UID of the dashboard that shows it; a report with a result links to it
    board: str = ""
    #: its contribution to the first sentences of the answer
    lead: Callable[[T, Context], Lead] | None = None
    #: replaces all first sentences, given the lead; None keeps them
    headline: Callable[[T, Context, Lead], Sequence[str] | None] | None = None

    def of(self, answer: Answer) -> T:
        """Return the topic's result in an answer."""
        result: T = answer.topics.get(self.key, self.empty)
        return result

    def section_of(self, view: View) -> Section | None:
        """Return the complete section of the page."""
        section = None if self.section is None else self.section(self.of(view.answer), view)
        if section is None:
            return None
        return replace(
            section,
            title=self.title,
            sentences=view.answer.findings.get(self.key, ()),
            tables=self.tables_of(view),
        )

    def tables_of(self, view: View) -> Sequence[Table]:
        """Return the topic's tables for a page or a terminal, without empty tables and columns."""
        tables = () if self.tables is None else self.tables(self.of(view.answer), view)
        return [table.without_empty() for table in tables if table.rows]


def together(leads: Iterable[Lead]) -> Lead:
    """Merge several leads, in order."""
    every = list(leads)
    return Lead(
        tuple(sentence for lead in every for sentence in lead.sentences),
        frozenset().union(*(lead.cells for lead in every)),
        frozenset().union(*(lead.compared for lead in every)),
    )
