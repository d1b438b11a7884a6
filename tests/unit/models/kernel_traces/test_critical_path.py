"""Critical paths of transactions: hand-made traces with known paths, and random ones that must be tiled exactly."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.scheduled_traces import Schedule, random_schedule
from regatta.host.errors import RegattaError
from regatta.models.kernel_traces import critical_path
from regatta.models.kernel_traces.critical_path import CriticalPaths, PathPart
from regatta.models.kernel_traces.model import NONE, Kind, Trace
from regatta.models.kernel_traces.segments import load_segments
from regatta.models.kernel_traces.timeline import State
from regatta.models.kernel_traces.waiting import find_waits


def paths_of(trace: Trace) -> CriticalPaths:
    segments = load_segments(trace)
    return CriticalPaths(segments, find_waits(segments))


def pieces_of(made: Schedule, folder: Path, end: int) -> list[tuple[int, int, str, State, str]]:
    """Begin, end, thread, state and object of the first transaction's path; "" for no object."""
    names = [one["name"] for one in made.objects]
    return [
        (one.begin_ns, one.end_ns, names[one.thread], one.state, names[one.object] if one.object >= 0 else "")
        for one in paths_of(made.write(folder / "trace", end)).of(0)
    ]


def schedule(*threads: str) -> Schedule:
    made = Schedule(3)
    for name in threads:
        made.object("thread", name)
    for kind, name in (
        ("transaction", "transaction"),
        ("network", "net"),
        ("lock", "mutex"),
        ("disk", "sda"),
    ):
        made.object(kind, name)
    return made


def test_the_path_follows_a_chain_of_threads(tmp_path: Path) -> None:
    made = schedule("front", "middle", "back")
    made.run(0, "front", 0).serve(0, 100, "front")
    made.wake(10, "middle", "front").sleep(10, "front").run(10, "middle", 1)
    made.wake(20, "back", "middle").sleep(20, "middle").run(20, "back", 2)
    made.wake(80, "middle", "back").sleep(80, "back").run(80, "middle", 1)
    made.wake(90, "front", "middle").sleep(90, "middle").run(90, "front", 0)
    assert pieces_of(made, tmp_path, 100) == [
        (0, 10, "front", State.USER, ""),
        (10, 20, "middle", State.USER, ""),
        (20, 80, "back", State.USER, ""),
        (80, 90, "middle", State.USER, ""),
        (90, 100, "front", State.USER, ""),
    ]


def asked(by: str) -> Schedule:
    """The back thread is woken at 10, the front one sleeps from 15 until the back one wakes it at 40."""
    made = schedule("front", "back", "other")
    made.run(0, "front", 0).run(0, "other", 2).serve(0, 50, "front")
    made.wake(10, "back", by).run(10, "back", 1).sleep(15, "front")
    return made.wake(40, "front", "back").run(40, "front", 0)


def test_the_path_leaves_a_thread_where_the_waiter_woke_it(tmp_path: Path) -> None:
    assert pieces_of(asked("front"), tmp_path, 50) == [
        (0, 10, "front", State.USER, ""),
        (10, 40, "back", State.USER, ""),
        (40, 50, "front", State.USER, ""),
    ]


def test_the_path_returns_to_the_waiter_where_its_wait_began(tmp_path: Path) -> None:
    assert pieces_of(asked("other"), tmp_path, 50) == [
        (0, 15, "front", State.USER, ""),
        (15, 40, "back", State.USER, ""),
        (40, 50, "front", State.USER, ""),
    ]


def test_the_path_stays_in_the_time_of_the_transaction(tmp_path: Path) -> None:
    made = schedule("front", "back")
    made.run(0, "front", 0).wake(10, "back", "front").run(10, "back", 1).sleep(15, "front")
    made.wake(40, "front", "back").run(40, "front", 0).serve(45, 50, "front", request=12)
    assert pieces_of(made, tmp_path, 50) == [
        (12, 40, "back", State.USER, ""),
        (40, 50, "front", State.USER, ""),
    ]


