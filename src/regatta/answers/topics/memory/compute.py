"""Latency of memory over the size of what is read, in words: plateaus, beside the sizes of the host's caches."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from regatta.answers.parts import Place
from regatta.answers.result import CellAnswer
from regatta.answers.words import listed
from regatta.figures.text import parameter_text, show_quantity
from regatta.host.units import UNITS
from regatta.host.values.experiment import Scalar

SIZE, _STRIDE = "size_bytes", "stride_bytes"
#: fewer sizes than this are no curve
_LEAST_SIZES = 4
#: Neighbours on a plateau are no further than this from its middle: what lies between two levels of memory grows faster.
_FLAT = 1.2
#: fewer sizes than this are a step between plateaus, but for the largest ones, which may be the first in main memory
_LEAST_FLAT = 2
_CACHE = re.compile(r"\bL(\d)([di]?) ([\d.]+) (KiB|MiB|GiB)\b")


@dataclass(frozen=True)
class Cache:
    """One level that holds data: `L1d`, `L2` ..."""

    name: str
    size_bytes: int


@dataclass(frozen=True)
class Plateau:
    """Sizes `first_bytes` to `last_bytes` cost about the same: `value`, their geometric mean, in the unit of the curve."""

    first_bytes: int
    last_bytes: int
    value: float


@dataclass(frozen=True)
class MemoryCurve:
    """Mean latencies of one host, benchmark, configuration and other parameters; sizes ascend."""

    place: Place
    unit: str
    #: without the size
    parameters: Mapping[str, Scalar]
    cells: tuple[CellAnswer, ...]

    @property
    def sizes(self) -> list[int]:
        """In bytes."""
        return [int(cell.parameters[SIZE]) for cell in self.cells]


def caches_of(facts: Mapping[str, str]) -> list[Cache]:
    """The caches for data that a host's facts name (`regatta.host.ready.facts`), the smallest first; none where they name none."""
    return [
        Cache(f"L{level}{kind}", int(float(number) * UNITS[unit][1]))
        for level, kind, number, unit in _CACHE.findall(facts.get("caches", ""))
        if kind != "i"
    ]


def memory_curves(cells: Sequence[CellAnswer]) -> list[MemoryCurve]:
    """The series of times over `size_bytes` at a `stride_bytes`, cells' own metric, with four sizes or more."""
    groups: dict[tuple[object, ...], list[CellAnswer]] = {}
    for cell in cells:
        size, stride = cell.parameters.get(SIZE), cell.parameters.get(_STRIDE)
        usable = type(size) is int and size > 0 and stride is not None
        if usable and UNITS.get(cell.unit, ("", 1.0))[0] == "time" and math.isfinite(cell.estimate.point):
            key_of = sorted((name, str(value)) for name, value in cell.parameters.items() if name != SIZE)
            key = (cell.place.host, cell.cell_id, cell.metric, cell.unit, tuple(key_of))
            groups.setdefault(key, []).append(cell)
    curves = []
    for many in groups.values():
        many.sort(key=lambda cell: int(cell.parameters[SIZE]))
        first = many[0]
        if len(many) >= _LEAST_SIZES and min(cell.estimate.point for cell in many) > 0:
            others = {name: value for name, value in first.parameters.items() if name != SIZE}
            curves.append(
                MemoryCurve(
                    first.place,
                    first.unit,
                    others,
                    tuple(many),
                )
            )
    return [curve for curve in curves if not curve.cells[0].metric.endswith(("_fastest", "_slowest"))]


def plateaus(points: Sequence[tuple[int, float]]) -> list[Plateau]:
    """Runs of sizes that cost about the same.

    Args:
        points: size in bytes (ascending) and value (> 0, any unit).

    Returns:
        Maximal runs, from the smallest size on, whose values all lie within a factor of 1.2 of their geometric mean; runs of
        a single size are steps, and left out unless they are the last.
    """
    runs: list[list[tuple[int, float]]] = []
    for point in points:
        if runs and _flat([*runs[-1], point]):
            runs[-1].append(point)
        else:
            runs.append([point])
    kept = [run for run in runs[:-1] if len(run) >= _LEAST_FLAT] + runs[-1:]
    return [Plateau(run[0][0], run[-1][0], _middle(run)) for run in kept]


def memory_words(cells: Sequence[CellAnswer], hosts: Mapping[str, Mapping[str, str]]) -> tuple[str, ...]:
    """One sentence a curve: its plateaus, and the host's caches where they are known.

    Args:
        cells: of the answer.
        hosts: host -> its facts.
    """
    curves = memory_curves(cells)
    several = len({curve.place.host for curve in curves}) > 1
    sentences = []
    for curve in curves:
        points = list(zip(curve.sizes, (cell.estimate.point for cell in curve.cells), strict=True))
        found = plateaus(points)
        told = [_plateau_words(one, curve, i == 0) for i, one in enumerate(found)]
        # One process alone is what a reader expects.
        given = ", ".join(
            f"{name} {parameter_text(name, value)}"
            for name, value in sorted(curve.parameters.items())
            if (name, value) != ("parallel", 1)
        )
        caches = [
            f"{c.name} {show_quantity(c.size_bytes, 'bytes', 6)}"
            for c in caches_of(hosts.get(curve.place.host, {}))
        ]
        beside = f"; caches of the host: {listed(caches)}" if caches else ""
        where = f", on host {curve.place.host}" if several else ""
        sentences.append(
            f"{curve.place.benchmark.rsplit('/', 1)[-1].split(':', 1)[0]} ({given}): about {listed(told)}{beside}{where}"
        )
    return tuple(sentences)


def _flat(run: Sequence[tuple[int, float]]) -> bool:
    middle = _middle(run)
    return all(middle / _FLAT <= value <= middle * _FLAT for _, value in run)


def _middle(run: Sequence[tuple[int, float]]) -> float:
    return math.exp(math.fsum(math.log(value) for _, value in run) / len(run))


def _plateau_words(one: Plateau, curve: MemoryCurve, first: bool) -> str:
    value = show_quantity(one.value, curve.unit)
    if one.first_bytes == one.last_bytes:
        return f"{value} at {show_quantity(one.last_bytes, 'bytes', 6)}"
    if first and one.first_bytes == curve.sizes[0]:
        return f"{value} up to {show_quantity(one.last_bytes, 'bytes', 6)}"
    return f"{value} from {show_quantity(one.first_bytes, 'bytes', 6)} to {show_quantity(one.last_bytes, 'bytes', 6)}"
