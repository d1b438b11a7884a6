"""What the Java harness reads in the collector's log: against the safepoint log and the beans, and in words that are known."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from helpers.workloads.java_cases import GC_LOG, PAIRS, READ, SAFEPOINTS, Cases, by_parameter, of_iteration
from helpers.workloads.java_runs import Run, jvm

KINDS = {
    "serial": {"Pause Young", "Pause Full"},
    "parallel": {"Pause Young", "Pause Full"},
    "g1": {
        "Pause Young (Normal)", "Pause Young (Concurrent Start)", "Pause Young (Prepare Mixed)",
        "Pause Young (Mixed)", "Pause Full", "Pause Remark", "Pause Cleanup",
    },
    "z": {"Pause Mark Start", "Pause Mark End", "Pause Relocate Start"},
    "shenandoah": {
        "Pause Init Mark", "Pause Final Mark", "Pause Init Update Refs", "Pause Final Update Refs",
        "Pause Final Roots", "Pause Final Evac", "Pause Degenerated GC", "Pause Full",
    },
}  # fmt: skip
#: of Shenandoah, not in each release
SOME_RELEASES = {"Pause Final Roots", "Pause Final Evac"}
#: what every cycle of them has
ALWAYS = {
    "serial": {"Pause Young"},
    "parallel": {"Pause Young"},
    "g1": {"Pause Young (Normal)"},
    "z": KINDS["z"],
    "shenandoah": {"Pause Init Mark", "Pause Final Mark"},
}
#: the line of a collection, and the beans to agree with it
COLLECTION = {
    "serial": (r"Pause (Young|Full).*ms$", r""),
    "parallel": (r"Pause (Young|Full).*ms$", r""),
    "g1": (r"Pause (Young|Full).*ms$", r"Young|Old"),
    "z": (r"Pause .*ms$", r"Pauses$"),
    "shenandoah": (r"Pause .*ms$", r"Pauses$"),
}
#: before release 17 its only bean is of cycles
FIRST_Z = (r"Garbage Collection .*->", r"ZGC$")
#: of the collectors that work beside the program, the lines of whole cycles, which are no phases
WHOLE = {"g1": r"\S* ?Cycle", "z": r"\bnone\b", "shenandoah": r"\bnone\b"}
MIB = 2**20


def safepoints(run: Run) -> tuple[list[str], list[str]]:
    """What the safepoints of the whole process were for: the collector's, and the others.

    Release 11 has other words than later ones.
    """
    names = re.findall(r'^(?:Safepoint "|Entering safepoint region: )(\w+)', run.safepoints, re.MULTILINE)
    collector = [name for name in names if re.match(r"[XZ][A-Z]|Shenandoah", name)]
    return collector, [name for name in names if name not in collector]


def gc_log(run: Run) -> str:
    return (run.directory / "gc.log").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "collector"), PAIRS)
def test_pauses_by_kind_add_up_to_those_of_the_safepoint_log(cases: Cases, name: str, collector: str) -> None:
    run = cases.churned(name, collector)
    paused_ns: list[int] = []
    of_kinds_ns: list[int] = []
    found: set[str] = set()
    known: list[set[str]] = []
    for iteration in (0, 1):
        kinds = by_parameter(run, "gc_pause_total", iteration)
        known.append(set(kinds))
        found |= {kind for kind, ns in kinds.items() if ns}
        (paused,) = of_iteration(run, "gc_time", iteration)
        paused_ns.append(paused)
        of_kinds_ns.append(sum(kinds.values()))
    # On a busy machine each cycle may degenerate before the pause that would end it.
    seldom = {kind for kind in KINDS[collector] if len(re.findall(re.escape(kind), gc_log(run))) < 5}
    assert ALWAYS[collector] - seldom <= found <= KINDS[collector]
    # What did not occur is 0 in each iteration, from the first on.
    assert KINDS[collector] - SOME_RELEASES <= known[0] <= known[1] <= KINDS[collector]
    if collector in ("z", "shenandoah"):
        # So short are they that the time around them is most of a safepoint; each has one to itself.
        pauses = re.findall(r"Pause (.*)ms$", gc_log(run), re.MULTILINE)
        # On a busy machine a cycle can degenerate, and one safepoint then has several lines of the other log.
        degenerated = sum(pause.startswith("Degenerated") for pause in pauses)
        own, others = safepoints(run)
        # Release 11 does all operations that wait in one safepoint, which has the name of the first one only.
        shared = len(others) if name == "11" else 0
        assert -1 - degenerated <= len(pauses) - len(own) <= 1 + degenerated + shared
    else:
        # Some 50 us apart where nothing disturbs. A busy machine can take the processor away between the two clocks,
        # and a pause may lie at the border, in one log but not yet in the other: one iteration, or both, is enough.
        pairs = [*zip(paused_ns, of_kinds_ns, strict=True), (sum(paused_ns), sum(of_kinds_ns))]
        assert any(0.5 * paused <= of_kinds <= 1.25 * paused for paused, of_kinds in pairs)


@pytest.mark.parametrize(("name", "collector"), PAIRS)
def test_the_beans_count_the_collections_of_the_log(cases: Cases, name: str, collector: str) -> None:
    run = cases.churned(name, collector)
    lines, beans = COLLECTION[collector] if (name, collector) != ("11", "z") else FIRST_Z
    logged = len(re.findall(lines, gc_log(run), re.MULTILINE))
    counted = sum(
        line["value"]
        for line in run.lines
        if line.get("metric") == "collections" and re.search(beans, line["parameters"]["collector"])
    )
    assert logged / 2 <= counted <= logged
    for iteration in (0, 1):
        counts, times = (by_parameter(run, x, iteration) for x in ("collections", "collection_time"))
        assert set(counts) == set(times)
        assert set(counts) == set(run.lines[0]["info"]["collectors"]), "those that did not collect have 0"


@pytest.mark.parametrize(("name", "collector"), PAIRS)
def test_concurrent_work_is_told_of_those_that_work_beside_the_program(
    cases: Cases, name: str, collector: str
) -> None:
    run = cases.churned(name, collector)
    told = run.values("gc_concurrent")
    if collector not in WHOLE:
        assert told == []
        return
    assert len(told) == 2
    # A phase of G1 that holds others covers the time between them, too. Whole cycles are no phases.
    lines = re.finditer(
        rf"^\[(\d+)ns\].*GC\((\d+)\)(.*) Concurrent (?!{WHOLE[collector]}).* ([\d.]+)ms$",
        gc_log(run),
        re.MULTILINE,
    )
    phases: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for line in lines:
        end = float(line[1])
        phases.setdefault((line[2], line[3]), []).append((end - float(line[4]) * 1e6, end))
    assert sum(told) <= sum(map(covered, phases.values())) + 10
    # Few may all have ended before or after the iterations.
    assert sum(map(len, phases.values())) < 5 or sum(told) > 0


def covered(intervals: list[tuple[float, float]]) -> float:
    """The time that intervals cover."""
    total, reached = 0.0, 0.0
    for start, end in sorted(intervals):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total


@pytest.mark.parametrize(("name", "collector"), PAIRS)
def test_the_heap_after_collections_is_between_what_lives_and_all_of_it(
    cases: Cases, name: str, collector: str
) -> None:
    """At the end of `churn` some 13,000 of 20,000 places hold a piece of 1 kB."""
    run = cases.churned(name, collector)
    heap = run.lines[0]["info"]["max_heap_bytes"]
    for iteration in (0, 1):
        after = by_parameter(run, "heap_after", iteration)
        if not after:
            assert sum(of_iteration(run, "collections", iteration)) == 0
            continue
        assert 10 * MIB < after["last"] <= after["maximum"] <= 1.2 * heap
    assert run.values("heap_after")


def test_the_epsilon_collector_reports_nothing_that_it_does_not_do(cases: Cases) -> None:
    flags = ("-XX:+UnlockExperimentalVMOptions", "-XX:+UseEpsilonGC", "-Xmx512m", GC_LOG)
    run = cases.run("churn", "--size", "100", "--iterations", "2", "--gc-log", "gc.log", flags=flags)
    assert run.code == 0, run.stderr
    metrics = {line["metric"] for line in run.lines if "metric" in line}
    assert not metrics & {"gc_concurrent", "gc_pause_total", "heap_after"}
    assert run.values("collections") == run.values("collection_time") == [0, 0]


def logged(
    cases: Cases, place: Path, text: str, *, option: str = "--gc-log", first: str = "[1ns] Using G1\n"
) -> Run:
    """A JVM, whose beans are those of G1, that seems to write `text` to its log, iterations parted by empty lines."""
    log, lines = place / "some.log", place / "lines"
    log.write_text(first, encoding="utf-8")
    iterations = text.split("\n\n")
    for number, part in enumerate(iterations):
        lines.with_name(f"lines{number}").write_text(part.rstrip("\n") + "\n" * bool(part), encoding="utf-8")
    return cases.run(
        "logged", "--size", "1", "--iterations", str(len(iterations)), option, str(log),
        flags=(f"-Dlog={log}", f"-Dlines={lines}", "-XX:+UseG1GC"),
    )  # fmt: skip


def occurred(run: Run, iteration: int) -> dict[str, int]:
    """ns of the kinds of pauses that there were."""
    return {kind: ns for kind, ns in by_parameter(run, "gc_pause_total", iteration).items() if ns}


def test_phases_within_phases_and_pauses_within_phases_are_not_counted_twice(
    cases: Cases, tmp_path: Path
) -> None:
    run = logged(cases, tmp_path, """\
