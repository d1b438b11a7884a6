"""The answer on one screen: conclusions, one table of comparisons, counts, and links to the rest."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from regatta.cli.tables import WIDTH_OF_SCREEN, fitted_lines, shortened
from regatta.host.printable import printable

if TYPE_CHECKING:
    from regatta.answers.spine.result import Answer
    from regatta.figures.section import Table

#: lines of the screen
LINES = 40
#: maximum lines of conclusions, failures and notes; the table uses the rest
_CONCLUSIONS, _FAILURES, _NOTES = 14, 3, 4
#: rows of the table that are always shown
_LEAST_ROWS = 3
#: harmless statuses first
_STATUSES = ("ok", "perturbed", "oom", "failed", "timeout", "crashed", "skipped")


@dataclass(frozen=True)
class Screen:
    """The first screen of an answer, and its notes."""

    lines: list[str]
    notes: list[str]

    def show(self) -> None:
        """Print the lines, and the notes to stderr."""
        for line in self.lines:
            click.echo(line)
        for line in self.notes:
            click.echo(line, err=True)


def screen_of(answer: Answer, report: str, width: int) -> Screen:
    """Return the first screen of an experiment that stays; see `first_screen`."""
    return Screen(first_screen(answer, report, width=width), notes_of(answer, width))


def first_screen(
    answer: Answer, report: str = "", kept: bool = True, width: int = WIDTH_OF_SCREEN
) -> list[str]:
    """Return at most 40 lines of at most `width` columns.

    Args:
        answer: answer of the experiment.
        report: path of its report; "" without one.
        kept: whether the experiment stays, so that other commands can show more of it.
        width: columns of the screen, at least 60 (`screen_width`).
    """
    from regatta.answers.spine.short import judged_title, legend_of, short_comparisons

    head = [
        *_wrapped(f"{answer.experiment}: {answer.question}".rstrip(": "), width)[:2],
        *_wrapped(_counts(answer), width)[:3],
    ]
    conclusions = _bullets(answer.headline or ["No measurements yet."], width)
    failures = [shortened(f"impossible: {cell}: {reason}", width) for cell, reason in answer.impossible]
    failures += [
        shortened(f"{one.status}: {one.cell} on {one.host}, n = {one.count}: {one.reason}", width)
        for one in answer.failures
    ]
    last = [f"all tables and findings: regatta analyze {answer.experiment} --all"] if kept else []
    last += [f"report: {report}"] if report else []
    above = [*head, "", *_first(conclusions, _CONCLUSIONS, "conclusions"), ""]
    below = [
        *_first([[line] for line in failures], _FAILURES, "kinds of failures"),
        *(shortened(line, width) for line in last),
    ]
    table: list[str] = []
    if answer.comparisons:
        # Title, header, the line on omitted rows, and an empty line.
        room = LINES - len(above) - len(below) - len(notes_of(answer, width)) - 4
        explained = [line for text in legend_of(answer) for line in _wrapped(text, width)]
        legend = explained if room > _LEAST_ROWS + len(explained) else []
        compared = short_comparisons(answer.comparisons, answer.level, judged=True)
        title = shortened(judged_title(answer, compared), width)
        table = [title, *_table(compared, room - len(legend), width), *legend, ""]
    return [*above, *table, *below]


def notes_of(answer: Answer, width: int = WIDTH_OF_SCREEN) -> list[str]:
    """Return the essential notes in a few lines of at most `width` columns."""
    return _first([_wrapped(f"note: {warning}", width, "  ") for warning in answer.warnings], _NOTES, "notes")


def _counts(answer: Answer) -> str:
    counts = answer.statuses
    known = [status for status in _STATUSES if counts.get(status)]
    known += sorted(status for status in counts if status not in _STATUSES and counts[status])
    by_status = ", ".join(f"{counts[status]} {status}" for status in known)
    recorded = f"{answer.recorded} of {answer.planned} planned invocations recorded"
    marked = any(cell.estimate.is_disturbed for cell in answer.cells)
    excluded = f" (estimates use ok only{', unless disturbed' * marked})" if set(known) - {"ok"} else ""
    return f"{recorded}{': ' if by_status else ''}{by_status}{excluded}, seed {answer.seed}, {answer.order}"


def _table(table: Table, room: int, width: int) -> list[str]:
    rows = table.rows[: max(_LEAST_ROWS, room)]
    lines = fitted_lines(replace(table, rows=rows), width)
    return [*lines, *([f"  and {len(table.rows) - len(rows)} more"] if len(rows) < len(table.rows) else [])]


def _bullets(sentences: Iterable[str], width: int) -> list[list[str]]:
    return [_wrapped(f"• {sentence}", width, "  ") for sentence in sentences]


def _first(parts: list[list[str]], most: int, what: str) -> list[str]:
    """Return the lines of the parts that fit, and a line with the number of the others."""
    lines: list[str] = []
    for at, part in enumerate(parts):
        if lines and len(lines) + len(part) > most:
            return [*lines, f"  and {len(parts) - at} more {what}"]
        lines += part
    return lines


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    return textwrap.wrap(printable(text), width, subsequent_indent=indent, break_on_hyphens=False) or [""]
