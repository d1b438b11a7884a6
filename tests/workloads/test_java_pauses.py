"""Pauses, forced collections and requests as the Java harness reports them, on every JVM that this machine has."""

from __future__ import annotations

import re

import pytest

from helpers.workloads.java_cases import COLLECTORS, PAIRS, Cases, by_parameter, of_iteration
from helpers.workloads.java_runs import Programs, Run, jvm

#: what the JVM does in safepoints for other reasons
NOT_OF_COLLECTOR = {
    "ThreadDump", "ICBufferFull", "CleanClassLoaderDataMetaspaces", "Cleanup",
    "BulkRevokeBias", "RevokeBias", "EnableBiasedLocking", "Deoptimize", "Halt",
}  # fmt: skip
SMALL_HEAP = ("-Xmx48m", "-XX:+UnlockExperimentalVMOptions")
RELEASE_11 = re.compile(
    r"Entering safepoint region: (\w+)\nLeaving safepoint region\n"
    r"Total time for which application threads were stopped: ([\d.]+) seconds, Stopping threads took: ([\d.]+) seconds"
)


def safepoints(run: Run) -> list[tuple[str, int]]:
    """What each safepoint was for, and how long all threads stood still, ns."""
    found = [
        (n, int(t)) for n, t in re.findall(r'Safepoint "(\w+)",.* At safepoint: (\d+) ns', run.safepoints)
    ]
    for name, stopped_s, stopping_s in RELEASE_11.findall(run.safepoints):
        found.append((name, round(float(stopped_s) * 1e9) - round(float(stopping_s) * 1e9)))
    return found


@pytest.mark.parametrize(("name", "collector"), PAIRS)
def test_pauses_are_told_in_ns_on_each_release_and_collector(cases: Cases, name: str, collector: str) -> None:
    run = cases.churned(name, collector)
    (info,) = [line["info"] for line in run.lines if "info" in line]
    assert info["pauses_from"] == "safepoint log"
    logged = [time for operation, time in safepoints(run) if operation not in NOT_OF_COLLECTOR]
    counted = sum(run.values("gc_count"))
    assert 1 <= counted <= len(logged), "every pause of an iteration is in the log of the whole process"
    assert 0 < sum(run.values("gc_time")) <= sum(logged)
    for iteration in (0, 1):
        (gc_time,), (gc_count,) = (
            of_iteration(run, "gc_time", iteration),
            of_iteration(run, "gc_count", iteration),
        )
        pauses = of_iteration(run, "gc_pause", iteration)
        assert pauses == sorted(pauses)
        assert set(pauses) <= set(logged)
        assert bool(pauses) == bool(gc_count)
        if gc_count:
            assert pauses[-1] <= gc_time <= gc_count * pauses[-1]
            assert gc_time <= of_iteration(run, "elapsed", iteration)[0]


def test_each_pause_of_the_serial_collector_is_in_one_iteration_or_between(programs: Programs) -> None:
    run = programs.benchmark(
        "vm/compress", size="s10", flags=(*SMALL_HEAP, COLLECTORS["serial"]), iterations=3
    )
    names = [name for name, _ in safepoints(run)]
    # Two looks at the threads' stacks frame each iteration; what lies between them is that iteration's.
    borders = [index for index, name in enumerate(names) if name == "ThreadDump"]
    assert len(borders) == 6
    for iteration in range(3):
        between = names[borders[2 * iteration] + 1 : borders[2 * iteration + 1]]
        assert of_iteration(run, "gc_count", iteration) == [
            len([n for n in between if n not in NOT_OF_COLLECTOR])
        ]


@pytest.mark.parametrize("by", ["argument", "property"])
def test_a_collection_is_forced_before_every_iteration_but_the_first_and_not_counted(
    programs: Programs, by: str
) -> None:
    argument = ("--collect",) if by == "argument" else ()
    flags = ("-Xmx256m", COLLECTORS["serial"]) + (() if argument else ("-Dregatta.collect=true",))
    log = "-Xlog:safepoint:file=safepoints.log:none:filecount=0"
    main = ("-jar", str(programs.jar("vm.jar")))
    told = ("--pauses", "safepoints.log", "--size", "1", "--iterations", "3")
    run = programs.java(*flags, log, *main, "compress", *told, *argument)
    assert run.code == 0, run.stderr
    forced = [name for name, _ in safepoints(run) if name in ("GenCollectFull", "SerialGCCollect")]
    assert len(forced) == 2
    assert run.lines[0]["info"]["collect"] is True
    assert sum(run.values("gc_count")) <= len(safepoints(run)) - 6 - 2


@pytest.mark.parametrize(("name", "collector"), PAIRS)
def test_every_collector_counts_a_forced_collection(cases: Cases, name: str, collector: str) -> None:
    flags = ("-Xmx192m", "-XX:+UnlockExperimentalVMOptions", COLLECTORS[collector], "-Dregatta.collect=true")
    run = cases.run("here", "--size", "1", "--iterations", "3", flags=flags, program=jvm(name))
    assert run.code == 0, run.stderr


@pytest.mark.parametrize("flag", ["-XX:+DisableExplicitGC", "-XX:+UseEpsilonGC"])
def test_a_collection_that_cannot_be_forced_is_told_and_exits_with_2(cases: Cases, flag: str) -> None:
    flags = ("-Xmx256m", "-XX:+UnlockExperimentalVMOptions", flag)
    run = cases.run("here", "--size", "1", "--iterations", "2", "--collect", flags=flags)
    assert run.code == 2
    assert "expected System.gc() to collect" in run.stderr
    assert "no collection by" in run.stderr


@pytest.mark.parametrize("collector", ["serial", "g1", "z", "shenandoah"])
def test_without_a_log_the_beans_tell_pauses_without_cycles_and_no_single_one(
    cases: Cases, collector: str
) -> None:
    flags = ("-Xmx96m", "-XX:+UnlockExperimentalVMOptions", COLLECTORS[collector])
    run = cases.run("churn", "--size", "300", "--iterations", "2", flags=flags)
    assert run.code == 0, run.stderr
    assert run.lines[0]["info"]["pauses_from"] == "collector beans, ms"
    assert run.values("gc_pause") == []
    assert sum(run.values("gc_count")) >= 1
    for iteration in (0, 1):
        by_bean = by_parameter(run, "collection_time", iteration)
        pausing = {bean: time for bean, time in by_bean.items() if not bean.endswith("Cycles")}
        assert of_iteration(run, "gc_time", iteration) == [sum(pausing.values())]
        (elapsed,) = of_iteration(run, "elapsed", iteration)
        assert sum(pausing.values()) <= elapsed + 1_000_000 * max(1, len(pausing))


def test_the_only_bean_of_the_first_z_is_of_cycles_and_tells_no_pauses(cases: Cases) -> None:
    flags = ("-Xmx192m", "-XX:+UnlockExperimentalVMOptions", COLLECTORS["z"])
    run = cases.run("churn", "--size", "300", "--iterations", "1", flags=flags, program=jvm("11"))
    assert run.code == 0, run.stderr
    assert run.lines[0]["info"]["collectors"] == ["ZGC"]
    assert run.values("gc_time") == run.values("gc_count") == []


def test_a_log_that_the_jvm_does_not_write_is_told_and_exits_with_2(programs: Programs) -> None:
    run = programs.main("compress", "--size", "1", "--iterations", "1", "--pauses", "none.log")
    assert run.code == 2
    assert "-Xlog:safepoint:file=none.log:none:filecount=0" in run.stderr
