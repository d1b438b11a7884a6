"""`regatta vector system | check | show`."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regatta.cli.options import experiment_argument, json_option, primitives_option, results_option
from regatta.cli.store import database_progress
from regatta.cli.tables import plain_console, show_table
from regatta.host.errors import Problem, SpecError
from regatta.host.printable import printable
from regatta.store.folder import find_folder

if TYPE_CHECKING:
    from rich.console import Console

    from regatta.models.vectors.values import ApplicationVector, Cost, SystemVector, Value

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.group()
def vector() -> None:
    """Make, check or show vectors: costs of primitives on a system, and how often an application uses them."""


@vector.command()
@experiment_argument
@results_option
@click.option(
    "--summary",
    default="median",
    show_default=True,
    metavar="median|mean|trimmed:N",
    help="How to summarize the repetitions of an invocation. trimmed:10 drops 10 % on each side, as HBench does.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory for the files. [default: vectors in the directory of the experiment; with another table, vectors/TABLE]",
)
@primitives_option
@json_option
def system(
    experiment: str, results: Path, summary: str, out: Path | None, primitives: str, as_json: bool
) -> None:
    """Write the system vectors of EXPERIMENT (a name or a directory): one file per host, configuration and heap."""
    from regatta.models.vectors.files import write_vector
    from regatta.models.vectors.measured import system_vectors
    from regatta.models.vectors.primitives import find_primitives, read_primitives
    from regatta.models.vectors.sources import no_primitive, vectors_folder
    from regatta.spec.home import known_home

    folder = find_folder(experiment, results)
    table = read_primitives(find_primitives(primitives, known_home()))
    with database_progress() as progress:
        vectors, told = system_vectors(folder.path, table, summary, progress)
    for sentence in told:
        click.echo(f"note: {printable(sentence)}", err=True)
    if not vectors:
        raise SpecError([no_primitive(folder.path, table)])
    directory = out or vectors_folder(folder.path, primitives)
    paths = _files([one.name for one in vectors], directory)
    for one, path in zip(vectors, paths, strict=True):
        write_vector(one, path)
    for other in sorted(set(directory.glob("*.yml")) - set(paths)):
        click.echo(f"note: {other} is from an earlier run and has no system in these records", err=True)
    if as_json:
        rows = [
            {"name": one.name, "file": str(path), "primitives": len(one.primitives)}
            for one, path in zip(vectors, paths, strict=True)
        ]
        click.echo(json.dumps(rows, indent=1))
        return
    for one, path in zip(vectors, paths, strict=True):
        click.echo(f"{path}: {len(one.primitives)} primitives")


def _files(names: Sequence[str], directory: Path) -> list[Path]:
    """Return a unique file per system, even if names differ only in characters that file names exclude."""
    found: list[Path] = []
    for name in names:
        stem = _file_name(name)
        path, number = directory / f"{stem}.yml", 1
        while path in found:
            number += 1
            path = directory / f"{stem}-{number}.yml"
        found.append(path)
    return found


def _file_name(name: str) -> str:
    """Convert the name of a system to a file name."""
    return "".join(c if c.isalnum() or c in "-_.+" else "-" for c in name).lstrip(".") or "system"


@vector.command()
@click.argument("files", nargs=-1, required=True, type=_FILE, metavar="FILE...")
@json_option
def check(files: Sequence[Path], as_json: bool) -> None:
    """Report every error in the FILES of vectors. Exit code 2 if there is one."""
    from regatta.models.vectors.files import read_vector

    problems: list[Problem] = []
    found = []
    for path in files:
        try:
            found.append((path, read_vector(path)))
        except SpecError as error:
            problems += error.problems
    if as_json:
        rows = [{"file": str(path), "kind": _kind(one), "name": one.name} for path, one in found]
        click.echo(json.dumps({"right": rows, "problems": [str(problem) for problem in problems]}, indent=1))
    else:
        for path, one in found:
            click.echo(f"{path}: {_kind(one)} vector {printable(one.name)}, {_size(one)}")
    if problems:
        raise SpecError(problems)


@vector.command()
@click.argument("file")
@json_option
def show(file: str, as_json: bool) -> None:
    """Show a vector: FILE, or a name in configs/systems or configs/applications."""
    from regatta.answers.kit.plain import plain
    from regatta.figures.text import show_percent
    from regatta.models.vectors.values import SystemVector

    one = _find(file)
    if as_json:
        click.echo(json.dumps({"kind": _kind(one), **plain(one)}, indent=1, allow_nan=False))
        return
    console = plain_console()
    heading = f"{_kind(one)} vector {one.name}, {_size(one)}, {show_percent(one.level)} CI"
    console.print(printable(heading), style="bold")
    if isinstance(one, SystemVector):
        _show_system(console, one)
    else:
        _show_application(console, one)
    header = ("key", "value")
    show_table(console, "Provenance", header, list(one.provenance.items()), left=header)


def _find(name: str) -> SystemVector | ApplicationVector:
    from regatta.models.vectors.files import read_vector
    from regatta.models.vectors.sources import APPLICATIONS, SYSTEMS, registered
    from regatta.spec.home import known_home

    if Path(name).is_file():
        return read_vector(Path(name))
    known: list[str] = []
    home = known_home()
    for folder in () if home is None else (home / SYSTEMS, home / APPLICATIONS):
        files = registered(folder)
        known += list(files)
        if name in files:
            return read_vector(files[name])
    fix = f"choose one of {', '.join(known)}" if known else "write one: `regatta vector system EXPERIMENT`"
    expected = "the file of a vector, or a name in configs/systems or configs/applications"
    raise SpecError.of("FILE", expected, repr(name), fix)


def _kind(one: SystemVector | ApplicationVector) -> str:
    from regatta.models.vectors.values import SystemVector

    return "system" if isinstance(one, SystemVector) else "application"


def _size(one: SystemVector | ApplicationVector) -> str:
    from regatta.models.vectors.values import SystemVector

    if isinstance(one, SystemVector):
        return f"{len(one.primitives)} primitives in {one.time_unit}"
    return f"{len(one.counts)} entries per {one.per}"


def _show_system(console: Console, one: SystemVector) -> None:
    rows = [
        (name, *row, _user_share(primitive.user_share.value))
        for name, primitive in one.primitives.items()
        for row in _costs(primitive.cost, primitive.unit)
    ]
    header = ("primitive", "arguments", f"cost ({one.time_unit})", "CI", "n", "user share")
    show_table(console, "Costs", header, rows, left=("primitive", "arguments"))


def _user_share(share: float) -> str:
    from regatta.figures.text import show_percent

    if math.isnan(share):
        return "n.d."
    return show_percent(share, 3) if share else ""


def _costs(cost: Cost, unit: str) -> list[tuple[str, str, str, str]]:
    from regatta.models.vectors.values import ConstantCost, LinearCost, TableCost

    if isinstance(cost, ConstantCost):
        return [(f"per {unit}", *_number(cost.cost))]
    if isinstance(cost, LinearCost):
        return [(f"per {unit}", *_number(cost.fixed)), (f"+ per {cost.argument}", *_number(cost.per))]
    if isinstance(cost, TableCost):
        return [(_at(cost.arguments, point.at), *_number(point.cost)) for point in cost.points]
    ends = [f"< {end:g}" for end in cost.breaks] + [f"≥ {cost.breaks[-1]:g}"]
    rows = []
    for end, (fixed, per) in zip(ends, cost.pieces, strict=True):
        rows += [(f"{cost.argument} {end}", *_number(fixed)), (f"+ per {cost.argument}", *_number(per))]
    return rows


def _at(names: Sequence[str], values: Sequence[float]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in zip(names, values, strict=True))


def _show_application(console: Console, one: ApplicationVector) -> None:
    from regatta.models.predict.tables import CALLS, calls_text

    rows = []
    for count in one.counts:
        value, ends, n = _number(count.count)
        given = ", ".join(f"{name} {number:,.6g}" for name, number in count.arguments.items())
        if count.distribution:
            given = f"{len(count.distribution)} sets of arguments"
        rows.append((count.primitive, given, value, ends, n, calls_text(count)))
    header = ("primitive", "arguments", "count", "CI", "n", CALLS)
    show_table(console, f"Counts per {one.per}", header, rows, left=("primitive", "arguments", header[-1]))
    if one.user_time is not None:
        value, ends, _ = _number(one.user_time)
        console.print()
        console.print(f"user time: {value} {one.time_unit} {ends}".rstrip())


def _number(number: Value) -> tuple[str, str, str]:
    from regatta.figures.text import show_brief, show_ends

    show = partial(show_brief, digits=5)
    return show(number.value), show_ends(number, show), str(number.n or "")