def test_waits_for_devices_stay_on_the_path(tmp_path: Path) -> None:
    made = schedule("front")
    made.object("disk", "softirq BLOCK")
    made.run(0, "front").serve(0, 100, "front").sleep(10, "front")
    made.wake(40, "front", "net").run(40, "front")
    made.add(50, Kind.REQUEST, "front", object="sda", request=1)
    made.add(50, Kind.ACCEPT, "front", object="sda", request=1).sleep(50, "front")
    made.events.append({"time_ns": 70, "kind": Kind.FINISH, "object": made["sda"], "request": 1})
    made.wake(70, "front", "softirq BLOCK").run(70, "front")
    assert pieces_of(made, tmp_path, 100) == [
        (0, 10, "front", State.USER, ""),
        (10, 40, "front", State.ASLEEP, "net"),
        (40, 50, "front", State.USER, ""),
        (50, 70, "front", State.ASLEEP, "sda"),
        (70, 100, "front", State.USER, ""),
    ]


def test_a_wait_for_a_cpu_names_the_threads_that_had_it(tmp_path: Path) -> None:
    made = schedule("front", "hog", "other")
    made.run(0, "front").serve(0, 100, "front").preempt(10, "front").run(10, "hog")
    made.sleep(30, "hog").run(30, "other").sleep(40, "other").run(40, "idle/0").sleep(45, "idle/0")
    made.run(45, "front")
    assert pieces_of(made, tmp_path, 100) == [
        (0, 10, "front", State.USER, ""),
        (10, 30, "front", State.READY, "hog"),
        (30, 40, "front", State.READY, "other"),
        (40, 45, "front", State.READY, "idle/0"),
        (45, 100, "front", State.USER, ""),
    ]


def locked() -> Schedule:
    """The front thread waits from 20 to 60 for a lock: owned by `first` until 35, then by `second`, which waits meanwhile."""
    made = schedule("front", "first", "second")
    made.object("phase", "work")
    made.run(0, "front", 0).run(0, "first", 1).run(0, "second", 2).serve(0, 80, "front")
    made.add(0, Kind.ACCEPT, "second", object="work")
    ask, get, leave = Kind.REQUEST, Kind.ACCEPT, Kind.FINISH
    made.add(5, ask, "first", object="mutex", request=1).add(5, get, "first", object="mutex", request=1)
    made.add(10, ask, "second", object="mutex", request=2).sleep(10, "second")
    made.add(20, ask, "front", object="mutex", request=3).sleep(20, "front")
    made.add(35, leave, "first", object="mutex", request=1).wake(35, "second", "first")
    made.run(35, "second", 2).add(35, get, "second", object="mutex", request=2).sleep(40, "second")
    made.wake(50, "second", "net").run(50, "second", 2)
    made.add(60, leave, "second", object="mutex", request=2).wake(60, "front", "second")
    return made.run(60, "front", 0).add(60, get, "front", object="mutex", request=3)


def test_a_wait_for_a_lock_is_the_time_of_its_owners(tmp_path: Path) -> None:
    made = locked()
    assert pieces_of(made, tmp_path, 80) == [
        (0, 20, "front", State.USER, ""),
        (20, 35, "first", State.USER, ""),
        (35, 40, "second", State.USER, ""),
        (40, 50, "second", State.ASLEEP, "net"),
        (50, 60, "second", State.USER, ""),
        (60, 80, "front", State.USER, ""),
    ]


def test_the_mean_path_names_phase_and_lock(tmp_path: Path) -> None:
    found = paths_of(locked().write(tmp_path / "trace", 80)).mean()
    assert (found.transactions, found.response_ns) == (1, 80)
    assert found.parts == {
        PathPart(State.USER, "", "", "", ""): 40,
        PathPart(State.USER, "", "", "", "mutex"): 15,
        PathPart(State.USER, "", "", "work", "mutex"): 15,
        PathPart(State.ASLEEP, "network", "net", "work", "mutex"): 10,
    }


