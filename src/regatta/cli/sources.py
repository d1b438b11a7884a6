"""Where the records of an answer come from: the journal of a results folder, or InfluxDB."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from regatta.cli.bar import progress_bar
from regatta.cli.options import influx_settings
from regatta.cli.store import database_progress
from regatta.store.folder import find_folder

JOURNAL, INFLUX = "journal", "influx"

_Progress = Callable[[int, int], None] | None


@contextmanager
def records_of(experiment: str, results: Path, source: str) -> Iterator[tuple[Path, _Progress]]:
    """Give a folder that the analysis can answer, and what it tells its progress.

    Args:
        experiment: a name or a folder; with `influx` of a folder the name.
        results: where the folders of experiments are.
        source: `journal` or `influx`.

    Raises:
        StoreError: there is no such experiment, or the database cannot be asked.
        SpecError: no InfluxDB is configured, or wrongly.
    """
    if source == JOURNAL:
        with database_progress() as progress:
            yield find_folder(experiment, results).path, progress
        return

    from regatta.influx.client import Client
    from regatta.influx.reading import experiment_from_influx

    client = Client(influx_settings(), "read", say=_say)
    try:
        with (
            progress_bar("reading InfluxDB") as progress,
            experiment_from_influx(client, Path(experiment).name, _say, progress) as folder,
        ):
            yield folder, None
    finally:
        client.close()


def _say(text: str) -> None:
    click.echo(f"note: {text}", err=True)
