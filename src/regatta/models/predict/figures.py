"""Figures of predictions: times and speeds by system, contributions, predicted against measured, speed-ups."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from regatta.figures.axes import LOG_FROM, Figure, Group, Trace, axis, layout, log_axis, row_label
from regatta.figures.looks import HUES, MARKS, LegendEntry, Look
from regatta.figures.text import Scale, hover, shorten, show_ends, show_percent, show_ratio, tidy
from regatta.models.predict.accuracy import agreement, calibration
from regatta.models.predict.forecast import ApplicationForecast, Forecast, SpeedUp, SystemForecast
from regatta.models.predict.runtimes import ApplicationSpeeds
from regatta.models.predict.tables import (
    WORDS,
    Shown,
    compared_by,
    group_words,
    measured_of,
    predicted_of,
    scale_of,
    shown_by,
)
from regatta.models.vectors.values import Value

_ROW_PX, _FRAME_PX = 44, 84
#: in a row of ratios: the room of its label, and from one point to the next
_LABEL_PX, _POINT_PX = 23, 14
_SQUARE_PX = 420
_MEASURED = Look("@ink", "circle", "solid")
_PREDICTED = Look("@c0", "diamond", "solid")
_KERNEL = Look("@c1", "diamond", "solid")


def _square(colour: str) -> Look:
    return Look(colour, "square", "solid")


#: the piece of a bar that is in no primitive
OWN_CODE = "application in user mode"
#: Above this ratio, a linear axis does not separate the points of fast and slow applications or systems.
_LOG_FROM = 4.0


# Ranking


def ranking_group(one: ApplicationForecast) -> Group:
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
    x = _time_axis(f"{WORDS[what]} per {one.application.per}", numbers, scale)
    y_axis = axis(range=[y - 0.5, 0.1], visible=False)
    figure = Figure("", int(_FRAME_PX + _ROW_PX * -y), traces, layout(x, y_axis, annotations=labels))
    legend = [LegendEntry("predicted", _PREDICTED)]
    if any(math.isfinite(measured_of(system, what).value) for system in one.systems):
        legend.append(LegendEntry("measured", _MEASURED))
    return Group(_title(one), [figure], legend, "; ".join(group_words(one)))


def _title(one: ApplicationForecast) -> str:
    return f"{one.application.name}, per {one.application.per}"


# Contributions


@dataclass(frozen=True)
class Pieces:
    """The pieces of the bars of an application: its largest primitives, all others, and its own code."""

    names: tuple[str, ...]
    others: tuple[str, ...]
    has_own_code: bool

    @classmethod
    def of(cls, systems: Sequence[SystemForecast], most: int) -> Pieces:
        """Return the pieces; `most`: primitives and others."""
        whole: dict[str, float] = {}
        for system in systems:
            for name, time in system.prediction.times.items():
                whole[name] = whole.get(name, 0.0) + time
        names = sorted((name for name, time in whole.items() if time > 0.0), key=lambda name: -whole[name])
        shown = len(names) if len(names) <= most else most - 1
        return cls(tuple(names[:shown]), tuple(names[shown:]), any(one.own_code for one in systems))

    @property
    def labels(self) -> list[str]:
        """Return the name of each piece."""
        others = [", ".join(self.others)] if self.others else []
        return [*self.names, *others, *([OWN_CODE] if self.has_own_code else [])]

    def times(self, system: SystemForecast) -> list[float]:
        """Return the time of each piece on a system, in ns."""
        times = system.prediction.times
        others = [math.fsum(times.get(name, 0.0) for name in self.others)] if self.others else []
        own = [system.own_code] if self.has_own_code else []
        return [*(times.get(name, 0.0) for name in self.names), *others, *own]


def _pieces_legend(pieces: Pieces) -> list[LegendEntry]:
    """Return the legend of the pieces, in their order in the bars."""
    looks = [LegendEntry(name, _square(f"@c{place}")) for place, name in enumerate(pieces.names)]
    if pieces.others:
        looks.append(LegendEntry(f"{len(pieces.others)} others", _square(f"@c{HUES - 1}")))
    return [*looks, LegendEntry(OWN_CODE, _square("@muted"))] if pieces.has_own_code else looks


def contribution_group(one: ApplicationForecast) -> Group:
    """Draw one stacked bar per system, with the time of each primitive."""
    pieces = Pieces.of(one.systems, HUES)
    legend = _pieces_legend(pieces)
    scale = scale_of(system.elapsed for system in one.systems)
    times = [pieces.times(system) for system in one.systems]
    count = len(one.systems)
    places = [-(number + 1.0) for number in range(count)]
    traces: list[Trace] = []
    for at, (label, entry) in enumerate(zip(pieces.labels, legend, strict=True)):
        texts = []
        for system, own in zip(one.systems, times, strict=True):
            total = system.elapsed.value
            share = f"{scale.with_unit(own[at])}, {100 * own[at] / total:.1f} %" if total > 0 else ""
            texts.append(hover(system.system, label, share))
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "width": 0.42,
                "x": [scale.tidy(own[at]) for own in times],
                "y": [place - 0.12 for place in places],
                "marker": {"color": entry.look.colour, "line": {"width": 0.5, "color": "@paper"}},
                "hoverinfo": "text",
                "hovertext": texts,
            }
        )
    labels = []
    for place, system in zip(places, one.systems, strict=True):
        labels.append(row_label(place + 0.14, shorten(system.system)))
        labels.append(row_label(place + 0.14, scale.with_unit(system.elapsed.value), side="right"))
    x = axis(f"predicted time per {one.application.per} ({scale.unit})", rangemode="tozero")
    y = axis(range=[-count - 0.5, -0.4], visible=False)
    drawn = layout(x, y, barmode="stack", annotations=labels)
    return Group(_title(one), [Figure("", _FRAME_PX + _ROW_PX * count, traces, drawn)], legend)


# Predicted against measured


def accuracy_group(forecast: Forecast, what: Shown) -> Group | None:
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
    legend = [LegendEntry(name, _application_look(at)) for at, name in enumerate(names)]
    figure = Figure("", _SQUARE_PX, traces, layout(x, y))
    return Group(f"Predicted and measured {WORDS[what]}", [figure], legend if len(names) > 1 else [])


_CALIBRATED = {"ratios of systems": _PREDICTED, "times": _square("@c2")}


def calibration_group(forecast: Forecast) -> Group | None:
    """Draw the share of intervals that contain the measured value over their nominal level; None with few values."""
    ratios = [
        (agreement(pair.comparable, pair.measured), one.model_errors.ratios)
        for one in forecast.applications
        for pair in one.pairs
        if pair.verdict
    ]
    times = [
        (system.ratios[compared_by(one)], one.model_errors.times)
        for one in forecast.applications
        for system in one.systems
        if compared_by(one) in system.ratios and system.system != one.traced_on
    ]
    found = {
        name: shares
        for name, offs in zip(_CALIBRATED, (ratios, times), strict=True)
        if (shares := calibration(offs, forecast.level))
    }
    if not found:
        return None
    numbers = [
        Value.exact(100.0 * share) for shares in found.values() for pair in shares.items() for share in pair
    ]
    traces = [_diagonal([*numbers, Value.exact(100.0)], _PLAIN)]
    for name, shares in found.items():
        for level, share in shares.items():
            trace = _marker(Value.exact(100.0 * level), Value.exact(100.0 * share), _PLAIN, _CALIBRATED[name])
            trace["hovertext"] = [
                hover(
                    name,
                    f"nominal level {show_percent(level)}",
                    f"contain the measured value {show_percent(share)}",
                )
            ]
            traces.append(trace)
    x = _time_axis("nominal level of intervals (%)", numbers, _PLAIN, math.inf)
    y = _time_axis("intervals that contain the measured value (%)", numbers, _PLAIN, math.inf)
    figure = Figure("", _SQUARE_PX, traces, layout(x, y))
    return Group("Calibration", [figure], [LegendEntry(name, _CALIBRATED[name]) for name in found])


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
    "measured user times": _square("@c2"),
    "measured": _MEASURED,
}


def speed_up_group(speed_ups: Iterable[SpeedUp]) -> Group:
    """Draw one row per system, and for each of several mixes: r, r' and the measured speed-up."""
    speed_ups = list(speed_ups)
    several = len({one.before for one in speed_ups}) > 1
    rows = [
        _Row(
            f"{one.system}, {one.before}" if several else one.system,
            one.best,
            (one.kernel, one.with_user, one.own_user, one.measured),
        )
        for one in speed_ups
    ]
    return _ratios("Speedup by system", "speedup", rows, _SPEED_UP_LOOKS)


