"""The topic of memory latency over the read size, with the caches of the host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from regatta.answers.kit.time_curves import TimeCurve
from regatta.answers.kit.topic import Topic, Words
from regatta.answers.kit.view import View
from regatta.answers.topics.memory.compute import SIZE, caches_of, memory_curves, memory_words
from regatta.figures.axes import Figure, Group, parameter_axis
from regatta.figures.curves import Point
from regatta.figures.labelled import (
    MOST_LINES,
    Mark,
    NamedLine,
    estimate_point,
    labelled_figure,
    time_quantity,
)
from regatta.figures.section import Section
from regatta.figures.text import joined, parameter_text, parameters_text, show_percent, show_quantity
from regatta.host.values.experiment import Scalar


def memory_section(_: Sequence[str], view: View) -> Section | None:
    """Return one figure per host and configuration, one line per walk; None without sizes and strides."""
    answer = view.answer
    curves = memory_curves(answer.cells)
    if not curves:
        return None
    places: dict[tuple[str, str, str], list[TimeCurve]] = {}
    for curve in curves:
        places.setdefault(
            (curve.place.host, curve.place.benchmark.split(":", 1)[0], curve.place.configuration), []
        ).append(curve)
    several = (len({host for host, _, _ in places}) > 1, len({third for _, _, third in places}) > 1)
    figures = []
    for (host, benchmark, configuration), many in places.items():
        parts = (
            benchmark.rsplit("/", 1)[-1],
            configuration if several[1] else "",
            f"on {host}" if several[0] else "",
        )
        for first in range(0, len(many), MOST_LINES):
            figures.append(_figure(parts, many[first : first + MOST_LINES], answer.hosts.get(host, {})))
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
