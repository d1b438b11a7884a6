"""The topic of memory latency over the read size, with the caches of the host."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from regatta.answers.kit.time_curves import TimeCurve, time_curves
from regatta.answers.kit.topic import Topic, Words
from regatta.answers.kit.view import View
from regatta.answers.spine.groups import grouped
from regatta.answers.spine.result import CellAnswer
from regatta.answers.spine.words import listed
from regatta.figures.axes import Figure, Group, parameter_axis
from regatta.figures.curves import Point
from regatta.figures.labelled import Mark, NamedLine, estimate_point, labelled_figure, packs, time_quantity
from regatta.figures.section import Section
from regatta.figures.text import joined, parameter_text, parameters_text, show_percent, show_quantity
from regatta.host.units import UNITS
from regatta.host.values.experiment import Scalar

SIZE, _STRIDE = "size_bytes", "stride_bytes"
#: fewer sizes do not form a curve
_LEAST_SIZES = 4
#: Maximum ratio of a value on a plateau to its middle: between two levels of memory, latency grows faster.
_FLAT = 1.2
#: Fewer sizes are a step between plateaus, except the largest ones, which can be the first in main memory.
_LEAST_FLAT = 2
_CACHE = re.compile(r"\bL(\d)([di]?) ([\d.]+) (KiB|MiB|GiB)\b")


@dataclass(frozen=True)
class Cache:
    """A level of the data cache: `L1d`, `L2` ..."""

    name: str
    size_bytes: int


@dataclass(frozen=True)
class Plateau:
    """Sizes `first_bytes` to `last_bytes` with similar cost: `value`, their geometric mean, in the unit of the curve."""

    first_bytes: float
    last_bytes: float
    value: float


def caches_of(facts: Mapping[str, str]) -> list[Cache]:
    """Return the data caches in a host's facts (`regatta.host.facts`), smallest first; empty if unknown."""
    return [
        Cache(f"L{level}{kind}", int(float(number) * UNITS[unit][1]))
        for level, kind, number, unit in _CACHE.findall(facts.get("caches", ""))
        if kind != "i"
    ]


def memory_curves(cells: Sequence[CellAnswer]) -> list[TimeCurve]:
    """Return the time series over `size_bytes` at a `stride_bytes`, with at least four sizes."""
    return [
        curve
        for curve in time_curves(cells, SIZE)
        if _STRIDE in curve.parameters
        and len(curve.cells) >= _LEAST_SIZES
        and min(cell.estimate.point for cell in curve.cells) > 0
    ]


def plateaus(points: Sequence[tuple[float, float]]) -> list[Plateau]:
    """Find runs of sizes with similar cost.

    Args:
        points: size in bytes (ascending) and value (> 0, any unit).

    Returns:
        Maximal runs, from the smallest size on, whose values are within a factor of 1.2 of their geometric mean. Runs of
        a single size are steps, and excluded unless they are the last.
    """
    runs: list[list[tuple[float, float]]] = []
    for point in points:
        if runs and _flat([*runs[-1], point]):
            runs[-1].append(point)
        else:
            runs.append([point])
    kept = [run for run in runs[:-1] if len(run) >= _LEAST_FLAT] + runs[-1:]
    return [Plateau(run[0][0], run[-1][0], _middle(run)) for run in kept]


def memory_words(cells: Sequence[CellAnswer], hosts: Mapping[str, Mapping[str, str]]) -> tuple[str, ...]:
    """Return one sentence per curve: its plateaus, and the host's caches if known."""
    curves = memory_curves(cells)
    several = len({curve.place.host for curve in curves}) > 1
    sentences = []
    for curve in curves:
        points = list(zip(curve.at, (cell.estimate.point for cell in curve.cells), strict=True))
        found = plateaus(points)
        levels = [_plateau_words(one, curve, i == 0) for i, one in enumerate(found)]
        caches = [
            f"{c.name} {show_quantity(c.size_bytes, 'bytes', 6)}"
            for c in caches_of(hosts.get(curve.place.host, {}))
        ]
        host_caches = f"; caches of the host: {listed(caches)}" if caches else ""
        where = f", on host {curve.place.host}" if several else ""
        sentences.append(f"{curve.name}: about {listed(levels)}{host_caches}{where}")
    return tuple(sentences)


