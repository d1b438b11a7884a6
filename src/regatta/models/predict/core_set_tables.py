"""Sentences and tables of a core set: shares of each primitive, the calls behind it, and excluded parts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from regatta.answers.spine.words import counted, listed
from regatta.figures.section import Table
from regatta.figures.text import show_brief, show_percent, show_quantity, show_share
from regatta.models.predict.core_set import OTHERS, Calls, CoreSet, Counts, RankedPrimitive

CORE = "core set"
CALLS = ("primitive", "counted calls (rule)")
_SHARES = ("primitive", "mean", "cumulative")
_SHARES_OF_ONE = ("primitive", "share", "cumulative")
#: rows of a table in a terminal: of primitives, unless the core set is larger, and of calls
MOST_ROWS, MOST_CALLS = 20, 10


def core_sentences(found: CoreSet) -> tuple[str, ...]:
    """Return the answer: the core set, and the shares that it leaves out."""
    names = [one.name for one in found.applications]
    of_each = f"of {names[0]}" if len(names) == 1 else f"of each of {len(names)} applications"
    share = show_percent(found.share)
    explain = "explains" if len(found.core) == 1 else "explain"
    first = (
        f"{len(found.core)} of {counted(len(found.primitives), 'primitive')} {explain} at least {share} of the time in primitives"
        f" {of_each} on {found.system}: {listed([one.primitive for one in found.core])}"
    )
    if not found.rest:
        return (first,)
    left = f"outside the core set: {counted(len(found.rest), 'primitive')}"
    worst = min(found.applications, key=lambda one: one.explained)
    if len(names) == 1:
        return first, f"{left} with {show_share(1 - worst.explained)} of the time"
    mean = math.fsum(one.mean for one in found.rest)
    return (
        first,
        f"{left} with {show_share(mean)} of the time in the mean, at most {show_share(1 - worst.explained)} ({worst.name})",
    )


def core_warnings(found: CoreSet) -> Iterator[str]:
    """Yield a warning for each application of which some time is unknown."""
    for one in found.applications:
        if names := [row.name for row in found.without_cost if one.name in row.counts]:
            yield f"{one.name}: no cost of {listed(names)} on {found.system}. All shares exclude their time."
    for one in found.applications:
        if not any(one.name in row.counts for row in found.without_rule):
            continue
        share = f"{show_share(one.without_rule)} of the" if math.isfinite(one.without_rule) else "some"
        if one.counted_as:
            yield f"{one.name}: {share} calls have no rule and count as {one.counted_as}. Their time is a lower bound."
        else:
            yield f"{one.name}: {share} calls have no rule. All shares exclude their time."


def shares_table(found: CoreSet, most: int = MOST_ROWS) -> Table:
    """List the primitives of the core set, their sum, a line, and the others, with their shares.

    Args:
        found: the core set, which is listed whole.
        most: rows, at least one of which is for others; the last one sums up those that do not fit.
    """
    names = [one.name for one in found.applications]
    columns = (*_SHARES, *names) if len(names) > 1 else _SHARES_OF_ONE
    rows = [_row(one, columns) for one in found.core]
    rows.append(_sum_of(CORE, found.core, columns))
    room = max(1, most - len(rows))
    shown = found.rest if len(found.rest) <= room else found.rest[: room - 1]
    below = [_row(one, columns) for one in shown]
    if hidden := found.rest[len(shown) :]:
        below.append(_sum_of(f"{len(hidden)} {OTHERS}", hidden, columns))
    times = [show_quantity(one.time_ns, "ns", 4) for one in found.applications]
    time = f"time per {_units(found)}"
    below.append((time, "", "", *times) if len(names) > 1 else (time, times[0], ""))
    widths = [max(map(len, column)) for column in zip(columns, *rows, *below, strict=True)]
    line = tuple("─" * width for width in widths)
    title = f"Shares of the time in primitives on {found.system}"
    return Table(title, columns, [*rows, line, *below], frozenset(range(1, len(columns))))


def _row(one: RankedPrimitive, columns: Sequence[str]) -> tuple[str, ...]:
    shares = [show_share(one.shares[name]) for name in columns[len(_SHARES) :]]
    return one.primitive, show_share(one.mean), show_share(one.cumulative), *shares


def _sum_of(name: str, rows: Sequence[RankedPrimitive], columns: Sequence[str]) -> tuple[str, ...]:
    shares = [show_share(math.fsum(one.shares[of] for one in rows)) for of in columns[len(_SHARES) :]]
    return name, show_share(math.fsum(one.mean for one in rows)), "", *shares


def calls_table(found: CoreSet) -> Table:
    """List the calls that are counted as each primitive of the core set."""
    rows = [(one.primitive, "; ".join(map(_calls_text, one.calls))) for one in found.core if one.calls]
    return Table("Calls counted as the core set", CALLS, rows)


def _calls_text(one: Calls) -> str:
    calls = ", ".join(one.calls)
    return f"{calls} ({one.rule})" if one.rule else calls


def without_cost_table(found: CoreSet) -> Table:
    """List the primitives without a cost on the system."""
    title = f"Primitives without a cost on {found.system}"
    return _counts_table(found, found.without_cost, title, "primitive")


def without_rule_table(found: CoreSet) -> Table:
    """List the most frequent calls without a rule."""
    return _counts_table(found, found.without_rule, "Calls without a rule", "call")


def _counts_table(found: CoreSet, rows: Sequence[Counts], title: str, what: str) -> Table:
    names = [one.name for one in found.applications]
    columns = (what, *(names if len(names) > 1 else ("count",)))
    shown = rows if len(rows) <= MOST_CALLS else rows[: MOST_CALLS - 1]
    texts = [(one.name, *(_count_text(one.counts.get(name, 0.0)) for name in names)) for one in shown]
    if hidden := rows[len(shown) :]:
        sums = (math.fsum(one.counts.get(name, 0.0) for one in hidden) for name in names)
        texts.append((OTHERS, *map(_count_text, sums)))
    return Table(f"{title}, per {_units(found)}", columns, texts, frozenset(range(1, len(columns))))


def _count_text(count: float) -> str:
    if not count:
        return ""
    return f"{count:,.0f}" if count >= 100.0 else show_brief(count)


def _units(found: CoreSet) -> str:
    """Return the units of work, as `request`, or `request or run`."""
    return " or ".join(dict.fromkeys(one.per for one in found.applications))