[10000000ns] GC(3) Pause Young (Normal) (G1 Evacuation Pause) 40M->20M(64M) 2.000ms
[10000000ns][gc,marking] GC(4) Concurrent Mark From Roots
[15000000ns] GC(5) Pause Young (Normal) (G1 Evacuation Pause) (Evacuation Failure: Pinned) 50M->25M(64M) 2.000ms
[20000000ns][gc,marking] GC(4) Concurrent Mark From Roots 10.000ms
[21000000ns] GC(4) Concurrent Preclean 1.000ms
[23000000ns] GC(4) Pause Remark 60M->60M(64M) 1.000ms
[24000000ns] GC(4) Concurrent Mark 15.000ms
[30000000ns] GC(4) Concurrent Mark Cycle 22.000ms
[31000000ns] GC(6) Pause Full (System.gc()) 60M->10M(64M) 0.500ms
""")  # fmt: skip
    assert run.code == 0, run.stderr
    # Concurrent Mark began at 9 ms, within the first pause, and has the second and the remark in it: 15 - 1 - 2 - 1.
    assert run.values("gc_concurrent") == [11_000_000]
    assert occurred(run, 0) == {
        "Pause Young (Normal)": 4_000_000, "Pause Remark": 1_000_000, "Pause Full": 500_000
    }  # fmt: skip
    assert by_parameter(run, "heap_after", 0) == {"last": 10 * MIB, "maximum": 25 * MIB}


def test_a_pause_that_turns_into_another_counts_under_both_kinds_once(cases: Cases, tmp_path: Path) -> None:
    run = logged(cases, tmp_path, """\
