"""`regatta predict gc APP... --on EXPERIMENT`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from regatta.cli.options import json_option, results_option
from regatta.cli.store import database_progress
from regatta.cli.tables import plain_console, show
from regatta.host.errors import SpecError
from regatta.host.printable import printable
from regatta.models.cli.trace_heap import Bytes
from regatta.store.folder import find_folder


@click.command("gc")
@click.argument("applications", nargs=-1, metavar="APP...", type=click.Path(path_type=Path))
@click.option(
    "--on",
    "experiment",
    required=True,
    metavar="EXPERIMENT",
    help="An experiment that measured suite gc: the costs of collectors.",
)
@click.option(
    "--collector",
    "collectors",
    multiple=True,
    metavar="NAME",
    help="Predict this collector. Repeatable. [default: all measured ones]",
)
@click.option(
    "--runtime",
    "runtimes",
    multiple=True,
    metavar="NAME",
    help="Predict on this JVM. Repeatable. [default: all measured ones]",
)
@click.option(
    "--heap",
    "heaps",
    multiple=True,
    type=Bytes(1, 1 << 50),
    metavar="SIZE",
    help="Heap size, such as 128m, as -Xmx. Repeatable. [default: those in which the application was measured]",
)
@click.option(
    "--initial-heap",
    type=Bytes(1, 1 << 50),
    metavar="SIZE",
    help="Size of the heap at the start, as -Xms. Only Serial. [default: that of --heap]",
)
@click.option(
    "--young",
    type=Bytes(1, 1 << 50),
    metavar="SIZE",
    help="Size of the young generation, as -Xmn. [default: a third of the heap]",
)
@click.option(
    "--promotion-age",
    type=click.IntRange(0, 15),
    metavar="N",
    help="Copies after which an object is promoted, as -XX:MaxTenuringThreshold. [default: 1]",
)
@click.option(
    "--what-if",
    "changes",
    multiple=True,
    metavar="heap=2x|objects=0.8x|rate=1.5x",
    help="Change the heap sizes, the sizes of all objects, or the number of objects per unit of work.",
)
@click.option("--no-forced", is_flag=True, help="Without a forced collection at the start of each iteration.")
@click.option(
    "--costs",
    "with_costs",
    is_flag=True,
    help="Show the costs of the collectors by object size. APP is optional.",
)
@results_option
@click.option(
    "--html", "page", type=click.Path(dir_okay=False, path_type=Path), help="Also write a page with figures."
)
@json_option
def predict_gc(
    applications: Sequence[Path],
    experiment: str,
    collectors: Sequence[str],
    runtimes: Sequence[str],
    heaps: Sequence[int],
    initial_heap: int | None,
    young: int | None,
    promotion_age: int | None,
    changes: Sequence[str],
    no_forced: bool,
    with_costs: bool,
    results: Path,
    page: Path | None,
    as_json: bool,
) -> None:
    """Predict the garbage collections of applications: their number and time per iteration.

    APP is a heap vector of `regatta trace heap`. The costs of a collector are fitted to the microbenchmarks of EXPERIMENT. If it
    also measured the application with the modifiers full-collection, fixed-young and collection-log, the measured collections are
    shown for comparison.

    Exit codes: 0 predicted · 2 wrong vector, name or option · 3 unreadable experiment.
    """
    from regatta.models.gc.forecast import ForecastRequest, as_document, forecast_of
    from regatta.models.gc.heap_vector import read_heap_vector
    from regatta.models.gc.measured import read_measured
    from regatta.models.gc.tables import answer_of, sections_of, size_costs_tables, totals_table

    if not applications and not with_costs:
        raise SpecError.of("APP", "a heap vector", "none", "make it with `regatta trace heap`, or --costs")
    vectors = [read_heap_vector(path) for path in applications]
    asked = ForecastRequest(
        collectors,
        runtimes,
        heaps,
        not no_forced,
        initial_heap=initial_heap,
        young=young,
        promotion_age=promotion_age,
        **_changes(changes),
    )
    folder = find_folder(experiment, results)
    with database_progress() as progress:
        measured = read_measured(folder.path, progress)
    found = forecast_of(vectors, measured, asked)
    sentences = [answer_of(one) for one in found.comparisons]
    if as_json:
        click.echo(json.dumps(as_document(found), indent=1, allow_nan=False))
    else:
        console = plain_console()
        for sentence in sentences:
            console.print(f"• {printable(sentence)}")
        for note in found.notes:
            click.echo(f"note: {printable(note)}", err=True)
        show(console, totals_table(found.comparisons))
        for table in size_costs_tables(found) if with_costs else ():
            show(console, table)
    if page is not None:
        from regatta.figures.sections_page import write_sections_page

        names = ", ".join(dict.fromkeys(one.application for one in found.comparisons)) or "no application"
        write_sections_page("collections", f"Collections of {names}", sentences, sections_of(found), page)
        click.echo(str(page), err=as_json)


def _changes(given: Sequence[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for text in given:
        name, _, change = text.partition("=")
        try:
            factor = float(change.removesuffix("x")) if change.endswith("x") else 0.0
        except ValueError:
            factor = 0.0
        if name not in ("heap", "objects", "rate") or not 0.0 < factor < 1000.0 or name in found:
            raise SpecError.of("--what-if", "heap=2x, objects=0.8x or rate=1.5x, each once", repr(text))
        found[name] = factor
    return found
