"""Compare actual with requested sleep durations."""

from __future__ import annotations

from collections.abc import Sequence

from regatta.answers.result import CellAnswer
from regatta.answers.time_curves import TimeCurve, time_curves
from regatta.figures.text import show_quantity
from regatta.host.units import UNITS

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
            if cell.estimate.high * to_ns < requested
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
