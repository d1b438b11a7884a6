"""`regatta build SPEC`."""

from __future__ import annotations

from pathlib import Path

import click

from regatta.cli.options import spec_argument


@click.command()
@spec_argument
@click.option(
    "--receipt", type=click.Path(path_type=Path), help="Also write what was built to this file, as JSON."
)
def build(spec: Path, receipt: Path | None) -> None:
    """Build the workloads of SPEC and generate their inputs, unless these sources were built before."""
    from regatta.fleet.local import build_workloads
    from regatta.fleet.user_files import find_user_files
    from regatta.spec.home import find_home
    from regatta.spec.load import load_spec
    from regatta.store.folder import write_json

    home = find_home(spec)
    experiment = load_spec(spec, home)
    brought = find_user_files(experiment, home)
    builds, inputs, programs = build_workloads(experiment, home)
    files = {f"{name}.{output}": file for name, outputs in builds.items() for output, file in outputs.items()}
    files |= {
        f"{label} input {name}": file for label, named in inputs.items() for name, file in named.items()
    }
    files |= {
        f"{label} file {name}": file for label, named in brought.items() for name, file in named.items()
    }
    files |= programs
    for name, file in files.items():
        click.echo(f"{file.sha256[:16]}  {name}  {file.path}")
    if receipt:
        write_json(receipt, {name: vars(file) for name, file in files.items()})
