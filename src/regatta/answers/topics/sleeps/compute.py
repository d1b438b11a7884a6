"""Sleeps: how long they last against what was asked for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from regatta.answers.parts import Place
from regatta.answers.result import CellAnswer
from regatta.figures.text import show_quantity
from regatta.host.units import UNITS
from regatta.host.values.experiment import Scalar

REQUESTED = "requested_us"
_NS = 1e-9


@dataclass(frozen=True)
class SleepCurve:
    """Mean durations of one host, benchmark, configuration and other parameters; requests ascend."""

    place: Place
    #: without the request
    parameters: Mapping[str, Scalar]
    cells: tuple[CellAnswer, ...]

    @property
    def requested_ns(self) -> list[float]:
        """In ns."""
        return [1000.0 * float(cell.parameters[REQUESTED]) for cell in self.cells]

    def to_ns(self, value: float) -> float:
        """A value in the unit of the cells, in ns."""
        return value * UNITS[self.cells[0].unit][1] / _NS


def sleep_curves(cells: Sequence[CellAnswer]) -> list[SleepCurve]:
    """The series of times with the parameter `requested_us`, in the order of the cells."""
    groups: dict[tuple[object, ...], list[CellAnswer]] = {}
    for cell in cells:
        asked = cell.parameters.get(REQUESTED)
        number = isinstance(asked, int | float) and not isinstance(asked, bool) and asked > 0
        usable = number and math.isfinite(cell.estimate.point)
        time = UNITS.get(cell.unit, ("", 1.0))[0] == "time"
        if usable and time and not cell.metric.endswith(("_fastest", "_slowest")):
            key_of = sorted(
                (name, str(value)) for name, value in cell.parameters.items() if name != REQUESTED
            )
            key = (cell.place.host, cell.cell_id, cell.metric, cell.unit, tuple(key_of))
            groups.setdefault(key, []).append(cell)
    curves = []
    for many in groups.values():
        many.sort(key=lambda cell: float(cell.parameters[REQUESTED]))
        first = many[0]
        others = {name: value for name, value in first.parameters.items() if name != REQUESTED}
        curves.append(SleepCurve(first.place, others, tuple(many)))
    return curves


def sleep_words(cells: Sequence[CellAnswer]) -> tuple[str, ...]:
    """One sentence a curve: how much longer than asked its sleeps are, and where they are shown to be shorter."""
    curves = sleep_curves(cells)
    several = len({curve.place.host for curve in curves}) > 1
    sentences = []
    for curve in curves:
        asked = curve.requested_ns
        late = [
            curve.to_ns(cell.estimate.point) - requested
            for cell, requested in zip(curve.cells, asked, strict=True)
        ]
        short = [
            show_quantity(requested, "ns")
            for cell, requested in zip(curve.cells, asked, strict=True)
            if curve.to_ns(cell.estimate.high) < requested
        ]
        # One process alone is what a reader expects.
        told = {name: value for name, value in curve.parameters.items() if (name, value) != ("parallel", 1)}
        given = ", ".join(f"{name} {value}" for name, value in sorted(told.items()))
        over = (
            show_quantity(asked[0], "ns")
            if len(asked) == 1
            else f"{show_quantity(asked[0], 'ns')} to {show_quantity(asked[-1], 'ns')}"
        )
        name = curve.place.benchmark.rsplit("/", 1)[-1].split(":", 1)[0]
        words = f"{name}{f' ({given})' if given else ''}: asked for {over}, sleeps last {_late_text(late)} on average"
        if short:
            words += f"; those of {', '.join(short)} are shorter than asked"
        sentences.append(words + (f", on host {curve.place.host}" if several else ""))
    return tuple(sentences)


def _late_text(late: Sequence[float]) -> str:
    least, most = min(late), max(late)
    if least < 0 < most:
        return f"from {show_quantity(-least, 'ns')} shorter to {show_quantity(most, 'ns')} longer than that"
    ends = list(dict.fromkeys(show_quantity(abs(end), "ns") for end in (least, most)))
    return f"{' to '.join(ends)} {'shorter' if most <= 0 else 'longer'} than that"
