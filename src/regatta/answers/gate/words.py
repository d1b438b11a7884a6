"""The words of a gate: its verdict in one line, its table, and how often it is wrong."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from regatta.answers.gate.compute import is_too_often
from regatta.answers.gate.result import FalseAlarms, GateAnswer, GateRow, Outcome
from regatta.answers.spine.words import change, counted
from regatta.figures.section import Column, Table, table_of
from regatta.figures.text import ABSENT, show_brief, show_percent

#: best last, as in the verdict on all comparisons
_ORDER: tuple[Outcome, ...] = ("failed", "worse", "undecided", "better", "equivalent")
_AXIS = 41


def headline(answer: GateAnswer) -> str:
    """Return the first line: `Worse: v2 against v1, 1 of 3 comparisons worse, 2 equivalent`."""
    counts = Counter(row.verdict for row in answer.rows)
    each = ", ".join(f"{counts[verdict]} {verdict}" for verdict in _ORDER if counts[verdict])
    what = f"{', '.join(answer.candidates)} against {answer.baseline}"
    problems = f", {counted(len(answer.problems), 'problem')}" if answer.problems else ""
    return f"{answer.verdict.capitalize()}: {what}, {counted(len(answer.rows), 'comparison')}: {each or 'none'}{problems}"


def notes(answer: GateAnswer) -> list[str]:
    """Return how to read the verdicts, and the problems."""
    small = show_brief(answer.relevance_percent)
    level = show_percent(answer.level)
    hosts = " of each host" if len(answer.hosts) > 1 else ""
    found = [
        f"Equivalent: the change is within ±{small} %. Better, worse: there is a change, of a size in the interval.",
        f"The intervals{hosts} together contain all ratios with {level} confidence, so that unchanged code gives a false alarm in "
        f"at most {show_brief(answer.false_alarms_percent)} % of gates.",
        false_alarm_words(answer.false_alarms),
    ]
    if is_too_often(answer.false_alarms):
        found.append("That is more than the intervals allow: do not rely on gates on these hosts.")
    if any(row.verdict == "undecided" for row in answer.rows):
        found.append(
            "Undecided comparisons need a quieter host, or more rounds from the start (`--rounds`): each repetition with more can "
            "give a false alarm again."
        )
    return [*found, *(f"Problem: {one}" for one in answer.problems), *answer.warnings]


def false_alarm_words(alarms: FalseAlarms) -> str:
    """Return how often the baseline differed from its own copy, in this gate and so far."""
    if not alarms.copies:
        so_far = f"; {_so_far(alarms)}" if alarms.gates else ""
        return f"False alarms: no copy of the baseline was judged in this gate{so_far}."
    here = f"the baseline differed from its own copy in {alarms.alarms} of {counted(alarms.copies, 'comparison')}"
    return f"False alarms: {here}; {_so_far(alarms)}."


def _so_far(alarms: FalseAlarms) -> str:
    within = f"95 % CI {show_percent(alarms.rate.low, 2)} to {show_percent(alarms.rate.high, 2)}"
    return f"so far in {alarms.gates_with_alarm} of {counted(alarms.gates, 'gate')} on these hosts ({within})"


def gate_table(answer: GateAnswer) -> Table:
    """Return one row per comparison, the worst verdicts first."""
    return table_of("", in_order(answer.rows), _columns(answer)).without_empty()


def in_order(rows: Sequence[GateRow]) -> list[GateRow]:
    """Return the rows, the worst verdicts first."""
    return sorted(rows, key=lambda row: _ORDER.index(row.verdict))


def _columns(answer: GateAnswer) -> list[Column[GateRow]]:
    return [
        Column("benchmark", lambda row: row.title),
        Column("verdict", lambda row: row.verdict),
        Column("change", lambda row: change_words(row)),
        Column("rounds", lambda row: str(row.ratio.n), numeric=True),
        Column("finds", lambda row: finds_words(row), numeric=True),
        Column("reason", lambda row: row.reason),
    ]


def change_words(row: GateRow) -> str:
    """Return the change of the metric with its interval."""
    return ABSENT if math.isnan(row.ratio.point) else change(row.ratio)


def finds_words(row: GateRow) -> str:
    """Return the smallest change that all rounds would find."""
    return ABSENT if math.isnan(row.finds_percent) else f"{show_brief(row.finds_percent, 2)} %"


#: what the columns are
LEGEND = "change: of the metric, with its interval · finds: smallest change that all rounds find with a chance of 90 %"


def drawing(answer: GateAnswer) -> list[str]:
    """Draw the changes as lines of text, which every page of a code host shows; none without an interval.

    `|` no change, `·` the ends of irrelevant changes, `●` the change in its interval; `<` and `>` lead beyond the axis.
    """
    rows = [row for row in in_order(answer.rows) if math.isfinite(row.ratio.low) and row.ratio.low > 0.0]
    if not rows:
        return []
    relevance = math.log1p(answer.relevance_percent / 100.0)
    ends = [
        abs(math.log(end)) for row in rows for end in (row.ratio.low, row.ratio.high) if math.isfinite(end)
    ]
    # Few very wide intervals shall not hide the others.
    reach = min(max([2.0 * relevance, *ends]), max(2.0 * relevance, 4.0 * sorted(ends)[len(ends) // 2]))
    width = max(len(row.title) for row in rows)
    scale = (
        f"{100 * math.expm1(-reach):+.1f} %".ljust(_AXIS // 2)
        + "0"
        + f"{100 * math.expm1(reach):+.1f} %".rjust(_AXIS // 2)
    )
    return [
        f"{'':{width}}  {scale}",
        *(f"{row.title:{width}}  {_line(row, reach, relevance)}" for row in rows),
    ]


def _line(row: GateRow, reach: float, relevance: float) -> str:
    cells = [" "] * _AXIS
    for at, mark in ((-relevance, "·"), (relevance, "·"), (0.0, "|")):
        cells[_place(at, reach)] = mark
    low, point, high = (math.log(value) for value in (row.ratio.low, row.ratio.point, row.ratio.high))
    first, last = _place(low, reach), _place(high, reach)
    for at in range(first, last + 1):
        cells[at] = "─"
    if low < -reach:
        cells[0] = "<"
    if high > reach:
        cells[-1] = ">"
    cells[_place(point, reach)] = "●"
    return "".join(cells).rstrip()


def _place(value: float, reach: float) -> int:
    """Return the column of a difference of logarithms; the nearest one beyond the axis."""
    share = min(1.0, max(-1.0, value / reach))
    return round((share + 1.0) / 2.0 * (_AXIS - 1))
