"""`regatta explain-difference A B`: profile both sides of a comparison again, and divide their difference into kinds of work."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regatta.cli.derived_spec import LEAST_ROUNDS, run_derived
from regatta.cli.options import json_option, profile_option, results_option
from regatta.host.errors import RegattaError, StoreError, VerificationError
from regatta.host.printable import printable
from regatta.host.values.host import Wish
from regatta.store.folder import Folder, write_json

if TYPE_CHECKING:
    from regatta.answers.explanation.result import Explanation
    from regatta.answers.spine.context import Context
    from regatta.answers.spine.samples import PlannedCell, Series
    from regatta.cli.difference_spec import Sides
    from regatta.stats.estimate import Interval

DOCUMENT, PAGE = "difference.json", "difference.html"
ROUNDS = 10
#: exit code without a difference to explain
NO_DIFFERENCE = 5
#: parts on the screen; the page has all
_SHOWN = 12


@click.command("explain-difference")
@click.argument("a")
@click.argument("b")
@results_option
@click.option("--experiment", help="Look only in this experiment.")
@click.option(
    "--rounds",
    type=click.IntRange(LEAST_ROUNDS),
    default=ROUNDS,
    show_default=True,
    help="Number of rounds with the profiler.",
)
@profile_option
@json_option
def explain_difference(
    a: str,
    b: str,
    results: Path,
    experiment: str | None,
    rounds: int,
    profile: Wish | None,
    as_json: bool,
) -> int:
    """Explain why cell B of an experiment differs from cell A.

    A and B are ids, their beginnings, or parts of labels. Both run again with a profiler, in a separate experiment. Their
    difference is divided into system calls, page faults, collections, functions and other work, each with an interval.

    Exit codes: 0 explained · 1 an invocation failed · 2 error in the command · 3 unfit host · 5 no difference was shown.
    """
    from regatta.cli.difference_spec import SPEC, check_can_sample, find_sides, profiled_spec, spec_of

    folder, sides = find_sides(a, b, results, experiment)
    measured = _measured(folder, sides)
    different = {host: found for host, found in measured.items() if found.low > 0.0 or found.high < 0.0}
    if not different:
        told = ", ".join(f"{host}: {_words(found)}" for host, found in measured.items())
        click.echo(
            printable(f"No difference shown between {sides[1].name} and {sides[0].name} ({told})."),
            err=True,
        )
        return NO_DIFFERENCE
    spec, asked, home = spec_of(folder)
    check_can_sample(asked)
    value = profiled_spec(spec, asked, sides, rounds)
    place = Folder(folder.path.parent / str(value["name"]))
    done: list[int] = []

    def show(code: int) -> None:
        if code in (0, VerificationError.exit_code):
            done.append(code)
            _explain(place, sides, different, as_json)

    try:
        code = run_derived(value, SPEC, home, folder.path.parent, profile, False, show)
    except RegattaError as error:
        if error.exit_code != VerificationError.exit_code or not done:
            raise
        code = error.exit_code
    return code


def _words(found: Interval) -> str:
    from regatta.answers.explanation.words import share_words

    return share_words(found)


def _measured(folder: Folder, sides: Sides) -> dict[str, Interval]:
    """Return host -> relative difference of B from A, as a share.

    Raises:
        StoreError: the sides have no times that can be compared.
    """
    from regatta.answers.spine.comparisons import contrasts_of
    from regatta.answers.spine.context import Options, make_context
    from regatta.answers.spine.facts import read_facts
    from regatta.answers.spine.pairs import Pair
    from regatta.store.database import open_database

    facts = read_facts(folder.path)
    if facts.steady.method == "replay":
        fix = "measure startup or steady state"
        raise StoreError(folder.name, "one value per invocation", "replay compilation", fix)
    found = {}
    with open_database(folder.path) as connection:
        context = make_context(folder.path, connection, facts, Options())
        for host, cells in _cells_of(context, sides).items():
            first, second = (_time_of(context, cell) for cell in cells)
            pair = Pair(cells[1], cells[0], second, first)
            ratio = contrasts_of([pair], facts.level, context.stops)[0].contrast.interval
            found[host] = ratio.mapped(lambda value: value - 1.0)
    if not found:
        names = f"{sides[0].name} and {sides[1].name}"
        fix = "run the experiment first: `regatta run SPEC`"
        raise StoreError(folder.name, f"a host with both {names}", "none", fix)
    return found


def _time_of(context: Context, cell: PlannedCell) -> Series:
    """Return the values of a cell. Raises StoreError: it has none, or they are no single time."""
    from regatta.host.units import UNITS

    own = context.samples.own(cell)
    if not own:
        fix = "run the experiment first: `regatta run SPEC`"
        raise StoreError(cell.label, f"values of {cell.metric}", "none", fix)
    if len(own) > 1 or cell.better != "lower" or UNITS.get(own[0].unit, ("",))[0] != "time":
        got = f"{cell.metric} in {own[0].unit}" + (" with several parameters" if len(own) > 1 else "")
        fix = "name a time by `metric` in the spec, such as elapsed"
        raise StoreError(cell.label, "a time whose difference can be divided", got, fix)
    return own[0]


def _cells_of(context: Context, sides: Sides) -> dict[str, tuple[PlannedCell, PlannedCell]]:
    """Return host -> the cells of both sides."""
    by_host: dict[str, dict[int, PlannedCell]] = {}
    for cell in context.samples.cells:
        for at, side in enumerate(sides):
            if dict(cell.place.levels) == dict(side.levels):
                by_host.setdefault(cell.place.host, {})[at] = cell
    return {host: (cells[0], cells[1]) for host, cells in by_host.items() if len(cells) == 2}


def _explain(place: Folder, sides: Sides, measured: Mapping[str, Interval], as_json: bool) -> None:
    """Explain what was profiled, and show and write it.

    Raises:
        StoreError: no host has an explanation, or the programs have changed.
    """
    from regatta.answers.explanation.compute import explain
    from regatta.answers.explanation.document import explanation_document
    from regatta.answers.explanation.page import write_explanations
    from regatta.answers.spine.context import Options, make_context
    from regatta.answers.spine.facts import read_facts
    from regatta.cli.difference_spec import check_same_programs
    from regatta.store.database import open_database

    check_same_programs(place, sides)
    found, problems = [], []
    with open_database(place.path) as connection:
        context = make_context(place.path, connection, read_facts(place.path), Options())
        cells = {**_cells_of(context, sides), **_cells_of(context, (sides[0].profiled, sides[1].profiled))}
        for host, difference in measured.items():
            try:
                if host not in cells:
                    raise StoreError(str(place.path), f"both sides on host {host}", "none", "see its report")
                names = (sides[0].name, sides[1].name)
                found.append(explain(context, cells[host], names, difference))
            except StoreError as error:
                problems.append(error)
    if not found:
        raise problems[0]
    for problem in problems:
        click.echo(printable(f"warning: {problem}"), err=True)
    document = explanation_document(found)
    write_json(place.path / DOCUMENT, document)
    write_explanations(found, place.path / PAGE)
    if as_json:
        click.echo(json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False))
        return
    for one in found:
        _show(one)
    click.echo(f"flame graphs: {place.path / PAGE}")


def _show(one: Explanation) -> None:
    from regatta.answers.explanation.words import counters_table, headline, notes, parts_table
    from regatta.cli.tables import plain_console, show

    console = plain_console()
    console.print(printable(headline(one)), style="bold")
    show(console, parts_table(one, _SHOWN))
    if one.counters:
        show(console, counters_table(one))
    console.print()
    for note in notes(one):
        console.print(f"• {printable(note)}")
