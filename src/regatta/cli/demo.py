"""`regatta demo`."""

from __future__ import annotations

from pathlib import Path

import click

from regatta.cli.options import spec_results_option


@click.command()
@spec_results_option
@click.option(
    "--influx",
    is_flag=True,
    help="Also write the results to InfluxDB and verify them there. Without a configured InfluxDB, start one as `regatta up` does.",
)
@click.pass_context
def demo(ctx: click.Context, results: Path | None, influx: bool) -> int:
    """Run configs/experiments/demo.yml (two JVMs, three collectors, two heap sizes), show the answer and write a report."""
    from regatta.cli.run import run
    from regatta.host.errors import VerificationError
    from regatta.spec.home import find_home

    home = find_home()
    spec = home / "configs" / "experiments" / "demo.yml"
    if influx:
        _make_sure_of_influx(home)
    try:
        code: int = ctx.invoke(run, spec=spec, results=results, retry_failed=False)
    except VerificationError:
        # Failed and perturbed invocations are recorded and ingested as well.
        if influx:
            _count_and_show(ctx, home, spec, results)
        raise
    if influx:
        _count_and_show(ctx, home, spec, results)
    return code


def _make_sure_of_influx(home: Path) -> None:
    """Start the InfluxDB of the user, unless another InfluxDB is configured."""
    from regatta.cli.up import start
    from regatta.host.errors import Problem, SpecError
    from regatta.influx.settings import OFF, VARIABLE, find_settings
    from regatta.services.folder import service_folder
    from regatta.services.stack import StackOptions

    settings = find_settings(home)
    if settings is None or settings.path == service_folder().settings:
        start(StackOptions())
        settings = find_settings(home)
    if settings is None:
        raise SpecError(
            [Problem(f"${VARIABLE}", "an InfluxDB, for --influx", OFF, "unset it, or remove --influx")]
        )


def _count_and_show(ctx: click.Context, home: Path, spec: Path, results: Path | None) -> None:
    """Compare the journal with the database, series by series, and print the addresses of the results."""
    from regatta.cli.ingest import ingest
    from regatta.cli.up import say_where
    from regatta.influx.settings import find_settings
    from regatta.services.folder import service_folder
    from regatta.spec.load import load_spec
    from regatta.store.folder import Folder

    experiment = load_spec(spec, home)
    folder = Folder((results or Path(experiment.results_directory)) / experiment.name)
    click.echo("\nregatta ingest --verify:")
    try:
        ctx.invoke(ingest, experiment=str(folder.path), verify=True)
    finally:
        settings = find_settings(home)
        assert settings is not None
        click.echo(f"InfluxDB: {settings.url}")
        if settings.path == service_folder().settings:
            say_where(service_folder(), settings.url, settings.database, settings.grafana_url)
            click.echo("stop it: regatta down")
