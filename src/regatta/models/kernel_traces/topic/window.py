"""The part of an event trace that a time chart shows: states, CPUs, wake-ups, phases and transactions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb

from regatta.figures.text import joined, show_quantity
from regatta.host.errors import RegattaError
from regatta.host.files import parse_object, scratch_folder, write_object
from regatta.host.values.events import TRACE_FILE
from regatta.models.kernel_traces.importing import import_recording
from regatta.models.kernel_traces.jobs import Transaction
from regatta.models.kernel_traces.model import NONE, Kind, Trace
from regatta.models.kernel_traces.timeline import RUNNING, State, Timeline, connect_events

#: A chart with more rows is not readable.
MOST_THREADS = 30
#: Share of the response time of the median transaction that its window has on either side.
ROOM = 0.1
#: Version of kept windows.
_VERSION = 1
#: Length of the window of a trace without transactions.
WITHOUT_NS = 10_000_000


@dataclass(frozen=True)
class Span:
    """A thread in one state. `object`: what it waits for or is interrupted by; `call`: its system call."""

    begin_ns: int
    end_ns: int
    state: State
    object: int = NONE
    call: int = NONE
    cpu: int = NONE


@dataclass(frozen=True)
class Part:
    """A part of a row: a phase or a transaction of a thread, or a thread or an interrupt on a CPU.

    `opens` and `closes`: whether it begins and ends inside the window.
    """

    begin_ns: int
    end_ns: int
    object: int
    opens: bool = True
    closes: bool = True
    request: int = 0


@dataclass(frozen=True)
class Wakeup:
    """`cause` (a thread, or an interrupt) wakes `actor`, on CPU `cpu`."""

    time_ns: int
    actor: int
    cause: int
    cpu: int


@dataclass
class Row:
    """One thread of the chart."""

    actor: int
    name: str
    server: bool
    spans: list[Span] = field(default_factory=list)
    phases: list[Part] = field(default_factory=list)
    transactions: list[Part] = field(default_factory=list)

    @property
    def busy_ns(self) -> int:
        """Return the time on a CPU."""
        return sum(one.end_ns - one.begin_ns for one in self.spans if one.state in RUNNING)


@dataclass
class Window:
    """What a chart shows of the time from `begin_ns` to `end_ns`."""

    begin_ns: int
    end_ns: int
    #: name and kind of each object
    names: list[str]
    kinds: list[str]
    rows: list[Row]
    #: number of threads with activity that have no row
    left_out: int
    #: CPU -> threads, and interrupts on it
    cpus: dict[int, list[Part]]
    interrupts: dict[int, list[Part]]
    wakeups: list[Wakeup]


@contextmanager
def opened(trace: Trace) -> Iterator[Charted]:
    """Read the transactions of a trace once, for all that a chart needs."""
    with scratch_folder("regatta-chart-") as scratch:
        yield Charted(trace, scratch)


class Charted:
    """A trace with scheduling events whose transactions are known."""

    def __init__(self, trace: Trace, scratch: Path) -> None:
        self._trace = trace
        self._scratch = scratch
        self._timeline = Timeline(trace, scratch)

    def median(self) -> Transaction | None:
        """Return the transaction with the median response time (of two, the faster); None: none finished."""
        done = sorted(self._timeline.jobs.finished, key=lambda one: (one.response_ns or 0, one.accept_ns))
        return done[(len(done) - 1) // 2] if done else None

    def transaction(self, number: int) -> Transaction:
        """Return the transaction with a number.

        Raises:
            RegattaError: none with this number finished in the trace.
        """
        done = self._timeline.jobs.finished
        for one in done:
            if one.request == number:
                return one
        numbers = [one.request for one in done]
        raise RegattaError(
            f"transaction {number}",
            f"a number from {min(numbers)} to {max(numbers)}" if numbers else "transactions in the trace",
            str(number) if numbers else "none that finished",
            "choose another number" if numbers else "choose a window by its times",
        )

    def around(self, one: Transaction | None) -> tuple[int, int]:
        """Return begin and end in ns of the window around a transaction.

        It extends from accept to finish, with a tenth of that time on either side, within the trace. Without
        a transaction, it is the first 10 ms of the trace.
        """
        facts = self._trace.facts
        if one is None or one.finish_ns is None:
            return facts.begin_ns, min(facts.end_ns, facts.begin_ns + WITHOUT_NS)
        room = max(1, round(ROOM * (one.finish_ns - one.accept_ns)))
        return max(facts.begin_ns, one.accept_ns - room), min(facts.end_ns, one.finish_ns + room)

    def window(self, begin_ns: int, end_ns: int) -> Window:
        """Read the threads with activity in a window, at most `MOST_THREADS`.

        Threads that serve transactions come first, then the busiest.

        Args:
            begin_ns, end_ns: on the clock of the trace.
        """
        connection = connect_events(self._trace, self._scratch)
        try:
            return _Reader(connection, self._trace, self._timeline, begin_ns, end_ns).read()
        finally:
            connection.close()


class _Reader:
    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        trace: Trace,
        timeline: Timeline,
        begin_ns: int,
        end_ns: int,
    ) -> None:
        self._t = timeline
        self._begin, self._end = begin_ns, end_ns
        self._connection = connection
        self._tids: list[int] = trace.read_objects().column("tid").to_pylist()

    def read(self) -> Window:
        shown = [row for row in self._rows(self._active()).values() if row.spans]
        shown.sort(key=lambda row: (not row.server, -row.busy_ns, row.actor))
        kept = shown[:MOST_THREADS]
        # Servers in the order of their threads, so that charts of one trace can be compared.
        kept.sort(key=lambda row: (not row.server, row.actor if row.server else -row.busy_ns))
        self._add_transactions(kept)
        return Window(
            begin_ns=self._begin,
            end_ns=self._end,
            names=self._t.names,
            kinds=self._t.kinds,
            rows=kept,
            left_out=len(shown) - len(kept),
            cpus=self._cpus(),
            interrupts=self._interrupts(),
            wakeups=self._wakeups({row.actor for row in kept}),
        )

    def _select(self, what: str) -> list[tuple[int, ...]]:
        return self._connection.execute(what).fetchall()

    @property
    def _inside(self) -> str:
        return f"time_ns between {self._begin} and {self._end}"

    def _active(self) -> list[int]:
        found = self._select(f"select distinct actor from events where {self._inside} and actor <> {NONE}")
        return sorted(actor for (actor,) in found if self._t.kinds[actor] != "idle")

    def _rows(self, actors: Sequence[int]) -> dict[int, Row]:
        servers = self._t.jobs.servers
        rows = {actor: Row(actor, self._name(actor), actor in servers) for actor in actors}
        columns: dict[int, list[tuple[int, ...]]] = defaultdict(list)
        for batch in self._t.window(actors, self._begin, self._end):
            names = ("actor", "begin_ns", "end_ns", "state", "object", "call", "cpu", "phase")
            for actor, *rest in zip(*(getattr(batch, name).tolist() for name in names), strict=True):
                columns[actor].append(tuple(rest))
        for actor, found in columns.items():
            found.sort()
            rows[actor].spans = list(self._spans(found))
            rows[actor].phases = list(self._phases(found))
        return rows

    def _clipped(self, begin: int, end: int) -> tuple[int, int]:
        return max(begin, self._begin), min(end, self._end)

    def _spans(self, found: Sequence[tuple[int, ...]]) -> Iterator[Span]:
        """Yield the states, with equal neighbours as one."""
        last: Span | None = None
        for first, latest, state, target, call, cpu, _ in found:
            begin, end = self._clipped(first, latest)
            if end <= begin or state == State.ENDED:
                continue
            one = Span(begin, end, State(state), target, call, cpu)
            if last is not None:
                same = (last.state, last.object, last.call) == (one.state, one.object, one.call)
                if same and last.end_ns == one.begin_ns:
                    last = Span(last.begin_ns, end, last.state, target, call, cpu)
                    continue
                yield last
            last = one
        if last is not None:
            yield last

    def _phases(self, found: Sequence[tuple[int, ...]]) -> Iterator[Part]:
        changes = [(first, row[-1]) for first, row in ((row[0], row) for row in found)]
        starts = [changes[0], *(b for a, b in pairwise(changes) if b[1] != a[1])]
        for (begin, phase), (end, _) in pairwise([*starts, (found[-1][1], NONE)]):
            if phase != NONE and begin <= self._end and end >= self._begin:
                yield Part(*self._clipped(begin, end), phase, begin >= self._begin, end <= self._end)

    def _add_transactions(self, rows: Sequence[Row]) -> None:
        by_actor = {row.actor: row for row in rows}
        for one in self._t.jobs.transactions:
            end = one.finish_ns if one.finish_ns is not None else self._t.trace.facts.end_ns
            if one.actor in by_actor and one.accept_ns <= self._end and end >= self._begin:
                closes = one.finish_ns is not None and end <= self._end
                part = Part(
                    *self._clipped(one.accept_ns, end),
                    one.object,
                    one.accept_ns >= self._begin,
                    closes,
                    one.request,
                )
                by_actor[one.actor].transactions.append(part)

    def _cpus(self) -> dict[int, list[Part]]:
        """Return which thread each CPU runs, without idle threads."""
        switches = f"kind in ({int(Kind.RESUME)}, {int(Kind.PREEMPT)}, {int(Kind.SLEEP)})"
        before = self._select(
            "select cpu, arg_max(time_ns, n), arg_max(kind, n), arg_max(actor, n) from events"
            f" where {switches} and time_ns < {self._begin} group by cpu"
        )
        inside = self._select(
            f"select cpu, time_ns, kind, actor from events where {switches} and {self._inside} order by n"
        )
        cpus: dict[int, list[Part]] = {cpu: [] for cpu in range(self._t.trace.facts.cpus)}
        running: dict[int, tuple[int, int]] = {}
        for cpu, time, kind, actor in [*before, *inside]:
            self._close(cpus, cpu, running.pop(cpu, None), time, True)
            if kind == Kind.RESUME and self._t.kinds[actor] != "idle":
                running[cpu] = (time, actor)
        for cpu, open_one in running.items():
            self._close(cpus, cpu, open_one, self._end, False)
        return cpus

    def _close(
        self, cpus: dict[int, list[Part]], cpu: int, one: tuple[int, int] | None, time: int, closes: bool
    ) -> None:
        if one is not None and time > self._begin:
            begin, actor = one
            cpus.setdefault(cpu, []).append(
                Part(max(begin, self._begin), time, actor, begin >= self._begin, closes)
            )

    def _interrupts(self) -> dict[int, list[Part]]:
        """Return the interrupts that begin in the window, the innermost on top of the others."""
        found: dict[int, list[Part]] = defaultdict(list)
        open_ones: dict[int, list[tuple[int, int]]] = defaultdict(list)
        kinds = f"kind in ({int(Kind.INTERRUPT)}, {int(Kind.INTERRUPT_END)})"
        for cpu, time, kind, target in self._select(
            f"select cpu, time_ns, kind, object from events where {kinds} and {self._inside} order by n"
        ):
            if kind == Kind.INTERRUPT:
                open_ones[cpu].append((time, target))
            elif open_ones[cpu]:
                begin, opened = open_ones[cpu].pop()
                found[cpu].append(Part(begin, time, opened))
        for cpu, many in open_ones.items():
            found[cpu] += [Part(begin, self._end, target, True, False) for begin, target in many]
        return {cpu: sorted(many, key=lambda one: one.begin_ns) for cpu, many in found.items()}

    def _wakeups(self, actors: set[int]) -> list[Wakeup]:
        found = self._select(
            "select time_ns, actor, peer, cpu from events"
            f" where kind = {int(Kind.WAKE)} and {self._inside} order by n"
        )
        return [Wakeup(*row) for row in found if row[1] in actors]

    def _name(self, actor: int) -> str:
        parent = self._t.parents[actor]
        own = self._t.names[actor]
        if parent >= 0 and self._t.names[parent] == "kernel":
            return own
        return f"{own} {self._tids[actor]}" if self._tids[actor] else own


def transaction_words(one: Transaction | None) -> str:
    """Return the transaction that a chart is about, with its response time; "" for none."""
    if one is None or one.finish_ns is None:
        return ""
    return f"Transaction {one.request}, {show_quantity(one.finish_ns - one.accept_ns, 'ns')} from accept to finish"


def median_window(recording: Path, charts: Path) -> tuple[Window, str]:
    """Return the window of the median transaction of a recording, and a note about it.

    Args:
        recording: folder of the files of the recorder, in `kept/` of a host.
        charts: folder that keeps windows; they are read again if the recording changes.

    Raises:
        RegattaError: the recording is damaged.
        HostError: trace-cmd is missing.
        OSError: the recording cannot be read.
    """
    changed_ns = (recording / TRACE_FILE).stat().st_mtime_ns
    path = charts / recording.parent.parent.name / f"{recording.name}.json"
    known = _read_kept(path, changed_ns)
    if known is not None:
        return known
    with scratch_folder("regatta-chart-") as scratch:
        trace = import_recording(recording, scratch / "trace")
        with opened(trace) as charted:
            one = charted.median()
            window = charted.window(*charted.around(one))
        note = joined(transaction_words(one), *trace.facts.remarks)
    # The chart does not depend on it, and the folder can be write-protected.
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_object(
            path, {"version": _VERSION, "changed_ns": changed_ns, "note": note, "window": asdict(window)}
        )
    return window, note


def _read_kept(path: Path, changed_ns: int) -> tuple[Window, str] | None:
    try:
        told = parse_object(path)
        if (told["version"], told["changed_ns"]) != (_VERSION, changed_ns):
            return None
        return _window_of(told["window"]), str(told["note"])
    except Exception:
        # A cache: the recording is read again.
        return None


def _window_of(told: Mapping[str, Any]) -> Window:
    def parts(many: list[dict[str, Any]]) -> list[Part]:
        return [Part(**one) for one in many]

    def row(of: dict[str, Any]) -> Row:
        spans = [Span(**{**span, "state": State(span["state"])}) for span in of["spans"]]
        parts_of = {name: parts(of[name]) for name in ("phases", "transactions")}
        return Row(**{**of, "spans": spans, **parts_of})

    made = {
        "rows": [row(one) for one in told["rows"]],
        "wakeups": [Wakeup(**one) for one in told["wakeups"]],
        **{
            name: {int(cpu): parts(many) for cpu, many in told[name].items()}
            for name in ("cpus", "interrupts")
        },
    }
    return Window(**{**told, **made})
