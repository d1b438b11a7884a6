"""Tables in a terminal, or in full in a pipe."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from regatta.host.printable import printable

if TYPE_CHECKING:
    from rich.console import Console

    from regatta.figures.section import Table

#: Tables in a file or a pipe are not truncated to the 80 columns of a terminal.
WIDTH_WITHOUT_TERMINAL = 200


def plain_console() -> Console:
    """Return a console without markup, as wide as the terminal; 200 columns without one."""
    from rich.console import Console

    console = Console(markup=False, highlight=False, emoji=False)
    if console.is_terminal:
        return console
    return Console(markup=False, highlight=False, emoji=False, width=WIDTH_WITHOUT_TERMINAL)


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
