"""`regatta decide FOLDER --segment N`: the job of the workflow between segments, where hosts decide together."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--segment", "number", type=int, required=True, help="Number of the segment, from 0.")
@click.option(
    "--receipt",
    type=click.Path(path_type=Path),
    required=True,
    help="File to write at the end: the rounds that each block group needs.",
)
def decide(folder: Path, number: int, receipt: Path) -> None:
    """Decide after a segment of the plan in FOLDER that all hosts have measured."""
    from regatta.fleet.deciding import decide_together
    from regatta.store.folder import Folder, write_json

    write_json(receipt, {"segment": number, "needed": decide_together(Folder(folder), number)})
