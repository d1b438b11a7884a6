"""A section of a page, with sentences, tables and figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from regatta.figures.axes import Group
from regatta.figures.text import ABSENT


@dataclass(frozen=True)
class Table:
    """A plain table of texts, identical on a page and in a terminal.

    `numeric`: right-aligned columns; `title` can be empty.
    """

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    numeric: frozenset[int] = frozenset()
    #: Columns that a page collapses and a terminal omits.
    folded: frozenset[int] = frozenset()
    #: Omitted in a terminal, which shows the preceding summary.
    detail: bool = False

    def of_columns(self, used: Iterable[int]) -> Table:
        """Return the table with only the columns at these indices, ascending."""
        kept = list(used)
        return replace(
            self,
            columns=tuple(self.columns[at] for at in kept),
            rows=[tuple(row[at] for at in kept) for row in self.rows],
            numeric=frozenset(new for new, at in enumerate(kept) if at in self.numeric),
            folded=frozenset(new for new, at in enumerate(kept) if at in self.folded),
        )

    def without_empty(self) -> Table:
        """Return the table without empty columns."""
        return self.of_columns(
            at for at in range(len(self.columns)) if any(row[at] not in ("", ABSENT) for row in self.rows)
        )


Row = TypeVar("Row")
#: a column for any object with some property serves more specific objects, too
Shown = TypeVar("Shown", contravariant=True)


@dataclass(frozen=True)
class Column(Generic[Shown]):
    """A column of a table that lists objects: its title, and the text of each object."""

    title: str
    text: Callable[[Shown], str]
    #: right-aligned
    numeric: bool = False
    #: collapsed on a page, and omitted in a terminal
    folded: bool = False


def table_of(title: str, rows: Iterable[Row], columns: Sequence[Column[Row]], detail: bool = False) -> Table:
    """Return the table with one row per object; see `Table` for `title` and `detail`."""
    return Table(
        title,
        tuple(column.title for column in columns),
        [tuple(column.text(row) for column in columns) for row in rows],
        frozenset(at for at, column in enumerate(columns) if column.numeric),
        frozenset(at for at, column in enumerate(columns) if column.folded),
        detail,
    )


@dataclass(frozen=True)
class Section:
    """A section. `anchor` is its anchor in the page, `words` explain how to read it."""

    anchor: str
    #: heading, and name in the navigation
    title: str = ""
    words: str = ""
    #: Conclusions, as sentences.
    sentences: tuple[str, ...] = ()
    tables: Sequence[Table] = ()
    groups: Sequence[Group] = ()
