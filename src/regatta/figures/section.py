"""A section of a page, with sentences, tables and figures of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from regatta.figures.axes import Group
from regatta.figures.text import ABSENT


@dataclass(frozen=True)
class Table:
    """A plain table of texts, the same on a page and in a terminal.

    `numeric`: the columns that are set right; `title` may be empty.
    """

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    numeric: frozenset[int] = frozenset()
    #: the columns that a page folds and a terminal leaves out
    folded: frozenset[int] = frozenset()
    #: left out in a terminal, which shows what is above it
    detail: bool = False

    def of_columns(self, used: Iterable[int]) -> Table:
        """The table with only the columns at these indices, ascending."""
        kept = list(used)
        return replace(
            self,
            columns=tuple(self.columns[at] for at in kept),
            rows=[tuple(row[at] for at in kept) for row in self.rows],
            numeric=frozenset(new for new, at in enumerate(kept) if at in self.numeric),
            folded=frozenset(new for new, at in enumerate(kept) if at in self.folded),
        )

    def without_empty(self) -> Table:
        """The table without the columns that hold nothing."""
        return self.of_columns(
            at for at in range(len(self.columns)) if any(row[at] not in ("", ABSENT) for row in self.rows)
        )


@dataclass(frozen=True)
class Section:
    """One section. `anchor` is its place in the page, `short` its name in the navigation, `words` how to read it."""

    anchor: str
    short: str
    title: str
    words: str
    #: what was found, to be read aloud
    sentences: tuple[str, ...] = ()
    tables: Sequence[Table] = ()
    groups: Sequence[Group] = ()
