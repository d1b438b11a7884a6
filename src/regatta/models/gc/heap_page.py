"""Sentences, tables and the sections of the page of heap advice."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from regatta.figures.axes import Figure, Group, Trace, axis, layout, value_axis
from regatta.figures.curves import Point, curve, error_bars
from regatta.figures.looks import HUES, MARKS, LegendEntry, Look
from regatta.figures.section import Column, Section, Table, table_of
from regatta.figures.text import ABSENT, Scale, hover, show_brief, show_number, show_percent
from regatta.models.gc.heap_advice import HeapRow, LatencyAdvice, OverheadAdvice, WaitRow
from regatta.models.gc.heap_curve import HeapPrediction
from regatta.models.gc.heap_models import HeapModels, ModelChoice
from regatta.stats.estimate import Interval
from regatta.stats.intervals import mean_interval

_MIB = float(1 << 20)
_HEIGHT_PX = 380
_STEPS = 60
_MARK_NAMES = tuple(MARKS)


def mib(heap_bytes: float) -> str:
    """Format a heap as whole MiB, rounded up so that it suffices; ∞ if infinite."""
    return f"{math.ceil(heap_bytes / _MIB - 1e-6):,}" if math.isfinite(heap_bytes) else "∞"


def _ends(interval: Interval, show: Callable[[float], str] = show_brief) -> str:
    low = show(interval.low)
    return ABSENT if low == ABSENT else f"[{low}, {show(interval.high)}]"


def _seconds(time: Interval) -> str:
    return f"{show_number(time.point)} s {_ends(time, show_number)}"


def overhead_sentences(advice: OverheadAdvice) -> list[str]:
    """Return the answer, then each refusal, then the next measurement."""
    first = f"No heap is known to meet {show_percent(advice.target, 3)}: measure larger heaps."
    if math.isfinite(advice.heap.point):
        first = (
            f"Use {advice.collector} with a heap of {mib(advice.heap.point)} MiB {_ends(advice.heap, mib)}: "
            f"{show_percent(advice.overhead.point, 2)} above the least time "
            f"{_ends(advice.overhead, lambda share: show_percent(share, 2))}."
        )
    found = [first, *(f"Not answered: {text}." for text in advice.refusals)]
    if advice.unmeasured:
        needs = ", ".join(
            f"{name} {mib(heap.point)} MiB {_ends(heap, mib)}" for name, heap in advice.unmeasured.items()
        )
        found.append(f"Predicted, not measured: {needs} for at most {show_percent(advice.target, 3)}.")
    following = f"Measure next: {advice.next.collector} with {mib(advice.next.heap.heap_bytes)} MiB"
    if both := advice.next.disagreement:
        following += (
            f", where its models disagree most: {_seconds(both.used.time)}, "
            f"second opinion {_seconds(both.second.time)}"
        )
    elif math.isfinite(advice.next.heap.shrinks_by):
        following += f"; expected to shrink the interval by {show_percent(advice.next.heap.shrinks_by, 2)}"
    return [*found, f"{following}."]


def model_sentences(models: HeapModels, collector: str) -> list[str]:
    """Return one sentence: the model of a collector, with its error; none without a prediction."""
    found = []
    for one in models.choices:
        why = one.reason or (
            f"leave-one-out error of the prediction {show_percent(one.prediction_error, 2)}, "
            f"of the curve {show_percent(one.curve_error, 2)}"
        )
        if one.collector == collector:
            found.append(f"Model of {collector}: {one.used} ({why}).")
    return found


def models_table(models: HeapModels, level: float) -> Table:
    """Return one row per measured collector, if there are predictions."""
    columns: list[Column[ModelChoice]] = [
        Column("collector", lambda one: one.collector),
        Column("model", lambda one: one.used),
        Column("error of the curve", lambda one: show_percent(one.curve_error, 2), True),
        Column("error of the prediction", lambda one: show_percent(one.prediction_error, 2), True),
        Column(
            "measured / predicted GC time",
            lambda one: show_brief(one.scale.point) if one.scale else ABSENT,
            True,
        ),
        Column(
            f"{show_percent(level)} interval", lambda one: _ends(one.scale) if one.scale else ABSENT, True
        ),
        Column("reason", lambda one: one.reason),
    ]
    return table_of("Models", models.choices, columns).without_empty()


def latency_sentences(advice: LatencyAdvice) -> list[str]:
    """Return the answer, then each refusal, then the next measurement."""
    first = f"No measured heap is known to meet {show_brief(advice.limit_ms)} ms."
    if row := advice.chosen:
        first = (
            f"Use {row.collector} with a heap of {mib(row.heap_bytes)} MiB: "
            f"99 % of pauses and all allocation stalls take at most {show_brief(row.wait.point)} ms "
            f"{_ends(row.wait)}."
        )
    found = [first, *(f"Not answered: {text}." for text in advice.refusals)]
    if advice.next is not None:
        found.append(f"Measure next: {advice.next[0]} with {mib(advice.next[1])} MiB.")
    return found


def overhead_table(advice: OverheadAdvice, level: float) -> Table:
    """Return one row per collector and heap: measured heaps and those around the recommended one."""

    def second(row: HeapRow) -> str:
        if row.second is None:
            return ""
        return f"{show_number(row.second.time.point)} {_ends(row.second.time, show_number)}"

    columns: list[Column[HeapRow]] = [
        Column("collector", lambda row: row.collector),
        Column("heap (MiB)", lambda row: mib(row.prediction.heap_bytes), True),
        Column("time (s)", lambda row: show_number(row.prediction.time.point), True),
        Column(f"{show_percent(level)} interval", lambda row: _ends(row.prediction.time, show_number), True),
        Column("second opinion (s)", second, True),
        Column("measured", lambda row: str(row.invocations or ""), True),
        Column("not relied on", lambda row: row.prediction.time.reason),
    ]
    return table_of("Predicted time by heap", advice.rows, columns)


def latency_table(advice: LatencyAdvice, level: float) -> Table:
    """Return one row per measured collector and heap."""

    def stall(row: WaitRow) -> str:
        if math.isnan(row.stall_ms):
            return "unknown"
        return show_brief(row.stall_ms) if row.stall_ms else ABSENT

    columns: list[Column[WaitRow]] = [
        Column("collector", lambda row: row.collector),
        Column("heap (MiB)", lambda row: mib(row.heap_bytes), True),
        Column("pauses and stalls (ms)", lambda row: show_brief(row.wait.point), True),
        Column(f"{show_percent(level)} interval", lambda row: _ends(row.wait), True),
        Column("longest stall (ms)", stall, True),
        Column("measured", lambda row: str(row.wait.n), True),
        Column("time (s)", lambda row: show_number(row.seconds), True),
        Column(f"at most {show_brief(advice.limit_ms)} ms", lambda row: row.meets),
    ]
    return table_of("Pauses and stalls by heap", advice.rows, columns)


def heap_sections(name: str, table: Table, models: HeapModels, level: float = 0.95) -> list[Section]:
    """Return the curves of each collector, the table of heaps and that of models."""
    words = (
        f"Predicted mean time of each collector over the heap, with {show_percent(level)} intervals; "
        "marks are measured means. Curves end where the measurements support no prediction."
    ) + (" Dashed: second opinions." if models.second else "")
    looks = {
        collector: Look(f"@c{number % HUES}", _MARK_NAMES[number % len(_MARK_NAMES)], "solid")
        for number, collector in enumerate(models.curves)
    }
    legend = [LegendEntry(collector, look) for collector, look in looks.items()]
    sections = [
        Section(
            "curves", "Time over heap", words, groups=[Group(name, [_figure(models, looks, level)], legend)]
        ),
        Section("heaps", table.title, tables=[table.without_empty()]),
    ]
    if models.choices:
        sections.append(Section("models", "Models", tables=[models_table(models, level)]))
    return sections


def _figure(models: HeapModels, looks: Mapping[str, Look], level: float) -> Figure:
    traces: list[Trace] = []
    values: list[float] = []
    scale = Scale(1.0, "s", None)
    for collector, fitted in models.curves.items():
        look = looks[collector]
        heaps = np.geomspace(0.5 * fitted.least_measured, 1.25 * fitted.largest_measured, _STEPS).tolist()
        for model, dash in ((fitted, "solid"), (models.second.get(collector), "dash")):
            if model is None:
                continue
            found = [model.at(heap, level) for heap in heaps if not model.why_refused(heap)]
            # A prediction has no time where the live objects do not fit.
            points = [_point(collector, one) for one in found if math.isfinite(one.time.high)]
            *bands, line = curve(points, replace(look, dash=dash), scale)
            line["mode"] = "lines"
            line.pop("marker", None)
            traces += [*(bands if model is fitted else ()), line]
            values += [value for one in points for value in (one.low, one.high)]
        measured = [mean_interval(point.seconds, level, positive=True) for point in fitted.points]
        sizes = [point.heap_bytes for point in fitted.points]
        values += [one.point for one in measured]
        traces.append(_measured(collector, look, sizes, measured))
    return Figure(
        "Time over heap", _HEIGHT_PX, traces, layout(axis("heap (MiB)"), value_axis("time (s)", values))
    )


def _measured(collector: str, look: Look, sizes: Sequence[float], means: Sequence[Interval]) -> Trace:
    """Return the marks of measured means at heap sizes in bytes."""
    above = [one.high - one.point if math.isfinite(one.high) else 0.0 for one in means]
    below = [one.point - one.low if math.isfinite(one.low) else 0.0 for one in means]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [size / _MIB for size in sizes],
        "y": [one.point for one in means],
        "marker": {"color": look.colour, "symbol": look.mark, "size": 10},
        "error_y": error_bars(above, below, look.colour, thickness=1.5, width=4),
        "hoverinfo": "text",
        "hovertext": [
            hover(collector, f"{mib(size)} MiB", f"mean {show_brief(one.point, 4)} s, n = {one.n}")
            for size, one in zip(sizes, means, strict=True)
        ],
    }


def _point(collector: str, one: HeapPrediction) -> Point:
    text = hover(collector, f"{mib(one.heap_bytes)} MiB", f"predicted {_seconds(one.time)}")
    return Point(one.heap_bytes / _MIB, one.time.point, one.time.low, one.time.high, text)
