"""Which threads wait for which threads and devices: the wait-for graph of a trace, and bottlenecks in it.

Source: Zhou, Gan, Ma and Wang, wPerf: Generic Off-CPU Analysis to Identify Bottleneck Waiting Events, OSDI
2018.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from regatta.host.errors import RegattaError
from regatta.models.kernel_traces.filling import Mask, Numbers, sums_by
from regatta.models.kernel_traces.intervals import Intervals
from regatta.models.kernel_traces.model import NONE
from regatta.models.kernel_traces.segments import Segments
from regatta.models.kernel_traces.timeline import State

#: waits of waits that are followed; longer chains are rare, and only a deadlock has no end
DEPTH = 16
#: share of the window below which an edge cannot be a bottleneck
THRESHOLD = 0.02
#: utilization from which a resource counts as saturated
SATURATION = 0.9
#: spans that are cut into tiles at once
_CHUNK = 1 << 19
_THREADS = ("thread", "process")


@dataclass(frozen=True)
class Waits:
    """Times in which threads wait, by thread and time. Arrays of shape (n,)."""

    #: number of objects of the trace
    objects: int
    thread: Numbers
    begin_ns: Numbers
    end_ns: Numbers
    #: ASLEEP or READY
    state: Numbers
    #: index of the thread or resource that is waited for; `objects` + 1 + number for a CPU, `objects` for an
    #: unknown one
    target: Numbers
    #: lock that is waited for, or NONE; the target is its owner, if known
    lock: Numbers

    def __len__(self) -> int:
        return len(self.thread)

    @property
    def columns(self) -> tuple[Numbers, ...]:
        """The arrays, in the order of the fields."""
        return self.thread, self.begin_ns, self.end_ns, self.state, self.target, self.lock

    def chosen(self, rows: Mask) -> Waits:
        """Return some of them."""
        return Waits(self.objects, *(values[rows] for values in self.columns))

    @staticmethod
    def joined(objects: int, *pieces: Sequence[NDArray[Any] | int]) -> Waits:
        """Return the waits of pieces: `columns` in any order; all but the first column can be one number."""
        sizes = [np.size(piece[0]) for piece in pieces]
        columns = [
            np.concatenate(
                [np.broadcast_to(values, size) for values, size in zip(column, sizes, strict=True)]
            )
            for column in zip(*pieces, strict=True)
        ]
        order = np.lexsort((columns[1], columns[0]))
        return Waits(objects, *(values[order].astype(np.int64) for values in columns))


@dataclass(frozen=True)
class Vertex:
    """A thread, a group of threads, or a resource."""

    #: as in `OBJECT_KINDS`; merged threads: "process"
    kind: str
    name: str
    #: threads or CPUs in it
    members: int
    #: its objects; none for a CPU
    objects: tuple[int, ...]
    #: busy share of the window, 0 to 1: a thread or CPU that runs, a disk or lock in use, interrupts of this
    #: source on all CPUs. Several members: the mean
    utilization: float

    @property
    def is_resource(self) -> bool:
        """Whether it is no thread."""
        return self.kind not in _THREADS


@dataclass(frozen=True)
class Edge:
    """`waiter` waits for `target`, because of `lock` if it is not None."""

    waiter: Vertex
    target: Vertex
    lock: str | None
    weight_ns: int


@dataclass(frozen=True)
class WaitGraph:
    """A wait-for graph. Arrays of edges have shape (e,)."""

    vertices: tuple[Vertex, ...]
    #: indices of vertices
    waiter: Numbers
    target: Numbers
    #: lock because of which there is the edge, an object, or NONE
    lock: Numbers
    #: time after the redistribution, and before; the sums are equal
    weight_ns: Numbers
    direct_ns: Numbers
    #: vertices of threads that serve transactions
    servers: Numbers
    window_ns: int
    #: waiter, thread that ran on the CPU meanwhile, ns: who takes the CPUs from whom
    competitors: tuple[tuple[str, str, int], ...]
    names: tuple[str, ...]

    def edges(self) -> list[Edge]:
        """Return the edges by falling weight."""
        return self._listed(np.flatnonzero(self.weight_ns > 0))

    def _listed(self, rows: NDArray[np.intp]) -> list[Edge]:
        order = rows[np.argsort(-self.weight_ns[rows], kind="stable")]
        return [
            Edge(
                self.vertices[self.waiter[at]],
                self.vertices[self.target[at]],
                self.names[self.lock[at]] if self.lock[at] >= 0 else None,
                int(self.weight_ns[at]),
            )
            for at in order
        ]


@dataclass(frozen=True)
class Knot:
    """Vertices that wait for nothing outside: the place of a bottleneck."""

    vertices: tuple[Vertex, ...]
    #: waits within the knot, by falling weight
    edges: tuple[Edge, ...]
    #: waits of others for the knot, by falling weight
    incoming: tuple[Edge, ...]
    #: whether it is a resource that is busy nearly all the time
    saturated: bool

    @property
    def weight_ns(self) -> int:
        """Time of all waits in the knot and for it."""
        return sum(edge.weight_ns for edge in (*self.edges, *self.incoming))


def find_waits(segments: Segments) -> Waits:
    """Return the waits of all threads whose cause is known.

    A wait for a lock is cut at the changes of its owner; parts without a known owner are waits for the lock
    itself. A lock that no thread returns in the trace has no known owners.
    """
    objects = len(segments.kinds)
    thread, begin, end = (
        np.asarray(values, np.int64) for values in (segments.actor, segments.begin_ns, segments.end_ns)
    )
    waited_lock = segments.is_kind("lock")[segments.object]
    asleep = segments.state == State.ASLEEP
    # An idle thread is ready whenever another one has its CPU.
    ready = (segments.state == State.READY) & ~segments.is_kind("idle")[segments.actor]
    plain = asleep & ~waited_lock & (segments.object >= 0)
    rows = np.flatnonzero(asleep & waited_lock)
    holds, owners = _holds(segments)
    tiles = holds.tiles(segments.object[rows], begin[rows], end[rows])
    owner = np.full(len(tiles.at), NONE, np.int64)
    held = tiles.at >= 0
    owner[held] = owners[tiles.at[held]]
    waiter, lock = thread[rows][tiles.span], segments.object[rows].astype(np.int64)[tiles.span]
    return Waits.joined(
        objects,
        (thread[plain], begin[plain], end[plain], State.ASLEEP, segments.object[plain], NONE),
        (thread[ready], begin[ready], end[ready], State.READY, segments.cpu[ready].astype(np.int64) + objects + 1, NONE),
        (
            waiter, tiles.begin_ns, tiles.end_ns, State.ASLEEP,
            np.where((owner >= 0) & (owner != waiter), owner, lock), lock,
        ),
    )  # fmt: skip


def _holds(segments: Segments) -> tuple[Intervals, Numbers]:
    """Return the times in which locks are owned, grouped by lock, and the owners."""
    is_lock = segments.is_kind("lock")
    uses = [use for use in segments.jobs.uses if is_lock[use.object] and use.accept_ns is not None]
    returned = {use.object for use in uses if use.finish_ns is not None}
    rows = [
        (use.object, use.accept_ns, segments.facts.end_ns if use.finish_ns is None else use.finish_ns, use.actor)
        for use in uses
        if use.object in returned
    ]  # fmt: skip
    lock, accept, finish, actor = np.array(rows, np.int64).reshape(-1, 4).T
    holds = Intervals(lock, accept, finish)
    return holds, actor[holds.source]


def wait_graph(segments: Segments, waits: Waits, *, merge: bool = False, depth: int = DEPTH) -> WaitGraph:
    """Return the wait-for graph with cascaded redistribution.

    An edge has the time that its waiter waited for its target. While the target itself waits, that time
    counts for the edge of the target's own wait instead, and so on. READY waits are for a CPU, with the time
    until it accepts the thread.

    Args:
        segments: of the trace.
        waits: `find_waits` of the segments.
        merge: make one vertex of all threads of processes of one name, one of all CPUs, and one of all
            sources of interrupts of one kind.
        depth: length of the chains of waits that are followed, >= 0; 0: no redistribution.

    Raises:
        RegattaError: `depth` is negative.

    Source: Zhou et al. (2018), cascaded re-distribution; here for all waits at once, one level of the chains
    after the other.
    """
    if depth < 0:
        raise RegattaError("depth", "a number >= 0", str(depth), "leave it out")
    vertex_of, vertices = _vertices(segments, waits, merge)
    waiter, target = vertex_of[waits.thread], vertex_of[waits.target]
    keys = (waiter * len(vertices) + target) * (waits.objects + 1) + waits.lock + 1
    distinct, direct, edge = sums_by(keys, waits.end_ns - waits.begin_ns)
    pairs, lock = np.divmod(distinct, waits.objects + 1)
    sources, targets = np.divmod(pairs, max(1, len(vertices)))
    return WaitGraph(
        vertices, sources, targets, lock - 1, direct + _moved(segments, waits, edge, len(distinct), depth), direct,
        np.unique(vertex_of[np.array(sorted(segments.jobs.servers), np.int64)]), segments.window_ns,
        _competitors(segments, waits, merge), tuple(segments.names),
    )  # fmt: skip


def _moved(segments: Segments, waits: Waits, edge: Numbers, edges: int, depth: int) -> Numbers:
    """Return how much weight the redistribution adds to each edge.

    A wait that lies within waits for its thread is counted by a number of how many there are, so that a long
    wait for a thread costs the same whatever that thread does. Only waits that are cut off are followed one
    by one.
    """
    moved = np.zeros(edges, np.int64)
    if not len(waits):
        return moved
    threads = Intervals(waits.thread, waits.begin_ns, waits.end_ns)
    length = waits.end_ns - waits.begin_ns
    total = np.concatenate(([0], np.cumsum(length)))
    followed = np.append(segments.is_kind(*_THREADS)[:-1], np.zeros(int(waits.target.max()) + 1, bool))[
        waits.target
    ]
    level = _Level(np.arange(len(waits)), waits.begin_ns, waits.end_ns, np.ones(len(waits), np.int64)).chosen(
        followed
    )
    for _ in range(depth):
        if not len(level.at):
            break
        first, after = threads.within(waits.target[level.at], level.begin_ns, level.end_ns)
        some = after > first
        level, first, last = level.chosen(some), first[some], after[some] - 1
        cut_left = waits.begin_ns[first] < level.begin_ns
        cut_right = waits.end_ns[last] > level.end_ns
        one = (first == last) & cut_left & cut_right
        whole = np.maximum(0, last - first + 1 - cut_left - cut_right)
        whole_first = first + cut_left
        pieces = [
            _Level(last[one], level.begin_ns[one], level.end_ns[one], level.times[one]),
            *(
                _Level(at[cut], begin[cut], end[cut], level.times[cut])
                for at, begin, end, cut in (
                    (first, level.begin_ns, waits.end_ns[first], cut_left & ~one),
                    (last, waits.begin_ns[last], level.end_ns, cut_right & ~one),
                )
            ),
        ]
        overlap = total[whole_first + whole] - total[whole_first]
        np.add.at(moved, edge[level.at], -overlap * level.times)
        step = np.zeros(len(waits) + 1, np.int64)
        np.add.at(step, whole_first, level.times * (whole > 0))
        np.add.at(step, whole_first + whole, -level.times * (whole > 0))
        times = np.cumsum(step[:-1])
        np.add.at(moved, edge, times * length)
        parents = [np.flatnonzero(one), np.flatnonzero(cut_left & ~one), np.flatnonzero(cut_right & ~one)]
        for piece, rows in zip(pieces, parents, strict=True):
            weight = piece.times * (piece.end_ns - piece.begin_ns)
            np.add.at(moved, edge[piece.at], weight)
            np.add.at(moved, edge[level.at[rows]], -weight)
        full = np.flatnonzero(times)
        pieces.append(_Level(full, waits.begin_ns[full], waits.end_ns[full], times[full]))
        level = _Level(*(np.concatenate(column) for column in zip(*pieces, strict=True)))
        level = level.chosen(followed[level.at])
    return moved


class _Level(NamedTuple):
    """Parts of waits with the number of chains of waits that reach them."""

    at: Numbers
    begin_ns: Numbers
    end_ns: Numbers
    times: Numbers

    def chosen(self, rows: Mask) -> _Level:
        return _Level(*(values[rows] for values in self))


def _vertices(segments: Segments, waits: Waits, merge: bool) -> tuple[Numbers, tuple[Vertex, ...]]:
    """Return the vertex of each target (NONE: none), and the vertices."""
    size = waits.objects + 2 + max(int(segments.cpu.max(initial=NONE)), segments.facts.cpus - 1)
    used = np.zeros(size, bool)
    used[waits.thread] = True
    used[waits.target] = True
    used[list(segments.jobs.servers)] = True
    busy = _busy(segments, size, waits.objects)
    members: dict[tuple[str, str, int], list[int]] = {}
    for code in np.flatnonzero(used):
        members.setdefault(_place(segments, int(code), waits.objects, merge), []).append(int(code))
    vertex_of = np.full(size, NONE, np.int64)
    vertices = []
    for at, ((kind, name, _), codes) in enumerate(members.items()):
        if kind == "cpu" and merge:
            codes = list(range(waits.objects + 1, size))
            count = max(1, segments.facts.cpus)
        else:
            count = len(codes)
        vertex_of[[code for code in codes if used[code]]] = at
        parts = 1 if kind in ("network", "timer", "interrupt") else count
        share = float(busy[codes].sum()) / max(1, segments.window_ns) / parts
        ids = tuple(code for code in codes if code < waits.objects)
        vertices.append(Vertex(kind, name, count, ids, min(1.0, share)))
    if merge:
        # A wait for an unknown CPU is one for the CPUs.
        cpus = next((at for at, one in enumerate(vertices) if one.kind == "cpu"), NONE)
        vertex_of[waits.objects] = cpus
    return vertex_of, tuple(vertices)


def _place(segments: Segments, code: int, objects: int, merge: bool) -> tuple[str, str, int]:
    """Return kind, name and identity of the vertex of a target."""
    if code >= objects:
        if merge:
            return "cpu", "cpu", NONE
        return "cpu", f"cpu{code - objects - 1}" if code > objects else "unknown", code
    kind, name = segments.kinds[code], segments.names[code]
    if kind == "idle":
        # An idle thread wakes others only on behalf of an interrupt that is not in the trace.
        kind, name = "interrupt", "unknown"
    if merge and kind in _THREADS:
        parent = segments.parents[code]
        return "process", segments.names[parent] if parent >= 0 else name, NONE
    if merge and kind in ("network", "timer", "interrupt"):
        return kind, kind, NONE
    return kind, name, NONE if (kind, name) == ("interrupt", "unknown") else code


def _busy(segments: Segments, size: int, objects: int) -> Numbers:
    """Return the busy time of each target in ns."""
    busy = np.zeros(size, np.int64)
    running, duration = segments.running, segments.duration_ns
    np.add.at(busy, segments.actor[running], duration[running])
    placed = running & (segments.cpu >= 0)
    np.add.at(busy, segments.cpu[placed].astype(np.int64) + objects + 1, duration[placed])
    interrupts = (segments.state == State.INTERRUPT) & (segments.object >= 0)
    np.add.at(busy, segments.object[interrupts], duration[interrupts])
    held = segments.is_kind("disk", "lock")[:-1]
    busy[:objects] += np.where(held, segments.jobs.used_ns(segments.kinds, segments.facts.end_ns), 0)
    return busy


def _competitors(segments: Segments, waits: Waits, merge: bool) -> tuple[tuple[str, str, int], ...]:
    """Return the time that each other thread ran on a CPU while threads waited for it, by falling time.

    Threads of one name are one.
    """
    stints, runners = segments.stints()
    ready = np.flatnonzero((waits.state == State.READY) & (waits.target > waits.objects))
    names = [_place(segments, at, waits.objects, merge)[1] for at in range(waits.objects)]
    labels, label_of = np.unique(np.array(names, str), return_inverse=True)
    found: dict[int, int] = {}
    for begin in range(0, len(ready), _CHUNK):
        rows = ready[begin : begin + _CHUNK]
        first, after = stints.within(
            waits.target[rows] - waits.objects - 1, waits.begin_ns[rows], waits.end_ns[rows]
        )
        # Few long waits can overlap many stints: cut the chunk where the tiles become too many.
        bounds = np.searchsorted(np.cumsum(after - first), np.arange(_CHUNK, (after - first).sum(), _CHUNK))
        for part in np.split(rows, np.unique(bounds)):
            tiles = stints.tiles(
                waits.target[part] - waits.objects - 1, waits.begin_ns[part], waits.end_ns[part]
            )
            ran = tiles.at >= 0
            runner = runners[tiles.at[ran]]
            idle = segments.is_kind("idle")[runner]
            pair = label_of[waits.thread[part][tiles.span[ran]]] * len(labels) + label_of[runner]
            distinct, spent, _ = sums_by(pair[~idle], (tiles.end_ns - tiles.begin_ns)[ran][~idle])
            for key, ns in zip(distinct.tolist(), spent.tolist(), strict=True):
                found[key] = found.get(key, 0) + ns
    pairs = sorted(found.items(), key=lambda item: -item[1])
    return tuple((str(labels[k // len(labels)]), str(labels[k % len(labels)]), ns) for k, ns in pairs)


def find_knots(
    graph: WaitGraph,
    *,
    threshold: float = THRESHOLD,
    saturation: float = SATURATION,
    serving_only: bool = True,
) -> list[Knot]:
    """Return the knots of a wait-for graph by falling weight: each contains a bottleneck.

    A knot is a strongly connected component without edges to others, after edges of little weight are
    removed. A single vertex that waits for nothing is one, such as a device; a vertex without any edges is
    none.

    Args:
        graph: `wait_graph` of a trace.
        threshold: share of the window, >= 0, below which the weight of an edge is little.
        saturation: utilization, 0 to 1, from which a resource is saturated.
        serving_only: leave out knots that no thread that serves transactions waits for, directly or not. No
            effect on traces without transactions.

    Raises:
        RegattaError: an argument is out of its range.

    Source: Zhou et al. (2018), knots: optimizing waits outside knots cannot improve the throughput of all
    threads that wait for them.
    """
    for name, value, fits in (
        ("threshold", threshold, threshold >= 0),
        ("saturation", saturation, 0 <= saturation <= 1),
    ):
        if not fits:
            raise RegattaError(name, "a share", str(value), "give a number from 0 to 1")
    size = len(graph.vertices)
    if not size:
        return []
    strong = _strong(graph, graph.weight_ns, threshold)
    waiter, target = graph.waiter[strong], graph.target[strong]
    matrix = _matrix(waiter, target, size)
    count, component = connected_components(matrix, directed=True, connection="strong")
    closed = np.zeros(count, bool)
    closed[component[np.concatenate((waiter, target))]] = True
    closed[component[waiter[component[waiter] != component[target]]]] = False
    if serving_only and len(graph.servers):
        # The redistribution takes the weight from a chain of waits; its begin still waits for its end.
        linked = strong | _strong(graph, graph.direct_ns, threshold)
        matrix = _matrix(graph.waiter[linked], graph.target[linked], size)
        reached = np.zeros(size, bool)
        for server in graph.servers:
            if not reached[server]:
                reached[breadth_first_order(matrix, server, return_predecessors=False)] = True
        closed &= np.isin(np.arange(count), component[reached])
    knots = [
        _knot(graph, np.flatnonzero(component == at), strong, saturation) for at in np.flatnonzero(closed)
    ]
    return sorted(knots, key=lambda knot: -knot.weight_ns)


def _strong(graph: WaitGraph, weight_ns: Numbers, threshold: float) -> Mask:
    """Return the edges of vertices that one waits for the other long enough, for whichever lock."""
    _, weight, places = sums_by(graph.waiter * len(graph.vertices) + graph.target, weight_ns)
    strong: Mask = ((weight > 0) & (weight >= threshold * graph.window_ns))[places]
    return strong


def _matrix(waiter: Numbers, target: Numbers, size: int) -> Any:
    return coo_array((np.ones(len(waiter), np.int64), (waiter, target)), shape=(size, size)).tocsr()


def _knot(graph: WaitGraph, members: NDArray[Any], strong: Mask, saturation: float) -> Knot:
    into = strong & np.isin(graph.target, members) & (graph.weight_ns > 0)
    inner = np.isin(graph.waiter, members)
    vertices = tuple(graph.vertices[at] for at in members)
    return Knot(
        vertices,
        tuple(graph._listed(np.flatnonzero(into & inner))),
        tuple(graph._listed(np.flatnonzero(into & ~inner))),
        any(one.is_resource and one.utilization >= saturation for one in vertices),
    )
