"""A section of a page, with sentences, tables and figures of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from regatta.figures.axes import Group


@dataclass(frozen=True)
class Table:
    """A plain table of texts. `numeric`: the columns that are set right; `title` may be empty."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    numeric: frozenset[int] = frozenset()


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
