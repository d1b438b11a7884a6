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
from rich.text import Text


class LiveBar(Progress):
    """Progress bar of `regatta run` on stderr, drawn on request."""

    def __init__(self) -> None:
        #: lines below the bar
        self.below = ""
        super().__init__(
            TextColumn("{task.description}", markup=False), BarColumn(bar_width=30), MofNCompleteColumn(), TimeElapsedColumn(),
            TextColumn("left"), TimeRemainingColumn(compact=True), TextColumn("{task.fields[now]}", markup=False),
            console=Console(stderr=True), auto_refresh=False, transient=True,
        )  # fmt: skip

    def get_renderables(self) -> Iterable[RenderableType]:
        """Return the bar and the lines below it."""
        yield from super().get_renderables()
        if self.below:
            yield Text(self.below, no_wrap=True, overflow="ellipsis")
