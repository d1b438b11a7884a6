"""Tables and figures of the predicted times of programs that work on files."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from regatta.figures.axes import Figure, Group, Trace, axis, layout
from regatta.figures.looks import LegendEntry, Look
from regatta.figures.section import Column, Section, Table, table_of
from regatta.figures.text import ABSENT, ends_or_absent, hover, show_ends, significant
from regatta.models.page_cache.cache import PAGE_BYTES
from regatta.models.predict.file_times import FileForecast, FileTime, Order
from regatta.models.predict.tables import MEASURED_CI, interval_columns, show_error
from regatta.models.vectors.values import Value

_MS = 1e6
_MIB = 1 << 20
_PREDICTED = Look("@c0", "diamond", "solid")
_MEASURED = Look("@ink", "circle", "solid")
_FIGURE_PX = 280
WORDS = (
    "The time without modifiers is measured, and the others are predicted from it: more or fewer waits for "
    "the disk, each with its cost there. Intervals of predictions include the errors of the costs and of the "
    "measured time, not that of the simulated cache."
)


def times_table(found: FileForecast) -> Table:
    """Return one row for each program and configuration."""
    columns: list[Column[FileTime]] = [
        Column("program", lambda one: one.benchmark),
        Column("host", lambda one: one.host),
        Column("disk", lambda one: one.disk),
        Column("memory, MiB", _memory, True),
        Column("waits for the disk", lambda one: f"{one.counts.waits:,}", True),
        Column("read, MiB", lambda one: _mib(one.counts.fetched), True),
        Column("synced, MiB", lambda one: _mib(one.counts.synced), True),
        Column("predicted, ms", lambda one: "measured" if one.base else _ms(one.predicted.value), True),
        Column("CI", lambda one: "" if one.base else ends_or_absent(one.predicted, _ms), True),
        *interval_columns("measured, ms", MEASURED_CI, lambda one: one.measured, _ms),
        Column("error", lambda one: show_error(one.error), True),
    ]
    return table_of("Times of programs", found.times, columns).without_empty()


def orders_table(found: FileForecast) -> Table:
    """Return one row for each program and pair of disks."""
    columns: list[Column[Order]] = [
        Column("program", lambda one: one.benchmark),
        Column("host", lambda one: one.host),
        Column("disks", lambda one: " / ".join(one.disks)),
        *interval_columns("predicted ratio", "CI", lambda one: one.predicted),
        *interval_columns("measured ratio", MEASURED_CI, lambda one: one.measured),
        Column("order", lambda one: one.verdict),
    ]
    return table_of("Order of disks", found.orders, columns)


def sentences(found: FileForecast) -> list[str]:
    """Return the answer: the errors, and how many orders are right."""
    errors = [abs(one.error) for one in found.times if math.isfinite(one.error)]
    told = []
    if errors:
        worst = max((one for one in found.times if math.isfinite(one.error)), key=lambda one: abs(one.error))
        told.append(
            f"{len(errors)} predicted times, off by {100 * sorted(errors)[len(errors) // 2]:.0f} % in the "
            f"median and at most {100 * max(errors):.0f} % ({worst.benchmark}, {_place(worst)})"
        )
    if found.orders:
        told.append(f"order of disks: {_verdicts(found.orders)}")
    return told


def _verdicts(orders: Sequence[Order]) -> str:
    counts = Counter(one.verdict for one in orders)
    return ", ".join(f"{counts[one]} {one}" for one in ("right", "wrong", "open", "same") if counts[one])


def file_sections(found: FileForecast) -> list[Section]:
    """Return the sections of the page."""
    programs = list(dict.fromkeys((one.benchmark, one.host) for one in found.times))
    groups = [
        Group(
            f"{benchmark} on {host}",
            [_figure([one for one in found.times if (one.benchmark, one.host) == (benchmark, host)])],
            [LegendEntry("predicted", _PREDICTED), LegendEntry("measured", _MEASURED)],
        )
        for benchmark, host in programs
    ]
    times = Section("times", "Predicted and measured times", WORDS, found.notes, [times_table(found)], groups)
    words = (
        "Without a limit of memory. open: the prediction cannot tell them apart. same: no difference shown in the "
        "measurements."
    )
    disks = Section("disks", "Order of disks", words, tables=[orders_table(found)])
    return [times, disks] if found.orders else [times]


def _figure(times: Sequence[FileTime]) -> Figure:
    names = [_place(one) for one in times]
    traces: list[Trace] = []
    for look, name, move in ((_MEASURED, "measured", -0.08), (_PREDICTED, "predicted", 0.08)):
        values: list[Value] = [getattr(one, name) for one in times]
        shown = [(at, one) for at, one in enumerate(values) if math.isfinite(one.value)]
        texts = [hover(f"{name} {_ms(one.value)} ms", names[at], show_ends(one, _ms)) for at, one in shown]
        traces.append(
            {
                "type": "scatter", "mode": "markers", "x": [at + move for at, _ in shown],
                "y": [one.value / _MS for _, one in shown],
                "error_y": {
                    "type": "data", "symmetric": False, "color": look.colour, "thickness": 1,
                    "array": [_far(one.high - one.value) for _, one in shown],
                    "arrayminus": [_far(one.value - one.low) for _, one in shown],
                },
                "hovertext": texts, "hoverinfo": "text", "marker": {"size": 8, "color": look.colour, "symbol": look.mark},
            }
        )  # fmt: skip
    x = axis("", tickvals=list(range(len(names))), ticktext=names, range=[-0.5, len(names) - 0.5])
    return Figure("", _FIGURE_PX, traces, layout(x, axis("time, ms", rangemode="tozero")))


def as_document(found: FileForecast) -> dict[str, Any]:
    """Return the forecast for `--json`; times in ns."""
    return {
        "experiment": found.experiment,
        "notes": list(found.notes),
        "times": [
            {
                "benchmark": one.benchmark, "host": one.host, "disk": one.disk, "memory_mib": one.memory_mib,
                "base": one.base, "predicted": _value(one.predicted), "measured": _value(one.measured),
                "error": _finite(one.error),
                "counts": one.counts.vector(),
            }
            for one in found.times
        ],
        "orders": [
            {
                "benchmark": one.benchmark, "host": one.host, "disks": list(one.disks),
                "predicted": _value(one.predicted), "measured": _value(one.measured), "verdict": one.verdict,
            }
            for one in found.orders
        ],
    }  # fmt: skip


def _value(one: Value) -> dict[str, float | str | None]:
    numbers = {name: _finite(getattr(one, name)) for name in ("value", "low", "high")}
    return {**numbers, "reason": one.reason}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _far(value: float) -> float:
    return value / _MS if math.isfinite(value) else 0.0


def _memory(one: FileTime) -> str:
    return "no limit" if one.memory_mib is None else str(one.memory_mib)


def _place(one: FileTime) -> str:
    return f"{one.disk}, {_memory(one)}{'' if one.memory_mib is None else ' MiB'}"


def _mib(pages: int) -> str:
    return f"{pages * PAGE_BYTES / _MIB:,.1f}"


def _ms(ns: float) -> str:
    return significant(ns / _MS, 4) if math.isfinite(ns) else ABSENT
