"""What the Java harness does around a benchmark: probes, listeners, processor time, recordings; on every JVM here."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from helpers.workloads.java_cases import Cases, by_parameter
from helpers.workloads.java_runs import JVMS, Run, jvm

MS = 1_000_000
#: what cases of HarnessCases.java say themselves
WRONG = "one and one is three"
THROWN = "java.lang.IllegalStateException: the listener has had enough"
UNSUPPORTED = "java.lang.UnsupportedOperationException: no threads"


def around(run: Run) -> tuple[int, int]:
    """What the listener saw around the only iteration: time, and processor time of the iterating thread, in ns."""
    (line,) = (line for line in run.stdout.splitlines() if line.startswith("around "))
    time_ns, cpu_ns = map(int, line.split()[1:])
    return time_ns, cpu_ns


@pytest.mark.parametrize("name", JVMS)
def test_a_probe_does_nothing_and_says_what_this_jvm_lacks(cases: Cases, name: str) -> None:
    lacking = "Unsupported" if name == "11" else None
    for case, told in (
        ("possible", None),
        ("unsupported", "no jdk.compiler in this JVM"),
        ("compiled-for-17", lacking),
    ):
        run = cases.run(case, "--probe", program=jvm(name))
        assert run.code == (0 if told is None else 4), run.stderr
        assert run.lines == []
        assert run.stdout == ""
        if told is None:
            assert run.stderr == ""
        else:
            (line,) = run.stderr.splitlines()
            assert line.startswith("not possible: ")
            assert told in line


def test_a_probe_gives_the_words_of_the_jvm(cases: Cases) -> None:
    old, wrapped = jvm("11"), cases.run("wrapped", "--probe")
    assert wrapped.stderr.splitlines() == [f"not possible: {UNSUPPORTED}"]
    missing = cases.run("newer", "--probe", program=old)
    assert missing.stderr == "not possible: java.lang.ClassNotFoundException: java.lang.Record\n"
    assert cases.run("newer", "--probe").code == 0
    compiled = cases.run("compiled-for-17", "--probe", program=old)
    assert "class file version 61.0" in compiled.stderr


def test_a_probe_that_fails_for_another_reason_is_a_failure(cases: Cases) -> None:
    run = cases.run("broken", "--probe")
    assert run.code == 1
    assert "a bug" in run.stderr
    assert "not possible" not in run.stderr


def test_a_jvm_that_is_too_old_for_one_benchmark_runs_the_others(cases: Cases) -> None:
    run = cases.run("here", "--size", "1", "--iterations", "1", program=jvm("11"))
    assert run.code == 0, run.stderr


def test_a_listener_hears_everything_in_order(cases: Cases) -> None:
    run = cases.run(
        "here", "--size", "1", "--iterations", "2", "--collect", flags=("-Dregatta.listener=HarnessCases$Heard",)
    )  # fmt: skip
    assert run.code == 0, run.stderr

    def iteration(number: int) -> list[str]:
        words = ("starting", "stopped", "ended", "requested", "validated", "digested")
        return [f"{word} {number}{' elapsed' if word == 'ended' else ''}" for word in words]

    assert run.stdout.splitlines() == [
        "started here", *iteration(0), "collected 1", *iteration(1), "finished"
    ]  # fmt: skip
    assert len(run.digests()) == 2


def test_a_listener_hears_that_an_output_is_wrong(cases: Cases) -> None:
    run = cases.run(
        "wrong", "--size", "1", "--iterations", "1", flags=("-Dregatta.listener=HarnessCases$Heard",)
    )
    assert run.code == 1
    assert "validated 0" not in run.stdout
    assert run.stdout.splitlines()[-1] == f"failed {WRONG}"
    assert [x["error"] for x in run.lines if "error" in x] == [WRONG]


@pytest.mark.parametrize("name", JVMS)
def test_bytes_of_a_thread_that_ended_are_counted_or_nothing_is_said(cases: Cases, name: str) -> None:
    """A thread makes 50 MB in each iteration and ends; another works on."""
    run = cases.run("ended", "--size", "1", "--iterations", "2", flags=("-Xmx256m",), program=jvm(name))
    assert run.code == 0, run.stderr
    if run.lines[0]["info"]["allocated_counts"] == "all threads":
        assert min(run.values("allocated")) > 50_000_000
    else:
        assert run.values("allocated") == []


def test_what_a_listener_does_is_in_no_measurement(cases: Cases) -> None:
    """It sleeps 300 ms and makes 50 MB on either side of the iteration, whose thread works for 1 ms."""
    run = cases.run(
        "here", "--size", "1", "--iterations", "1", flags=("-Dregatta.listener=HarnessCases$Slow", "-Xmx256m")
    )  # fmt: skip
    assert run.code == 0, run.stderr
    # However long the machine makes that 1 ms.
    assert MS <= run.values("elapsed")[0] <= around(run)[0]
    assert run.values("allocated")[0] < 50_000_000


@pytest.mark.parametrize(
    ("listener", "told"),
    [("no.such.Listener", "ClassNotFoundException"), ("HarnessCases", "ClassCastException"), ("HarnessCases$Unmade", "no licence")],
)  # fmt: skip
def test_a_listener_that_cannot_be_made_is_told_and_exits_with_2(
    cases: Cases, listener: str, told: str
) -> None:
    run = cases.run("here", "--size", "1", "--iterations", "1", flags=(f"-Dregatta.listener={listener}",))
    assert run.code == 2
    assert f"got '{listener}'" in run.stderr
    assert told in run.stderr
    assert run.lines == []


def test_a_listener_that_throws_fails_the_run(cases: Cases) -> None:
    run = cases.run(
        "here", "--size", "1", "--iterations", "1", flags=("-Dregatta.listener=HarnessCases$Failing",)
    )
    assert run.code == 1
    assert [x["error"] for x in run.lines if "error" in x] == [THROWN]


@pytest.mark.parametrize("name", JVMS)
def test_the_processor_time_of_the_iterating_thread_is_its_own(cases: Cases, name: str) -> None:
    flags = ("-Dregatta.listener=HarnessCases$Around",)
    here, elsewhere = (
        cases.run(case, "--size", "200", "--iterations", "1", flags=flags, program=jvm(name))
        for case in ("here", "elsewhere")
    )
    assert here.values("cpu_thread")[0] >= 200 * MS
    for run in (here, elsewhere):
        # It starts a thread and waits for it, for which a busy machine may charge it something.
        assert 0 < run.values("cpu_thread")[0] <= around(run)[1]
        # In ticks of 10 ms before release 23.
        assert run.values("cpu")[0] >= 170 * MS


@pytest.mark.parametrize("name", JVMS)
def test_compile_time_is_told_where_there_is_a_compiler(cases: Cases, name: str) -> None:
    interpreted = cases.run("churn", "--size", "1", "--iterations", "1", flags=("-Xint",), program=jvm("17"))
    assert interpreted.values("compile_time") == []
    run = cases.churned(name, "serial")
    if name == "zero":
        assert run.values("compile_time") == []
    else:
        assert len(run.values("compile_time")) == 2
        assert 0 < sum(run.values("compile_time")) < 60_000 * MS


@pytest.mark.parametrize("name", ["11", "17", "21", "25"])
def test_a_flight_recording_is_whole_and_changes_no_output(cases: Cases, tmp_path: Path, name: str) -> None:
    recording = tmp_path / "run.jfr"
    flags = ("-Xmx96m", "-XX:+UseSerialGC", f"-XX:StartFlightRecording=filename={recording}")
    run = cases.run("churn", "--size", "100", "--iterations", "2", flags=flags, program=jvm(name))
    assert run.code == 0, run.stderr
    assert set(run.digests()) == set(_digests_without(cases))
    if not shutil.which("jfr"):
        pytest.skip("NOT READ: the program jfr is not on PATH")
    read = subprocess.run(["jfr", "summary", str(recording)], capture_output=True, text=True, check=False)
    assert read.returncode == 0, read.stderr
    events = dict(line.split()[:2] for line in read.stdout.splitlines() if line.strip().startswith("jdk."))
    # The end of the JVM is among its last events.
    assert int(events["jdk.Shutdown"]) == 1
    # A full collection that a young one turns into is not an event of its own before release 25.
    young = sum(by_parameter(run, "collections", iteration)["Copy"] for iteration in (0, 1))
    assert int(events["jdk.GarbageCollection"]) >= young > 0


def _digests_without(cases: Cases) -> list[str]:
    return cases.run("churn", "--size", "100", "--iterations", "1").digests()
