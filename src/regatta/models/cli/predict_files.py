"""`regatta predict files SUITE/BENCHMARK=TRACE... --on EXPERIMENT`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regatta.cli.options import json_option, results_option
from regatta.cli.store import database_progress
from regatta.cli.tables import plain_console, show
from regatta.host.errors import SpecError
from regatta.host.printable import printable
from regatta.models.cli.named_vectors import incomplete_vectors
from regatta.store.folder import find_folder

if TYPE_CHECKING:
    from regatta.models.page_cache.operations import Operations


@click.command("files")
@click.argument("applications", nargs=-1, required=True, metavar="SUITE/BENCHMARK=TRACE...")
@click.option(
    "--on",
    "experiment",
    required=True,
    metavar="EXPERIMENT",
    help="An experiment that measured the programs, and lm/lat_uncached on each disk.",
)
@click.option(
    "--primitives", default="files", show_default=True, metavar="NAME", help="Table of the primitives."
)
@results_option
@click.option(
    "--html", "page", type=click.Path(dir_okay=False, path_type=Path), help="Also write a page with figures."
)
@json_option
def predict_files(
    applications: Sequence[str],
    experiment: str,
    primitives: str,
    results: Path,
    page: Path | None,
    as_json: bool,
) -> None:
    """Predict the times of programs that work on files, with less memory or on other disks.

    TRACE is a folder of `regatta trace files -o`. The time without modifiers is taken from EXPERIMENT. The times of all other
    configurations are predicted from it, and shown beside the measured ones. docs/file-caches.md has the method.

    Exit codes: 0 predicted · 2 wrong trace, name or option · 3 unreadable experiment.
    """
    from regatta.models.predict.file_tables import (
        as_document,
        file_sections,
        orders_table,
        sentences,
        times_table,
    )
    from regatta.models.predict.file_times import forecast_files
    from regatta.models.vectors.primitives import find_primitives, read_primitives
    from regatta.spec.home import known_home

    with incomplete_vectors():
        traces = _traces(applications)
    table = read_primitives(find_primitives(primitives, known_home()))
    folder = find_folder(experiment, results)
    with database_progress() as progress:
        found = forecast_files(folder.path, traces, table, progress)
    told = sentences(found)
    if as_json:
        click.echo(json.dumps(as_document(found), indent=1, allow_nan=False))
    else:
        console = plain_console()
        for sentence in told:
            console.print(f"• {printable(sentence)}")
        for note in found.notes:
            click.echo(f"note: {printable(note)}", err=True)
        show(console, times_table(found))
        if found.orders:
            show(console, orders_table(found))
    if page is not None:
        from regatta.figures.sections_page import write_sections_page

        title = f"Files: {', '.join(traces)}"
        write_sections_page("files", title, told, file_sections(found), page)
        click.echo(str(page), err=as_json)


def _traces(applications: Sequence[str]) -> dict[str, Operations]:
    from regatta.models.page_cache.operations import read_operations

    found: dict[str, Operations] = {}
    for text in applications:
        benchmark, _, folder = text.rpartition("=")
        if not benchmark or not folder or benchmark in found:
            expected = "SUITE/BENCHMARK=TRACE, each benchmark once, such as files/tar=tar.files"
            raise SpecError.of("APP", expected, text)
        found[benchmark] = read_operations(Path(folder))
    return found