[10000000ns][gc] GC(10) Pause Young (Allocation Failure) 50M->40M(61M) 1.000ms
[50000000ns][gc] GC(12) Pause Full (Allocation Failure) 54M->19M(61M) 20.041ms
[50025000ns][gc] GC(11) Pause Young (Allocation Failure) 54M->19M(61M) 20.091ms
""")  # fmt: skip
    assert occurred(run, 0) == {"Pause Full": 20_041_000, "Pause Young": 1_050_000}


def test_pauses_of_an_iteration_before_are_not_counted_in_a_phase_that_ends_later(
    cases: Cases, tmp_path: Path
) -> None:
    run = logged(cases, tmp_path, """\
[110000000ns] GC(2) Pause Young (Normal) (G1 Evacuation Pause) 40M->20M(64M) 50.000ms
[210000000ns] GC(3) Pause Young (Normal) (G1 Evacuation Pause) 40M->20M(64M) 50.000ms

[400000000ns][gc,marking] GC(1) Concurrent Mark From Roots 350.000ms

[500000000ns] GC(4) Pause Strange 5.000ms

""")  # fmt: skip
    assert run.code == 0, run.stderr
    assert run.values("gc_concurrent") == [0, 250_000_000, 0, 0]
    assert [occurred(run, i) for i in range(4)] == [
        {"Pause Young (Normal)": 100_000_000}, {}, {"Pause Strange": 5_000_000}, {}
    ]  # fmt: skip
    assert by_parameter(run, "gc_pause_total", 3) == dict.fromkeys([*KINDS["g1"], "Pause Strange"], 0)


@pytest.mark.parametrize(
    "cycle",
    [
        "GC(1) Concurrent Mark Cycle 22.000ms",
        "GC(0) Garbage Collection (Warmup) 22M(34%)->10M(15%)",
        "GC(1) Y: Pause Mark End 0.009ms\n[2ns] GC(1) Minor Collection (Warmup) 22M(34%)->10M(15%) 0.031s",
    ],
)
def test_a_log_with_cycles_but_without_their_phases_is_told_and_exits_with_2(
    cases: Cases, tmp_path: Path, cycle: str
) -> None:
    run = logged(cases, tmp_path, f"[1ns] {cycle}\n")
    assert run.code == 2
    assert "error: --gc-log: expected " in run.stderr
    assert "cycles without any in" in run.stderr
    assert run.values("gc_concurrent") == []


def test_two_generations_that_are_collected_at_a_time_both_count(cases: Cases, tmp_path: Path) -> None:
    run = logged(cases, tmp_path, """\
