"""Single collections, from the logs of real JVMs (cut to two forced collections) and from made ones."""

import math
import re
from collections import Counter
from pathlib import Path

import pytest

from regatta.host.errors import RegattaError
from regatta.models.gc.collection_log import CYCLE, FULL, YOUNG, parse_collection_log, read_collection_log

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
        # without a time: decorations `none` and `level,tags`
        "Using The Z Garbage Collector\nAllocation Stall (main) 4.376ms\n",
        "[info][gc] Using Serial\n[info][gc] GC(0) Pause Full (System.gc()) 3M->1M(8M) 2.500ms\n",
        # numbers that no JVM writes
        f"[1ns][gc] GC({'1' * 5000}) Pause Full (System.gc()) 3M->1M(8M) 2.500ms\n",
        f"[1ns][gc] GC(0) Pause Full (System.gc()) 3M->1M(8M) {'9' * 400}.0ms\n",
        "[1000000ns][gc] GC(0) Pause Full (System.gc()) 3M->1M(8M) 2.500ms\n",
        # two JVMs in one file
        "[9000000000ns][gc] GC(0) Pause Remark 3M->3M(8M) 1.0ms\n[5000000000ns][gc] GC(0) Concurrent Mark 1.0ms\n",
        "[1ns][gc] Using Serial\n[2ns][gc] Using Serial\n",
    ],
)
def test_other_or_cut_logs_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "gc.log"
    path.write_text(text)
    with pytest.raises(RegattaError) as caught:
        read_collection_log(path)
    assert re.fullmatch(re.escape(str(path)) + r"(:\d+)?", caught.value.problems[0].where)
    assert caught.value.problems[0].fix


def test_a_missing_log_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RegattaError):
        read_collection_log(tmp_path / "gc.log")


def test_stalls_of_z_are_no_pauses() -> None:
    log = read_collection_log(LOGS / "z-stalls-17.log")
    allocating = [each for each in log.stalls if each.kind == "allocation"]
    assert max(each.ns for each in log.stalls) == pytest.approx(65.166e6)
    assert allocating[0].thread == "worker-1"
    assert allocating[0].ns == pytest.approx(56.408e6)
    # The stall of a compiler's thread is left out.
    assert Counter(each.kind for each in log.stalls) == {"allocation": 13, "relocation": 2}
    assert max(each.pause_ns for each in log.collections) < 0.1e6
    assert (log.stalls_missing, log.is_whole, log.notes) == ("", True, ())


def test_stalls_of_generational_z_are_read() -> None:
    log = read_collection_log(LOGS / "z-stalls-25.log")
    assert [each.ns / 1e6 for each in log.stalls] == pytest.approx([2.388, 2.742, 3.282, 6.043, 4.916])


@pytest.mark.parametrize("name", ["main", "pool (1) worker", ""])
def test_a_thread_that_stalls_can_have_any_name(name: str) -> None:
    text = f"[5000000ns][info][gc] Allocation Stall ({name}) 2,500ms\n"
    (stall,) = parse_collection_log(text, "log").stalls
    assert (stall.thread, stall.started_ns, stall.ended_ns) == (name, 2.5e6, 5e6)


def test_pacing_of_shenandoah_makes_single_stalls_undefined() -> None:
    log = read_collection_log(LOGS / "shenandoah-paced-17.log")
    assert log.paced_ns == 75_990_000
    assert "ShenandoahPacing" in log.stalls_missing
    assert any("stalls: undefined" in note for note in log.notes)


def test_a_log_without_phases_has_no_concurrent_time() -> None:
    """As `-Xlog:gc` writes it."""
    text = (
        "[0.100s][info][gc] Using G1\n"
        "[0.300s][info][gc] GC(0) Pause Young (Concurrent Start) (G1 Evacuation Pause) 6M->2M(32M) 2.000ms\n"
        "[0.310s][info][gc] GC(1) Concurrent Mark Cycle\n"
        "[0.320s][info][gc] GC(1) Pause Remark 3M->3M(32M) 0.500ms\n"
        "[0.330s][info][gc] GC(1) Concurrent Mark Cycle 20.000ms\n"
    )
    log = parse_collection_log(text, "log")
    young, cycle = log.collections
    assert (young.concurrent_ns, cycle.pause_ns) == (0, 5e5)
    assert math.isnan(cycle.concurrent_ns)
    assert any("-Xlog:gc*" in note for note in log.notes)


