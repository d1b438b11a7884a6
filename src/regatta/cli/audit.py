"""`regatta audit EXPERIMENT`."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from regatta.cli.options import experiment_argument, json_option, results_option
from regatta.cli.store import database_progress
from regatta.cli.tables import plain_console, show_table
from regatta.host.printable import printable
from regatta.store.folder import find_folder

if TYPE_CHECKING:
    from rich.console import Console

    from regatta.answers.audit.result import Audit


class Thetas(click.ParamType[tuple[float, ...]]):
    """`1,2`: thresholds in percent."""

    name = "PERCENT,..."

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[float, ...]:
        """Return the distinct thresholds in order."""
        if isinstance(value, tuple):
            return value
        try:
            found = sorted({float(part) for part in str(value).split(",")})
        except ValueError:
            found = [math.nan]
        if not all(0.0 <= theta <= 100.0 for theta in found):
            self.fail(f"expected numbers from 0 to 100, separated by commas · got {value!r}", param, ctx)
        return tuple(found)


@click.command()
@experiment_argument
@results_option
@click.option(
    "--theta",
    "thetas",
    type=Thetas(),
    default="1,2",
    show_default=True,
    help="Threshold in percent below which a difference is small.",
)
@click.option(
    "--by",
    "factor",
    type=click.Choice(["collector", "runtime", "modifiers"]),
    help="Factor whose levels are the alternatives. [default: the first factor with several levels]",
)
@click.option(
    "--method",
    type=click.Choice(["regatta", "georges2007"]),
    default="regatta",
    show_default=True,
    help="Method of the rigorous answer: by block on logarithms, or one-way ANOVA of the values as in the paper.",
)
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File for the page with the figures. [default: audit.html in the directory of the experiment]",
)
@json_option
def audit(
    experiment: str,
    results: Path,
    thetas: tuple[float, ...],
    factor: Literal["collector", "runtime", "modifiers"] | None,
    method: str,
    output: Path | None,
    as_json: bool,
) -> None:
    """Compare prevalent methods (best, second best, worst, mean, median of a few runs) with the intervals of EXPERIMENT."""
    folder = find_folder(experiment, results)

    from regatta.answers.audit.compute import audit_experiment

    with database_progress() as progress:
        found = audit_experiment(folder.path, thetas, method, factor, progress)
    if as_json:
        from regatta.answers.audit.document import audit_document

        click.echo(json.dumps(audit_document(found), indent=1, allow_nan=False))
    else:
        _show(found)
    if output is not None or not as_json:
        from regatta.answers.audit.page import write_audit

        path = output or folder.path / "audit.html"
        write_audit(found, path)
        click.echo(str(path), err=as_json)


def _show(found: Audit) -> None:
    console = plain_console()
    console.print(printable(f"{found.experiment}: audit of prevalent methods"), style="bold")
    for sentence in found.findings:
        console.print(f"• {printable(sentence)}")
    for theta in found.thetas_percent:
        _show_tallies(console, found, theta)
    _show_compilation(console, found)
    if found.pairs:
        console.print()
        console.print(
            f"Shares are averages over {found.draws} draws of the runs (seed {found.seed}). Differences are relative to the "
            "smaller number.",
            style="dim",
        )
    for sentence in found.left_out:
        click.echo(f"note: {printable(sentence)}", err=True)


def _show_tallies(console: Console, found: Audit, theta: float) -> None:
    from regatta.stats.prevalent import CLASSES

    rows = [
        (one.method.name, str(one.comparisons), *(f"{100.0 * share:.1f}" for share in one.shares))
        for one in found.tallies
        if one.group == "all" and one.theta_percent == theta and one.comparisons
    ]
    title = f"Comparisons by class (%), theta {theta:g} %"
    show_table(console, title, ("method", "comparisons", *CLASSES), rows, left=("method",))


def _show_compilation(console: Console, found: Audit) -> None:
    from regatta.stats.prevalent import CLASSES

    tallies = found.by_compilation()
    rows = [
        (one.of, str(one.comparisons), *(f"{100.0 * share:.1f}" for share in one.shares)) for one in tallies
    ]
    name = f"{tallies[0].method.name}, theta {tallies[0].theta_percent:g} %" if tallies else ""
    title = f"Comparisons by class and compilation (%), {name}"
    show_table(console, title, ("compilation", "comparisons", *CLASSES), rows, left=("compilation",))
