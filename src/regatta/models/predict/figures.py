"""Figures of predictions: times and speeds by system, stacked contributions, predicted against measured, speed-ups."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from regatta.figures.axes import LOG_FROM, Figure, Trace, axis, layout, log_axis, row_label
from regatta.figures.looks import HUES, MARKS, LegendEntry, Look
from regatta.figures.text import Scale, hover, shorten, show_ends, show_ratio, tidy
from regatta.models.predict.forecast import ApplicationForecast, Forecast, SpeedUp, SystemForecast
from regatta.models.predict.relative_speeds import ApplicationSpeeds
from regatta.models.predict.tables import (
    WORDS,
    Shown,
    compared_by,
    measured_of,
    predicted_of,
    scale_of,
    shown_by,
)
from regatta.models.vectors.values import Contribution, Value

_ROW_PX, _FRAME_PX = 44, 84
#: in a row of ratios: the room of its label, and from one point to the next
_LABEL_PX, _POINT_PX = 23, 14
_SQUARE_PX = 420
_MEASURED = Look("@ink", "circle", "solid")
_PREDICTED = Look("@c0", "diamond", "solid")
_KERNEL = Look("@c1", "diamond", "solid")
_USER_LOOK = Look("@muted", "square", "solid")
_OTHERS = "@c7"
#: Above this ratio, a linear axis does not separate the points of fast and slow applications or systems.
_LOG_FROM = 4.0
#: entries with a separate color; the others share one
_ENTRIES = HUES - 1


# Ranking


def ranking_figure(one: ApplicationForecast) -> Figure:
    """Draw one row per system: predicted and measured time of one quantity, with their intervals."""
    what = shown_by(one)
    numbers = [number for system in one.systems for number in _both(system, what)]
    scale = scale_of(numbers)
    traces: list[Trace] = []
    labels = []
    y = 0.0
    for system in one.systems:
        y -= 1
        labels.append(row_label(y + 0.24, shorten(system.system)))
        predicted, measured = _both(system, what)
        labels.append(row_label(y + 0.24, scale.with_unit(predicted.value), side="right"))
        traces += _point(predicted, y + 0.08, scale, _PREDICTED, f"{system.system}: predicted")
        traces += _point(measured, y - 0.14, scale, _MEASURED, f"{system.system}: measured")
    return Figure(
        "",
        int(_FRAME_PX + _ROW_PX * -y),
        traces,
        layout(
            _time_axis(f"{WORDS[what]} per {one.application.per}", numbers, scale),
            axis(range=[y - 0.5, 0.1], visible=False),
            annotations=labels,
        ),
    )


def ranking_legend(one: ApplicationForecast) -> list[LegendEntry]:
    """Return the legend of the marks."""
    what = shown_by(one)
    measured = any(math.isfinite(measured_of(system, what).value) for system in one.systems)
    entries = [LegendEntry("predicted", _PREDICTED)]
    return [*entries, LegendEntry("measured", _MEASURED)] if measured else entries


# Contributions


class EntryLooks:
    """Assigns colors to the primitives of an application: one for each of the largest, one shared by the others."""

    def __init__(self, one: ApplicationForecast) -> None:
        largest: dict[str, float] = {}
        for system in one.systems:
            for row in system.prediction.contributions:
                time = row.time.value
                if math.isfinite(time):
                    largest[row.primitive] = largest.get(row.primitive, 0.0) + time
        names = sorted(largest, key=lambda name: -largest[name])
        shown = names if len(names) <= HUES else names[:_ENTRIES]
        self._looks = {name: Look(f"@c{place}", "square", "solid") for place, name in enumerate(shown)}
        self._others = names[len(shown) :]
        self._has_user = any(
            system.elapsed.value > system.prediction.time.value * (1 + 1e-9) for system in one.systems
        )

    def legend(self) -> list[LegendEntry]:
        """Return the entries in the order of the pieces of the bars."""
        entries = [LegendEntry(name, look) for name, look in self._looks.items()]
        if self._others:
            entries.append(LegendEntry(f"{len(self._others)} others", Look(_OTHERS, "square", "solid")))
        if self._has_user:
            entries.append(LegendEntry("application in user mode", _USER_LOOK))
        return entries

    def pieces(self, system: SystemForecast) -> list[tuple[str, str, float]]:
        """Return name, color and time in ns of each piece of a system's bar."""
        rows = system.prediction.contributions
        found = []
        for name, look in self._looks.items():
            found.append((name, look.colour, _sum(row for row in rows if row.primitive == name)))
        if self._others:
            own = _sum(row for row in rows if row.primitive in self._others)
            found.append((", ".join(self._others), _OTHERS, own))
        if self._has_user:
            rest = system.elapsed.value - system.prediction.time.value
            found.append(("application in user mode", _USER_LOOK.colour, max(0.0, rest)))
        return found


