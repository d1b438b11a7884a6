"""The sentences: where the time of a transaction goes, and what tracing costs."""

from __future__ import annotations

import math

from regatta.answers.spine.verdicts import shows_difference
from regatta.answers.spine.words import counted, how_much, measured
from regatta.figures.text import show_percent, show_quantity
from regatta.models.kernel_traces.topic.result import NO_PHASE, TIMES, TracedCell, Tracing

#: Longer headlines are not read.
_MOST = 4


def tracing_words(found: Tracing) -> tuple[str, ...]:
    """Return one sentence per cell, and remarks about missing values."""
    return (*(cell_words(cell) for cell in found.cells), *_remarks(found))


def headline_words(found: Tracing) -> tuple[str, ...]:
    """Return the sentences of the first cells."""
    return tuple(cell_words(cell) for cell in found.cells[:_MOST])


def cell_words(cell: TracedCell) -> str:
    """Return the largest time of a transaction, by phase and kind, and the overhead of tracing."""
    return f"{cell.name}: {_largest(cell)}; {overhead_words(cell)}"


def _largest(cell: TracedCell) -> str:
    total = math.fsum(phase.elapsed.point for phase in cell.phases)
    parts = [
        (time.point, key, phase.name, time) for phase in cell.phases for key, time in phase.times.items()
    ]
    if not parts or not total > 0:
        return f"time per transaction n.d. ({cell.response.reason})"
    point, key, phase, time = max(parts, key=lambda part: part[0])
    where = f" in phase {phase}" if phase != NO_PHASE else ""
    return (
        f"of {show_quantity(total, 'ns')} per transaction, {show_percent(point / total, 2)} is {TIMES[key]}{where}, "
        f"{measured(time, 'ns')}"
    )


def overhead_words(cell: TracedCell) -> str:
    """Return `tracing: throughput 3.1 % [2.0, 4.2] lower`."""
    ratio = cell.overhead
    if math.isnan(ratio.point):
        return f"overhead of tracing n.d. ({ratio.reason})"
    change = "lower" if ratio.point < 1 else "higher"
    if math.isnan(ratio.low):
        return f"tracing: {cell.metric} {_alone(ratio.point)} {change} (no CI: {ratio.reason})"
    if not shows_difference(ratio):
        return f"tracing: no significant change of {cell.metric} ({how_much(ratio)} {change})"
    return f"tracing: {cell.metric} {how_much(ratio)} {change}"


def _alone(ratio: float) -> str:
    """Return the distance of a ratio from 1 without an interval."""
    return f"{abs(ratio - 1) * 100:.1f} %"


def _remarks(found: Tracing) -> list[str]:
    told = []
    lacking = [(cell.name, cell.without_events) for cell in found.cells if cell.without_events]
    if lacking:
        each = ", ".join(f"{name}: {counted(count, 'invocation')}" for name, count in lacking)
        told.append(f"Without measures of events ({each})")
    few = [cell.name for cell in found.cells if cell.n == 1]
    if few:
        told.append(f"No confidence intervals, one traced invocation: {', '.join(few)}")
    return told
