"""`regatta status`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from regatta.cli.options import json_option, optional_experiment_argument, results_option
from regatta.host.printable import printable


@click.command()
@optional_experiment_argument
@results_option
@json_option
def status(experiment: str | None, results: Path, as_json: bool) -> None:
    """Show the progress of experiments and the running invocations. Read-only; works from any terminal."""
    from regatta.store.folder import find_folders
    from regatta.store.progress import read_progress

    values = [read_progress(folder) for folder in find_folders(experiment, results)]
    if as_json:
        click.echo(json.dumps([value.to_json() for value in values]))
        return
    if not values:
        click.echo(f"no experiment in {results}")
    for value in values:
        click.echo(printable(value.sentence()))
        for line in value.lines():
            click.echo(f"  {printable(line)}")