def _sum(rows: Iterable[Contribution]) -> float:
    return math.fsum(row.time.value for row in rows if math.isfinite(row.time.value))


def contribution_figure(one: ApplicationForecast, looks: EntryLooks) -> Figure:
    """Draw one stacked bar per system, with the time of each primitive."""
    scale = scale_of(system.elapsed for system in one.systems)
    by_system = [looks.pieces(system) for system in one.systems]
    count = len(one.systems)
    places = [-(number + 1.0) for number in range(count)]
    traces: list[Trace] = []
    for number in range(len(by_system[0]) if by_system else 0):
        pieces = [pieces[number] for pieces in by_system]
        totals = [system.elapsed.value for system in one.systems]
        traces.append(
            {
                "type": "bar", "orientation": "h", "width": 0.42,
                "x": [scale.tidy(time) for _, _, time in pieces],
                "y": [place - 0.12 for place in places],
                "marker": {"color": pieces[0][1], "line": {"width": 0.5, "color": "@paper"}},
                "hoverinfo": "text",
                "hovertext": [
                    hover(system.system, name, f"{scale.with_unit(time)}, {100 * time / total:.1f} %" if total > 0 else "")
                    for system, (name, _, time), total in zip(one.systems, pieces, totals, strict=True)
                ],
            }
        )  # fmt: skip
    labels = []
    for place, system in zip(places, one.systems, strict=True):
        labels.append(row_label(place + 0.14, shorten(system.system)))
        labels.append(row_label(place + 0.14, scale.with_unit(system.elapsed.value), side="right"))
    return Figure(
        "",
        _FRAME_PX + _ROW_PX * count,
        traces,
        layout(
            axis(f"predicted time per {one.application.per} ({scale.unit})", rangemode="tozero"),
            axis(range=[-count - 0.5, -0.4], visible=False),
            barmode="stack",
            annotations=labels,
        ),
    )


# Predicted against measured


def accuracy_figure(forecast: Forecast, what: Shown) -> Figure | None:
    """Draw a point for each application and system with a measured quantity; None without points."""
    pairs = [
        (one, system, *_both(system, what))
        for one in forecast.applications
        if compared_by(one) == what
        for system in one.systems
        if what in system.ratios
    ]
    if not pairs:
        return None
    numbers = [number for _, _, *both in pairs for number in both]
    scale = scale_of(numbers)
    traces = [_diagonal(numbers, scale)]
    names = [one.application.name for one in forecast.applications]
    for one, system, predicted, measured in pairs:
        look = _application_look(names.index(one.application.name))
        trace = _marker(measured, predicted, scale, look)
        trace["hovertext"] = [
            hover(
                f"{one.application.name} on {system.system}",
                f"predicted {scale.with_unit(predicted.value)}",
                f"measured {scale.with_unit(measured.value)}",
                f"predicted / measured {show_ratio(system.ratios[what].value)}",
            )
        ]
        traces.append(trace)
    x = _time_axis(f"measured {WORDS[what]}", numbers, scale, _LOG_FROM)
    y = _time_axis(f"predicted {WORDS[what]}", numbers, scale, _LOG_FROM)
    return Figure("", _SQUARE_PX, traces, layout(x, y))


