"""`regatta history EXPERIMENT...`."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regatta.cli.options import complete_experiment, json_option, results_option, write_to_influx
from regatta.cli.store import database_progress
from regatta.cli.tables import plain_console, show_table
from regatta.host.printable import printable
from regatta.store.folder import find_folder

if TYPE_CHECKING:
    from regatta.answers.history.result import History, PastPoint, SeriesHistory, Track


@click.command()
@click.argument(
    "experiments", nargs=-1, required=True, metavar="EXPERIMENT...", shell_complete=complete_experiment
)
@results_option
@click.option(
    "--level",
    type=click.FloatRange(0.5, 0.9999),
    help="Confidence level. [default: that of the latest experiment]",
)
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write a page with one figure per series.",
)
@click.option(
    "--ingest",
    is_flag=True,
    help="Also write shifts and changes of the environment to InfluxDB, for the dashboards.",
)
@json_option
def history(
    experiments: Sequence[str],
    results: Path,
    level: float | None,
    output: Path | None,
    ingest: bool,
    as_json: bool,
) -> None:
    """Compare EXPERIMENTS (names or directories) over time, and show where the level of a cell shifts and by how much.

    Experiments are ordered by their first record and identified by the `labels` of their specs, such as a commit.
    """
    folders = [find_folder(experiment, results).path for experiment in experiments]

    from regatta.answers.history.compute import history_document, history_of

    with database_progress() as progress:
        found = history_of(folders, level, progress)
    if as_json:
        click.echo(json.dumps(history_document(found), indent=1, allow_nan=False))
    else:
        _show(found)
    if output is not None:
        from regatta.answers.history.page import write_history

        write_history(found, output)
        click.echo(str(output), err=as_json)
    if ingest:
        _ingest(found)


def _ingest(found: History) -> None:
    from regatta.influx.history_points import write_history_points

    again = "regatta history EXPERIMENT... --ingest"
    write_to_influx(lambda client: write_history_points(found, client), "points of the history", again)


def _show(found: History) -> None:
    from regatta.figures.text import show_percent

    console = plain_console()
    for sentence in found.sentences:
        console.print(f"• {printable(sentence)}")
    if not found.sentences:
        console.print("Nothing to compare: no two of these experiments have a common cell.")
    numbers = [str(number) for number, _ in enumerate(found.experiments, start=1)]
    names = ("name", "experiment", "folder")
    listed = zip(numbers, found.experiments, strict=True)
    rows = [(number, one.name, one.experiment, one.folder) for number, one in listed]
    show_table(console, "Experiments", ("", *names), rows, left=names)
    title = f"Means over time ({show_percent(found.level)} CI); » marks a shift"
    columns = ("series", "unit", *numbers)
    means = [_row(one, one, len(found.experiments)) for one in found.series]
    show_table(console, title, columns, means, left=columns[:2])
    at_one_speed = [
        _row(one, one.at_one_speed, len(found.experiments))
        for one in found.series
        if one.at_one_speed is not None
    ]
    if at_one_speed:
        show_table(
            console,
            "The same at one speed of the host, by its canary",
            columns,
            at_one_speed,
            left=columns[:2],
        )
    changes = [
        (found.experiments[one.since].name, one.host or "all", clause)
        for one in found.environment
        for clause in one.changes
    ]
    if changes:
        show_table(
            console,
            "Changes of the environment",
            ("since", "host", "change"),
            changes,
            left=("since", "host", "change"),
        )
    for warning in found.warnings:
        click.echo(f"note: {printable(warning)}", err=True)


def _row(one: SeriesHistory, track: Track, experiments: int) -> tuple[str, ...]:
    from regatta.figures.text import show_unit
    from regatta.host.units import display_scale

    factor, unit = display_scale(one.points[0].mean.point, one.unit)
    cells = [""] * experiments
    since = {shift.since for shift in track.shifts}
    for point in track.points:
        cells[point.experiment] = ("» " if point.experiment in since else "") + _mean(point, factor)
    return (one.title, show_unit(unit), *cells)


def _mean(point: PastPoint, factor: float) -> str:
    mean = point.mean
    if math.isnan(mean.low):
        return f"{mean.point * factor:.4g}"
    half = (mean.high - mean.low) / 2 * factor
    decimals = min(6, max(0, 1 - math.floor(math.log10(half))))
    if mean.within_range:
        from regatta.answers.spine.words import edges

        low, high = edges(mean, factor, decimals)
        return f"{mean.point * factor:,.{decimals}f} [{low}, {high}] ({mean.within_range})"
    return f"{mean.point * factor:,.{decimals}f} ± {half:.{decimals}f}"
