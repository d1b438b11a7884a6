"""The words of a search for changes."""

from __future__ import annotations

from collections.abc import Mapping

from regatta.answers.bisect.result import BisectAnswer, Change, Step
from regatta.answers.spine.words import change, counted, listed
from regatta.figures.section import Column, Table, table_of
from regatta.figures.text import show_brief, show_percent
from regatta.stats.estimate import Interval


def headline(answer: BisectAnswer) -> str:
    """Return the result in one line."""
    possible = counted(answer.states - 1, "change")
    if answer.verdict == "no difference shown":
        return f"Nothing to search: {answer.bad} does not clearly differ from {answer.good}"
    if not answer.changes:
        return f"Undecided: none of {possible} is clearly a cause"
    names = listed([one.after for one in answer.changes])
    number = f"{len(answer.changes)} of {possible}"
    return f"{answer.verdict.capitalize()}: {number} between {answer.good} and {answer.bad} {'is a cause' if len(answer.changes) == 1 else 'are causes'}: {names}"


def notes(answer: BisectAnswer) -> list[str]:
    """Return the size of the difference, what is not known, and how to read the result."""
    found = [
        f"{answer.benchmark}, {answer.metric}: {answer.bad} against {answer.good}: {ratios_text(answer.ends)}"
    ]
    for one in answer.unresolved:
        where = f"after {one.before}, up to {one.after} ({counted(one.states, 'state')})"
        found.append(f"Not found: a cause {where}: {one.reason}.")
    for one in answer.possible:
        where = f"after {one.before}, up to {one.after} ({counted(one.states, 'state')})"
        found.append(f"Not excluded: a further cause {where}.")
    if answer.skipped:
        found.append(f"Not measurable: {', '.join(answer.skipped)}.")
    found.append(
        f"The intervals of a search for up to two causes hold together with {show_percent(answer.level)} confidence. "
        f"Causes below {show_brief(answer.relevance_percent)} %, or below half of the difference that is searched in a range, "
        "can remain unseen."
    )
    return found


def ratios_text(ratios: Mapping[str, Interval]) -> str:
    """Return the change with its interval; of several hosts, each with its name."""
    if len(ratios) == 1:
        return change(next(iter(ratios.values())))
    return ", ".join(f"{host} {change(ratio)}" for host, ratio in ratios.items())


def changes_table(answer: BisectAnswer) -> Table:
    """Return one row per cause."""
    columns: list[Column[Change]] = [
        Column("cause", lambda row: row.after),
        Column("before", lambda row: row.before),
        Column("change", lambda row: ratios_text(row.ratios)),
    ]
    return table_of("", answer.changes, columns)


def steps_table(answer: BisectAnswer) -> Table:
    """Return one row per step of the search."""
    columns: list[Column[Step]] = [
        Column("step", lambda row: row.middle),
        Column("left", lambda row: row.left),
        Column("to the left", lambda row: row.to_left),
        Column("right", lambda row: row.right),
        Column("to the right", lambda row: row.to_right),
    ]
    return table_of("Steps", answer.steps, columns)
