"""Wait-for graphs and their knots: hand-made traces, and random ones against a search that follows every ns."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.scheduled_traces import Schedule, random_schedule
from regatta.host.errors import RegattaError
from regatta.models.kernel_traces import waiting
from regatta.models.kernel_traces.model import NONE, Kind, Trace
from regatta.models.kernel_traces.segments import Segments, load_segments
from regatta.models.kernel_traces.timeline import State
from regatta.models.kernel_traces.waiting import Edge, WaitGraph, Waits, find_knots, find_waits, wait_graph


def chain() -> Schedule:
    """A front thread asks a middle one, which asks a back one; each has a CPU."""
    made = Schedule(3)
    for name in ("front", "middle", "back"):
        made.object("thread", name)
    made.object("transaction", "transaction")
    made.run(0, "front", 0).serve(0, 100, "front")
    made.wake(10, "middle", "front").sleep(10, "front").run(10, "middle", 1)
    made.wake(20, "back", "middle").sleep(20, "middle").run(20, "back", 2)
    made.wake(80, "middle", "back").sleep(80, "back").run(80, "middle", 1)
    made.wake(90, "front", "middle").sleep(90, "middle").run(90, "front", 0)
    return made


def convoy() -> Schedule:
    """Three threads with a CPU each need one lock all the time."""
    made = Schedule(3)
    for name in ("a", "b", "c"):
        made.object("thread", name)
    made.object("lock", "mutex")
    for time, name, cpu in ((0, "a", 0), (0, "b", 1), (0, "c", 2)):
        made.run(time, name, cpu)
    ask, get, leave = Kind.REQUEST, Kind.ACCEPT, Kind.FINISH
    for time, name, kind, number in (
        (0, "a", ask, 1), (0, "a", get, 1), (5, "b", ask, 2), (10, "c", ask, 3), (30, "a", leave, 1), (30, "b", get, 2),
        (40, "a", ask, 4), (60, "b", leave, 2), (60, "c", get, 3), (90, "c", leave, 3), (90, "a", get, 4),
    ):  # fmt: skip
        if (time, kind) == (30, get):
            made.wake(30, "b", "a").run(30, "b", 1)
        if (time, kind) == (60, get):
            made.wake(60, "c", "b").run(60, "c", 2)
        if (time, kind) == (90, get):
            made.wake(90, "a", "c").run(90, "a", 0)
        made.add(time, kind, name, object="mutex", request=number)
        if kind == ask and number > 1:
            made.sleep(time, name)
    return made


def loaded(trace: Trace, **options: int) -> tuple[Segments, Waits]:
    segments = load_segments(trace, **options)
    return segments, find_waits(segments)


def graph_of(made: Schedule, folder: Path, end: int, merge: bool = False, depth: int = 16) -> WaitGraph:
    segments, waits = loaded(made.write(folder / "trace", end))
    return wait_graph(segments, waits, merge=merge, depth=depth)


def weights(edges: list[Edge] | tuple[Edge, ...]) -> dict[tuple[str, str, str | None], int]:
    return {(edge.waiter.name, edge.target.name, edge.lock): edge.weight_ns for edge in edges}


def test_the_wait_of_a_chain_moves_to_its_last_thread(tmp_path: Path) -> None:
    graph = graph_of(chain(), tmp_path, 100)
    assert weights(graph.edges()) == {
        ("middle", "back", None): 120,
        ("front", "middle", None): 20,
        ("middle", "front", None): 20,
        ("back", "middle", None): 10,
    }
    assert graph.weight_ns.sum() == graph.direct_ns.sum() == 170


@pytest.mark.parametrize(("depth", "expected"), [(0, (80, 60)), (1, (20, 120))])
def test_depth_limits_the_redistribution(tmp_path: Path, depth: int, expected: tuple[int, int]) -> None:
    found = weights(graph_of(chain(), tmp_path, 100, depth=depth).edges())
    assert (found["front", "middle", None], found["middle", "back", None]) == expected


def test_a_thread_that_waits_for_nothing_is_a_knot(tmp_path: Path) -> None:
    (knot,) = find_knots(graph_of(chain(), tmp_path, 100), threshold=0.25)
    assert [vertex.name for vertex in knot.vertices] == ["back"]
    assert (knot.edges, weights(knot.incoming)) == ((), {("middle", "back", None): 120})
    assert not knot.saturated
    assert knot.vertices[0].utilization == pytest.approx(0.6)


def test_threads_that_wait_for_each_other_are_a_knot(tmp_path: Path) -> None:
    (knot,) = find_knots(graph_of(chain(), tmp_path, 100))
    assert {vertex.name for vertex in knot.vertices} == {"front", "middle", "back"}
    assert [edge.weight_ns for edge in knot.edges] == [120, 20, 20, 10]


def test_a_wait_for_a_lock_is_one_for_its_owners(tmp_path: Path) -> None:
    graph = graph_of(convoy(), tmp_path, 100)
    expected = {
        ("b", "a", "mutex"): 25,
        ("c", "a", "mutex"): 20,
        ("c", "b", "mutex"): 30,
        ("a", "b", "mutex"): 20,
        ("a", "c", "mutex"): 30,
    }
    assert weights(graph.edges()) == expected
    (knot,) = find_knots(graph)
    assert weights(knot.edges) == expected


def test_a_lock_without_a_known_owner_is_waited_for_itself(tmp_path: Path) -> None:
    made = convoy()
    made.events = [event for event in made.events if event["kind"] != Kind.FINISH]
    graph = graph_of(made, tmp_path, 100)
    assert weights(graph.edges()) == {
        ("b", "mutex", "mutex"): 25,
        ("c", "mutex", "mutex"): 50,
        ("a", "mutex", "mutex"): 50,
    }
    (knot,) = find_knots(graph)
    assert knot.vertices[0].kind == "lock"


def test_a_deadlock_keeps_all_of_its_weight(tmp_path: Path) -> None:
    made = Schedule(2)
    for what, name in (("thread", "a"), ("thread", "b"), ("lock", "x"), ("lock", "y")):
        made.object(what, name)
    made.run(0, "a", 0).run(0, "b", 1)
    # Both locks were returned before, so that their owners are known.
    for number, lock in ((1, "x"), (2, "y")):
        for kind in (Kind.REQUEST, Kind.ACCEPT, Kind.FINISH):
            made.add(1, kind, "a", object=lock, request=number)
    for number, name, lock in ((3, "a", "x"), (4, "b", "y")):
        made.add(2, Kind.REQUEST, name, object=lock, request=number)
        made.add(2, Kind.ACCEPT, name, object=lock, request=number)
    for number, name, lock in ((5, "a", "y"), (6, "b", "x")):
        made.add(10, Kind.REQUEST, name, object=lock, request=number).sleep(10, name)
    graph = graph_of(made, tmp_path, 100)
    (knot,) = find_knots(graph)
    assert {vertex.name for vertex in knot.vertices} == {"a", "b"}
    assert graph.weight_ns.sum() == 180


def test_threads_that_share_a_cpu_wait_for_it(tmp_path: Path) -> None:
    made = Schedule(1)
    made.object("thread", "a")
    made.object("thread", "b")
    made.run(0, "a").wake(0, "b", "a")
    for time in range(10, 100, 20):
        made.preempt(time, "a").run(time, "b").preempt(time + 10, "b").run(time + 10, "a")
    graph = graph_of(made, tmp_path, 110)
    assert weights(graph.edges()) == {("b", "cpu0", None): 60, ("a", "cpu0", None): 50}
    assert graph.competitors == (("b", "a", 60), ("a", "b", 50))
    (knot,) = find_knots(graph)
    assert (knot.vertices[0].kind, knot.vertices[0].utilization, knot.saturated) == ("cpu", 1.0, True)


def test_idle_threads_wait_for_nothing(tmp_path: Path) -> None:
    made = Schedule(1)
    made.object("thread", "a")
    made.object("timer", "tick")
    made.run(0, "idle/0").wake(10, "a", "idle/0").preempt(10, "idle/0").run(10, "a")
    made.sleep(60, "a").run(60, "idle/0")
    assert weights(graph_of(made, tmp_path, 100).edges()) == {("a", "unknown", None): 10}


def test_a_thread_waits_for_the_cpu_that_accepts_it(tmp_path: Path) -> None:
    made = Schedule(2)
    made.object("thread", "a")
    made.object("timer", "tick")
    made.run(0, "a", 0).sleep(10, "a").wake(20, "a", "tick").run(50, "a", 1)
    found = weights(graph_of(made, tmp_path, 100).edges())
    assert found == {("a", "cpu1", None): 30, ("a", "tick", None): 10}


def test_a_disk_that_is_always_busy_is_a_saturated_knot(tmp_path: Path) -> None:
    made = Schedule(1)
    for kind, name in (("thread", "a"), ("disk", "sda"), ("disk", "softirq BLOCK")):
        made.object(kind, name)
    made.run(0, "a")
    for number, time in enumerate(range(0, 100, 10)):
        made.add(time, Kind.REQUEST, "a", object="sda", request=number)
        made.add(time, Kind.ACCEPT, "a", object="sda", request=number).sleep(time, "a")
        made.events.append(
            {"time_ns": time + 9, "kind": Kind.FINISH, "object": made["sda"], "request": number}
        )
        made.wake(time + 9, "a", "softirq BLOCK").run(time + 9, "a")
    graph = graph_of(made, tmp_path, 100)
    assert weights(graph.edges()) == {("a", "sda", None): 90}
    (knot,) = find_knots(graph)
    assert (knot.vertices[0].name, knot.saturated) == ("sda", True)
    assert knot.vertices[0].utilization == pytest.approx(0.9)
    assert not find_knots(graph, saturation=0.91)[0].saturated


def test_merged_threads_of_a_process_are_one_vertex(tmp_path: Path) -> None:
    made = Schedule(2)
    made.object("process", "server")
    for name in ("w1", "w2"):
        made.object("thread", name, "server")
    made.object("network", "net")
    made.object("network", "nic")
    made.run(0, "w1", 0).sleep(10, "w1").wake(30, "w1", "net").run(30, "w1", 0).sleep(60, "w1")
    made.run(0, "w2", 1).sleep(5, "w2").wake(35, "w2", "nic").run(40, "w2", 1).wake(70, "w1", "w2").run(
        70, "w1", 0
    )
    graph = graph_of(made, tmp_path, 100, merge=True)
    assert weights(graph.edges()) == {
        ("server", "network", None): 50,
        ("server", "server", None): 10,
        ("server", "cpu", None): 5,
    }
    server = next(vertex for vertex in graph.vertices if vertex.kind == "process")
    assert (server.members, server.objects) == (2, (made["w1"], made["w2"]))
    assert server.utilization == pytest.approx((40 + 30 + 5 + 60) / 200)


def test_knots_that_no_serving_thread_waits_for_are_left_out(tmp_path: Path) -> None:
    made = chain()
    made.object("thread", "daemon")
    made.object("timer", "tick")
    made.run(0, "daemon").sleep(1, "daemon").wake(99, "daemon", "tick")
    graph = graph_of(made, tmp_path, 100)
    assert len(find_knots(graph)) == 1
    assert len(find_knots(graph, serving_only=False)) == 2


def test_a_trace_without_waits_has_no_knots(tmp_path: Path) -> None:
    made = Schedule(1)
    made.object("thread", "a")
    graph = graph_of(made.run(0, "a"), tmp_path, 10)
    assert (graph.edges(), find_knots(graph)) == ([], [])


def test_a_trace_without_threads_has_no_knots(tmp_path: Path) -> None:
    graph = graph_of(Schedule(1), tmp_path, 10)
    assert (graph.vertices, find_knots(graph)) == ((), [])


@pytest.mark.parametrize("options", [{"threshold": -0.1}, {"saturation": 1.1}, {"threshold": float("nan")}])
def test_shares_outside_their_range_are_refused(tmp_path: Path, options: dict[str, float]) -> None:
    graph = graph_of(chain(), tmp_path, 100)
    with pytest.raises(RegattaError):
        find_knots(graph, threshold=options.get("threshold", 0.1), saturation=options.get("saturation", 0.9))


def test_a_negative_depth_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RegattaError):
        graph_of(chain(), tmp_path, 100, depth=-1)


def by_the_ns(waits: Waits, is_thread: list[bool], depth: int) -> Counter[tuple[int, int, int]]:
    """Follow the chain of waits of each thread at each ns; count the last wait of the chain."""
    at_time: dict[tuple[int, int], tuple[int, int]] = {}
    rows = zip(waits.thread, waits.begin_ns, waits.end_ns, waits.target, waits.lock, strict=True)
    for thread, begin, end, target, lock in rows:
        for time in range(begin, end):
            at_time[int(thread), time] = (int(target), int(lock))
    found: Counter[tuple[int, int, int]] = Counter()
    for (thread, time), (target, lock) in at_time.items():
        waiter = thread
        for _ in range(depth):
            if target >= len(is_thread) or not is_thread[target] or (target, time) not in at_time:
                break
            waiter, (target, lock) = target, at_time[target, time]
        found[waiter, target, lock] += 1
    return found


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    threads=st.integers(1, 7),
    cpus=st.integers(1, 3),
    depth=st.sampled_from((0, 1, 2, 16)),
)
def test_random_graphs_equal_those_that_follow_every_ns(
    seed: int, threads: int, cpus: int, depth: int
) -> None:
    made, end = random_schedule(seed, threads, cpus, 80)
    with tempfile.TemporaryDirectory() as folder:
        segments, waits = loaded(made.write(Path(folder) / "trace", end), batch=7)
    graph = wait_graph(segments, waits, depth=depth)
    expected = by_the_ns(waits, [kind == "thread" for kind in segments.kinds], depth)
    found = {}
    for waiter, target, lock, weight in zip(
        graph.waiter, graph.target, graph.lock, graph.weight_ns, strict=True
    ):
        if weight:
            found[graph.vertices[waiter].name, graph.vertices[target].name, int(lock)] = int(weight)

    def name(code: int) -> str:
        cpu = code - waits.objects - 1
        if cpu >= 0:
            return f"cpu{cpu}"
        return "unknown" if cpu == -1 or segments.kinds[code] == "idle" else segments.names[code]

    assert found == {(name(one), name(two), lock): ns for (one, two, lock), ns in expected.items()}
    assert graph.weight_ns.min(initial=0) >= 0


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32), threads=st.integers(2, 7))
def test_competitors_do_not_depend_on_chunks(seed: int, threads: int) -> None:
    made, end = random_schedule(seed, threads, 1, 120)
    with tempfile.TemporaryDirectory() as folder:
        segments, waits = loaded(made.write(Path(folder) / "trace", end))
    whole = wait_graph(segments, waits)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(waiting, "_CHUNK", 3)
        assert sorted(wait_graph(segments, waits).competitors) == sorted(whole.competitors)
    ready = (waits.state == State.READY) & (waits.target == waits.objects + 1)
    expected: Counter[tuple[str, str]] = Counter()
    on = segments.running
    for waiter, low, high in zip(
        waits.thread[ready], waits.begin_ns[ready], waits.end_ns[ready], strict=True
    ):
        for runner, begin, finish in zip(
            segments.actor[on], segments.begin_ns[on], segments.end_ns[on], strict=True
        ):
            overlap = int(min(high, finish) - max(low, begin))
            if overlap > 0 and segments.kinds[runner] != "idle":
                expected[segments.names[waiter], segments.names[runner]] += overlap
    assert {(one, other): ns for one, other, ns in whole.competitors} == dict(expected)
    assert NONE not in np.unique(waits.thread)


@pytest.mark.parametrize("threads", [32765, 40000])
def test_a_trace_may_have_many_threads(tmp_path: Path, threads: int) -> None:
    made = Schedule()
    for number in range(threads):
        made.object("thread", f"short{number}")
    made.object("thread", "a")
    made.object("thread", "b")
    made.run(0, "a").wake(10, "b", "a").sleep(30, "a").run(30, "b").sleep(90, "b")
    graph = graph_of(made, tmp_path, 100)
    assert ("b", "cpu0", None) in weights(graph.edges())
    assert weights(graph.edges())["b", "cpu0", None] == 20
