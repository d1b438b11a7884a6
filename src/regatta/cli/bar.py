"""A progress bar with ETA, on standard error of a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(what: str, of_bytes: bool = False) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that takes the done and the total amount (0: unknown). Without a terminal it does nothing."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    counts = DownloadColumn() if of_bytes else MofNCompleteColumn()
    columns = (TextColumn(what), BarColumn(), counts, TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)
