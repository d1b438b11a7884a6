"""A line with its uncertainty: bands for many points, bars for few."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from regatta.figures.axes import LOG_FROM, Trace
from regatta.figures.looks import Look
from regatta.figures.text import Scale, finite, tidy

_BAND_FROM = 4


@dataclass(frozen=True)
class Point:
    """One point of a curve: `y`, `low`, `high` in the measured unit; NaN where undefined."""

    x: float
    y: float
    low: float
    high: float
    text: str


def above_zero(lines: Sequence[Sequence[Point]]) -> list[list[Point]]:
    """Return the lines with interval ends <= 0 moved just below the smallest point, for a logarithmic axis.

    This applies only if the points span more than `LOG_FROM` and are all positive. The texts keep the true ends.
    """
    values = finite(point.y for line in lines for point in line)
    if not values or min(values) <= 0 or max(values) / min(values) <= LOG_FROM:
        return [list(line) for line in lines]
    least = min(values) / 2
    return [[replace(p, low=least if p.low <= 0 else p.low) for p in line] for line in lines]


def curve(points: Sequence[Point], look: Look, scale: Scale) -> list[Trace]:
    """Return the traces of a line through `points` (ascending x): bands first, so that they lie under the line.

    An undefined point leaves a gap.
    """
    line: Trace = {
        "type": "scatter",
        "mode": "lines+markers",
        "x": [point.x for point in points],
        "y": [scale.tidy(point.y) for point in points],
        "line": {"color": look.colour, "width": 2, "dash": look.dash},
        "marker": {"color": look.colour, "symbol": look.mark, "size": 7},
        "hoverinfo": "text",
        "hovertext": [point.text for point in points],
        "connectgaps": False,
    }
    if len(points) >= _BAND_FROM:
        return [*_bands(points, look, scale), line]
    above = [scale.tidy(point.high - point.y) for point in points]
    below = [scale.tidy(point.y - point.low) for point in points]
    # A mark must stay visible behind its bar.
    line["marker"]["size"] = 10
    line["error_y"] = error_bars(above, below, look.colour, thickness=1.5, width=4)
    return [line]


def segment(
    x: Sequence[float], y: Sequence[float], colour: str = "@ink", width: float = 1, dash: str = "solid"
) -> Trace:
    """Return a plain line without hover text, such as a level or a threshold."""
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [tidy(value) for value in x],
        "y": [tidy(value) for value in y],
        "line": {"color": colour, "width": width, "dash": dash},
        "hoverinfo": "skip",
    }


def error_bars(
    above: Sequence[float | None],
    below: Sequence[float | None],
    colour: str,
    thickness: float = 2,
    width: float = 5,
) -> dict[str, Any]:
    """Return bars from each point of a trace to its interval ends, as distances in the unit of the axis; None: no bar."""
    return {
        "type": "data",
        "symmetric": False,
        "array": list(above),
        "arrayminus": list(below),
        "color": colour,
        "thickness": thickness,
        "width": width,
    }


def _bands(points: Sequence[Point], look: Look, scale: Scale) -> list[Trace]:
    runs: list[list[Point]] = [[]]
    for point in points:
        if math.isfinite(point.low) and math.isfinite(point.high):
            runs[-1].append(point)
        else:
            runs.append([])
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "x": [p.x for p in run] + [p.x for p in reversed(run)],
            "y": [scale.tidy(p.high) for p in run] + [scale.tidy(p.low) for p in reversed(run)],
            "fill": "toself",
            "fillcolor": look.faint(0.2),
            "line": {"width": 0},
            "hoverinfo": "skip",
        }
        for run in runs
        if len(run) > 1
    ]
