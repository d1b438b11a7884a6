"""Tables on a terminal, or whole in a pipe."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from regatta.host.printable import printable

if TYPE_CHECKING:
    from rich.console import Console

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
    if not rows:
        return
    from rich.table import Table
    from rich.text import Text

    used = [i for i in range(len(header)) if any(row[i] for row in rows)]
    table = Table(box=None, header_style="bold", pad_edge=False)
    for i in used:
        table.add_column(
            printable(header[i]), justify="left" if header[i] in left else "right", overflow="fold"
        )
    for row in rows:
        table.add_row(*(Text(printable(row[i])) for i in used))
    console.print()
    # As wide as the terminal, where the table may be narrow.
    console.print(Text(printable(title), style="italic"))
    console.print(table)
