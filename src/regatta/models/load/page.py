"""Page of two loads that are compared, such as a log and its model."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from regatta.figures.axes import Figure, Group, axis, log_axis
from regatta.figures.curves import Point
from regatta.figures.labelled import NamedLine, Quantity, labelled_figure
from regatta.figures.section import Section
from regatta.figures.sections_page import write_sections_page
from regatta.figures.text import Scale, hover, show_percent
from regatta.models.load.comparing import Compared, Comparison
from regatta.models.load.tables import WORDS, comparison_tables, shown
from regatta.stats.estimate import NAN, Floats

_POINTS = 40
#: points of a distribution function: shares, with the tails that its axis shows
_SHARES = np.concatenate([[0.001, 0.01], np.linspace(0.025, 0.975, 37), [0.99, 0.999]])
_HEIGHT_PX = 300


def write_comparison(comparison: Comparison, title: str, path: Path) -> None:
    """Write tables and figures as one self-contained HTML file.

    Args:
        comparison: of two loads.
        title: of the page.
        path: the file; its folder is created if missing. The write is atomic.

    Raises:
        StoreError: the file cannot be written.
    """
    drawn = [_distribution(one, comparison.names) for one in comparison.parts]
    drawn.append(_popularity(comparison))
    if all(any(value is not None for value in hours) for hours in comparison.by_hour):
        drawn.append(_hours(comparison))
    figures = [Group("", [figure for figure in drawn if figure is not None])]
    section = Section("parts", "Distributions", WORDS, (), comparison_tables(comparison), figures)
    write_sections_page(title, "", (), [section], path)


def _figure(
    title: str, lines: Iterable[NamedLine], x_axis: dict[str, Any], y_title: str, highest: float = 1.02
) -> Figure:
    y_axis = Quantity(Scale(1.0, "", None), axis(y_title, range=[0, highest]))
    return labelled_figure(title, list(lines), x_axis, y_axis, height_px=_HEIGHT_PX)


def _point(x: float, y: float, name: str, text: str) -> Point:
    return Point(x, y, NAN, NAN, hover(name, text))


def _distribution(one: Compared, names: tuple[str, str]) -> Figure | None:
    above = [values[values > 0] for values in one.values]
    if not all(len(values) for values in above):
        return None
    low = min(float(np.quantile(values, _SHARES[0])) for values in above)
    high = max(float(np.quantile(values, _SHARES[-1])) for values in above)
    unit = f" ({one.part.unit})" if one.part.unit else ""
    x_axis = log_axis(f"{one.part.title.lower()}{unit}, log scale", low, max(high, low * 1.01))
    lines = [
        NamedLine(name, _curve(values, one.part.unit, name))
        for name, values in zip(names, one.values, strict=True)
    ]
    return _figure(one.part.title, lines, x_axis, "share up to this value")


def _curve(values: Floats, unit: str, name: str) -> list[Point]:
    ordered = np.sort(values)
    points = []
    for index in np.unique((_SHARES * (len(ordered) - 1)).astype(int)):
        value = float(ordered[index])
        if value > 0:
            # Of equal values, the last one has their share.
            share = int(np.searchsorted(ordered, value, side="right")) / len(ordered)
            text = f"{show_percent(share, 3)} up to {shown(value, unit)}"
            points.append(_point(value, share, name, text))
    return points


def _popularity(comparison: Comparison) -> Figure:
    lines = []
    for name, shares in zip(comparison.names, comparison.popularity, strict=True):
        ranks = np.unique(np.geomspace(1, len(shares), min(_POINTS, len(shares))).astype(int))
        points = []
        for rank, share in zip(ranks.tolist(), shares[ranks - 1].tolist(), strict=True):
            text = f"{show_percent(share, 3)} of requests for {rank} objects"
            points.append(_point(float(rank), share, name, text))
        lines.append(NamedLine(name, points))
    longest = max(len(shares) for shares in comparison.popularity)
    x_axis = log_axis("most popular objects, log scale", 1.0, max(2.0, longest))
    return _figure("Popularity of objects", lines, x_axis, "share of requests")


def _hours(comparison: Comparison) -> Figure:
    lines = []
    for name, hours in zip(comparison.names, comparison.by_hour, strict=True):
        points = [
            _point(float(hour), rate, name, f"{hour}:00 UTC: {rate:.2f} of the mean")
            for hour, rate in enumerate(hours)
            if rate is not None
        ]
        lines.append(NamedLine(name, points))
    highest = 1.1 * max(point.y for line in lines for point in line.points)
    x_axis = axis("hour of the day (UTC)", range=[-0.5, 23.5], dtick=3)
    return _figure("Sessions by hour of the day", lines, x_axis, "sessions, relative to the mean", highest)
