"""Print the answer of `regatta time`."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from regatta.cli.time_tables import (
    Command,
    Runs,
    elapsed_cells,
    first_lines,
    marked_up,
    print_rows,
    runs_document,
    table_of_commands,
)
from regatta.host.journal.record import FAILURES

if TYPE_CHECKING:
    from regatta.answers.spine.result import Answer


def print_answer(
    answer: Answer, export: str | None, commands: Sequence[Command], runs: Runs, unit: str | None
) -> None:
    """Print the answer as a screen, or in a format of `--export`; then its notes to standard error.

    `unit`: of the times; None: fitting ones.
    """
    from regatta.answers.report.documents import document_of
    from regatta.answers.spine.short import short_comparisons
    from regatta.cli.first_screen import first_screen, notes_of
    from regatta.cli.tables import plain_console, screen_width, show

    if export == "json":
        document = {**document_of(answer), "commands": runs_document(commands, runs)}
        click.echo(json.dumps(document, indent=1, allow_nan=False))
    elif export == "csv":
        print_rows(answer, commands, runs)
    elif export is not None:
        tables = [table_of_commands(commands, answer.level, unit)]
        if answer.comparisons:
            tables.insert(0, short_comparisons(answer.comparisons, answer.level, judged=True))
        click.echo("\n\n".join(marked_up(table, export) for table in tables))
    else:
        click.echo("\n".join(first_screen(answer, kept=False, width=screen_width())).rstrip())
        if any(command.cell.estimate.n for command in commands):
            show(plain_console(), table_of_commands(commands, answer.level, unit))
    for line in notes_of(answer, screen_width()):
        click.echo(line, err=True)


def tell_failures(commands: Sequence[Command], runs: Runs) -> None:
    """Print the first lines of the output of the first failed run of each command."""
    for command in commands:
        failed = [one for one in runs.get(command.cell.cell_id, ()) if one["status"] in FAILURES]
        if failed and (code := failed[0]["exit_code"]):
            click.echo(
                f"to accept exit code {code} of {command.cell.place.runtime}: --ignore-failure={code}",
                err=True,
            )
        for line in first_lines(command.cell.place.runtime, failed[0]) if failed else ():
            click.echo(line, err=True)


def stopped(answer: Answer, kept: bool) -> str:
    """Describe an interrupted measurement: what the answer is about, and whether its runs stay."""
    if not answer.recorded:
        return "stopped: no run ended"
    about = f"stopped: the answer is about {answer.recorded} of {answer.planned} runs"
    return about if kept else f"{about}; they are not kept (to keep them: --save)"


def precision_words(answer: Answer) -> str:
    """Say whether the target of --precision was reached."""
    from regatta.answers.topics.stopping.topic import STOPPING

    groups = STOPPING.of(answer)
    target = f"target {groups[0].target_percent:g} %" if groups else "no target"
    reached = [group.reached_percent for group in groups]
    if not groups or any(map(math.isnan, reached)):
        return f"precision unknown: no interval of undisturbed runs ({target})"
    if all(group.met for group in groups):
        return f"precision reached: half-width {max(reached):.2g} % ({target})"
    runs = max(group.run for group in groups)
    return f"precision not reached: half-width {max(reached):.2g} % after {runs} runs ({target}); raise --max-runs"


def all_have_values(answer: Answer) -> bool:
    return all(cell.estimate.n for cell in elapsed_cells(answer))
