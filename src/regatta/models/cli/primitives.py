"""`regatta primitives APP... --on SYSTEM`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regatta.cli.options import json_option, primitives_option, results_option, summary_option
from regatta.cli.tables import plain_console, show
from regatta.host.printable import printable
from regatta.models.cli.named_vectors import incomplete_vectors, named_applications, named_systems, show_notes

if TYPE_CHECKING:
    from regatta.models.vectors.sources import Sources, SystemSource


@click.command()
@click.argument("applications", nargs=-1, required=True, metavar="APP[=WEIGHT]...")
@click.option(
    "--on",
    "system",
    required=True,
    metavar="SYSTEM",
    help="System: a file of a system vector, a name in configs/systems, or an experiment with a single system.",
)
@click.option(
    "--share",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.9,
    show_default=True,
    help="Share of the time in primitives of each application that the core set explains.",
)
@summary_option
@primitives_option
@results_option
@json_option
def primitives(
    applications: Sequence[str],
    system: str,
    share: float,
    summary: str,
    primitives: str,
    results: Path,
    as_json: bool,
) -> None:
    """Rank the primitives of applications by their time on a system, and propose a core set.

    The core set is the smallest set of primitives that explains a share of the time in each application. The table lists the
    mean share over the applications, which weigh the same. It also lists work that the shares exclude: primitives without a cost,
    and calls that no rule converts to a primitive.

    APP is the file of an application vector, or a name in configs/applications. With weights, all APPs form one mix.

    Exit codes: 0 ranked · 2 wrong vector, name or option · 3 unreadable experiment.
    """
    from regatta.models.predict.core_set import core_sentences, core_set, core_tables, core_warnings
    from regatta.models.vectors.sources import Sources
    from regatta.spec.home import known_home

    sources = Sources(known_home(), results, summary, primitives)
    asked = named_applications(applications, sources)
    systems = named_systems([system], sources)
    if len(systems) > 1:
        _refuse_several(system, systems, primitives, sources)
    sources.check()
    with incomplete_vectors():
        found = core_set(asked, systems[0].vector, share)
    show_notes(sources, (one.vector for one in asked))
    told, warnings = core_sentences(found), [*core_warnings(found)]
    if as_json:
        from regatta.answers.kit.plain import plain

        words = {"sentences": told, "warnings": warnings}
        click.echo(json.dumps(plain(found) | words, indent=1, allow_nan=False))
        return
    console = plain_console()
    for sentence in told:
        console.print(f"• {printable(sentence)}")
    for warning in warnings:
        click.echo(f"warning: {printable(warning)}", err=True)
    for table in core_tables(found):
        show(console, table)


def _refuse_several(name: str, systems: Sequence[SystemSource], primitives: str, sources: Sources) -> None:
    """Refuse a name of several systems, whose costs differ."""
    from regatta.models.vectors.sources import vectors_folder

    fix = "name the file of one of them"
    if (experiment := systems[0].experiment) is not None:
        folder = vectors_folder(experiment, primitives)
        fix = f"--on {folder / systems[0].vector.name}.yml"
        if not folder.is_dir():
            fix += f", which `regatta vector system {name} --primitives {primitives}` writes"
    names = ", ".join(one.vector.name for one in systems)
    sources.refuse("--on", "one system", f"{len(systems)}: {names}", fix)
