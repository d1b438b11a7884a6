"""`regatta provision SPEC`."""

from __future__ import annotations

from pathlib import Path

import click

from regatta.cli.options import Ready, make_ready, spec_argument, spec_results_option, way_option
from regatta.host.errors import HostError
from regatta.host.values.host import Wish


@click.command()
@spec_argument
@spec_results_option
@way_option
@click.option(
    "--receipt",
    type=click.Path(path_type=Path),
    help="Also write the state of the hosts to this file, as JSON.",
)
def provision(spec: Path, results: Path | None, way: Wish, receipt: Path | None) -> None:
    """Prepare the hosts of SPEC: install runtimes, build workloads, check which cells are possible.

    Unreachable and unfit hosts are reported, and the others continue. The exit code is then 3, unless --receipt is given.
    """
    ready = make_ready(spec, results, way)
    show_hosts(ready)
    if receipt:
        write_hosts(ready, way, receipt)
    elif ready.left_out:
        first, reason = next(iter(ready.left_out.items()))
        raise HostError(
            f"{len(ready.left_out)} of {len(ready.experiment.hosts)} hosts excluded",
            "ready hosts",
            f"{first}: {reason}",
        )


def show_hosts(ready: Ready) -> None:
    """Print the hosts with their runtimes, and what is not available."""
    for name, host in ready.hosts.items():
        if len(ready.experiment.hosts) > 1:
            click.echo(f"{name} ({host.platform}, {host.facts.get('architecture', '')})")
        for runtime in host.runtimes.values():
            takes = [name for name, refusal in runtime.collectors.items() if not refusal]
            click.echo(
                f"{runtime.identity}  {runtime.name}  {runtime.version}"
                + (f"  collectors: {', '.join(takes)}" if takes else "")
            )
            for name_, refusal in runtime.collectors.items():
                if refusal:
                    click.echo(f"    not {name_}: {refusal}")
        for runtime_name, reason in host.missing_runtimes.items():
            click.echo(f"unavailable: {runtime_name}: {reason}", err=True)


def write_hosts(ready: Ready, way: Wish, receipt: Path) -> None:
    """Write the state of the hosts to a receipt.

    Raises:
        StoreError: it cannot be written.
    """
    from regatta.store.receipts import write_preparation

    hosts = {
        name: {
            "runtimes": {
                runtime.name: {
                    "version": runtime.version,
                    "identity": runtime.identity,
                    "collectors": dict(runtime.collectors),
                }
                for runtime in host.runtimes.values()
            },
            "missing": dict(host.missing_runtimes),
        }
        for name, host in ready.hosts.items()
    }
    write_preparation(receipt, {"hosts": hosts, "left_out": ready.left_out, "way": way})
