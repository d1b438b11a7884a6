"""Tables in a terminal, or whole in a pipe."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from regatta.host.printable import printable

if TYPE_CHECKING:
    from rich.console import Console

    from regatta.figures.section import Table

#: A table that goes into a file or a pipe is not cut to a terminal's 80 columns.
WIDTH_WITHOUT_TERMINAL = 200


def plain_console() -> Console:
    """A console that takes text as it is, as wide as the terminal; 200 columns where there is none."""
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
    """Print a table without the columns that say nothing, numbers (all columns but those in `left`) to the right."""
    from regatta.figures.section import Table

    numeric = frozenset(at for at, name in enumerate(header) if name not in left)
    show(console, Table(title, tuple(header), [tuple(row) for row in rows], numeric).without_empty())


def show(console: Console, table: Table, title: str = "") -> None:
    """Print a table as a page has it, but for its folded columns; nothing without rows.

    Args:
        console: where to.
        table: what to print.
        title: instead of the table's own.
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
    # As wide as the terminal, where the table may be narrow.
    if heading := title or table.title:
        console.print(Text(printable(heading), style="italic"))
    console.print(shown)