def test_a_log_of_z_without_phases_has_cycles_without_times() -> None:
    text = "[0.1s][gc] Using The Z Garbage Collector\n[0.3s][gc] GC(0) Garbage Collection (Warmup) 22M(34%)->10M(15%)\n"
    (cycle,) = parse_collection_log(text, "log").collections
    assert (cycle.kind, cycle.cause, cycle.after_bytes) == (CYCLE, "Warmup", 10 << 20)
    assert math.isnan(cycle.pause_ns)
    assert math.isnan(cycle.concurrent_ns)


@pytest.mark.parametrize("collection", ["Garbage Collection (Allocation Rate)", "Minor Collection (Warmup)"])
def test_a_cycle_that_the_end_of_the_jvm_aborts_ran_until_then(collection: str) -> None:
    letter = "y: " if collection.startswith("Minor") else ""
    started = (
        "[100000000ns][gc] Using The Z Garbage Collector\n"
        f"[200000000ns][gc,start] GC(0) {collection}\n"
        f"[201000000ns][gc,phases] GC(0) {letter}Pause Mark Start 0.500ms\n"
    )
    aborted = f"[211000000ns][gc] GC(0) {collection} Aborted\n"
    log = parse_collection_log(started + aborted, "log")
    (cycle,) = log.collections
    assert (cycle.kind, cycle.pause_ns, cycle.concurrent_ns) == (CYCLE, 5e5, 10e6)
    assert not log.notes
    before_its_pause = "".join(started.splitlines(keepends=True)[:2]) + aborted
    (cycle,) = parse_collection_log(before_its_pause, "log").collections
    assert (cycle.pause_ns, cycle.concurrent_ns) == (0, 11e6)
    # As -Xlog:gc writes it.
    (cycle,) = parse_collection_log(started.splitlines(keepends=True)[0] + aborted, "log").collections
    assert math.isnan(cycle.pause_ns)
    assert math.isnan(cycle.concurrent_ns)


def test_a_log_that_begins_later_is_not_whole() -> None:
    line = "[{}ns][gc] GC({}) Pause Full (System.gc()) 3M->1M(8M) 2.500ms\n"
    later = parse_collection_log("".join(line.format(10**7 * i, i) for i in (7, 8)), "log")
    assert not later.is_whole
    assert any("begins at collection 7" in note for note in later.notes)
    assert parse_collection_log("".join(line.format(10**7 * i, i - 1) for i in (1, 2)), "log").is_whole


@pytest.mark.parametrize(
    ("decorations", "ended_ns"),
    [
        ("[0.334s]", 334e6),
        ("[1795848298453ms][info][gc]", 1795848298453e6),
        ("[2026-11-28T06:44:58.455+0000][gc]", 1795848298455e6),
        ("[2026-11-28T08:44:58,455+0200][gc]", 1795848298455e6),
        ("[0.334s][vm][2070][2073][info][gc  ]", 334e6),
        (
            "[2026-11-28T06:44:58.455+0000][2026-11-28T06:44:58.455+0000][0.335s][1795848298455ms][2430301652232ns]"
            "[335344767ns][vm][2070][2077][info][gc]",
            335344767,
        ),
    ],
)
def test_any_decorations_with_a_time_are_read(decorations: str, ended_ns: float) -> None:
    (only,) = parse_collection_log(
        f"{decorations} GC(0) Pause Full (System.gc()) 3M->1M(8M) 2.500ms\n", "log"
    ).collections
    assert (only.ended_ns, only.pause_ns) == pytest.approx((ended_ns, 2.5e6), abs=300)


def test_lines_that_are_written_a_little_late_do_not_end_before_they_start() -> None:
    text = (
        "[9000000ns][gc] GC(0) Pause Remark 6M->2M(128M) 1.0ms\n[8000000ns][gc] GC(0) Concurrent Mark 1.0ms\n"
    )
    (only,) = parse_collection_log(text, "log").collections
    assert only.started_ns <= only.ended_ns


def test_many_phases_of_one_cycle_are_summed_once() -> None:
    """In a time that grows with their number; 100,000 took minutes when it grew with the square."""
    count = 100_000
    lines = (f"[{10**6 * i}ns][gc] GC(0) Concurrent Mark 0.5ms\n" for i in range(1, count + 1))
    (only,) = parse_collection_log("".join(lines), "log").collections
    assert only.concurrent_ns == count * 5e5
