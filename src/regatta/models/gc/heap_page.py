"""Tables, sentences and the HTML page of heap advice."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from regatta.figures.axes import Figure, Group, axis, layout, value_axis
from regatta.figures.curves import Point, curve, error_bars
from regatta.figures.looks import HUES, MARKS, LegendEntry, Look
from regatta.figures.section import Section, Table
from regatta.figures.sections_page import write_sections_page
from regatta.figures.text import ABSENT, Scale, hover, show_brief, show_percent, significant
from regatta.models.gc.heap_advice import LatencyAdvice, OverheadAdvice
from regatta.models.gc.heap_curve import HeapNeeded, HeapPrediction
from regatta.models.gc.heap_models import HeapModels
from regatta.stats.intervals import mean_interval

_MIB = float(1 << 20)
_HEIGHT_PX = 380
_STEPS = 60
_MARK_NAMES = tuple(MARKS)


def mib(heap_bytes: float) -> str:
    """Format a heap as whole MiB, rounded up so that it suffices; ∞ if infinite."""
    return f"{math.ceil(heap_bytes / _MIB - 1e-6):,}" if math.isfinite(heap_bytes) else "∞"


def _heap_ends(heap: HeapNeeded) -> str:
    return f"[{mib(heap.low)}, {mib(heap.high)}]"


def overhead_sentences(advice: OverheadAdvice) -> list[str]:
    """Return the answer, then each refusal, then the next measurement."""
    if math.isfinite(advice.heap.heap_bytes):
        first = (
            f"Use {advice.collector} with a heap of {mib(advice.heap.heap_bytes)} MiB {_heap_ends(advice.heap)}: "
            f"{show_percent(advice.overhead, 2)} above the least time "
            f"[{show_percent(advice.overhead_low, 2)}, {show_percent(advice.overhead_high, 2)}]."
        )
    else:
        first = f"No heap is known to meet {show_percent(advice.target, 3)}: measure larger heaps."
    found = [first, *(f"Not answered: {text}." for text in advice.refusals)]
    if advice.unmeasured:
        needs = (
            f"{name} {mib(heap.heap_bytes)} MiB {_heap_ends(heap)}"
            for name, heap in advice.unmeasured.items()
        )
        found.append(
            f"Predicted, not measured: {', '.join(needs)} for at most {show_percent(advice.target, 3)}."
        )
    shrinks = advice.next.heap.shrinks_by
    following = f"Measure next: {advice.next.collector} with {mib(advice.next.heap.heap_bytes)} MiB"
    if both := advice.next.disagreement:
        following += (
            f", where its models disagree most: {_seconds(both.used.seconds)} s {_ends(both.used)}, "
            f"second opinion {_seconds(both.second.seconds)} s {_ends(both.second)}"
        )
    elif math.isfinite(shrinks):
        following += f"; expected to shrink the interval by {show_percent(shrinks, 2)}"
    found.append(f"{following}.")
    return found


def model_sentences(models: HeapModels, collector: str) -> list[str]:
    """Return one sentence: the model of a collector, with its error; none without a prediction."""
    return [
        f"Model of {collector}: {one.used} ("
        + (
            one.reason
            or f"leave-one-out error of the prediction {show_percent(one.prediction_error, 2)}, "
            f"of the curve {show_percent(one.curve_error, 2)}"
        )
        + ")."
        for one in models.choices
        if one.collector == collector
    ]


def models_table(models: HeapModels, level: float) -> Table:
    """Return one row per measured collector, if there are predictions."""
    rows = [
        (
            one.collector,
            one.used,
            show_percent(one.curve_error, 2) if math.isfinite(one.curve_error) else ABSENT,
            show_percent(one.prediction_error, 2) if math.isfinite(one.prediction_error) else ABSENT,
            show_brief(one.scale.point) if one.scale else ABSENT,
            f"[{show_brief(one.scale.low)}, {show_brief(one.scale.high)}]" if one.scale else ABSENT,
            one.reason,
        )
        for one in models.choices
    ]
    columns = (
        "collector", "model", "error of the curve", "error of the prediction", "measured / predicted GC time",
        f"{show_percent(level)} interval", "reason",
    )  # fmt: skip
    return Table("Models", columns, rows, frozenset({2, 3, 4, 5})).without_empty()


def latency_sentences(advice: LatencyAdvice) -> list[str]:
    """Return the answer, then each refusal, then the next measurement."""
    found = []
    if advice.chosen is not None:
        row = advice.chosen
        found.append(
            f"Use {row.collector} with a heap of {mib(row.heap_bytes)} MiB: "
            f"99 % of pauses and all allocation stalls take at most {show_brief(row.wait_ms)} ms "
            f"[{show_brief(row.low)}, {show_brief(row.high)}]."
        )
    else:
        found.append(f"No measured heap is known to meet {show_brief(advice.limit_ms)} ms.")
    found += [f"Not answered: {text}." for text in advice.refusals]
    if advice.next is not None:
        found.append(f"Measure next: {advice.next[0]} with {mib(advice.next[1])} MiB.")
    return found


def overhead_table(advice: OverheadAdvice, level: float) -> Table:
    """Return one row per collector and heap: measured heaps and those around the recommended one."""
    rows = [
        (
            row.collector,
            mib(row.prediction.heap_bytes),
            _seconds(row.prediction.seconds),
            _ends(row.prediction),
            f"{_seconds(row.second.seconds)} {_ends(row.second)}" if row.second else "",
            str(row.invocations) if row.invocations else "",
            row.prediction.refused,
        )
        for row in advice.rows
    ]
    columns = (
        "collector",
        "heap (MiB)",
        "time (s)",
        f"{show_percent(level)} interval",
        "second opinion (s)",
        "measured",
        "not relied on",
    )
    return Table("Predicted time by heap", columns, rows, frozenset({1, 2, 3, 4, 5}))


def latency_table(advice: LatencyAdvice, level: float) -> Table:
    """Return one row per measured collector and heap."""
    rows = [
        (
            row.collector,
            mib(row.heap_bytes),
            show_brief(row.wait_ms),
            f"[{show_brief(row.low)}, {show_brief(row.high)}]" if math.isfinite(row.low) else ABSENT,
            _stall(row.stall_ms),
            str(row.invocations),
            _seconds(row.seconds),
            row.meets,
        )
        for row in advice.rows
    ]
    columns = (
        "collector", "heap (MiB)", "pauses and stalls (ms)", f"{show_percent(level)} interval",
        "longest stall (ms)", "measured", "time (s)", f"at most {show_brief(advice.limit_ms)} ms",
    )  # fmt: skip
    return Table("Pauses and stalls by heap", columns, rows, frozenset({1, 2, 3, 4, 5, 6}))


def _stall(ms: float) -> str:
    if math.isnan(ms):
        return "unknown"
    return show_brief(ms) if ms else ABSENT


def write_heap_page(
    name: str,
    sentences: Sequence[str],
    table: Table,
    models: HeapModels,
    path: Path,
    level: float = 0.95,
) -> None:
    """Write the advice as one self-contained HTML file: sentences, the curves of each collector and the tables.

    Raises:
        StoreError: the file cannot be written.
    """
    words = (
        f"Predicted mean time of each collector over the heap, with {show_percent(level)} intervals; marks are measured means. "
        "Curves end where the measurements support no prediction."
    ) + (" Dashed: second opinions." if models.second else "")
    looks = {
        collector: Look(f"@c{number % HUES}", _MARK_NAMES[number % len(_MARK_NAMES)], "solid")
        for number, collector in enumerate(models.curves)
    }
    legend = [LegendEntry(collector, look) for collector, look in looks.items()]
    group = Group(name, [_figure(models, looks, level)], legend)
    sections = [
        Section("curves", "Time over heap", words, groups=[group]),
        Section("heaps", table.title, "", tables=[table.without_empty()]),
    ]
    if models.choices:
        sections.append(Section("models", "Models", "", tables=[models_table(models, level)]))
    write_sections_page("heap advice", f"Collector and heap for {name}", sentences, sections, path)


def _figure(models: HeapModels, looks: Mapping[str, Look], level: float) -> Figure:
    traces = []
    values: list[float] = []
    scale = Scale(1.0, "s", None)
    for collector, fitted in models.curves.items():
        look = looks[collector]
        heaps = np.geomspace(0.5 * fitted.least_measured, 1.25 * fitted.largest_measured, _STEPS)
        for model, dash in ((fitted, "solid"), (models.second.get(collector), "dash")):
            if model is None:
                continue
            found = [model.at(float(heap), level) for heap in heaps if not model.why_refused(float(heap))]
            # A prediction has no time where the live objects do not fit.
            found = [one for one in found if math.isfinite(one.high)]
            points = [
                Point(one.heap_bytes / _MIB, one.seconds, one.low, one.high, _hover(collector, one))
                for one in found
            ]
            *bands, line = curve(points, replace(look, dash=dash), scale)
            line["mode"] = "lines"
            line.pop("marker", None)
            traces += [*(bands if model is fitted else ()), line]
            values += [value for one in found for value in (one.low, one.high)]
        measured = [mean_interval(point.seconds, level, positive=True) for point in fitted.points]
        values += [one.point for one in measured]
        above = [one.high - one.point if math.isfinite(one.high) else 0.0 for one in measured]
        below = [one.point - one.low if math.isfinite(one.low) else 0.0 for one in measured]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": [point.heap_bytes / _MIB for point in fitted.points],
                "y": [one.point for one in measured],
                "marker": {"color": look.colour, "symbol": look.mark, "size": 10},
                "error_y": error_bars(above, below, look.colour, thickness=1.5, width=4),
                "hoverinfo": "text",
                "hovertext": [
                    hover(
                        collector,
                        f"{mib(point.heap_bytes)} MiB",
                        f"mean {show_brief(one.point, 4)} s, n = {one.n}",
                    )
                    for point, one in zip(fitted.points, measured, strict=True)
                ],
            }
        )
    return Figure(
        "Time over heap", _HEIGHT_PX, traces, layout(axis("heap (MiB)"), value_axis("time (s)", values))
    )


def _hover(collector: str, one: HeapPrediction) -> str:
    return hover(
        collector,
        f"{mib(one.heap_bytes)} MiB",
        f"predicted {_seconds(one.seconds)} s {_ends(one)}",
    )


def _seconds(value: float) -> str:
    return significant(value, 4) if math.isfinite(value) else ABSENT


def _ends(one: HeapPrediction) -> str:
    return f"[{_seconds(one.low)}, {_seconds(one.high)}]" if math.isfinite(one.low) else ABSENT
