"""The topic of actual and requested sleep durations, after figure 7 of the lmbench3 paper."""

from __future__ import annotations

import math
from collections.abc import Sequence

from regatta.answers.kit.time_curves import TimeCurve, time_curves
from regatta.answers.kit.topic import Topic, Words
from regatta.answers.kit.view import View
from regatta.answers.spine.result import CellAnswer
from regatta.figures.axes import Figure, Group, log_axis, log_ticks
from regatta.figures.curves import Point, segment
from regatta.figures.labelled import NamedLine, estimate_point, labelled_figure, packs, time_quantity
from regatta.figures.section import Section
from regatta.figures.text import joined, parameters_text, show_percent, show_quantity
from regatta.host.units import UNITS
from regatta.host.values.benchmark_label import parts_of_label

_REQUESTED = "requested_us"
_NS_PER_US = 1000.0


def sleep_curves(cells: Sequence[CellAnswer]) -> list[TimeCurve]:
    """Return the time series with the parameter `requested_us`, in cell order."""
    return time_curves(cells, _REQUESTED)


def requested_ns(curve: TimeCurve) -> list[float]:
    """Return the requested durations, ascending, in ns."""
    return [_NS_PER_US * requested for requested in curve.at]


def sleep_words(cells: Sequence[CellAnswer]) -> tuple[str, ...]:
    """Return one sentence per curve: by how much its sleeps exceed the request, and where they are significantly shorter."""
    curves = sleep_curves(cells)
    several = len({curve.place.host for curve in curves}) > 1
    sentences = []
    for curve in curves:
        asked = requested_ns(curve)
        to_ns = UNITS[curve.cells[0].unit][1] / UNITS["ns"][1]
        late = [
            cell.estimate.point * to_ns - requested
            for cell, requested in zip(curve.cells, asked, strict=True)
        ]
        short = [
            show_quantity(requested, "ns")
            for cell, requested in zip(curve.cells, asked, strict=True)
            if not cell.estimate.inconclusive and cell.estimate.high * to_ns < requested
        ]
        over = (
            show_quantity(asked[0], "ns")
            if len(asked) == 1
            else f"{show_quantity(asked[0], 'ns')} to {show_quantity(asked[-1], 'ns')}"
        )
        words = f"{curve.name}: requested {over}, mean error {_late_text(late)}"
        if short:
            words += f"; significantly shorter than requested: {', '.join(short)}"
        sentences.append(words + (f", on host {curve.place.host}" if several else ""))
    return tuple(sentences)


def _late_text(late: Sequence[float]) -> str:
    least, most = min(late), max(late)
    if least < 0 < most:
        return f"{show_quantity(-least, 'ns')} shorter to {show_quantity(most, 'ns')} longer"
    ends = list(dict.fromkeys(show_quantity(abs(end), "ns") for end in (least, most)))
    return f"{' to '.join(ends)} {'shorter' if most <= 0 else 'longer'}"


def sleeps_section(_: Sequence[str], view: View) -> Section | None:
    """Return one figure per host and load, one line per call; None without sleeps of several durations."""
    curves = [curve for curve in sleep_curves(view.answer.cells) if len(curve.cells) > 1]
    if not curves:
        return None
    hosts = len({curve.place.host for curve in curves}) > 1
    configured = len({curve.place.configuration for curve in curves}) > 1
    places: dict[str, list[TimeCurve]] = {}
    for curve in curves:
        others = {name: value for name, value in curve.parameters.items() if name != "call"}
        parts = (
            parts_of_label(curve.place.benchmark).name,
            curve.place.configuration if configured else "",
            parameters_text(others),
            f"on {curve.place.host}" if hosts else "",
        )
        places.setdefault(joined(*parts), []).append(curve)
    figures = [_figure(title, pack) for title, many in places.items() for pack in packs(many)]
    return Section(
        "sleeps",
        words="Actual over requested duration of sleeps. On the dashed line they are equal. Means over invocations; bars "
        f"or bands are {show_percent(view.answer.level)} confidence intervals.",
        groups=[Group("", figures)],
    )


def _figure(title: str, curves: Sequence[TimeCurve]) -> Figure:
    lines = [NamedLine(str(curve.parameters.get("call", "sleep")), _points(curve)) for curve in curves]
    asked = sorted({requested for curve in curves for requested in requested_ns(curve)})
    low, high = asked[0], asked[-1]
    ticks = {tick: show_quantity(tick, "ns") for tick in log_ticks(low, high)}
    exact = NamedLine("", [Point(x, x, math.nan, math.nan, "") for x in (low, high)])
    under = segment([low, high], [low, high], "@muted", dash="dash")
    quantity = time_quantity("duration", [*lines, exact])
    return labelled_figure(
        title, lines, log_axis("requested duration", low, high, ticks), quantity, under=[under]
    )


def _points(curve: TimeCurve) -> list[Point]:
    given = parameters_text(curve.parameters)
    return [
        estimate_point(
            requested,
            cell.estimate,
            cell.unit,
            given,
            f"requested {show_quantity(requested, 'ns')}",
            shown="ns",
        )
        for requested, cell in zip(requested_ns(curve), curve.cells, strict=True)
    ]


SLEEPS: Topic[tuple[str, ...]] = Topic(
    "sleeps",
    title="Sleep duration",
    empty=(),
    compute=lambda context: sleep_words(context.cells),
    words=Words(120, "Sleeps", lambda sentences, _: sentences),
    section=sleeps_section,
)
