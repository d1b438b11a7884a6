"""`regatta watch EXPERIMENT`: progress and interim comparisons from another terminal."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from regatta.cli.options import experiment_argument, results_option

_LOOK_S = 1.0
#: Snakemake without `regatta run` holds no lock, and between two segments no runner exists.
_PATIENCE_S = 300.0


@click.command()
@experiment_argument
@results_option
def watch(experiment: str, results: Path) -> None:
    """Show the progress of a running EXPERIMENT and its comparisons so far, until it ends.

    Works from any terminal with access to the results, also with SSH and Slurm. It only reads; Ctrl-C stops watching,
    not the experiment.
    """
    from regatta.cli.watcher import Watcher
    from regatta.cli.workflow import WorkflowEvents, is_being_run
    from regatta.store.folder import find_folder
    from regatta.store.progress import read_progress

    folder = find_folder(experiment, results)
    heard = WorkflowEvents(folder, from_start=True)
    alive_at = time.monotonic()
    with Watcher(folder) as watcher:
        while True:
            for stage in heard.stages():
                watcher.stage = stage
            watcher.look()
            if is_being_run(folder) or watcher.has_runner:
                alive_at = time.monotonic()
            # A killed workflow writes no end.
            if not heard.at_work or time.monotonic() - alive_at > _PATIENCE_S:
                break
            time.sleep(_LOOK_S)
    click.echo(read_progress(folder).sentence())
    if folder.report.exists():
        click.echo(f"report: {folder.report}")
    print(f"answer: regatta analyze {experiment}", file=sys.stderr)
