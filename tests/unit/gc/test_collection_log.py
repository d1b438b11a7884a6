"""Single collections, from the logs of real JVMs (cut to two forced collections) and from made ones."""

from collections import Counter
from pathlib import Path

import pytest

from regatta.gc.collection_log import CYCLE, FULL, YOUNG, parse_collection_log, read_collection_log
from regatta.host.errors import RegattaError

LOGS = Path(__file__).parent / "logs"
FORCED = "System.gc()"


@pytest.mark.parametrize(
    ("name", "collector", "forced"),
    [
        ("serial-11", "Serial", {FULL: 2}),
        ("serial-25", "Serial", {FULL: 2}),
        ("parallel-17", "Parallel", {FULL: 2, YOUNG: 2}),
        ("g1-21", "G1", {FULL: 2}),
        ("z-17", "Z", {CYCLE: 3}),
        ("z-25", "Z", {CYCLE: 2}),
        ("shenandoah-21", "Shenandoah", {CYCLE: 2}),
    ],
)
def test_forced_collections_are_found(name: str, collector: str, forced: dict[str, int]) -> None:
    log = read_collection_log(LOGS / f"{name}.log")
    assert log.collector == collector
    # Before release 25, Parallel makes a young collection before a forced full one.
    assert Counter(each.kind for each in log.collections if each.cause == FORCED) == forced
    assert all(each.pause_ns > 0 for each in log.collections)


def test_heap_size_and_generations() -> None:
    log = read_collection_log(LOGS / "serial-25.log")
    assert log.heap_bytes == 32 << 20
    young = next(each for each in log.collections if each.kind == YOUNG)
    assert young.young is not None
    assert young.old is not None
    assert young.young.before > young.young.after
    assert young.young.capacity + young.old.capacity < 32 << 20


def test_regions_of_g1_are_bytes() -> None:
    log = read_collection_log(LOGS / "g1-21.log")
    young = next(each for each in log.collections if each.kind == YOUNG)
    assert young.young is not None
    assert young.young.before % (1 << 20) == 0
    assert young.young.before > young.young.after


def test_concurrent_time_is_without_pauses_and_nested_phases() -> None:
    text = (
        "[1000000ns][gc,start] GC(0) Pause Young (Concurrent Start) (G1 Evacuation Pause)\n"
        "[3000000ns][gc] GC(0) Pause Young (Concurrent Start) (G1 Evacuation Pause) 6M->2M(32M) 2.000ms\n"
        "[9000000ns][gc] GC(1) Concurrent Mark From Roots 4.000ms\n"
        "[10000000ns][gc] GC(1) Pause Remark 3M->3M(32M) 0.500ms\n"
        "[11000000ns][gc] GC(1) Concurrent Mark 6.000ms\n"
        "[12000000ns][gc] GC(1) Concurrent Mark Cycle 8.000ms\n"
    )
    young, cycle = parse_collection_log(text, "log").collections
    assert (young.kind, young.pause_ns, young.before_bytes, young.after_bytes) == (
        YOUNG,
        2e6,
        6 << 20,
        2 << 20,
    )
    assert (cycle.kind, cycle.pause_ns, cycle.concurrent_ns) == (CYCLE, 5e5, 5.5e6)


def test_a_nested_pause_counts_once() -> None:
    text = (
        "[1000000ns][gc,start] GC(0) Pause Young (Allocation Failure)\n"
        "[2000000ns][gc,start] GC(1) Pause Full (Allocation Failure)\n"
        "[6000000ns][gc] GC(1) Pause Full (Allocation Failure) 30M->10M(32M) 4.000ms\n"
        "[6500000ns][gc] GC(0) Pause Young (Allocation Failure) 30M->10M(32M) 5.500ms\n"
    )
    pauses = {each.kind: each.pause_ns for each in parse_collection_log(text, "log").collections}
    assert pauses == {FULL: 4e6, YOUNG: 1.5e6}


def test_seconds_and_decimal_commas() -> None:
    (only,) = parse_collection_log(
        "[0,250s][info][gc] GC(0) Pause Full (System.gc()) 3M->1M(8M) 2,500ms\n", "log"
    ).collections
    assert (only.ended_ns, only.pause_ns, only.cause) == (0.25e9, 2.5e6, FORCED)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-01-01 collector started\n",
        "[1ns][gc] Using Serial\n[2ns][gc] GC(0) Pause Fu",
        "[1ns][gc] Using Serial\n[2ns][gc,start] GC(0) Pause Full (System.gc())\n",
    ],
)
def test_other_or_cut_logs_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "gc.log"
    path.write_text(text)
    with pytest.raises(RegattaError) as caught:
        read_collection_log(path)
    assert caught.value.problems[0].where == str(path)
    assert caught.value.problems[0].fix


def test_a_missing_log_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RegattaError):
        read_collection_log(tmp_path / "gc.log")
