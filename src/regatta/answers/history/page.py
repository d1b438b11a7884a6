"""Render the page of several experiments over time: one figure per series with its shifts, and a table of shifts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from regatta.answers.history.result import History, LevelShift, PastPoint, SeriesHistory, Track
from regatta.figures.axes import Figure, Group, Trace, axis, layout, value_axis
from regatta.figures.curves import error_bars, segment
from regatta.figures.section import Column, Section, Table, table_of
from regatta.figures.sections_page import write_sections_page
from regatta.figures.text import (
    Scale,
    choose_scale,
    finite,
    hover,
    joined,
    parameters_text,
    plot_text,
    shorten,
    show_ends,
    show_heap,
    show_p,
    show_percent,
    show_ratio,
    tidy,
)
from regatta.stats.shifts import EXPERIMENTS

_HEIGHT_PX = 300
#: maximum characters of an experiment's name below a figure
_NAME = 18
#: With more experiments, only some names are shown below the figure.
_NAMES_AT_MOST = 12
#: Share of the space between two experiments over which the invocations of one are spread.
_SPREAD = 0.5
#: offset of marks at one speed of the host, and of marks of the environment, so that they hide no others
_BESIDE = 0.1


def write_history(history: History, path: Path) -> None:
    """Write a history as one self-contained HTML file.

    Args:
        path: the file to write, atomically; missing folders are created.

    Raises:
        StoreError: the file cannot be written.
    """
    question = f"What changed over {len(history.experiments)} experiments, and since when?"
    write_sections_page(
        "history", question, (*history.sentences, *history.warnings), sections_of_history(history), path
    )


def sections_of_history(history: History) -> list[Section]:
    """Return the non-empty sections."""
    level = show_percent(history.level)
    shifts = Section(
        "shifts",
        "Shifts",
        f"Ratio of the geometric mean after a shift to that before it, up to the neighboring shifts, with its {level} confidence "
        "interval. p: share of unchanged series with such a shift at any place. Autocorrelation: of successive experiments, around "
        "the levels. False shifts: share of unchanged series with this length and autocorrelation that show a shift (simulated). "
        "Cause: host or program, by which of them shifts at the same place: the canary, or the values at one speed of the host. "
        "Unknown: without a canary there, or for quantities that no slower host changes.",
        tables=[_shifts(history)],
    )
    environment = Section(
        "environment",
        "Environment",
        "Differences from the previous experiment on the same host. In the figures they are dotted lines.",
        tables=[_environment(history)],
    )
    over_time = Section(
        "time",
        "Over time",
        _how_to_read(history),
        groups=_groups(history),
    )
    experiments = Section(
        "experiments", "Experiments", "In order of their first record.", tables=[_experiments(history)]
    )
    found = [shifts] if any(track.shifts for one in history.series for track in _tracks(one)) else []
    found += [over_time] if history.series else []
    return [*found, *([environment] if history.environment else []), experiments]


def _how_to_read(history: History) -> str:
    level = show_percent(history.level)
    parts = [
        f"Points are invocations. Marks are means of experiments with {level} confidence intervals. Lines are means between "
        "shifts, dashed lines are shifts.",
        "Hollow marks and their lines are at one speed of the host: values divided by the canary of their round."
        if any(one.at_one_speed is not None for one in history.series)
        else "",
        "Dotted lines are changes of the environment." if history.environment else "",
        "Experiments are in order of their first record. Axes do not start at 0.",
    ]
    return " ".join(filter(None, parts))


def _shifts(history: History) -> Table:
    columns: list[Column[tuple[SeriesHistory, Track, LevelShift]]] = [
        Column("series", lambda row: row[0].title),
        Column("values", lambda row: "as measured" if row[1] is row[0] else "at one speed of the host"),
        Column("since", lambda row: history.experiments[row[2].since].name),
        Column("ratio", lambda row: show_ratio(row[2].ratio.point), numeric=True),
        Column("CI", lambda row: show_ends(row[2].ratio)),
        Column("cause", lambda row: _cause(row[0], row[2])),
        Column("p", lambda row: show_p(row[2].p), numeric=True),
        Column("experiments after / before", lambda row: f"{row[2].after} / {row[2].before}"),
        Column("n", lambda row: str(row[2].ratio.n), numeric=True),
        Column("replicates", lambda row: row[1].replicates),
        Column("autocorrelation", lambda row: _or_undefined(row[1], f"{row[1].autocorrelation:.2f}")),
        Column("false shifts", lambda row: _or_undefined(row[1], f"{row[1].false_rate * 100.0:.1f} %")),
    ]
    rows = [(one, track, shift) for one in history.series for track in _tracks(one) for shift in track.shifts]
    return table_of("", rows, columns)


def _tracks(one: SeriesHistory) -> list[Track]:
    return [one] if one.at_one_speed is None else [one, one.at_one_speed]


def _cause(one: SeriesHistory, shift: LevelShift) -> str:
    if one.is_canary:
        return "host"
    return shift.cause or ("unknown" if one.at_one_speed is None else "program or host")


def _or_undefined(track: Track, text: str) -> str:
    return f"undefined ({track.rate_reason})" if track.rate_reason else text


def _environment(history: History) -> Table:
    rows = [
        (history.experiments[one.since].name, one.host or "all", clause)
        for one in history.environment
        for clause in one.changes
    ]
    return Table("", ("since", "host", "change"), rows)


def _experiments(history: History) -> Table:
    rows = [(one.name, one.experiment, one.folder, one.steady) for one in history.experiments]
    return Table("", ("name", "experiment", "folder", "numbers"), rows)


def _groups(history: History) -> list[Group]:
    found: dict[str, list[Figure]] = {}
    several = len({one.place.host for one in history.series}) > 1
    for one in history.series:
        title = f"{one.place.benchmark} · on {one.place.host}" if several else one.place.benchmark
        found.setdefault(title, []).append(_figure(history, one))
    return [Group(title, figures) for title, figures in found.items()]


def _figure(history: History, one: SeriesHistory) -> Figure:
    scale = choose_scale([point.mean for point in one.points], one.unit)
    places = [point.experiment for point in one.points]
    parts = (one.place.configuration, show_heap(one.place.heap, "heap "), parameters_text(one.parameters))
    traces = [_invocations(one, scale), *_levels(one, scale), _means(history, one, scale)]
    if one.at_one_speed is not None:
        traces += [
            *_levels(one.at_one_speed, scale, "@c2"),
            _means(history, one.at_one_speed, scale, at_one_speed=True),
        ]
    every = [point for track in _tracks(one) for point in track.points]
    values = finite(value * scale.factor for point in every for value in point.values)
    unit = f" ({scale.unit})" if scale.unit else ""
    since = dict.fromkeys(shift.since for track in _tracks(one) for shift in track.shifts)
    shapes = [_line(_between(places, place), "dash") for place in since]
    # A change between two experiments that have the series, at the later one.
    changed = [change.since for change in history.environment if change.host in ("", one.place.host)]
    marks = [after for before, after in pairwise(places) if any(before < since <= after for since in changed)]
    shapes += [_line(_between(places, place) + _BESIDE, "dot") for place in marks]
    return Figure(
        joined(*parts),
        _HEIGHT_PX,
        traces,
        layout(
            _names_axis(history),
            value_axis(f"{one.metric}{unit}, {one.better} is better", values),
            shapes=shapes,
        ),
    )


def _invocations(one: SeriesHistory, scale: Scale) -> Trace:
    x: list[float | None] = []
    y: list[float | None] = []
    for point in one.points:
        n = len(point.values)
        x += [tidy(point.experiment + _SPREAD * ((i + 0.5) / n - 0.5)) for i in range(n)]
        y += [scale.tidy(value) for value in point.values]
    marker = {"size": 4, "color": "@c0", "opacity": 0.45}
    return {"type": "scatter", "mode": "markers", "x": x, "y": y, "hoverinfo": "skip", "marker": marker}


def _means(history: History, one: Track, scale: Scale, *, at_one_speed: bool = False) -> Trace:
    def ends(value: float, mean: float) -> float | None:
        return scale.tidy(abs(value - mean)) if math.isfinite(value) else 0.0

    def text(point: PastPoint) -> str:
        what = "mean at one speed of the host" if at_one_speed else "mean"
        mean = f"{what} {scale.with_unit(point.mean.point)}, n = {point.mean.n}"
        return hover(history.experiments[point.experiment].name, mean)

    color = "@c2" if at_one_speed else "@ink"
    beside = _BESIDE if at_one_speed else 0.0
    means = [point.mean for point in one.points]
    above = [ends(mean.high, mean.point) for mean in means]
    below = [ends(mean.low, mean.point) for mean in means]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [point.experiment + beside for point in one.points],
        "y": [scale.tidy(mean.point) for mean in means],
        "marker": {"size": 8, "color": color, "symbol": "diamond-open" if at_one_speed else "diamond"},
        "error_y": error_bars(above, below, color, thickness=1.5, width=4),
        "hoverinfo": "text",
        "hovertext": [text(point) for point in one.points],
    }


def _levels(one: Track, scale: Scale, color: str = "@c1") -> list[Trace]:
    """Draw a line between two shifts at the geometric mean that the ratios compare."""
    starts = [-1, *(shift.since for shift in one.shifts), math.inf]
    lines: list[Trace] = []
    for first, end in pairwise(starts):
        points = [point for point in one.points if first <= point.experiment < end]
        logs = [
            [math.log(value) for value in point.values]
            for point in points
            if all(value > 0 for value in point.values)
        ]
        if one.replicates == EXPERIMENTS:
            # each experiment has the same weight in the ratios
            logs = [[math.fsum(values) / len(values)] for values in logs]
        everything = [value for values in logs for value in values]
        if everything:
            level = math.exp(math.fsum(everything) / len(everything))
            ends = [points[0].experiment - 0.4, points[-1].experiment + 0.4]
            lines.append(segment(ends, [level * scale.factor] * 2, color, width=2))
    return lines


def _between(places: Sequence[int], since: int) -> float:
    """Return the midpoint between the first experiment after the shift and the previous one that has the series."""
    before = max(place for place in places if place < since)
    return (before + since) / 2


def _line(x: float, dash: str) -> dict[str, object]:
    place = {"xref": "x", "yref": "paper", "x0": x, "x1": x, "y0": 0, "y1": 1}
    return {"type": "line", **place, "line": {"color": "@ink", "width": 1, "dash": dash}}


def _names_axis(history: History) -> dict[str, object]:
    n = len(history.experiments)
    step = max(1, math.ceil(n / _NAMES_AT_MOST))
    ticks = list(range(0, n, step))
    names = [plot_text(shorten(history.experiments[tick].name, _NAME)) for tick in ticks]
    return axis(tickvals=ticks, ticktext=names, range=[-0.6, n - 0.4], tickangle=-30 if n > 3 else 0)
