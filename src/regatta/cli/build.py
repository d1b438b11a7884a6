"""`regatta build SPEC`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from regatta.cli.options import spec_argument, way_option
from regatta.host.values.host import Wish

if TYPE_CHECKING:
    from regatta.host.values.experiment import Experiment


@click.command()
@spec_argument
@way_option
@click.option(
    "--receipt", type=click.Path(path_type=Path), help="Also write the list of builds to this file, as JSON."
)
def build(spec: Path, way: Wish, receipt: Path | None) -> None:
    """Build the workloads of SPEC and generate their inputs, unless the same sources were built before.

    Portable outputs are built here, others on each host when it is provisioned.
    """
    from regatta.spec.home import find_home
    from regatta.spec.load import load_spec

    home = find_home(spec)
    build_workloads(load_spec(spec, home), home, way, receipt)


def build_workloads(experiment: Experiment, home: Path, way: Wish, receipt: Path | None) -> None:
    """Build and generate what an experiment needs, print the files, and write them to the receipt.

    Raises:
        HostError: a build or a generator fails.
    """
    import platform

    from regatta.fleet.supplies import make_stock
    from regatta.host.ready.resolving import build_here, find_programs, path_here
    from regatta.store.receipts import write_preparation

    stock = make_stock(experiment, home)
    here = any(host.way(way) == "local" for host in experiment.hosts)
    builds = build_here(experiment, stock.supplies_here(platform.machine())) if here else stock.builds
    files = {f"{name}.{output}": file for name, outputs in builds.items() for output, file in outputs.items()}
    for part, things in (("input", stock.inputs), ("file", stock.files)):
        files |= {
            f"{label} {part} {name}": file for label, named in things.items() for name, file in named.items()
        }
    files |= find_programs(experiment, path_here(experiment)) if here else {}
    for name, file in files.items():
        click.echo(f"{file.sha256[:16]}  {name}  {file.path}")
    if receipt:
        write_preparation(receipt, {"files": {name: vars(file) for name, file in files.items()}})
