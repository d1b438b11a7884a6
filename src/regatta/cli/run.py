"""`regatta run SPEC`: the workflow, started, watched and finished."""

from __future__ import annotations

from pathlib import Path

import click

from regatta.cli.options import spec_argument, spec_results_option
from regatta.host.values.host import WISHES, Wish


@click.command()
@spec_argument
@spec_results_option
@click.option(
    "--profile",
    type=click.Choice(WISHES),
    help="How hosts are reached. [default: local where all are this machine, else ssh]",
)
@click.option("--retry-failed", is_flag=True, help="Run invocations that failed before once more.")
@click.pass_context
def run(
    ctx: click.Context, spec: Path, results: Path | None, profile: Wish | None, retry_failed: bool
) -> int:
    """Run the experiment of SPEC, from building its workloads to its report.

    The same command goes on after anything: what is recorded is not measured again. It drives the workflow that
    `snakemake --profile PROFILE --config spec=SPEC` runs.
    """
    from regatta.cli.analyze import analyze
    from regatta.cli.sending import Sending
    from regatta.cli.workflow import run_workflow
    from regatta.influx.settings import find_settings
    from regatta.spec.home import find_home
    from regatta.spec.load import load_spec
    from regatta.store.folder import Folder

    home = find_home(spec)
    experiment = load_spec(spec, home)
    results = results or Path(experiment.results_directory)
    folder = Folder(results / experiment.name)
    if profile is None:
        profile = "local" if all(host.is_local for host in experiment.hosts) else "ssh"
    with Sending(folder, find_settings(home), spec) as sending:
        code = run_workflow(spec, folder, results, home, profile, retry_failed)
        sending.complete = code == 0
        if folder.report.exists():
            ctx.invoke(analyze, experiment=str(folder.path), results=results)
            click.echo(f"report: {folder.report}")
    return code
