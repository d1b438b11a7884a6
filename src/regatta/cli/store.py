"""`regatta store rebuild EXPERIMENT`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from regatta.cli.options import results_option
from regatta.store.folder import find_folder


@click.group()
def store() -> None:
    """The embedded database of an experiment: Parquet and DuckDB, made from the journal."""


@store.command()
@click.argument("experiment")
@results_option
def rebuild(experiment: str, results: Path) -> None:
    """Make the database of EXPERIMENT (a name or a folder) again from its journal, which is the only truth."""
    from regatta.store.database import rebuild as rebuild_database

    folder = find_folder(experiment, results)
    with database_progress() as progress:
        made = rebuild_database(folder.path, progress)
    click.echo(
        f"{made.directory}: {made.invocations} invocations, {made.iterations} measurements, {made.cells} planned cells"
        + (f", {made.vectors} rows of vectors" if made.vectors else "")
    )
    if made.damaged:
        click.echo(
            f"{made.damaged} torn or damaged lines are no records; `regatta verify` names them", err=True
        )


@contextmanager
def database_progress() -> Iterator[Callable[[int, int], None] | None]:
    """A bar with its ETA on a terminal, nothing elsewhere; told bytes read and bytes in all."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("reading the journal"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("journal", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
