"""Draw rows of ratios with intervals around 1, and the band of differences that are not practically significant."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from regatta.answers.spine.methods import method_name
from regatta.figures.axes import LOG_FROM, Figure, Group, Trace, axis, layout, log_axis, row_label
from regatta.figures.curves import error_bars, segment
from regatta.figures.looks import LegendEntry
from regatta.figures.text import (
    hover,
    shorten,
    show_ci,
    show_interval,
    show_p,
    show_percent,
    show_ratio,
    tidy,
)
from regatta.stats.estimate import Interval

_ROW_PX = 40
_FRAME_PX = 84
#: With more rows, each place gets a separate figure.
_ROWS_AT_MOST = 24
#: Room for a usual reason why a ratio is undefined, next to the name of a row without a point.
_INTERVAL_CHARACTERS = 48


@dataclass(frozen=True)
class RatioRow:
    """One ratio. `colour`: colour slot. `mark`: a mark of plotly. `lines`: lines of hover text."""

    name: str
    ratio: Interval
    p: float
    colour: str
    mark: str
    lines: tuple[str, ...] = ()


def mean_rows(n: int, these: Interval, like_these: Interval) -> list[RatioRow]:
    """Return the geometric means over n benchmarks: for exactly these, and for similar ones."""
    words = ("geometric mean",)
    return [
        RatioRow(f"these {n} benchmarks", these, math.nan, "@ink", "diamond", words),
        RatioRow("similar benchmarks", like_these, math.nan, "@muted", "diamond", words),
    ]


def ratio_group(
    title: str,
    rows_by_place: Mapping[str, Sequence[RatioRow]],
    what: str,
    theta_percent: float,
    legend: Sequence[LegendEntry] = (),
    note: str = "",
) -> Group | None:
    """Draw ratios in one figure with a heading per place (such as `heap 2x`), or many rows in one figure per place.

    Args:
        what: title of the axis, which all figures share.
        theta_percent: the shaded band; 0: none.

    Returns:
        None if no row has a number.
    """
    rows = [row for group in rows_by_place.values() for row in group]
    if not any(math.isfinite(row.ratio.point) for row in rows):
        return None
    span = ratio_span([row.ratio for row in rows], theta_percent)
    figures = [("", rows_by_place)]
    if len(rows) > _ROWS_AT_MOST:
        figures = [(place, {"": group}) for place, group in rows_by_place.items()]
    drawn = [_figure(place, shown, what, span, theta_percent) for place, shown in figures]
    return Group(title, drawn, list(legend), note)


def ratio_span(ratios: Sequence[Interval], theta_percent: float) -> tuple[float, float]:
    """Return the range of the axis, including 1 and the band; only positive ratios fit a logarithmic axis."""
    values = [v for r in ratios for v in (r.point, r.low, r.high) if math.isfinite(v) and v > 0]
    low, high = band(theta_percent)
    return min([low, 1.0, *values]), max([high, 1.0, *values])


def band(theta_percent: float) -> tuple[float, float]:
    """Return the ratios that differ from 1 by theta (in percent, >= 0)."""
    return max(1e-3, 1.0 - theta_percent / 100), 1.0 + theta_percent / 100


def band_words(theta_percent: float) -> str:
    """Return the text that explains the band; "" without a band."""
    if theta_percent <= 0:
        return ""
    return f" The shaded band is ±{theta_percent:g} %: differences within it are not practically significant."


def method_note(methods: Iterable[str]) -> str:
    """Return `Method: paired t on logs`, each method once; "" without any."""
    names = sorted(method_name(method) for method in set(methods) - {""})
    return f"Method: {'; '.join(names)}" if names else ""


def _figure(
    title: str,
    rows_by_place: Mapping[str, Sequence[RatioRow]],
    what: str,
    span: tuple[float, float],
    theta_percent: float,
) -> Figure:
    traces: list[Trace] = []
    labels = []
    y = 0.0
    for place, rows in rows_by_place.items():
        if place:
            labels.append(row_label(y - 0.75, shorten(place), bold=True))
            y -= 0.65
        for row in rows:
            y -= 1
            labels.append(row_label(y + 0.2, shorten(row.name)))
            labels.append(
                row_label(y + 0.2, shorten(show_interval(row.ratio), _INTERVAL_CHARACTERS), side="right")
            )
            if math.isfinite(row.ratio.point):
                traces.append(_trace(row, y))
    traces.insert(0, segment([1, 1], [y - 0.5, 0.1], dash="dash"))
    x = (
        log_axis(f"{what}, log scale", *span)
        if span[1] / span[0] > LOG_FROM
        else axis(what, range=list(_padded(span)))
    )
    return Figure(
        title,
        int(_FRAME_PX + _ROW_PX * round(-y, 2)),
        traces,
        layout(
            x, axis(range=[y - 0.5, 0.1], visible=False), annotations=labels, shapes=_shapes(theta_percent)
        ),
    )


def _trace(row: RatioRow, y: float) -> Trace:
    point, low, high = row.ratio.point, row.ratio.low, row.ratio.high
    ends = f"{show_percent(row.ratio.level)} CI {show_ci(row.ratio)}, p {show_p(row.p)}"
    trace: Trace = {
        "type": "scatter",
        "mode": "markers",
        "x": [tidy(point)],
        "y": [y],
        "marker": {"symbol": row.mark, "size": 12, "color": row.colour},
        "hoverinfo": "text",
        "hovertext": [
            hover(
                *row.lines,
                f"ratio {show_ratio(point)}",
                ends,
                f"n = {row.ratio.n}, {method_name(row.ratio.method)}",
            )
        ],
    }
    if math.isfinite(low) and math.isfinite(high):
        trace["error_x"] = error_bars([tidy(high - point)], [tidy(point - low)], row.colour)
    return trace


def _shapes(theta_percent: float) -> list[dict[str, Any]]:
    if theta_percent <= 0:
        return []
    low, high = band(theta_percent)
    return [
        {
            "type": "rect",
            "x0": low,
            "x1": high,
            "yref": "paper",
            "y0": 0,
            "y1": 1,
            "layer": "below",
            "fillcolor": "@muted/0.18",
            "line": {"width": 0},
        }
    ]


def _padded(span: tuple[float, float]) -> tuple[float, float]:
    room = max(0.02, 0.06 * (span[1] - span[0]))
    return span[0] - room, span[1] + room
