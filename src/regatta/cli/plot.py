"""`regatta plot EXPERIMENT`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regatta.cli.bar import progress_bar
from regatta.cli.options import experiment_argument, results_option
from regatta.host.errors import StoreError
from regatta.store.folder import find_folder

if TYPE_CHECKING:
    from regatta.answers.report.gallery import Picture
    from regatta.answers.report.pictures import Format

#: figures that are announced before they are drawn, which takes a while
_MANY = 30


@click.command()
@experiment_argument
@results_option
@click.option(
    "--figure",
    "names",
    multiple=True,
    metavar="NAME",
    help="Only this figure. Repeatable. With * or ?, as in 'heap-*', figures of the compared metrics, if any match.",
)
@click.option("--all-metrics", is_flag=True, help="With * or ? in --figure: figures of all metrics.")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["svg", "png", "html"]),
    default="svg",
    show_default=True,
    help="Format. svg and png need Chromium or Chrome ($REGATTA_BROWSER selects one); html does not.",
)
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory for the files. [default: plots in the directory of the experiment]",
)
@click.option(
    "--width",
    type=click.IntRange(200, 4000),
    default=640,
    show_default=True,
    metavar="PIXELS",
    help="Width of a figure in pixels. For a column of a paper, use about 400.",
)
@click.option(
    "--audit",
    "of_audit",
    is_flag=True,
    help="Write the figures of `regatta audit` instead of those of the report.",
)
@click.option("--list", "as_list", is_flag=True, help="List the figures without writing them.")
def plot(
    experiment: str,
    results: Path,
    names: Sequence[str],
    all_metrics: bool,
    kind: Format,
    output: Path | None,
    width: int,
    of_audit: bool,
    as_list: bool,
) -> None:
    """Write each figure of the report of EXPERIMENT to a separate file on white background, for papers and slides."""
    folder = find_folder(experiment, results)
    pictures = _audit_pictures(folder.path) if of_audit else _report_pictures(folder.path)
    if not pictures:
        raise StoreError(
            str(folder.path), "a figure in its report", "none", "measure first: `regatta run SPEC`"
        )
    chosen = _chosen(pictures, names, all_metrics)
    if as_list:
        for picture in chosen:
            click.echo(f"{picture.name}  {picture.title}")
        return

    if len(chosen) > _MANY:
        click.echo(f"{len(chosen)} figures; --list shows their names, and --figure chooses", err=True)

    from regatta.answers.report.pictures import write_pictures

    with progress_bar("drawing") as progress:
        for path in write_pictures(chosen, output or folder.path / "plots", kind, width, progress):
            click.echo(str(path))


def _report_pictures(directory: Path) -> list[Picture]:
    from regatta.answers.report.answer import answer_experiment
    from regatta.answers.report.gallery import gallery

    return gallery(answer_experiment(directory))


def _audit_pictures(directory: Path) -> list[Picture]:
    from regatta.answers.audit.compute import audit_experiment
    from regatta.answers.audit.page import sections_of_audit
    from regatta.answers.report.gallery import pictures_of

    return pictures_of(sections_of_audit(audit_experiment(directory)), "audit")


def _chosen(pictures: Sequence[Picture], names: Sequence[str], all_metrics: bool) -> list[Picture]:
    """Return the pictures with these names, in the order of the report, and report how many of other metrics match.

    Raises:
        BadParameter: an unknown name, with a similar one.
    """
    from difflib import get_close_matches
    from fnmatch import fnmatchcase

    from regatta.answers.spine.words import counted

    known = [picture.name for picture in pictures]
    for name in names:
        if not any(fnmatchcase(one, name) for one in known):
            near = get_close_matches(name, known, 3, 0.5)
            hint = f"did you mean {' or '.join(near)}?" if near else "`--list` shows all"
            raise click.BadParameter(f"no figure {name!r}: {hint}", param_hint="--figure")
    if not names:
        return list(pictures)
    matching = [[picture for picture in pictures if fnmatchcase(picture.name, name)] for name in names]
    chosen = {
        picture.name for found in matching for picture in (found if all_metrics else _of_compared(found))
    }
    left_out = {picture.name for found in matching for picture in found} - chosen
    if left_out:
        what = counted(len(left_out), "figure")
        click.echo(f"{what} of other metrics not included; --all-metrics adds them", err=True)
    return [picture for picture in pictures if picture.name in chosen]


def _of_compared(found: Sequence[Picture]) -> Sequence[Picture]:
    """Return the pictures of compared metrics, or all if a name selects only other metrics."""
    return [picture for picture in found if not picture.further] or found
