"""A progress bar on a terminal with replaceable text below it."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column
from rich.text import Text

#: columns of the bar; of a terminal that has room for it; and of the bar in a narrower one
_BAR, _ROOMY, _SHORT_BAR = 30, 100, 10


class LiveBar(Progress):
    """Progress bar of `regatta run` on stderr, drawn on request."""

    def __init__(self) -> None:
        #: lines below the bar
        self.below = ""
        console = Console(stderr=True)
        # Only the name of the cell gives way on a narrow terminal: it gets the columns that the others leave.
        rest = Column(ratio=1, no_wrap=True, overflow="ellipsis")
        super().__init__(
            TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
            BarColumn(_BAR if console.width >= _ROOMY else _SHORT_BAR), MofNCompleteColumn(table_column=Column(no_wrap=True)),
            TimeElapsedColumn(table_column=Column(no_wrap=True)), TextColumn("left", table_column=Column(no_wrap=True)),
            TimeRemainingColumn(compact=True, table_column=Column(no_wrap=True)),
            TextColumn("{task.fields[now]}", markup=False, table_column=rest),
            console=console, auto_refresh=False, transient=True, expand=True,
        )  # fmt: skip

    def get_renderables(self) -> Iterable[RenderableType]:
        """Return the bar and the lines below it."""
        yield from super().get_renderables()
        if self.below:
            yield Text(self.below, no_wrap=True, overflow="ellipsis")