def accuracy_legend(forecast: Forecast) -> list[LegendEntry]:
    """Return one entry per application, if there are several."""
    names = [one.application.name for one in forecast.applications]
    return (
        [LegendEntry(name, _application_look(at)) for at, name in enumerate(names)] if len(names) > 1 else []
    )


def _application_look(number: int) -> Look:
    marks = tuple(MARKS)
    return Look(f"@c{number % HUES}", marks[number % len(marks)], "solid")


def _both(system: SystemForecast, what: Shown) -> tuple[Value, Value]:
    return predicted_of(system, what), measured_of(system, what)


def _diagonal(numbers: Sequence[Value], scale: Scale) -> Trace:
    values = [value for number in numbers for value in (number.low, number.value, number.high) if value > 0]
    ends = [scale.tidy(min(values)), scale.tidy(max(values))]
    return {
        "type": "scatter", "mode": "lines", "x": ends, "y": ends, "hoverinfo": "skip",
        "line": {"color": "@muted", "width": 1, "dash": "dash"},
    }  # fmt: skip


def _marker(x: Value, y: Value, scale: Scale, look: Look) -> Trace:
    trace: Trace = {
        "type": "scatter", "mode": "markers", "x": [scale.tidy(x.value)], "y": [scale.tidy(y.value)],
        "marker": {"size": 10, "color": look.colour, "symbol": look.mark}, "hoverinfo": "text",
    }  # fmt: skip
    for name, number in (("error_x", x), ("error_y", y)):
        if bars := _bars(number, scale.factor, look):
            trace[name] = bars
    return trace


# Speed-ups

_SPEED_UP_LOOKS = {
    "kernel time (r)": _KERNEL,
    "constant user time (r')": _PREDICTED,
    "measured user times": Look("@c2", "square", "solid"),
    "measured": _MEASURED,
}


def speed_up_figure(speed_ups: Sequence[SpeedUp]) -> Figure:
    """Draw one row per system: r, r' and the measured speed-up."""
    return _ratio_figure("speedup", _speed_up_rows(speed_ups), _SPEED_UP_LOOKS)


def speed_up_legend(speed_ups: Sequence[SpeedUp]) -> list[LegendEntry]:
    """Return the legend of the speed-up variants that have a value."""
    return _ratio_legend(_speed_up_rows(speed_ups), _SPEED_UP_LOOKS)


def _speed_up_rows(speed_ups: Iterable[SpeedUp]) -> list[_Row]:
    return [
        _Row(one.system, one.best, (one.kernel, one.with_user, one.own_user, one.measured))
        for one in speed_ups
    ]


# Relative speeds

_SPEED_LOOKS = {"predicted": _PREDICTED, "measured": _MEASURED, "by score": Look("@c2", "square", "solid")}


def speed_figure(found: ApplicationSpeeds) -> Figure:
    """Draw one row per system: its predicted and measured speed, and that by the score. The reference is the line at 1."""
    return _ratio_figure("relative speed", _speed_rows(found), _SPEED_LOOKS, _LOG_FROM)


def speed_legend(found: ApplicationSpeeds) -> list[LegendEntry]:
    """Return the legend of the speeds that have a value."""
    return _ratio_legend(_speed_rows(found), _SPEED_LOOKS)


def _speed_rows(found: ApplicationSpeeds) -> list[_Row]:
    return [_Row(one.system, one.predicted, (one.predicted, one.measured, one.score)) for one in found.speeds]


# Rows of ratios


@dataclass(frozen=True)
class _Row:
    """One system with several variants of the same ratio."""

    system: str
    #: the number on the right
    shown: Value
    #: in the order of the looks of the figure
    variants: tuple[Value, ...]


