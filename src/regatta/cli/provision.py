"""`regatta provision SPEC`."""

from __future__ import annotations

from pathlib import Path

import click

from regatta.cli.options import spec_argument


@click.command()
@spec_argument
@click.option(
    "--receipt", type=click.Path(path_type=Path), help="Also write what is there to this file, as JSON."
)
def provision(spec: Path, receipt: Path | None) -> None:
    """Bring the runtimes of SPEC to this machine and ask each which collectors it takes."""
    from regatta.fleet.local import provision_runtimes
    from regatta.spec.home import find_home
    from regatta.spec.load import load_spec
    from regatta.store.folder import write_json

    experiment = load_spec(spec, find_home(spec))
    there, missing = provision_runtimes(experiment)
    for runtime in there.values():
        takes = [name for name, refusal in runtime.collectors.items() if not refusal]
        click.echo(
            f"{runtime.identity}  {runtime.name}  {runtime.version}"
            + (f"  takes {', '.join(takes)}" if takes else "")
        )
        for name, refusal in runtime.collectors.items():
            if refusal:
                click.echo(f"    not {name}: {refusal}")
    for name, reason in missing.items():
        click.echo(f"not here: {name}: {reason}", err=True)
    if receipt:
        value = {
            name: {"version": r.version, "identity": r.identity, "collectors": dict(r.collectors)}
            for name, r in there.items()
        }
        write_json(receipt, {"runtimes": value, "missing": missing})