[20000000ns] GC(1) O: Concurrent Mark 10.000ms
[21000000ns] GC(2) y: Concurrent Mark 10.000ms
[21100000ns] GC(2) y: Pause Mark End 0.009ms
[22000000ns] GC(2) y: Young Generation 48M(75%)->50M(78%) 0.014s
[23000000ns] GC(2) Minor Collection (Allocation Rate) 48M(75%)->52M(81%) 0.014s
[23000000ns] GC(1) Major Collection (Warmup) 22M(34%)->9000K(14%) 0.031s
""")  # fmt: skip
    assert run.values("gc_concurrent") == [20_000_000]
    assert occurred(run, 0) == {"Pause Mark End": 9_000}
    assert by_parameter(run, "heap_after", 0) == {"last": 9000 * 1024, "maximum": 52 * MIB}


def test_of_a_cycle_with_two_cleanups_the_second_says_what_the_heap_holds(
    cases: Cases, tmp_path: Path
) -> None:
    run = logged(cases, tmp_path, """\
[20000000ns] GC(1) Concurrent cleanup 60M->59M(64M) 0.010ms
[30000000ns] GC(1) Concurrent cleanup (unload classes) 61M->20M(64M) 0.010ms
[40000000ns] GC(2) Concurrent cleanup 55M->54M(64M) 0.010ms
[50000000ns] GC(2) Pause Degenerated GC (Update Refs) 60M->30M(64M) 4.000ms
""")  # fmt: skip
    assert by_parameter(run, "heap_after", 0) == {"last": 30 * MIB, "maximum": 30 * MIB}


def test_safepoints_of_release_11_are_read_in_any_locale(cases: Cases, tmp_path: Path) -> None:
    run = logged(cases, tmp_path, """\
Total time for which application threads were stopped: 0.5000000 seconds, Stopping threads took: 0.0000000 seconds
Application time: 0.0002010 seconds
Entering safepoint region: G1CollectForAllocation
Leaving safepoint region
Total time for which application threads were stopped: 0.0049000 seconds, Stopping threads took: 0.0000500 seconds
Entering safepoint region: RevokeBias
Leaving safepoint region
Total time for which application threads were stopped: 0.0100000 seconds, Stopping threads took: 0.0000500 seconds
Entering safepoint region: ZOperation
Leaving safepoint region
Total time for which application threads were stopped: 0,0010000 seconds, Stopping threads took: 0,0000100 seconds
""", option="--pauses", first="")  # fmt: skip
    assert run.values("gc_time") == [4_850_000 + 990_000]
    assert run.values("gc_pause") == [990_000, 4_850_000]


def test_a_log_without_the_time_of_each_line_is_told_and_exits_with_2(cases: Cases, tmp_path: Path) -> None:
    run = logged(cases, tmp_path, "", first="[0.003s][info][gc] Using G1\n")
    assert run.code == 2
    assert "got '[0.003s][info][gc] Using G1'" in run.stderr
    assert "-Xlog:gc,gc+marking,gc+phases:file=" in run.stderr


def test_a_log_that_is_not_there_is_told_and_exits_with_2(cases: Cases) -> None:
    run = cases.run("churn", "--size", "1", "--iterations", "1", "--gc-log", "none.log")
    assert run.code == 2
    assert "-Xlog:gc,gc+marking,gc+phases:file=none.log:timenanos:filecount=0" in run.stderr


def test_stalls_of_an_iteration_are_reported_apart_from_pauses(cases: Cases, tmp_path: Path) -> None:
    log = tmp_path / "some.log"
    log.write_text("[1ns] Using The Z Garbage Collector\n", encoding="utf-8")
    lines = tmp_path / "lines"
    lines.with_name("lines0").write_text("""\
