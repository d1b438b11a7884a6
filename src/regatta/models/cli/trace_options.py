"""Options and checks that the verbs of `regatta trace` share."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from regatta.cli.options import results_option
from regatta.host.errors import RegattaError

FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

#: of a verb that runs a command: what follows the first word of the command is not for the verb
OWN_WORDS = {"allow_interspersed_args": False}
command_argument = click.argument("command", nargs=-1, type=click.UNPROCESSED)
vector_option = click.option("-o", "output", type=FILE, help="File for the vector (YAML).")
tally_option = click.option("--tally", type=FILE, help="Also write the raw counts, as JSON.")
level_option = click.option(
    "--level",
    type=click.FloatRange(0.5, 0.9999),
    default=0.95,
    show_default=True,
    help="Confidence level of the intervals.",
)
name_option = click.option("--name", help="Name of the vector. [default: name of the command]")
benchmark_option = click.option(
    "--benchmark", default="", metavar="SUITE/NAME", help="Benchmark of the vector, to find measured times."
)


def calls_option(table: str) -> Decorator:
    """Return the option of the table of calls; `table` is its default, in configs/primitives."""
    return click.option("--calls", type=FILE, help=f"Table of calls. [default: configs/primitives/{table}]")


def cell_options(verb: str, configuration: str) -> Decorator:
    """Return the options that choose a planned JVM instead of COMMAND.

    Args:
        verb: what is done with it.
        configuration: help of `--configuration`.
    """
    cell = (
        f"{verb} this benchmark of --experiment with its command, JVM, heap and warm-up, instead of COMMAND."
    )
    warmup = "Number of first iterations to exclude. [default: 1; with --cell: as in the experiment]"
    options = (
        click.option("--cell", "benchmark_of_cell", default="", metavar="SUITE/NAME", help=cell),
        click.option("--experiment", default="", metavar="NAME", help="With --cell: a planned experiment."),
        results_option,
        click.option("--configuration", default="", help=configuration),
        click.option("--warmup", type=click.IntRange(0), default=None, help=warmup),
    )

    def decorated(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorated


def check_cell(command: tuple[str, ...], benchmark_of_cell: str, experiment: str) -> None:
    """Check that there is either a command or a planned JVM."""
    if bool(benchmark_of_cell) == bool(command) or bool(benchmark_of_cell) != bool(experiment):
        raise click.UsageError("expected either a command after --, or --cell with --experiment")


def check_writable(path: Path, in_place: bool = False) -> None:
    """Check that a file can be replaced by renaming, as for vectors, or written in place or created, as for tallies.

    Raises:
        RegattaError: it cannot.
    """
    try:
        if in_place and path.exists():
            path.open("ab").close()
            return
        if not in_place:
            path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent):
            pass
    except OSError as error:
        got = error.strerror or str(error)
        raise RegattaError(
            str(path), "a writable file", got, "free disk space, or choose another folder"
        ) from error
