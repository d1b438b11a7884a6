"""Tables in a terminal, or in full in a pipe."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Any, cast

from regatta.host.printable import printable

if TYPE_CHECKING:
    from rich.console import Console

    from regatta.figures.section import Table

#: columns of a screen in a file or a pipe, and the limits of those on a terminal
WIDTH_OF_SCREEN, _NARROWEST, _WIDEST = 100, 60, 200
#: minimum characters of a shortened name, if the table then fits, and if it does not
_LEAST_NAME, _LEAST_OF_ALL = 8, 4
#: The interval says as much, if there is no room.
_DISPENSABLE = "adj. p"
#: never shortened
_VERDICT = "practical"
#: Tables in a file or a pipe are not truncated to the 80 columns of a terminal.
WIDTH_WITHOUT_TERMINAL = 200


def plain_console() -> Console:
    """Return a console without markup, as wide as the terminal; 200 columns without one."""
    from rich.console import Console

    console = Console(markup=False, highlight=False, emoji=False)
    if console.is_terminal:
        return console
    pipe = cast(IO[str], _Trimmed(sys.stdout))
    return Console(markup=False, highlight=False, emoji=False, width=WIDTH_WITHOUT_TERMINAL, file=pipe)


class _Trimmed:
    """A stream without spaces at the ends of lines: rich fills the last column of a table."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write the text of a whole table."""
        return self._stream.write(re.sub(r" +$", "", text, flags=re.MULTILINE))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def screen_width() -> int:
    """Return the columns of a screen: those of the terminal, from 60 to 200; 100 without one."""
    if not sys.stdout.isatty():
        return WIDTH_OF_SCREEN
    return min(_WIDEST, max(_NARROWEST, shutil.get_terminal_size((WIDTH_OF_SCREEN, 40)).columns))


def fitted_lines(table: Table, width: int) -> list[str]:
    """Return the header and the rows of a table in at most `width` columns.

    Numbers and names of alternatives are essential: other names are shortened first. Very wide intervals can need more.
    """
    widths = _fitted(table, width, _LEAST_NAME) or _fitted(table, width, _LEAST_OF_ALL)
    if widths is None and _DISPENSABLE in table.columns:
        return fitted_lines(_without(table, table.columns.index(_DISPENSABLE)), width)
    widths = widths or [max(map(len, column)) for column in zip(table.columns, *table.rows, strict=True)]
    lines = []
    for row in (table.columns, *table.rows):
        texts = (
            text.rjust(width) if at in table.numeric else shortened(text, width).ljust(width)
            for at, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append(f"  {'  '.join(texts)}".rstrip())
    return lines


def _fitted(table: Table, width: int, least: int) -> list[int] | None:
    """Return the widths of the columns with names of at least `least` characters; None if the table does not fit."""
    widths = [max(map(len, column)) for column in zip(table.columns, *table.rows, strict=True)]
    while sum(widths) + 2 * len(widths) > width:
        whole = {*table.numeric, *(at for at, name in enumerate(table.columns) if name == _VERDICT)}
        names = [at for at in range(len(widths)) if at not in whole and widths[at] > least]
        if not names:
            return None
        where = [at for at in names if table.columns[at] != "comparison"]
        widths[max(where or names, key=lambda at: widths[at])] -= 1
    return widths


def _without(table: Table, dropped: int) -> Table:
    kept = [at for at in range(len(table.columns)) if at != dropped]
    return replace(
        table,
        columns=tuple(table.columns[at] for at in kept),
        rows=[tuple(row[at] for at in kept) for row in table.rows],
        numeric=frozenset(new for new, at in enumerate(kept) if at in table.numeric),
    )


def shortened(line: str, width: int) -> str:
    """Return a printable line of at most `width` characters."""
    line = printable(line)
    return line if len(line) <= width else f"{line[: width - 1]}…"


def show_table(
    console: Console,
    title: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    left: Collection[str] = (),
) -> None:
    """Print a table without empty columns; numbers (all columns but those in `left`) are right-aligned."""
    from regatta.figures.section import Table

    numeric = frozenset(at for at, name in enumerate(header) if name not in left)
    show(console, Table(title, tuple(header), [tuple(row) for row in rows], numeric).without_empty())


def show(console: Console, table: Table, title: str = "") -> None:
    """Print a table as on a page, except folded columns; nothing without rows.

    Args:
        console: output.
        table: the table.
        title: replaces the title of the table.
    """
    if not table.rows:
        return
    import rich.table
    from rich.text import Text

    shown = rich.table.Table(box=None, header_style="bold", pad_edge=False)
    used = [at for at in range(len(table.columns)) if at not in table.folded]
    for at in used:
        shown.add_column(
            printable(table.columns[at]),
            justify="right" if at in table.numeric else "left",
            overflow="fold",
        )
    for row in table.rows:
        shown.add_row(*(Text(printable(row[at])) for at in used))
    console.print()
    # The title is as wide as the terminal, even if the table is narrower.
    if heading := title or table.title:
        console.print(Text(printable(heading), style="italic"))
    console.print(shown)
