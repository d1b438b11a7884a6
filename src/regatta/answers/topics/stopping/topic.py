"""The topic of block groups with a variable number of rounds."""

from __future__ import annotations

import math
from collections.abc import Sequence

from regatta.answers.kit.topic import Document, Topic, Words
from regatta.answers.kit.view import View
from regatta.answers.topics.stopping.compute import StoppedGroup, StoppedPair, judge_stops, stop_words
from regatta.figures.axes import Figure, Group, Trace, axis, layout, row_label
from regatta.figures.section import Column, Section, Table, table_of
from regatta.figures.text import plot_text, show_percent
from regatta.host.journal.stopping import PER_CELL, UNTIL_DECIDED

_ROW_PX = 34
_FRAME_PX = 86
#: with more rows, the figure is unreadable
_ROWS_AT_MOST = 60


#: outcome -> of the first alternative of a comparison
_ANSWERS = {
    "less": "smaller",
    "greater": "larger",
    "equivalent": "equivalent",
    "undecided": "undecided",
    "": "",
}
#: what stops, and what the half-widths are of
_TOGETHER = (
    "All alternatives of a block group stop together, based on their comparisons. Half-widths are of the confidence intervals "
    "of ratios, in %."
)
_HOW = {
    PER_CELL: "Each cell stops alone. Half-widths are of the confidence intervals of means, in % of the mean.",
    UNTIL_DECIDED: "An alternative stops when all of its comparisons have an answer: their intervals exclude equality, or all "
    "relevant differences. Half-widths are of the confidence intervals of ratios, in %, adjusted for all looks.",
}
_OVER_HOSTS = "The hosts of a platform decide together: answers, blocks and half-widths are those of their mean difference."


def stopping_section(groups: Sequence[StoppedGroup], view: View) -> Section | None:
    """Return a table and a figure of the rounds needed; None if the number of rounds was fixed."""
    if not groups:
        return None
    figure, first = _figure(groups, view), groups[0]
    pilot = "" if first.rule == UNTIL_DECIDED else f"Pilot: {first.pilot} rounds; "
    bounds = f"{pilot}maximum: {first.maximum} rounds. Bars: rounds needed; grey: rounds saved."
    over = f" {_OVER_HOSTS}" if first.together else ""
    return Section(
        "stopping",
        words=f"{_HOW.get(first.rule, _TOGETHER)}{over} {bounds[0].upper()}{bounds[1:]}",
        groups=[Group("Rounds needed", [figure])],
    )


def stopping_tables(groups: Sequence[StoppedGroup], view: View) -> list[Table]:
    """Return the rounds that each block group needed, and the decisive comparisons."""
    alone = bool(groups) and groups[0].rule == PER_CELL
    columns: list[Column[StoppedGroup]] = [
        Column("cell" if alone else "block group", lambda one: _name(one, view)),
        Column(
            "rounds needed",
            lambda one: "not decided yet" if one.needed is None else str(one.needed),
            numeric=True,
        ),
        Column("rounds run", lambda one: str(one.run), numeric=True),
        Column("target", lambda one: show_percent(one.target_percent / 100), numeric=True),
        Column("widest half-width", lambda one: show_percent(one.reached_percent / 100, 2), numeric=True),
        Column("target met", lambda one: {None: "", True: "yes", False: "no"}[one.met]),
        Column("reason", lambda one: one.reason),
    ]
    if alone:
        # A cell is its own only comparison.
        return [table_of("Cells", groups, columns)]
    return [table_of("Block groups", groups, columns), _pair_table(groups, view)]


def _name(group: StoppedGroup, view: View) -> str:
    return group.place + view.host(group.host, ", on ")


def _pair_table(groups: Sequence[StoppedGroup], view: View) -> Table:
    def comparison(row: tuple[StoppedGroup, StoppedPair]) -> str:
        names = " / ".join(filter(None, (row[1].a_name, row[1].b_name)))
        return f"{names} {row[1].parameters}".rstrip()

    def spread(row: tuple[StoppedGroup, StoppedPair]) -> str:
        return show_percent(math.expm1(row[1].sd), 2) if row[1].sd >= 0 else ""

    columns: list[Column[tuple[StoppedGroup, StoppedPair]]] = [
        Column("block group", lambda row: _name(row[0], view)),
        Column("comparison", comparison),
        Column("blocks", lambda row: str(row[1].decided_by), numeric=True),
        Column("standard deviation", spread, numeric=True),
        Column(
            "rounds needed", lambda row: "" if row[1].needed is None else str(row[1].needed), numeric=True
        ),
        Column("half-width", lambda row: show_percent(row[1].reached_percent / 100, 2), numeric=True),
        Column("answer", lambda row: _ANSWERS[row[1].outcome]),
        Column("reason", lambda row: row[1].reason),
    ]
    rows = [(group, pair) for group in groups for pair in group.pairs]
    return table_of("Decisive comparisons", rows, columns).without_empty()


def _figure(groups: Sequence[StoppedGroup], view: View) -> Figure:
    """Draw one bar per group, those with the most rounds first."""
    chosen = sorted(groups, key=lambda group: -(group.needed or group.maximum))[:_ROWS_AT_MOST]
    names = [_name(group, view) for group in chosen]
    rows = list(range(len(chosen)))
    needed = [group.needed if group.needed is not None else group.run for group in chosen]
    traces: list[Trace] = [
        {
            "type": "bar",
            "orientation": "h",
            "y": rows,
            "x": values,
            "width": 0.36,
            "marker": {"color": colour},
            "hovertext": [
                f"{plot_text(name)}<br>{plot_text(group.reason)}"
                for name, group in zip(names, chosen, strict=True)
            ],
            "hoverinfo": "text",
        }
        for values, colour in (
            (needed, "@c0"),
            ([group.maximum - n for group, n in zip(chosen, needed, strict=True)], "@grid"),
        )
    ]
    labels = [row_label(row - 0.22, name) for row, name in zip(rows, names, strict=True)]
    labels += [
        row_label(row - 0.22, "target not met", side="right")
        for row, group in zip(rows, chosen, strict=True)
        if group.met is False
    ]
    return Figure(
        "",
        _FRAME_PX + _ROW_PX * len(rows),
        traces,
        layout(
            axis("rounds", rangemode="tozero"),
            axis("", showticklabels=False, range=[len(rows) - 0.5, -0.9], showgrid=False),
            barmode="stack",
            annotations=labels,
        ),
    )


STOPPING: Topic[tuple[StoppedGroup, ...]] = Topic(
    "stopping",
    title="Repetitions",
    empty=(),
    compute=judge_stops,
    words=Words(30, "Stopping", lambda groups, context: stop_words(groups, context.options.method)),
    document=Document(100, "stopping"),
    section=stopping_section,
    tables=stopping_tables,
)
