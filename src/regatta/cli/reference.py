"""`regatta reference EXPERIMENT --name NAME`."""

from __future__ import annotations

from pathlib import Path

import click

from regatta.cli.options import experiment_argument, results_option
from regatta.cli.store import database_progress
from regatta.host.printable import printable
from regatta.store.folder import find_folder, replacing


@click.command()
@experiment_argument
@results_option
@click.option("--name", required=True, help="Name of the machine in scores.")
@click.option("--description", help="Description of the machine. [default: from the records]")
@click.option("--suite", default="", help="Suite, if the experiment has several.")
@click.option("--host", default="", help="Host, if the experiment has several.")
@click.option("--configuration", default="", help="Configuration, if the experiment has several.")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write. [default: configs/suites/reference/SUITE.yml]",
)
@click.option("--replace", is_flag=True, help="Replace an existing file.")
def reference(
    experiment: str,
    results: Path,
    name: str,
    description: str | None,
    suite: str,
    host: str,
    configuration: str,
    output: Path | None,
    replace: bool,
) -> None:
    """Use the machine of EXPERIMENT (a name or a directory) as reference machine of a suite.

    Scores of the suite are then ratios to its mean elapsed times with one copy of each program.
    """
    folder = find_folder(experiment, results)

    from regatta.answers.topics.scores.reference_times import (
        Choice,
        described,
        make_reference,
        read_times,
        reference_text,
        suites_of,
    )
    from regatta.host.errors import Problem, SpecError
    from regatta.spec.home import find_home, reference_path
    from regatta.spec.references import parse_reference, programs_of

    home = find_home()
    with database_progress() as progress:
        cells, facts = read_times(folder.path, progress)
    problems: list[Problem] = []
    programs = {one: programs_of(home, one, problems) for one in suites_of(cells)}
    made = make_reference(cells, facts, Choice(suite, host, configuration), programs)
    if problems:
        raise SpecError(problems)
    path = output or reference_path(home, made.suite)
    if path.exists() and not replace:
        fix = "add --replace, or choose another --output"
        raise SpecError([Problem(str(path), "a new file", "an existing file", fix)])
    about = described(facts.hosts.get(made.host, {})) if description is None else description
    for option, given in (("--name", name), ("--description", about)):
        if given.splitlines() not in ([], [given]) or "\0" in given:
            raise SpecError([Problem(option, "text on one line", repr(given))])
    text = reference_text(made, name, about, facts.name)
    # Verify that the file can be read back.
    parse_reference(text, str(path), made.suite, programs[made.suite])
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    for note in made.notes:
        click.echo(f"note: {printable(note)}", err=True)
    click.echo(str(path))
