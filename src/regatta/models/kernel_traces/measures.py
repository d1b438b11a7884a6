"""Measures of a trace, in total and per transaction: the paper's section 3.3 and its tables 2 to 7."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from regatta.host.files import scratch_folder
from regatta.models.kernel_traces.filling import Mask, Numbers
from regatta.models.kernel_traces.jobs import Jobs, Use
from regatta.models.kernel_traces.model import CAUSES, NONE, Kind, Trace
from regatta.models.kernel_traces.timeline import BATCH, RUNNING, Batch, State, Timeline

#: kind of the object that ended a sleep -> cause
_CAUSE_OF = {**{cause: cause for cause in CAUSES}, "thread": "process", "idle": "interrupt"}
#: sources of interrupts, by the kind of their object
INTERRUPTS = ("disk", "network", "timer", "interrupt")
NO_PHASE = "none"


@dataclass
class Times:
    """Times of threads in ns, by what they did."""

    user: float = 0.0
    kernel: float = 0.0
    spin: float = 0.0
    ready: float = 0.0
    #: kind of interrupt -> time
    interrupts: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    #: cause -> time asleep
    asleep: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    #: cause -> number of wake-ups
    wakeups: Counter[str] = field(default_factory=Counter)
    switches: int = 0
    #: how often the phase began
    entries: int = 0

    @property
    def cpu(self) -> float:
        """Time on a CPU, without interrupts."""
        return self.user + self.kernel + self.spin

    @property
    def elapsed(self) -> float:
        """Time of any kind."""
        return self.cpu + sum(self.interrupts.values()) + self.ready + sum(self.asleep.values())

    def add(self, other: Times) -> None:
        """Add the times of other threads."""
        self.user += other.user
        self.kernel += other.kernel
        self.spin += other.spin
        self.ready += other.ready
        for mine, others in ((self.interrupts, other.interrupts), (self.asleep, other.asleep)):
            for key, value in others.items():
                mine[key] += value
        self.wakeups += other.wakeups
        self.switches += other.switches
        self.entries += other.entries


@dataclass
class Usage:
    """Uses of one object, such as a lock or a disk."""

    name: str
    kind: str
    uses: int = 0
    #: from accept to finish: equation (1)
    used_ns: float = 0.0
    #: time with at least one use; less than `used_ns` if uses overlap
    busy_ns: float = 0.0
    #: from request to accept: equation (2)
    waited_ns: float = 0.0
    #: uses that had to wait, and those without an accept or a finish in the window
    contended: int = 0
    incomplete: int = 0
    bytes: int = 0


@dataclass
class Measures:
    """What `measure` returns. Times are in ns over the whole window."""

    seconds: float
    #: transactions that finished in the window, after an accept in it
    transactions: int
    #: mean from request, or from accept if the trace has no requests, to finish; None: no transactions
    response_ns: float | None
    #: response times
    responses: np.ndarray
    #: phase -> times of the threads that serve transactions; without phases: one, `none`
    phases: dict[str, Times]
    #: process -> times of its threads
    processes: dict[str, Times]
    #: CPU -> busy time, and kind of interrupt -> time on all CPUs of the service
    cpus: dict[str, float]
    interrupts: dict[str, float]
    usages: dict[str, Usage]
    #: wake-ups of a serving thread between two transactions beyond the one that is needed
    unneeded_wakeups: int
    remarks: tuple[str, ...]
    #: events that the recorder lost, on all CPUs
    lost: int = 0
    #: whether the trace has transactions at all, finished or not
    has_transactions: bool = True
    #: CPU -> time of the threads that serve transactions, with interrupts of them
    service_cpus: Mapping[str, float] = field(default_factory=dict)

    @property
    def throughput(self) -> float:
        """Transactions per second."""
        return self.transactions / self.seconds if self.seconds else 0.0

    @property
    def service(self) -> Times:
        """Times of all threads that serve transactions."""
        total = Times()
        for times in self.phases.values():
            total.add(times)
        return total


def measure(trace: Trace, batch: int = BATCH) -> Measures:
    """Compute the measures of a trace.

    Args:
        trace: with scheduling events.
        batch: rows at once; the result does not depend on it.
    """
    with scratch_folder("regatta-events-") as scratch:
        timeline = Timeline(trace, scratch, batch)
        tally = _Tally()
        for segments in timeline.batches():
            tally.add(segments)
    return _Summary(timeline, tally).measures()


#: what is summed -> the columns of segments that it is summed by
_SUMS = {
    "times": ("actor", "phase", "state", "object", "cpu"),
    "events": ("actor", "phase", "kind", "object"),
    "gaps": ("actor", "last"),
}


class _Tally:
    """Sums of segments and counts of events, small whatever the length of the trace."""

    def __init__(self) -> None:
        # With an empty table each, because a trace may have no segments.
        self._parts = {
            name: [pa.schema([(column, pa.int64()) for column in (*keys, "sum")]).empty_table()]
            for name, keys in _SUMS.items()
        }

    def add(self, one: Batch) -> None:
        """Add the segments of a batch: times, events at their begins, and wake-ups between transactions."""
        columns = {**vars(one), "sum": one.end_ns - one.begin_ns}
        self._add("times", columns, np.ones(len(one), bool))
        columns |= {"object": one.event_object, "sum": np.ones(len(one), np.int64)}
        events = one.woken | one.entered | np.isin(one.kind, (Kind.RESUME, Kind.INTERRUPT))
        self._add("events", columns, events)
        self._add("gaps", columns, one.woken & (one.transaction == NONE) & (one.last != NONE))

    def _add(self, name: str, columns: Mapping[str, Numbers], rows: Mask) -> None:
        chosen = pa.table({column: columns[column][rows] for column in (*_SUMS[name], "sum")})
        self._parts[name].append(_grouped(name, chosen))

    def rows(self, name: str) -> Iterable[tuple[int, ...]]:
        """Yield the keys of `_SUMS` and the sum: ns of `times`, else a number."""
        table = _grouped(name, pa.concat_tables(self._parts[name]))
        return zip(*(column.to_pylist() for column in table.columns), strict=True)


def _grouped(name: str, table: pa.Table) -> pa.Table:
    keys = list(_SUMS[name])
    sums = table.group_by(keys, use_threads=False).aggregate([("sum", "sum")])
    return sums.rename_columns([*keys, "sum"])


class _Summary:
    def __init__(self, timeline: Timeline, tally: _Tally) -> None:
        self._t = timeline
        self._tally = tally
        self._jobs: Jobs = timeline.jobs
        self._servers = self._jobs.servers
        self._done = self._jobs.finished

    def measures(self) -> Measures:
        facts = self._t.trace.facts
        phases: dict[str, Times] = defaultdict(Times)
        processes: dict[str, Times] = defaultdict(Times)
        by_cpu: dict[tuple[int, str], float] = defaultdict(float)
        server_cpus: Counter[int] = Counter()
        segments = list(self._tally.rows("times"))
        # A CPU that nothing used is in it, so that means over invocations include it.
        cpus = {f"cpu{cpu}": 0.0 for cpu in range(facts.cpus)} if segments else {}
        for actor, phase, state, target, cpu, ns in segments:
            if state in RUNNING:
                cpus[f"cpu{cpu}"] = cpus.get(f"cpu{cpu}", 0.0) + ns
            if state == State.INTERRUPT:
                by_cpu[cpu, self._t.kinds[target]] += ns
            if self._t.kinds[actor] == "idle":
                continue
            for times in self._places(actor, phase, phases, processes):
                self._add_time(times, state, target, ns)
            if actor in self._servers and state in RUNNING:
                server_cpus[cpu] += ns
        for actor, phase, kind, target, count in self._tally.rows("events"):
            if self._t.kinds[actor] != "idle":
                for times in self._places(actor, phase, phases, processes):
                    self._add_event(times, kind, target, count)
        interrupts: dict[str, float] = defaultdict(float)
        for (number, source), spent in by_cpu.items():
            if number in server_cpus or not self._servers:
                interrupts[source] += spent
        responses = np.array([one.response_ns for one in self._done], float)
        return Measures(
            seconds=facts.seconds,
            transactions=len(self._done),
            response_ns=float(responses.mean()) if len(responses) else None,
            responses=responses,
            phases=dict(phases),
            processes=dict(processes),
            cpus=dict(sorted(cpus.items(), key=lambda one: int(one[0][3:]))),
            interrupts=dict(interrupts),
            usages=self._usages(),
            unneeded_wakeups=self._unneeded(),
            remarks=tuple(self._remarks()),
            lost=sum(facts.lost.values()),
            has_transactions=bool(self._jobs.transactions),
            service_cpus={f"cpu{cpu}": float(ns) for cpu, ns in sorted(server_cpus.items())},
        )

    def _places(
        self, actor: int, phase: int, phases: dict[str, Times], processes: dict[str, Times]
    ) -> Iterable[Times]:
        parent = self._t.parents[actor]
        of = parent if parent >= 0 else actor
        yield processes[self._t.names[of]]
        if actor in self._servers:
            yield phases[self._t.names[phase] if phase >= 0 else NO_PHASE]

    def _cause(self, target: int) -> str:
        return _CAUSE_OF.get(self._t.kinds[target], "unknown") if target >= 0 else "unknown"

    def _add_time(self, times: Times, state: int, target: int, ns: int) -> None:
        if state == State.USER:
            times.user += ns
        elif state == State.KERNEL:
            times.kernel += ns
        elif state == State.SPIN:
            times.spin += ns
        elif state == State.READY:
            times.ready += ns
        elif state == State.INTERRUPT:
            times.interrupts[self._t.kinds[target]] += ns
        elif state == State.ASLEEP:
            times.asleep[self._cause(target)] += ns

    def _add_event(self, times: Times, kind: int, target: int, count: int) -> None:
        if kind == Kind.WAKE:
            times.wakeups[self._cause(target)] += count
        elif kind == Kind.RESUME:
            times.switches += count
        elif kind == Kind.ACCEPT:
            times.entries += count

    def _usages(self) -> dict[str, Usage]:
        found: dict[int, Usage] = {}
        for use in self._jobs.uses:
            new = Usage(self._t.names[use.object], self._t.kinds[use.object])
            _count(found.setdefault(use.object, new), use)
        busy = self._jobs.used_ns(self._t.kinds, self._t.trace.facts.end_ns)
        named: dict[str, Usage] = {}
        for number, usage in found.items():
            usage.busy_ns = float(busy[number])
            if usage.name in named:
                usage.name = f"{usage.kind} {usage.name}"
            named[usage.name] = usage
        return named

    def _unneeded(self) -> int:
        """Count wake-ups beyond one between two transactions of a thread, except after its last one."""
        latest = {
            actor: next((at for at in reversed(worked) if at != NONE), NONE)
            for actor, (_, worked) in self._jobs.changes.items()
            if actor in self._servers
        }
        return sum(
            max(0, count - 1)
            for actor, last, count in self._tally.rows("gaps")
            if latest.get(actor, last) != last
        )

    def _remarks(self) -> Iterable[str]:
        facts = self._t.trace.facts
        yield from facts.remarks
        if not facts.scheduled:
            yield "no scheduling events: only uses of objects and transactions are measured"
        if self._t.of_others:
            yield "no transactions of the measured processes: those of all processes count"
        if facts.lost:
            yield f"{sum(facts.lost.values())} events lost: times after a loss can be wrong"
        if self._jobs.unmatched:
            yield f"{self._jobs.unmatched} events without their request or accept in the window"
        open_ones = len(self._jobs.transactions) - len(self._done)
        if open_ones:
            yield f"{open_ones} transactions had not finished at the end of the window"


def _count(usage: Usage, use: Use) -> None:
    usage.uses += 1
    usage.bytes += use.value if usage.kind == "disk" else 0
    if use.accept_ns is None:
        usage.incomplete += 1
        return
    waited = use.accept_ns - use.request_ns
    usage.waited_ns += waited
    usage.contended += waited > 0
    if use.finish_ns is not None:
        usage.used_ns += use.finish_ns - use.accept_ns
    elif usage.kind != "lock":
        usage.incomplete += 1


def metrics(measures: Measures) -> list[tuple[str, float, str, Mapping[str, str]]]:
    """Return name, value, unit and parameters of each metric of a record; per transaction in ns, or named."""
    n = measures.transactions
    found: list[tuple[str, float, str, Mapping[str, str]]] = [
        ("event_transactions", float(n), "1", {}),
        ("event_lost", float(measures.lost), "1", {}),
        *(
            ("event_cpu_busy", 100 * ns / 1e9 / measures.seconds, "%", {"cpu": cpu})
            for cpu, ns in measures.cpus.items()
            if measures.seconds
        ),
    ]
    if measures.has_transactions:
        found.append(("event_throughput", measures.throughput, "ops/s", {}))
    if not n:
        return found
    assert measures.response_ns is not None
    service = measures.service
    found += [
        ("event_response", measures.response_ns, "ns", {}),
        ("event_user", service.user / n, "ns", {}),
        ("event_kernel", service.kernel / n, "ns", {}),
        ("event_spin", service.spin / n, "ns", {}),
        *(
            ("event_interrupt", measures.interrupts.get(kind, 0.0) / n, "ns", {"kind": kind})
            for kind in INTERRUPTS
        ),
        ("event_switches", service.switches / n, "1", {}),
        *(("event_wakeups", service.wakeups[cause] / n, "1", {"cause": cause}) for cause in CAUSES),
        ("event_unneeded_wakeups", measures.unneeded_wakeups / n, "1", {}),
    ]
    for name, phase in measures.phases.items():
        found += [
            ("event_phase", phase.elapsed / n, "ns", {"phase": name}),
            ("event_phase_cpu", phase.cpu / n, "ns", {"phase": name}),
            ("event_phase_spin", phase.spin / n, "ns", {"phase": name}),
            ("event_phase_interrupts", sum(phase.interrupts.values()) / n, "ns", {"phase": name}),
            ("event_phase_ready", phase.ready / n, "ns", {"phase": name}),
            *(
                ("event_phase_wait", phase.asleep.get(cause, 0.0) / n, "ns", {"phase": name, "cause": cause})
                for cause in CAUSES
            ),
            ("event_phase_wakeups", sum(phase.wakeups.values()) / n, "1", {"phase": name}),
        ]
    for name, usage in measures.usages.items():
        given = {"object": name, "kind": usage.kind}
        found += [
            ("event_uses", usage.uses / n, "1", given),
            ("event_use", usage.used_ns / n, "ns", given),
            ("event_wait", usage.waited_ns / n, "ns", given),
        ]
    return found
