"""The words of an explanation."""

from __future__ import annotations

import math

from regatta.answers.explanation.result import Counted, Explanation, Part
from regatta.answers.spine.words import change, counted, listed
from regatta.figures.section import Column, Table, table_of
from regatta.figures.text import ABSENT, show_percent, show_quantity
from regatta.stats.estimate import Interval

#: causes in the first line
_NAMED = 4


def headline(one: Explanation) -> str:
    """Return the difference and its causes in one line."""
    what = f"{one.b} against {one.a}: {one.metric} {share_words(one.measured)}"
    if one.quantity == "processor time":
        what += f"; processor time {share_words(one.profiled)}"
    if not one.causes:
        return f"{what}: no part of the {one.quantity} is clearly a cause"
    causes = [f"{part.name} {share_words(part.contribution)}" for part in one.causes[:_NAMED]]
    more = len(one.causes) - _NAMED
    causes += [counted(more, "smaller cause")] if more > 0 else []
    return f"{what}: {listed(causes)}; unexplained {share_words(one.unexplained)}"


def share_words(share: Interval) -> str:
    """Return `+4.1 % [+3.2, +5.0]` for a relative difference as a share."""
    return change(share.mapped(lambda value: 1.0 + value))


def notes(one: Explanation) -> list[str]:
    """Return what is divided, and how to read it."""
    level = show_percent(one.level)
    runs = f"{counted(one.rounds, 'round')} with a profiler"
    found = [f"In {runs}, the {one.quantity} of an {one.per} differs by {share_words(one.profiled)}."]
    if one.quantity == "processor time":
        found.append(
            "Threads run at the same time. Samples do not show which of them the others wait for, so the processor time is "
            "divided, not the elapsed time."
        )
    else:
        found.append(
            "The program uses one processor at a time on average. Work that overlaps with other work counts in full, and the time "
            "in which it does not run is less by as much."
        )
    found.append(
        f"Contributions are in percent of the {one.quantity} of {one.a}. Their intervals hold together with {level} confidence. A "
        "cause is a part whose interval excludes 0. A function counts only the time in itself and in functions that the compiler "
        "inlined, not in those that it calls."
    )
    found += [f"No value for {', '.join(gap.counters)}: {gap.reason}." for gap in one.missing]
    return found


def parts_table(one: Explanation, most: int | None = None) -> Table:
    """Return one row per part; at most so many, the largest contributions first."""
    columns: list[Column[Part]] = [
        Column("work", lambda row: row.name),
        Column("contribution", lambda row: share_words(row.contribution)),
        Column("cause", lambda row: "yes" if row.is_cause else ""),
        Column(one.a, lambda row: f"{100.0 * row.shares[0]:.1f} %", numeric=True),
        Column(one.b, lambda row: f"{100.0 * row.shares[1]:.1f} %", numeric=True),
    ]
    return table_of("", one.parts[:most], columns)


def counters_table(one: Explanation) -> Table:
    """Return one row per counter."""
    columns: list[Column[Counted]] = [
        Column("counter", lambda row: row.name),
        Column("change", lambda row: ABSENT if math.isnan(row.ratio.point) else change(row.ratio)),
        Column(one.a, lambda row: show_quantity(row.means[0], row.unit), numeric=True),
        Column(one.b, lambda row: show_quantity(row.means[1], row.unit), numeric=True),
    ]
    return table_of("Counters", one.counters, columns)