def test_a_new_thread_is_followed_to_its_creator(tmp_path: Path) -> None:
    made = schedule("front", "back", "new")
    made.run(0, "front", 0).run(0, "back", 1).serve(0, 100, "front").sleep(10, "front")
    made.add(30, Kind.WAKE, "new", peer="back", value=1).run(40, "new", 2)
    made.wake(80, "front", "new").run(80, "front", 0)
    assert pieces_of(made, tmp_path, 100) == [
        (0, 10, "front", State.USER, ""),
        (10, 30, "back", State.USER, ""),
        (30, 40, "new", State.READY, ""),
        (40, 80, "new", State.USER, ""),
        (80, 100, "front", State.USER, ""),
    ]


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32), threads=st.integers(1, 7), cpus=st.integers(1, 3))
def test_random_paths_tile_their_transactions_and_add_up_to_the_mean(
    seed: int, threads: int, cpus: int
) -> None:
    made, end = random_schedule(seed, threads, cpus, 150)
    with tempfile.TemporaryDirectory() as folder:
        segments = load_segments(made.write(Path(folder) / "trace", end), batch=11)
    paths = CriticalPaths(segments, find_waits(segments))
    expected: Counter[PathPart] = Counter()
    done = 0
    for at, transaction in enumerate(segments.jobs.transactions):
        if transaction.finish_ns is None:
            continue
        done += 1
        pieces = paths.of(at)
        times = [transaction.accept_ns, *(piece.end_ns for piece in pieces)]
        assert [piece.begin_ns for piece in pieces] == times[:-1]
        assert times[-1] == transaction.finish_ns
        assert times == sorted(set(times))
        for piece in pieces:
            kind, name = ("", "") if piece.object < 0 else (made.objects[piece.object][key] for key in ("kind", "name"))  # fmt: skip
            if piece.state == State.READY:
                kind = name = "cpu"
            phase, lock = ("" if one < 0 else segments.names[one] for one in (piece.phase, piece.lock))
            expected[PathPart(piece.state, kind, name, phase, lock)] += piece.end_ns - piece.begin_ns
            assert piece.state not in (State.IDLE, State.ENDED)
    if not done:
        with pytest.raises(RegattaError):
            paths.mean()
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(critical_path, "_CHUNK", 1)
        found = paths.mean()
    assert found.parts == pytest.approx({part: ns / done for part, ns in expected.items()})
    assert found.response_ns == pytest.approx(sum(expected.values()) / done)


def test_a_mean_can_be_of_some_transactions(tmp_path: Path) -> None:
    made = schedule("front").run(0, "front")
    for number in range(10):
        made.serve(10 * number, 10 * number + number + 1, "front", number + 1)
    paths = paths_of(made.write(tmp_path / "trace", 100))
    assert (paths.mean().transactions, paths.mean().response_ns) == (10, 5.5)
    assert (paths.mean(2).transactions, paths.mean(2).response_ns) == (2, 3.5)
    assert paths.mean(10) == paths.mean(11) == paths.mean()
    with pytest.raises(RegattaError):
        paths.mean(0)


@pytest.mark.parametrize("transaction", [-1, 0, 1])
def test_transactions_that_have_not_finished_have_no_path(tmp_path: Path, transaction: int) -> None:
    made = schedule("front").run(0, "front")
    made.add(5, Kind.ACCEPT, "front", object="transaction", request=1)
    with pytest.raises(RegattaError):
        paths_of(made.write(tmp_path / "trace", 10)).of(transaction)


def test_pieces_without_a_lock_have_none(tmp_path: Path) -> None:
    paths = paths_of(locked().write(tmp_path / "trace", 80)).of(0)
    mutex = next(at for at, one in enumerate(locked().objects) if one["kind"] == "lock")
    assert [piece.lock for piece in paths] == [NONE, mutex, mutex, mutex, mutex, NONE]
