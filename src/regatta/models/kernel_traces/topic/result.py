"""The result: what a transaction costs in each traced cell, and what tracing costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from regatta.answers.spine.parts import HEAP, INLINED, Place
from regatta.models.kernel_traces.demands import Demands
from regatta.stats.estimate import Interval

#: kinds of time of a phase, in the order of tables and bars, with their names
TIMES: dict[str, str] = {
    "process": "process (user and kernel)",
    "spin": "busy-wait",
    "interrupts": "interrupts",
    "ready": "wait for CPU",
    "network": "wait for network",
    "disk": "wait for disk",
    "lock": "conflict: lock",
    "others": "conflict: other process",
    "rest": "rest (timer, other)",
}


@dataclass(frozen=True)
class Phase:
    """Times of the serving threads in one phase, in ns per transaction."""

    name: str
    elapsed: Interval
    #: keys of `TIMES`
    times: Mapping[str, Interval]
    #: number per transaction
    wakeups: Interval


@dataclass(frozen=True)
class ObjectUse:
    """Uses of an object per transaction: number, ns from accept to finish, ns from request to accept."""

    name: str
    #: `disk`, `lock` ...; "" if unknown
    kind: str
    uses: Interval
    used: Interval
    waited: Interval


@dataclass(frozen=True)
class TracedCell:
    """A cell whose invocations recorded events."""

    cell_id: str
    place: Place = field(
        metadata={INLINED: ("host", "benchmark", "runtime", "collector", "modifiers", *HEAP)}
    )
    #: short and unique among the traced cells
    name: str
    #: chosen parameters of the benchmark
    settings: Mapping[str, str]
    #: invocations with events, and valid ones without
    n: int
    without_events: int
    #: the compared metric, with tracing and without, and their ratio: traced over untraced
    metric: str
    unit: str
    traced: Interval
    untraced: Interval
    overhead: Interval
    #: transactions in the window, and in the window per second
    transactions: Interval
    rate: Interval
    #: ns from request (or accept) to finish
    response: Interval
    #: ns per transaction: `user`, `kernel`, `spin`, `disk`, `network`, `timer`, `interrupt`, `total`
    cpu: Mapping[str, Interval]
    #: kind of object -> ns per transaction, such as `disk` and `lock`; waits of locks have the key `lock
    #: wait`
    objects: Mapping[str, Interval]
    uses: tuple[ObjectUse, ...]
    phases: tuple[Phase, ...]
    #: cause -> number per transaction
    wakeups: Mapping[str, Interval]
    switches: Interval
    unneeded: Interval
    #: stations of a closed network, with their mean demands
    demands: Demands | None
    #: folder of the recording with the median response time, if it is kept
    recording: Path | None = None


#: name of the phase of threads that have reported none
NO_PHASE = "none"


@dataclass(frozen=True)
class Prediction:
    """Throughput of a cell, predicted from the demands of a traced cell with another number of clients."""

    of: str
    demands_of: str
    clients: int
    #: transactions per second
    predicted: float
    bound: float
    traced: Interval
    untraced: Interval


@dataclass(frozen=True)
class Tracing:
    """All traced cells of an experiment, in plan order."""

    cells: tuple[TracedCell, ...] = ()
    predictions: tuple[Prediction, ...] = ()
    #: folder that keeps the windows of time charts
    charts: Path | None = None
