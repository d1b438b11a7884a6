"""`regatta run SPEC`: start, watch and finish the workflow, and report the state of InfluxDB."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regatta.cli.options import profile_option, spec_argument, spec_results_option
from regatta.host.errors import RegattaError, VerificationError
from regatta.host.values.host import Wish
from regatta.store.events import events_path
from regatta.store.folder import Folder
from regatta.store.receipts import is_sent, sent_receipt, unsent

if TYPE_CHECKING:
    from regatta.host.values.experiment import Experiment
    from regatta.influx.settings import Settings

_PATIENCE_S = 30.0


@click.command()
@spec_argument
@spec_results_option
@profile_option
@click.option("--retry-failed", is_flag=True, help="Repeat failed invocations once.")
@click.pass_context
def run(
    ctx: click.Context, spec: Path, results: Path | None, profile: Wish | None, retry_failed: bool
) -> int:
    """Run the experiment of SPEC: build workloads, measure, answer, write the report.

    After an interruption, the same command continues; recorded invocations are not repeated, except perturbed ones. Equivalent workflow:
    `snakemake --profile PROFILE --config spec=SPEC`.
    """
    from regatta.cli.analyze import analyze
    from regatta.spec.home import find_home
    from regatta.spec.load import load_spec

    home = find_home(spec)
    experiment = load_spec(spec, home)
    results = results or Path(experiment.results_directory)
    folder = Folder(results / experiment.name)

    def show(_: int) -> None:
        if folder.report.exists():
            ctx.invoke(analyze, experiment=str(folder.path), results=results)

    return run_and_show(spec, experiment, home, results, profile, retry_failed, show)


def run_and_show(
    spec: Path,
    experiment: Experiment,
    home: Path,
    results: Path,
    profile: Wish | None,
    retry_failed: bool,
    show: Callable[[int], None],
) -> int:
    """Run the workflow of a spec, show its answer, and report the state of InfluxDB.

    Args:
        profile: how to access hosts; None: as they need it.
        show: shows the answer, given what is returned. It is also called before an error because invocations failed.

    Returns:
        0: success; 1: an invocation failed; 130: stopped.

    Raises:
        RegattaError: as `run_workflow`.
    """
    from regatta.cli.tables import screen_width
    from regatta.cli.workflow import Workflow, run_workflow
    from regatta.influx.settings import find_settings

    folder = Folder(results / experiment.name)
    if profile is None:
        machines = [machine for host in experiment.hosts for machine in host.members or (host,)]
        profile = "local" if all(machine.is_local for machine in machines) else "ssh"
    settings = find_settings(home)
    code = 1
    try:
        try:
            code = run_workflow(
                Workflow(spec, experiment, results, home, profile, retry_failed, screen_width())
            )
        except RegattaError as error:
            # What was measured is shown before what is wrong with it. The workflow verifies after its report.
            if error.exit_code == VerificationError.exit_code:
                show(error.exit_code)
            raise
        show(code)
    finally:
        # Always report the state of InfluxDB. A successful workflow has sent everything.
        if settings is not None:
            if code != 0:
                send_what_happened(folder)
            _tell(folder, settings, spec)
    return code


def send_what_happened(folder: Folder) -> None:
    """Send the remaining records and events of an experiment after an incomplete workflow; for at most half a minute."""
    if is_sent(folder) or not (folder.journal.is_dir() or events_path(folder.path).exists()):
        return
    command = [
        sys.executable, "-m", "regatta", "ingest",
        "--no-estimates", "--patience-s", "1", "--receipt", str(sent_receipt(folder)), "--", str(folder.path),
    ]  # fmt: skip
    # Anything slower or impossible waits for the next run: report the failure first.
    with (
        suppress(OSError, subprocess.TimeoutExpired),
        (folder.logs / "ingest-influx.log").open("wb") as log,
    ):
        subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, timeout=_PATIENCE_S,
            check=False,
        )  # fmt: skip


def _tell(folder: Folder, settings: Settings, spec: Path) -> None:
    reason = unsent(folder)
    if reason:
        click.echo(
            f"\nwarning: InfluxDB is incomplete ({settings.url}): {reason}\n"
            f"No data is lost: the journal has all records. `regatta ingest {folder.path}` sends the rest,"
            f" and so does the next `regatta run {spec}`.",
            err=True,
        )
    elif sent_receipt(folder).exists():
        click.echo(f"InfluxDB: {settings.url} · database {settings.database}")
        if settings.grafana_url:
            click.echo(f"dashboards: {settings.grafana_url}")
