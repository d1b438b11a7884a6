"""`regatta import running-ng FILE` and `regatta import rebench FILE`."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regatta.cli.options import json_option
from regatta.host.foreign import foreign
from regatta.host.printable import printable

if TYPE_CHECKING:
    from regatta.imports.drafts import Imported

_file_argument = click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
_output_option = click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory for the specs and suites. [default: imported-<name of the file>]",
)
_force_option = click.option("--force", is_flag=True, help="Replace existing files in that directory.")
_verbose_option = click.option("--verbose", is_flag=True, help="Print every entry of the list, not grouped.")


@click.group(name="import")
def import_() -> None:
    """Convert a configuration of another tool to specs, and list everything that could not be converted.

    The list is printed, with similar entries grouped, and written in full at the top of the spec. An invalid
    experiment is excluded and listed. The result is validated.
    """


@import_.command("rebench")
@_file_argument
@_output_option
@_force_option
@_verbose_option
@json_option
def rebench(file: Path, output: Path | None, force: bool, verbose: bool, as_json: bool) -> None:
    """Import a ReBench configuration."""
    from regatta.imports.rebench import import_rebench
    from regatta.spec.home import find_home

    with foreign(file, "a ReBench configuration"):
        found = import_rebench(file, find_home(file))
    _write(found, file, output, force, verbose, as_json)


@import_.command("running-ng")
@_file_argument
@_output_option
@_force_option
@_verbose_option
@json_option
@click.option(
    "--heaps",
    type=click.IntRange(2, 1024),
    default=8,
    show_default=True,
    help="The argument N of `runbms`, for N + 1 heap sizes.",
)
@click.option(
    "--package-data",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="RUNNING_NG_PACKAGE_DATA",
    help="Directory `config` of running-ng, for $RUNNING_NG_PACKAGE_DATA in includes. [env: RUNNING_NG_PACKAGE_DATA]",
)
def running_ng(
    file: Path,
    output: Path | None,
    force: bool,
    verbose: bool,
    as_json: bool,
    heaps: int,
    package_data: Path | None,
) -> None:
    """Import a running-ng configuration."""
    from regatta.imports.running_ng import import_running_ng
    from regatta.spec.home import find_home

    with foreign(file, "a configuration of running-ng"):
        found = import_running_ng(file, find_home(file), heaps, package_data)
    _write(found, file, output, force, verbose, as_json)


def _write(
    found: Imported, file: Path, output: Path | None, force: bool, verbose: bool, as_json: bool
) -> None:
    """Write the specs, load them, and print the list."""
    from regatta.imports.drafts import write_files
    from regatta.imports.ledger import grouped
    from regatta.imports.words import clean
    from regatta.spec.home import find_home
    from regatta.spec.load import load_spec

    folder = output or Path(f"imported-{clean(file.stem)}")
    write_files(found.files(), folder, force)
    specs = [folder / spec.file for spec in found.specs]
    for spec in specs:
        load_spec(spec, find_home(file))
    if as_json:
        items = [dataclasses.asdict(item) for item in found.items]
        click.echo(json.dumps({"specs": [str(spec) for spec in specs], "items": items}, indent=1))
        return
    lines = [(item, 1) for item in found.items] if verbose else grouped(found.items)
    for item, count in lines:
        click.echo(printable(item.shown(count)))
    left = sum(item.kind == "left out" for item in found.items)
    click.echo(
        f"wrote {', '.join(map(str, specs))}: {left} excluded, {len(found.items) - left} changed", err=True
    )
    if len(lines) < len(found.items):
        click.echo(f"{len(found.items)} entries in {len(lines)} groups: `--verbose` prints all", err=True)
    click.echo(f"next: regatta plan {specs[0]}", err=True)
