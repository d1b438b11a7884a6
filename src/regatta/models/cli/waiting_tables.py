"""Tables of the waiting analysis of an event trace: what limits the throughput, and what would change it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from regatta.models.kernel_traces.critical_path import CriticalPaths, PathPart
from regatta.models.kernel_traces.demands import demands_of, what_if
from regatta.models.kernel_traces.segments import load_segments
from regatta.models.kernel_traces.timeline import State
from regatta.models.kernel_traces.waiting import find_knots, find_waits, wait_graph

if TYPE_CHECKING:
    from regatta.models.kernel_traces.measures import Measures
    from regatta.models.kernel_traces.model import Trace

#: title, header, rows, columns of text
Table = tuple[str, Sequence[str], Sequence[Sequence[str]], Collection[str]]

_SHOWN = 8
#: transactions whose path is followed; more change the mean little
_PATHS = 20_000
_HALF = 0.5


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
    rows = [
        (
            ", ".join(f"{one.name} ({100 * one.utilization:.0f} % busy)" for one in knot.vertices[:3]),
            "yes" if knot.saturated else "no",
            f"{knot.weight_ns / per_second:,.0f}",
            ", ".join(dict.fromkeys(edge.waiter.name for edge in knot.incoming[:3])),
        )
        for knot in knots[:_SHOWN]
    ]
    tables: list[Table] = [
        ("Bottlenecks (knots of the wait-for graph)", ("place", "saturated", "waits, ms per second", "waited for by"), rows, ("place", "saturated", "waited for by"))
    ]  # fmt: skip
    parts = sorted(path.parts.items(), key=lambda one: -one[1])[:_SHOWN]
    tables.append(
        (
            f"Critical path, mean of {path.transactions:,} transactions",
            ("part", "phase", "µs", "%"),
            [(_words(part), part.phase, f"{ns / 1e3:,.1f}", f"{100 * ns / (path.response_ns or 1.0):.0f}") for part, ns in parts],
            ("part", "phase"),
        )
    )  # fmt: skip
    demands = demands_of(measures)
    changed = []
    for at in sorted(range(len(demands.names)), key=lambda at: -demands.demands_ns[at])[:_SHOWN]:
        found = what_if(measures, {demands.names[at]: _HALF}, clients)
        values = (found.before, found.after, found.bound_after)
        changed.append(
            (
                demands.names[at],
                f"{demands.demands_ns[at] / 1e3:,.1f}",
                *(f"{value:,.0f}" for value in values),
            )
        )
    tables.append(
        ("What if a demand were half: transactions per second", ("station", "demand, µs", "model now", "if half", "bound"), changed, ("station",))
    )  # fmt: skip
    return tables


def _words(part: PathPart) -> str:
    """Return what happens in a part of a path."""
    if part.state == State.ASLEEP:
        return f"waits for {part.lock or part.name or 'unknown'}"
    if part.state == State.INTERRUPT:
        return part.name
    words = {State.READY: "waits for a CPU", State.USER: "user", State.KERNEL: "kernel", State.SPIN: "spins"}
    name = f" {part.name}" if part.name and part.state == State.KERNEL else ""
    return words.get(part.state, "idle") + name + (f" for {part.lock}" if part.lock else "")
