"""The tables of an event trace: where time goes, what limits the throughput, and what would change it."""

from __future__ import annotations

from collections.abc import Iterable

from regatta.figures.section import Column, Table, table_of
from regatta.figures.text import show_brief
from regatta.models.kernel_traces.critical_path import CriticalPaths, PathPart
from regatta.models.kernel_traces.demands import WhatIf, demands_of, what_if
from regatta.models.kernel_traces.measures import Measures, Times, Usage
from regatta.models.kernel_traces.model import Trace
from regatta.models.kernel_traces.segments import load_segments
from regatta.models.kernel_traces.timeline import State
from regatta.models.kernel_traces.waiting import Knot, find_knots, find_waits, wait_graph

#: rows of a table of measures, and of the waiting analysis
_SHOWN, _SHOWN_WAITING = 12, 8
#: transactions whose path is followed; more change the mean little
_PATHS = 20_000
_HALF = 0.5
_CAUSES = ("lock", "disk", "network", "timer", "process")
_TIMES = ("user", "kernel", "spin", "interrupts", "ready", *_CAUSES, "wake-ups", "switches")
_STATES = {State.READY: "waits for a CPU", State.USER: "user", State.KERNEL: "kernel", State.SPIN: "spins"}


def measure_tables(measures: Measures, first: str) -> list[Table]:
    """Return the times by phase and by process, and the uses of objects.

    Args:
        measures: of a trace.
        first: name of the process in the first row, such as the traced command.
    """
    phases = sorted(measures.phases.items()) if measures.transactions else []
    processes = sorted(measures.processes.items(), key=lambda one: (one[0] != first, -one[1].cpu))[:_SHOWN]
    usages = sorted(measures.usages.values(), key=lambda one: -one.used_ns)[:_SHOWN]
    # A window without length has no times.
    seconds = measures.seconds or 1.0
    return [
        _times_table("Phases, µs per transaction", "phase", phases, 1e3, measures.transactions),
        _times_table("Processes, ms per second", "process", processes, 1e6, seconds),
        table_of("Objects", usages, _USAGES),
    ]


_USAGES: list[Column[Usage]] = [
    Column("object", lambda usage: usage.name),
    Column("kind", lambda usage: usage.kind),
    Column("uses", lambda usage: str(usage.uses), numeric=True),
    Column("used, ms", lambda usage: show_brief(usage.used_ns / 1e6), numeric=True),
    Column("waited for, ms", lambda usage: show_brief(usage.waited_ns / 1e6), numeric=True),
]


def _times_table(
    title: str, first: str, rows: Iterable[tuple[str, Times]], unit_ns: float, per: float
) -> Table:
    """Return the times and the numbers of events of some threads, per transaction or second."""
    texts = [(name, *(show_brief(value) for value in _values(times, unit_ns, per))) for name, times in rows]
    columns = (first, *_TIMES)
    return Table(title, columns, texts, frozenset(at for at, name in enumerate(columns) if name != first))


def _values(times: Times, unit_ns: float, per: float) -> list[float]:
    spent = [times.user, times.kernel, times.spin, sum(times.interrupts.values()), times.ready]
    spent += [times.asleep.get(cause, 0.0) for cause in _CAUSES]
    counts = (sum(times.wakeups.values()), times.switches)
    return [*(ns / unit_ns / per for ns in spent), *(count / per for count in counts)]


def waiting_tables(trace: Trace, measures: Measures, clients: int | None) -> list[Table]:
    """Return the tables of bottlenecks, of the mean critical path, and of halved demands.

    Args:
        trace: with transactions.
        measures: of it.
        clients: number of clients; None: the mean number of transactions at a time.
    """
    segments = load_segments(trace)
    waits = find_waits(segments)
    knots = find_knots(wait_graph(segments, waits, merge=True))
    path = CriticalPaths(segments, waits).mean(_PATHS)
    per_second = 1e6 * (measures.seconds or 1.0)
    places: list[Column[Knot]] = [
        Column("place", _place_words),
        Column("saturated", lambda knot: "yes" if knot.saturated else "no"),
        Column("waits, ms per second", lambda knot: f"{knot.weight_ns / per_second:,.0f}", numeric=True),
        Column("waited for by", _waiter_words),
    ]
    total_ns = path.response_ns or 1.0
    parts: list[Column[tuple[PathPart, float]]] = [
        Column("part", lambda row: _part_words(row[0])),
        Column("phase", lambda row: row[0].phase),
        Column("µs", lambda row: f"{row[1] / 1e3:,.1f}", numeric=True),
        Column("%", lambda row: f"{100 * row[1] / total_ns:.0f}", numeric=True),
    ]
    longest = sorted(path.parts.items(), key=lambda one: -one[1])[:_SHOWN_WAITING]
    return [
        table_of("Bottlenecks (knots of the wait-for graph)", knots[:_SHOWN_WAITING], places),
        table_of(f"Critical path, mean of {path.transactions:,} transactions", longest, parts),
        _halved_table(measures, clients),
    ]


def _halved_table(measures: Measures, clients: int | None) -> Table:
    demands = demands_of(measures)
    stations = sorted(zip(demands.names, demands.demands_ns.tolist(), strict=True), key=lambda one: -one[1])
    rows = [(name, ns, what_if(measures, {name: _HALF}, clients)) for name, ns in stations[:_SHOWN_WAITING]]
    columns: list[Column[tuple[str, float, WhatIf]]] = [
        Column("station", lambda row: row[0]),
        Column("demand, µs", lambda row: f"{row[1] / 1e3:,.1f}", numeric=True),
        Column("model now", lambda row: f"{row[2].before:,.0f}", numeric=True),
        Column("if half", lambda row: f"{row[2].after:,.0f}", numeric=True),
        Column("bound", lambda row: f"{row[2].bound_after:,.0f}", numeric=True),
    ]
    return table_of("What if a demand were half: transactions per second", rows, columns)


def _place_words(knot: Knot) -> str:
    return ", ".join(f"{one.name} ({100 * one.utilization:.0f} % busy)" for one in knot.vertices[:3])


def _waiter_words(knot: Knot) -> str:
    return ", ".join(dict.fromkeys(edge.waiter.name for edge in knot.incoming[:3]))


def _part_words(part: PathPart) -> str:
    """Return what happens in a part of a path."""
    if part.state == State.ASLEEP:
        return f"waits for {part.lock or part.name or 'unknown'}"
    if part.state == State.INTERRUPT:
        return part.name
    name = f" {part.name}" if part.name and part.state == State.KERNEL else ""
    return _STATES.get(part.state, "idle") + name + (f" for {part.lock}" if part.lock else "")