def _flat(run: Sequence[tuple[float, float]]) -> bool:
    middle = _middle(run)
    return all(middle / _FLAT <= value <= middle * _FLAT for _, value in run)


def _middle(run: Sequence[tuple[float, float]]) -> float:
    return math.exp(math.fsum(math.log(value) for _, value in run) / len(run))


def _plateau_words(one: Plateau, curve: TimeCurve, first: bool) -> str:
    value = show_quantity(one.value, curve.cells[0].unit)
    if one.first_bytes == one.last_bytes:
        return f"{value} at {show_quantity(one.last_bytes, 'bytes', 6)}"
    if first and one.first_bytes == curve.at[0]:
        return f"{value} up to {show_quantity(one.last_bytes, 'bytes', 6)}"
    return f"{value} from {show_quantity(one.first_bytes, 'bytes', 6)} to {show_quantity(one.last_bytes, 'bytes', 6)}"


def memory_section(_: Sequence[str], view: View) -> Section | None:
    """Return one figure per host and configuration, one line per walk; None without sizes and strides."""
    answer = view.answer
    curves = memory_curves(answer.cells)
    if not curves:
        return None
    places = grouped(
        curves,
        lambda curve: (curve.place.host, curve.place.benchmark.split(":", 1)[0], curve.place.configuration),
    )
    several = (len({host for host, _, _ in places}) > 1, len({third for _, _, third in places}) > 1)
    figures = []
    for (host, benchmark, configuration), many in places.items():
        parts = (
            benchmark.rsplit("/", 1)[-1],
            configuration if several[1] else "",
            f"on {host}" if several[0] else "",
        )
        figures += [_figure(parts, pack, answer.hosts.get(host, {})) for pack in packs(many)]
    return Section(
        "memory",
        words="Latency of dependent loads over the size of the memory area. Means over invocations; bands are "
        f"{show_percent(answer.level)} confidence intervals. Dotted lines mark the cache sizes of the host. Latency rises where the "
        "area exceeds a cache. Plateaus are sizes whose means are within a factor of 1.2 of their geometric mean.",
        groups=[Group("", figures)],
    )


def _figure(parts: Sequence[str], curves: Sequence[TimeCurve], facts: Mapping[str, str]) -> Figure:
    same = {
        name: value
        for name, value in curves[0].parameters.items()
        if all(curve.parameters.get(name) == value for curve in curves)
    }
    lines = [NamedLine(_name(curve, same), _points(curve)) for curve in curves]
    sizes = [size for curve in curves for size in curve.at]
    marks = [
        Mark(cache.size_bytes, f"{cache.name} {show_quantity(cache.size_bytes, 'bytes', 6)}")
        for cache in caches_of(facts)
    ]
    title = joined(*parts, parameters_text(same))
    x_axis = parameter_axis(SIZE, sizes)
    if "range" not in x_axis:
        room = 0.04 * (max(sizes) - min(sizes))
        x_axis["range"] = [min(sizes) - room, max(sizes) + room]
    return labelled_figure(
        title, lines, x_axis, time_quantity(curves[0].cells[0].metric, lines), marks, height_px=420
    )


def _name(curve: TimeCurve, same: Mapping[str, Scalar]) -> str:
    told = [
        value if isinstance(value, str) else f"{name.removesuffix('_bytes')} {parameter_text(name, value)}"
        for name, value in sorted(curve.parameters.items())
        if name not in same
    ]
    return " ".join(told)


def _points(curve: TimeCurve) -> list[Point]:
    given = parameters_text(curve.parameters)
    return [
        estimate_point(size, cell.estimate, cell.unit, show_quantity(size, "bytes", 6), given, shown="ns")
        for size, cell in zip(curve.at, curve.cells, strict=True)
    ]


MEMORY: Topic[tuple[str, ...]] = Topic(
    "memory",
    title="Memory latency",
    empty=(),
    compute=lambda context: memory_words(context.cells, context.facts.hosts),
    words=Words(110, "Memory", lambda sentences, _: sentences),
    section=memory_section,
)