def _ratio_figure(
    title: str, rows: Sequence[_Row], looks: Mapping[str, Look], log_from: float = LOG_FROM
) -> Figure:
    """Draw one row per system with a point for each variant, and a dashed line at 1."""
    drawn = _drawn(rows, looks)
    row_px = _LABEL_PX + _POINT_PX * (len(drawn) + 1)
    traces: list[Trace] = []
    labels = []
    for above, row in enumerate(rows):
        y = -above - _LABEL_PX / row_px
        labels.append(row_label(y, shorten(row.system)))
        labels.append(row_label(y, show_ratio(row.shown.value), side="right"))
        for place, (at, name) in enumerate(drawn.items(), 1):
            traces += _point(
                row.variants[at], y - place * _POINT_PX / row_px, _PLAIN, looks[name], f"{row.system}: {name}"
            )
    line: Trace = {
        "type": "scatter", "mode": "lines", "x": [1, 1], "y": [-len(rows), 0], "hoverinfo": "skip",
        "line": {"color": "@ink", "width": 1, "dash": "dash"},
    }  # fmt: skip
    numbers = [Value.exact(1.0), *(number for row in rows for number in row.variants)]
    x = _time_axis(title, numbers, _PLAIN, log_from)
    y_axis = axis(range=[-len(rows), 0], visible=False)
    height = _FRAME_PX + row_px * len(rows)
    return Figure("", height, [line, *traces], layout(x, y_axis, annotations=labels))


def _ratio_legend(rows: Sequence[_Row], looks: Mapping[str, Look]) -> list[LegendEntry]:
    return [LegendEntry(name, looks[name]) for name in _drawn(rows, looks).values()]


def _drawn(rows: Iterable[_Row], looks: Iterable[str]) -> dict[int, str]:
    """Return the places and names of the variants that have a value in a row."""
    there = {at for row in rows for at, number in enumerate(row.variants) if math.isfinite(number.value)}
    return {at: name for at, name in enumerate(looks) if at in there}


# Shared by the figures

_PLAIN = Scale(1.0, "", None)


def _point(number: Value, y: float, scale: Scale, look: Look, name: str) -> list[Trace]:
    if not math.isfinite(number.value):
        return []
    ends = f"CI {show_ends(number, scale.show)} {scale.unit}".rstrip() if number.low < number.high else ""
    trace: Trace = {
        "type": "scatter", "mode": "markers", "x": [scale.tidy(number.value)], "y": [y],
        "marker": {"size": 9, "color": look.colour, "symbol": look.mark}, "hoverinfo": "text",
        "hovertext": [hover(name, scale.with_unit(number.value), ends)],
    }  # fmt: skip
    if bars := _bars(number, scale.factor, look):
        trace["error_x"] = bars
    return [trace]


def _bars(number: Value, factor: float, look: Look) -> dict[str, object] | None:
    if not (math.isfinite(number.low) and math.isfinite(number.high)) or number.low == number.high:
        return None
    return {
        "type": "data", "symmetric": False, "color": look.colour, "thickness": 2, "width": 5,
        "array": [tidy((number.high - number.value) * factor)],
        "arrayminus": [tidy((number.value - number.low) * factor)],
    }  # fmt: skip


def _time_axis(
    title: str, numbers: Iterable[Value], scale: Scale, log_from: float = LOG_FROM
) -> dict[str, object]:
    """Return the axis from below the smallest to above the largest end; logarithmic if they are far apart."""
    values = [
        v * scale.factor
        for number in numbers
        for v in (number.low, number.value, number.high)
        if math.isfinite(v)
    ]
    named = f"{title} ({scale.unit})" if scale.unit else title
    if not values:
        return axis(named)
    low, high = min(values), max(values)
    if low > 0 and high / low > log_from:
        return log_axis(f"{named}, log scale", low, high)
    room = 0.06 * (high - low) or 0.05 * abs(high) or 1.0
    return axis(named, range=[low - room, high + room])