# Relative speeds

_SPEED_LOOKS = {"predicted": _PREDICTED, "measured": _MEASURED, "by score": _square("@c2")}


def speed_group(found: ApplicationSpeeds) -> Group:
    """Draw one row per system: its predicted and measured speed, and that by the score.

    The reference is the line at 1.
    """
    rows = [_Row(one.system, one.predicted, (one.predicted, one.measured, one.score)) for one in found.speeds]
    title = f"{found.application}: speed relative to {found.reference}"
    return _ratios(title, "relative speed", rows, _SPEED_LOOKS, _LOG_FROM)


# Rows of ratios


@dataclass(frozen=True)
class _Row:
    """One system with several variants of the same ratio."""

    system: str
    #: the number on the right
    shown: Value
    #: in the order of the looks of the figure
    variants: tuple[Value, ...]


def _ratios(
    title: str, what: str, rows: Sequence[_Row], looks: Mapping[str, Look], log_from: float = LOG_FROM
) -> Group:
    """Draw one row per system, with a point for each variant that has a value, and a dashed line at 1."""
    there = {at for row in rows for at, number in enumerate(row.variants) if math.isfinite(number.value)}
    drawn = {at: name for at, name in enumerate(looks) if at in there}
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
    x = _time_axis(what, numbers, _PLAIN, log_from)
    y_axis = axis(range=[-len(rows), 0], visible=False)
    height = _FRAME_PX + row_px * len(rows)
    figure = Figure("", height, [line, *traces], layout(x, y_axis, annotations=labels))
    return Group(title, [figure], [LegendEntry(name, looks[name]) for name in drawn.values()])


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
