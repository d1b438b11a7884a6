"""`regatta store rebuild EXPERIMENT`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regatta.cli.bar import progress_bar
from regatta.cli.options import experiment_argument, results_option
from regatta.store.folder import find_folder

if TYPE_CHECKING:
    from regatta.store.folder import Folder


@click.group()
def store() -> None:
    """Manage the embedded database of an experiment: Parquet and DuckDB, made from the journal."""


@store.command()
@experiment_argument
@results_option
def rebuild(experiment: str, results: Path) -> None:
    """Make the database of EXPERIMENT (a name or a directory) again from its journal."""
    rebuild_and_show(find_folder(experiment, results))


def rebuild_and_show(folder: Folder) -> None:
    """Make the database of an experiment again, and print the number of its rows."""
    from regatta.store.database import rebuild as rebuild_database

    with database_progress() as progress:
        made = rebuild_database(folder.path, progress)
    click.echo(
        f"{made.directory}: {made.invocations} invocations, {made.iterations} measurements, {made.cells} planned cells"
        + (f", {made.vectors} rows of vectors" if made.vectors else "")
    )
    if made.damaged:
        click.echo(f"{made.damaged} torn or damaged lines skipped; `regatta verify` lists them", err=True)


def database_progress() -> AbstractContextManager[Callable[[int, int], None]]:
    """Return a progress bar in bytes for loading the journal into the database."""
    return progress_bar("reading the journal", of_bytes=True)
