"""Draw the class shares of table 4 as stacked bars by method and by group, and over theta."""

from __future__ import annotations

from collections.abc import Sequence

from regatta.answers.audit.result import Tally
from regatta.figures.axes import Figure, Trace, axis, layout
from regatta.figures.bars import SharedClass, share_bars
from regatta.figures.looks import LegendEntry, Look
from regatta.figures.text import hover, show_share
from regatta.stats.prevalent import (
    CLASSES,
    CORRECT,
    INCORRECT,
    INDICATIVE,
    MISLEADING,
    MISLEADING_AND_INCORRECT,
    MISLEADING_BUT_CORRECT,
)

_AREA_PX = 300
#: Incorrect claims are next to the axis, where they are easy to compare; correct claims are at the far end.
_ORDER = {
    INCORRECT: "@c1",
    MISLEADING: "@c4",
    MISLEADING_AND_INCORRECT: "@c3",
    MISLEADING_BUT_CORRECT: "@c5",
    INDICATIVE: "@muted",
    CORRECT: "@c0",
}


def class_legend() -> list[LegendEntry]:
    """Return the classes in stacking order."""
    return [LegendEntry(CLASSES[at], Look(colour, "square", "solid")) for at, colour in _ORDER.items()]


def bars(title: str, rows: Sequence[tuple[str, Tally]]) -> Figure:
    """Draw one bar per row, filled from 0 to 100 % by the shares of its tally."""
    classes = [
        SharedClass(
            colour,
            [tally.shares[at] for _, tally in rows],
            [_hover(name, tally, at) for name, tally in rows],
        )
        for at, colour in _ORDER.items()
    ]
    return share_bars(title, [name for name, _ in rows], classes)


def over_theta(title: str, tallies: Sequence[Tally]) -> Figure:
    """Draw the class shares as areas over theta, for one method and group."""
    thetas = [tally.theta_percent for tally in tallies]
    traces: list[Trace] = [
        {
            "type": "scatter",
            "mode": "lines",
            "stackgroup": "classes",
            "x": thetas,
            "y": [round(100.0 * tally.shares[at], 3) for tally in tallies],
            "line": {"width": 0.5, "color": colour},
            "fillcolor": colour,
            "hoverinfo": "text",
            "hovertext": [_hover(f"theta {tally.theta_percent:g} %", tally, at) for tally in tallies],
        }
        for at, colour in _ORDER.items()
    ]
    x = axis("theta (%)", range=[min(thetas), max(thetas)])
    return Figure(title, _AREA_PX, traces, layout(x, axis("comparisons (%)", range=[0, 100])))


def _hover(name: str, tally: Tally, at: int) -> str:
    return hover(
        name,
        f"{CLASSES[at]}: {show_share(tally.shares[at])} of {tally.comparisons} comparisons",
        f"first measured runs: {tally.first[at]}",
    )
