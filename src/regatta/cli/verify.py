"""`regatta verify EXPERIMENT`."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regatta.cli.options import json_option, optional_experiment_argument, results_option
from regatta.host.printable import printable

if TYPE_CHECKING:
    from regatta.store.folder import Folder

#: maximum number of reported cells that are no longer planned
_NAMED = 5


@click.command()
@optional_experiment_argument
@results_option
@json_option
@click.option(
    "--write",
    type=click.Path(path_type=Path),
    help="Write the verdict to this file instead of failing with it.",
)
@click.option(
    "--verdict", type=click.Path(path_type=Path), help="Exit according to a verdict that was written before."
)
def verify(
    experiment: str | None, results: Path, as_json: bool, write: Path | None, verdict: Path | None
) -> None:
    """Check every checksum, planned invocation and status of EXPERIMENT. Exit code 1 if anything failed."""
    from regatta.store.folder import find_folder, read_json, write_json

    if verdict is not None:
        value = read_json(verdict, "run `regatta verify EXPERIMENT --write FILE`")
        if value.get("incomplete"):
            # The verdict is outdated soon: the next run measures missing invocations and must verify again.
            verdict.unlink()
    elif experiment is None:
        raise click.UsageError("expected EXPERIMENT or --verdict, got neither")
    else:
        value = verdict_of(find_folder(experiment, results))
    if write is not None:
        write_json(write, value)
    if as_json:
        click.echo(json.dumps(value))
    else:
        show_verdict(value)
    if write is None:
        _raise_if_failed(value["problems"], value["experiment"])


def verdict_of(folder: Folder) -> dict[str, Any]:
    """Verify an experiment, and withdraw the receipts of segments with missing invocations."""
    from regatta.answers.spine.verification import verify_experiment
    from regatta.store.receipts import withdraw_receipts

    began_ns = time.time_ns()
    value = verify_experiment(folder).to_json()
    # Withdraw receipts so that the next run measures missing invocations; a concurrent run may have written newer ones.
    # The receipt of an excluded host holds the reason. The next run withdraws it, because there is no journal.
    again = {host: own for host, own in value["incomplete"].items() if host not in value["left_out"]}
    withdraw_receipts(folder, again, began_ns)
    return value


def show_verdict(value: dict[str, Any]) -> None:
    """Print a verdict."""
    counts = ", ".join(f"{count} {status}" for status, count in value["statuses"].items()) or "no records"
    click.echo(f"{value['experiment']}: {value['planned']} planned; {counts}")
    if value["reruns"]:
        click.echo(f"  retries of perturbed or failed invocations: {value['reruns']}")
    if value["unplanned"]:
        click.echo(f"  records of cells or rounds that are no longer planned (kept): {value['unplanned']}")
        # An older version may have written the verdict.
        cells = list(value.get("unplanned_cells", {}).items())
        for name, count in cells[:_NAMED]:
            click.echo(f"    {printable(name)}: {count}")
        if len(cells) > _NAMED:
            click.echo(f"    {len(cells) - _NAMED} more cells: see `regatta records`")
    lost_nothing = [] if value.get("incomplete") else value["damage"]
    for sentence in lost_nothing:
        click.echo(f"  {printable(sentence)}; no record lost")
    if not value["holds"]:
        click.echo(f"problems: {len(value['problems'])}")
    else:
        click.echo(
            "complete: all invocations recorded, no failures" + ("" if lost_nothing else ", no damaged lines")
        )


def _raise_if_failed(problems: list[str], experiment: str) -> None:
    """Raise the problems of a verdict as an error, which ends a command with exit code 1."""
    from regatta.host.errors import Problem, VerificationError

    if problems:
        error = VerificationError(
            experiment, "every planned invocation recorded, intact and successful", problems[0]
        )
        error.problems = tuple(
            Problem(experiment, "an intact, successful and undisturbed record", p) for p in problems
        )
        raise error
