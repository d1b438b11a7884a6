"""The answer on one screen: conclusions, one table of comparisons, counts, and links to the rest."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING

from regatta.host.printable import printable

if TYPE_CHECKING:
    from regatta.answers.result import Answer
    from regatta.figures.section import Table

#: size of the screen
WIDTH, LINES = 100, 40
#: maximum lines of conclusions, failures and notes; the table uses the rest
_CONCLUSIONS, _FAILURES, _NOTES = 14, 3, 4
#: rows of the table that are always shown
_LEAST_ROWS = 3
#: minimum characters of a shortened name
_LEAST_NAME = 8
#: harmless statuses first
_STATUSES = ("ok", "perturbed", "oom", "failed", "timeout", "crashed", "skipped")


def first_screen(answer: Answer, report: str = "", kept: bool = True) -> list[str]:
    """Return at most 40 lines of at most 100 columns.

    Args:
        answer: answer of the experiment.
        report: path of its report; "" without one.
        kept: whether the experiment stays, so that other commands can show more of it.
    """
    from regatta.answers.short import judged_title, legend_of, short_comparisons

    head = [
        *_wrapped(f"{answer.experiment}: {answer.question}".rstrip(": "))[:2],
        *_wrapped(_counts(answer))[:2],
    ]
    conclusions = _bullets(answer.headline or ["No measurements yet."])
    failures = [
        _cut(f"{one.status}: {one.cell} on {one.host}, n = {one.count}: {one.reason}")
        for one in answer.failures
    ]
    last = [f"all tables and findings: regatta analyze {answer.experiment} --all"] if kept else []
    last += [f"report: {report}"] if report else []
    above = [*head, "", *_first(conclusions, _CONCLUSIONS, "conclusions"), ""]
    below = [*_first([[line] for line in failures], _FAILURES, "kinds of failures"), *map(_cut, last)]
    table: list[str] = []
    if answer.comparisons:
        # Title, header, the line on omitted rows, and an empty line.
        room = LINES - len(above) - len(below) - len(notes_of(answer)) - 4
        legend = legend_of(answer) if room > _LEAST_ROWS + 1 else []
        compared = short_comparisons(answer.comparisons, answer.level, judged=True)
        table = [_cut(judged_title(answer, compared)), *_table(compared, room - len(legend)), *legend, ""]
    return [*above, *table, *below]


def notes_of(answer: Answer) -> list[str]:
    """Return the essential notes in a few lines."""
    return _first([_wrapped(f"note: {warning}", "  ") for warning in answer.warnings], _NOTES, "notes")


def _counts(answer: Answer) -> str:
    counts = answer.statuses
    known = [status for status in _STATUSES if counts.get(status)]
    known += sorted(status for status in counts if status not in _STATUSES and counts[status])
    by_status = ", ".join(f"{counts[status]} {status}" for status in known)
    recorded = f"{answer.recorded} of {answer.planned} planned invocations recorded"
    excluded = " (estimates use ok only)" if set(known) - {"ok"} else ""
    return f"{recorded}{': ' if by_status else ''}{by_status}{excluded}, seed {answer.seed}, {answer.order}"


def _table(table: Table, room: int) -> list[str]:
    rows = table.rows[: max(_LEAST_ROWS, room)]
    widths = [max(len(row[at]) for row in (table.columns, *rows)) for at in range(len(table.columns))]
    while sum(widths) + 2 * len(widths) > WIDTH:
        # Numbers and names of alternatives are essential: shorten the longest of the other columns.
        names = [at for at in range(len(widths)) if at not in table.numeric and widths[at] > _LEAST_NAME]
        if not names:
            # Only numbers are left, such as very wide intervals: the line is longer than the screen.
            break
        where = [at for at in names if table.columns[at] != "comparison"]
        longest = max(where or names, key=lambda at: widths[at])
        widths[longest] -= 1
    lines = []
    for row in (table.columns, *rows):
        texts = (
            text.rjust(width) if at in table.numeric else _cut(text, width).ljust(width)
            for at, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append(f"  {'  '.join(texts)}".rstrip())
    if len(rows) < len(table.rows):
        lines.append(f"  and {len(table.rows) - len(rows)} more")
    return lines


def _bullets(sentences: Iterable[str]) -> list[list[str]]:
    return [_wrapped(f"• {sentence}", "  ") for sentence in sentences]


def _first(parts: list[list[str]], most: int, what: str) -> list[str]:
    """Return the lines of the parts that fit, and a line with the number of the others."""
    lines: list[str] = []
    for at, part in enumerate(parts):
        if lines and len(lines) + len(part) > most:
            return [*lines, f"  and {len(parts) - at} more {what}"]
        lines += part
    return lines


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(printable(text), WIDTH, subsequent_indent=indent, break_on_hyphens=False) or [""]


def _cut(line: str, width: int = WIDTH) -> str:
    line = printable(line)
    return line if len(line) <= width else f"{line[: width - 1]}…"
