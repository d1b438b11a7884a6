"""`regatta report EXPERIMENT`."""

from __future__ import annotations

from pathlib import Path

import click

from regatta.cli.options import experiment_argument, grafana_url, results_option


@click.command()
@experiment_argument
@results_option
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write. [default: report.html in the directory of the experiment]",
)
def report(experiment: str, results: Path, output: Path | None) -> None:
    """Write the answer of EXPERIMENT as one HTML file that works offline."""
    from regatta.answers.report.answer import answer_experiment
    from regatta.answers.report.page import write_report
    from regatta.store.folder import find_folder

    folder = find_folder(experiment, results)
    path = output or folder.report
    write_report(answer_experiment(folder.path), path, grafana_url())
    click.echo(str(path))