[10000000ns][gc] Allocation Stall (main) 29.013ms
[10000000ns][gc] Relocation Stall (C2 CompilerThread0) 70.000ms
[11000000ns][gc] Allocation Stall (pool (1) worker) 2,500ms
[11100000ns][gc] GC(0) Garbage Collection (Allocation Stall)
[11200000ns][gc,stats] Critical: Allocation Stall 20.000 / 20.000 ops/s
[12000000ns][gc] Relocation Stall (main) 0.116ms
""")  # fmt: skip
    lines.with_name("lines1").write_text("", encoding="utf-8")
    run = cases.run(
        "logged", "--size", "1", "--iterations", "2", "--gc-log", str(log),
        flags=(f"-Dlog={log}", f"-Dlines={lines}", "-XX:+UseZGC"), program=jvm("17"),
    )  # fmt: skip
    assert run.code == 0, run.stderr
    assert run.values("gc_stall_count") == [3, 0]
    assert run.values("gc_stall_time") == [29_013_000 + 2_500_000 + 116_000, 0]
    found = {
        line["parameters"]["percentile"]: line["value"]
        for line in run.lines
        if line.get("metric") == "gc_stall"
    }
    assert found == {50: 2_500_000, 100: 29_013_000}


@pytest.mark.parametrize(
    ("flags", "is_known"),
    [
        (("-XX:+UseZGC",), True),
        (("-XX:+UnlockExperimentalVMOptions", "-XX:+UseShenandoahGC"), False),
        (("-XX:+UnlockExperimentalVMOptions", "-XX:+UseShenandoahGC", "-XX:-ShenandoahPacing"), True),
        (("-XX:+UseShenandoahGC",), False),
        (("-XX:+UseG1GC",), False),
    ],
)
def test_stalls_are_reported_where_the_log_has_every_one(
    cases: Cases, flags: tuple[str, ...], is_known: bool
) -> None:
    run = cases.run(
        "churn", "--size", "1", "--iterations", "1", "--gc-log", "gc.log",
        flags=("-Xmx96m", GC_LOG, *flags), program=jvm("17"),
    )  # fmt: skip
    assert run.code == 0, run.stderr
    assert bool(run.values("gc_stall_count")) == is_known


@pytest.mark.full
@pytest.mark.parametrize("name", ["17", "21", "25"])
def test_a_small_heap_makes_z_stall_the_program_longer_than_any_pause(cases: Cases, name: str) -> None:
    run = cases.run(
        "churn", "--size", "3000", "--iterations", "2", *READ,
        flags=("-Xmx48m", "-XX:+UseZGC", SAFEPOINTS, GC_LOG), program=jvm(name),
    )  # fmt: skip
    assert run.code == 0, run.stderr
    logged = re.findall(
        r"(?:Allocation|Relocation) Stall \((?!C\d Comp).*\) ([\d.]+)ms$", gc_log(run), re.MULTILINE
    )
    assert 0 < sum(run.values("gc_stall_count")) <= len(logged)
    assert sum(run.values("gc_stall_time")) <= sum(round(float(ms) * 1e6) for ms in logged)
    longest = [by_parameter_value(run, "gc_stall", i) for i in (0, 1)]
    paused = [by_parameter_value(run, "gc_pause", i) for i in (0, 1)]
    assert max(longest) > max(paused)


def by_parameter_value(run: Run, metric: str, iteration: int) -> int:
    """The longest one."""
    return max(of_iteration(run, metric, iteration), default=0)
