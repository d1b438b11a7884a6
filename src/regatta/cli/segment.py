"""`regatta segment FOLDER --host HOST --segment N`: what a job of the workflow runs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--host", required=True, help="Whose plan.")
@click.option("--segment", "number", type=int, required=True, help="Which segment, from 0.")
@click.option(
    "--receipt", type=click.Path(path_type=Path), required=True, help="Written when the segment is done."
)
@click.option("--retry-failed", is_flag=True, help="Run failed invocations once more.")
def segment(folder: Path, host: str, number: int, receipt: Path, retry_failed: bool) -> None:
    """Measure one segment of the plan in FOLDER on this machine.

    This process becomes the runner: no other one waits for it while it measures.
    """
    from regatta.store.folder import Folder

    place = Folder(folder)
    argv = [
        sys.executable, "-I", str(place.runner),
        "--plan", str(place.host_plan(host)),
        "--segment", str(number),
        "--journal", str(place.journal / host),
        "--state", str(place.state / f"{host}.json"),
        "--scratch", str((place.scratch / host).resolve()),
        "--receipt", str(receipt),
    ]  # fmt: skip
    if retry_failed or os.environ.get("REGATTA_RETRY_FAILED"):
        argv.append("--retry-failed")
    os.execv(sys.executable, argv)
