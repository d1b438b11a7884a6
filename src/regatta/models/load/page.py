"""Tables and figures of two loads that are compared, such as a log and its model."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from regatta.figures.axes import Figure, Group, axis, log_axis
from regatta.figures.curves import Point
from regatta.figures.html import encoded, fill, number_figures, write_page
from regatta.figures.labelled import NamedLine, Quantity, labelled_figure
from regatta.figures.section import Section, Table
from regatta.figures.text import ABSENT, Scale, hover, show_percent, show_quantity, significant
from regatta.models.load.comparing import SMALL, Compared, Comparison
from regatta.stats.estimate import Floats

_POINTS = 40
#: points of a distribution function: shares, with the tails that its axis shows
_SHARES = np.concatenate([[0.001, 0.01], np.linspace(0.025, 0.975, 37), [0.99, 0.999]])
_HEIGHT_PX = 300
WORDS = (
    "distance: largest difference of the two distribution functions (Kolmogorov and Smirnov). by chance: distance that two samples of "
    f"one load exceed in 5 % of cases; sessions are exchanged as a whole. small: at most {SMALL:g}."
)


def comparison_tables(comparison: Comparison) -> list[Table]:
    """Return the tables: parts with their distances, and shares of kinds."""
    first, second = comparison.names
    columns = (
        "part",
        f"median, {first}",
        f"median, {second}",
        f"mean, {first}",
        f"mean, {second}",
        "distance",
        "by chance",
        "verdict",
    )
    rows = [_row(one) for one in comparison.parts]
    distance = comparison.popularity_distance
    rows.append(("Popularity of objects", *[ABSENT] * 4, f"{distance:.3f}", ABSENT, _verdict(distance)))
    distance = comparison.kinds_distance
    rows.append(("Kinds of requests", *[ABSENT] * 4, f"{distance:.3f}", ABSENT, _verdict(distance)))
    kinds = [(name, show_percent(a, 3), show_percent(b, 3)) for name, (a, b) in comparison.kinds.items()]
    return [
        Table("", columns, rows, frozenset(range(1, 7))),
        Table("Kinds of requests", ("kind", first, second), kinds, frozenset((1, 2))),
    ]


def _row(one: Compared) -> tuple[str, ...]:
    shown = [
        _show(float(np.median(values)), one.part.unit) if len(values) else ABSENT for values in one.values
    ]
    means = [_show(float(values.mean()), one.part.unit) if len(values) else ABSENT for values in one.values]
    if one.distance is None:
        return (one.part.title, *shown, *means, ABSENT, ABSENT, f"not compared: {one.reason}")
    found = one.distance
    verdict = "no difference shown" if not found.shown else _verdict(found.distance)
    return (one.part.title, *shown, *means, f"{found.distance:.3f}", f"{found.chance:.3f}", verdict)


def _verdict(distance: float) -> str:
    return "small difference" if distance <= SMALL else "different"


def _show(value: float, unit: str) -> str:
    return show_quantity(value, unit) if unit else significant(value, 3)


def write_comparison(comparison: Comparison, title: str, path: Path) -> None:
    """Write tables and figures as one self-contained HTML file.

    Args:
        comparison: of two loads.
        title: of the page.
        path: the file; its folder is created if missing. The write is atomic.

    Raises:
        StoreError: the file cannot be written.
    """
    figures = [
        figure for one in comparison.parts if (figure := _distribution(one, comparison.names)) is not None
    ]
    figures.append(_popularity(comparison))
    if all(any(value is not None for value in hours) for hours in comparison.by_hour):
        figures.append(_hours(comparison))
    section = Section(
        "parts", "Distributions", WORDS, (), comparison_tables(comparison), [Group("", figures)]
    )
    write_page(
        path,
        encoded(fill("sections.html.j2", [number_figures(section)], title=title, question="", sentences=())),
    )


_SHARE_AXIS = Quantity(Scale(1.0, "", None), axis("share up to this value", range=[0, 1.02]))


def _distribution(one: Compared, names: tuple[str, str]) -> Figure | None:
    above = [values[values > 0] for values in one.values]
    if not all(len(values) for values in above):
        return None
    low = min(np.quantile(values, _SHARES[0]) for values in above)
    high = max(np.quantile(values, _SHARES[-1]) for values in above)
    lines = [
        NamedLine(name, _curve(values, one.part.unit, name))
        for name, values in zip(names, one.values, strict=True)
    ]
    unit = f" ({one.part.unit})" if one.part.unit else ""
    x_axis = log_axis(f"{one.part.title.lower()}{unit}, log scale", float(low), float(max(high, low * 1.01)))
    return labelled_figure(one.part.title, lines, x_axis, _SHARE_AXIS, height_px=_HEIGHT_PX)


def _curve(values: Floats, unit: str, name: str) -> list[Point]:
    ordered = np.sort(values)
    at = np.unique((_SHARES * (len(ordered) - 1)).astype(int))
    points = []
    for index in at:
        # Of equal values, the last one has their share.
        last = int(np.searchsorted(ordered, ordered[index], side="right"))
        if ordered[index] > 0:
            share = last / len(ordered)
            points.append(
                _point(
                    float(ordered[index]),
                    share,
                    hover(name, f"{show_percent(share, 3)} up to {_show(float(ordered[index]), unit)}"),
                )
            )
    return points


def _point(x: float, y: float, text: str) -> Point:
    return Point(x, y, float("nan"), float("nan"), text)


def _popularity(comparison: Comparison) -> Figure:
    lines = []
    for name, shares in zip(comparison.names, comparison.popularity, strict=True):
        ranks = np.unique(np.geomspace(1, len(shares), min(_POINTS, len(shares))).astype(int))
        points = [
            _point(
                float(rank),
                float(shares[rank - 1]),
                hover(name, f"{show_percent(float(shares[rank - 1]), 3)} of requests for {rank} objects"),
            )
            for rank in ranks
        ]
        lines.append(NamedLine(name, points))
    longest = max(len(shares) for shares in comparison.popularity)
    quantity = Quantity(Scale(1.0, "", None), axis("share of requests", range=[0, 1.02]))
    return labelled_figure(
        "Popularity of objects",
        lines,
        log_axis("most popular objects, log scale", 1.0, max(2.0, longest)),
        quantity,
        height_px=_HEIGHT_PX,
    )


def _hours(comparison: Comparison) -> Figure:
    lines = []
    for name, hours in zip(comparison.names, comparison.by_hour, strict=True):
        points = [
            _point(float(hour), rate, hover(name, f"{hour}:00 UTC: {rate:.2f} of the mean"))
            for hour, rate in enumerate(hours)
            if rate is not None
        ]
        lines.append(NamedLine(name, points))
    highest = max(point.y for line in lines for point in line.points)
    quantity = Quantity(
        Scale(1.0, "", None), axis("sessions, relative to the mean", range=[0, 1.1 * highest])
    )
    return labelled_figure(
        "Sessions by hour of the day",
        lines,
        axis("hour of the day (UTC)", range=[-0.5, 23.5], dtick=3),
        quantity,
        height_px=_HEIGHT_PX,
    )
