"""The section of stopping: the rounds that each block group needed, and the resulting precision."""

from __future__ import annotations

import math
from collections.abc import Sequence

from regatta.answers.kit.view import View
from regatta.answers.topics.stopping.compute import StoppedGroup
from regatta.figures.axes import Figure, Group, Trace, axis, layout, row_label
from regatta.figures.section import Section, Table
from regatta.figures.text import plot_text, show_percent
from regatta.host.journal.stopping import PER_CELL

_COLUMNS = (
    "block group",
    "rounds needed",
    "rounds run",
    "target",
    "widest half-width",
    "target met",
    "reason",
)
_ROW_PX = 34
_FRAME_PX = 86
#: with more rows, the figure is unreadable
_ROWS_AT_MOST = 60


def stopping_section(groups: Sequence[StoppedGroup], view: View) -> Section | None:
    """Return a table and a figure of the rounds needed; None if the number of rounds was fixed."""
    if not groups:
        return None
    figure = _figure(groups, view)
    how = (
        "Each cell stops alone. Half-widths are of the confidence intervals of means, in % of the mean."
        if groups[0].rule == PER_CELL
        else "All alternatives of a block group stop together, based on their comparisons. Half-widths are of the confidence intervals "
        "of ratios, in %."
    )
    return Section(
        "stopping",
        words=f"{how} Pilot: {groups[0].pilot} rounds; maximum: {groups[0].maximum} rounds. Bars: rounds needed; grey: rounds saved.",
        groups=[Group("Rounds needed", [figure])],
    )


def stopping_tables(groups: Sequence[StoppedGroup], view: View) -> list[Table]:
    """Return the rounds that each block group needed, and the decisive comparisons."""
    rows = [_row(group, view) for group in groups]
    if groups and groups[0].rule == PER_CELL:
        # A cell is its own only comparison.
        return [Table("Cells", ("cell", *_COLUMNS[1:]), rows, frozenset({1, 2, 3, 4}))]
    return [Table("Block groups", _COLUMNS, rows, frozenset({1, 2, 3, 4})), _pair_table(groups, view)]


def _name(group: StoppedGroup, view: View) -> str:
    return group.place + view.host(group.host, ", on ")


def _row(group: StoppedGroup, view: View) -> tuple[str, ...]:
    return (
        _name(group, view),
        "not decided yet" if group.needed is None else str(group.needed),
        str(group.run),
        show_percent(group.target_percent / 100),
        show_percent(group.reached_percent / 100, 2),
        {None: "", True: "yes", False: "no"}[group.met],
        group.reason,
    )


def _pair_table(groups: Sequence[StoppedGroup], view: View) -> Table:
    rows = [
        (
            _name(group, view),
            f"{' / '.join(filter(None, (pair.a_name, pair.b_name)))} {pair.parameters}".rstrip(),
            str(pair.decided_by),
            show_percent(math.expm1(pair.sd), 2) if pair.sd >= 0 else "",
            "" if pair.needed is None else str(pair.needed),
            show_percent(pair.reached_percent / 100, 2),
            pair.reason,
        )
        for group in groups
        for pair in group.pairs
    ]
    columns = (
        "block group",
        "comparison",
        "blocks",
        "standard deviation",
        "rounds needed",
        "half-width",
        "reason",
    )
    return Table("Decisive comparisons", columns, rows, frozenset({2, 3, 4, 5}))


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
