"""Processes, signals, sleeps, jobs, files, threads, synchronisation, random numbers and arithmetic."""

from __future__ import annotations

import os
import platform
import re
import resource
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from helpers.golden import Golden
from helpers.workloads.lm_runs import PATIENCE_S, Run, altered, assert_conforms, command_of, run

needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="NOT TESTED: strace is not on PATH")
needs_two_processors = pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="NOT TESTED: this process may use one processor only"
)

INTEGERS = ["xor", "add", "mul", "div", "mod"]
REALS = ["add", "mul", "div", "mix"]
#: what distinguishes the series of each program in its quick size
SERIES: dict[str, list[dict[str, object]]] = {
    "lat_proc": [{"kind": kind} for kind in ("procedure", "fork", "exec", "shell")],
    "lat_sig": [{"operation": operation} for operation in ("install", "handle", "fault")],
    "lat_usleep": [
        {"call": call, "requested_us": 100} for call in ("usleep", "nanosleep", "select", "pselect", "itimer")
    ],
    "lat_pmake": [{"jobs": jobs, "work_us": 1000} for jobs in (1, 4)],
    "lat_fs": [
        {"operation": operation, "size_bytes": size}
        for operation in ("create", "delete")
        for size in (0, 1024)
    ],
    "lat_thread": [{}],
    "lat_sync": [{"kind": kind} for kind in ("mutex", "mutex_handoff", "condition", "futex")],
    "lat_rand": [{"function": function} for function in ("drand48", "lrand48", "random", "rand")],
    "lat_ops": [
        {"operation": operation, "type": name}
        for names, operations in ((("int", "int64"), INTEGERS), (("float", "double"), REALS))
        for name in names
        for operation in operations
    ],
}
#: one series of each program that can be scaled
NARROWED: dict[str, dict[str, object]] = {
    "lat_proc": {"kind": "fork"},
    "lat_sig": {"operation": "fault"},
    "lat_usleep": {"call": "itimer"},
    "lat_pmake": {"jobs": 2},
    "lat_thread": {},
    "lat_sync": {"kind": "futex"},
    "lat_rand": {"function": "rand"},
}


def least(outcome: Run, **parameters: object) -> float:
    """The least value of one series: whatever disturbs can only lengthen."""
    (lines,) = (
        lines for key, lines in outcome.of("latency").items() if dict(key) == parameters | {"parallel": 1}
    )
    return float(min(line["value"] for line in lines))


def only(outcome: Run) -> list[dict[str, Any]]:
    (lines,) = outcome.of("latency").values()
    return lines


def traced(command: list[str | Path], place: Path, *options: str) -> tuple[Run, str]:
    """What a program said, and what strace saw of it and its children."""
    trace = place / "trace"
    outcome = run(["strace", "-f", "-qq", *options, "-o", trace, *command], place / "work")
    assert outcome.exit_code == 0, outcome.stderr
    return outcome, trace.read_text()


@pytest.mark.parametrize("name", SERIES)
def test_each_series_of_the_quick_size_is_reported(name: str, lm_sources: Path, tmp_path: Path) -> None:
    outcome = run(command_of(name, "quick", lm_sources), tmp_path / "work")
    assert_conforms(outcome, repetitions=5)
    assert [dict(key) for key in outcome.of("latency")] == [one | {"parallel": 1} for one in SERIES[name]]
    assert list((tmp_path / "work").iterdir()) == []


@pytest.mark.parametrize("name", NARROWED)
def test_two_processes_are_measured_at_once(name: str, lm_sources: Path, tmp_path: Path) -> None:
    command = command_of(name, "quick", lm_sources, parallel=2, repetitions=1, **NARROWED[name])
    outcome = run([*command, "--interval-us", "100000"], tmp_path / "work")
    assert_conforms(outcome, repetitions=1)
    (line,) = only(outcome)
    (fastest,) = outcome.of("latency_fastest").values()
    (slowest,) = outcome.of("latency_slowest").values()
    assert line["parameters"]["parallel"] == 2
    assert fastest[0]["value"] <= line["value"] <= slowest[0]["value"]
    assert list((tmp_path / "work").iterdir()) == []


@needs_strace
@pytest.mark.parametrize(("kind", "executed"), [("exec", 1), ("shell", 2)])
def test_each_process_executes_what_it_is_said_to(
    kind: str, executed: int, lm_sources: Path, tmp_path: Path
) -> None:
    command: list[str | Path] = [lm_sources / "build/lat_proc", "--kind", kind, "--repetitions=3"]
    outcome, trace = traced(command, tmp_path, "-e", "trace=execve")
    calls = re.findall(r"execve\(\"([^\"]*)\".* = (-?\d+)", trace)
    assert {result for _, result in calls} == {"0"}
    operations = 3 * only(outcome)[0]["operations"]
    assert [path for path, _ in calls[1:]].count(str(lm_sources / "build/lat_proc")) >= operations
    assert len(calls) - 1 >= executed * operations


def test_a_shell_starts_a_program_whatever_its_path_looks_like(lm_sources: Path, tmp_path: Path) -> None:
    place = tmp_path / "a 'path' with $(false) \"in it\""
    place.mkdir()
    shutil.copy(lm_sources / "build/lat_proc", place)
    outcome = run([place / "lat_proc", "--kind=shell", "--repetitions=1"], tmp_path / "work")
    assert_conforms(outcome, repetitions=1)


def test_a_program_that_fails_is_not_measured(lm_sources: Path, tmp_path: Path) -> None:
    false = shutil.which("false")
    command = [lm_sources / "build/lat_proc", "--kind=exec", "--repetitions=1", f"--program={false}"]
    outcome = run(command, tmp_path / "work")
    assert outcome.exit_code == 1
    assert "expected exit code 0, got 1" in outcome.stderr
    assert "expected exit code 0, got 1" in outcome.lines[-1]["error"]


@needs_strace
@pytest.mark.parametrize("kind", ["procedure", "fork", "exec", "shell"])
def test_each_operation_makes_a_process_but_that_of_a_procedure(
    kind: str, lm_sources: Path, tmp_path: Path
) -> None:
    command: list[str | Path] = [lm_sources / "build/lat_proc", "--kind", kind, "--repetitions=3"]
    outcome, trace = traced(command, tmp_path, "-e", "trace=clone,clone3,fork,vfork")
    made = len(re.findall(r"v?fork\(|clone3?\(", trace))
    operations = 3 * only(outcome)[0]["operations"]
    # The measured child is one, too.
    assert made < 10 < operations if kind == "procedure" else made >= operations


@needs_strace
@pytest.mark.parametrize(("operation", "signal"), [("handle", "SIGUSR1"), ("fault", "SIGSEGV")])
def test_every_signal_counted_was_delivered(
    operation: str, signal: str, lm_sources: Path, tmp_path: Path
) -> None:
    command: list[str | Path] = [lm_sources / "build/lat_sig", "--operation", operation, "--repetitions=2"]
    outcome, trace = traced(command, tmp_path, "-e", "trace=none", "-e", f"signal={signal}")
    assert trace.count(f"--- {signal}") >= 2 * only(outcome)[0]["operations"]


def test_no_sleep_is_shorter_than_asked_for(lm_sources: Path, tmp_path: Path) -> None:
    command = [lm_sources / "build/lat_usleep", "--requested-us=1,3000", "--repetitions=2"]
    outcome = run(command, tmp_path / "work")
    assert_conforms(outcome, repetitions=2)
    assert len(outcome.of("latency")) == 10
    for key, lines in outcome.of("latency").items():
        asked_ns = dict(key)["requested_us"] * 1000
        assert min(line["value"] for line in lines) >= asked_ns


def planted(place: Path, text: str) -> str:
    """A library whose functions take the place of the C library's."""
    source, library = place / "planted.c", place / "planted.so"
    source.write_text("#define _GNU_SOURCE\n#include <time.h>\n#include <unistd.h>\n" + text)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
    return str(library)


def test_a_sleep_that_is_too_short_is_an_error_and_no_number(lm_sources: Path, tmp_path: Path) -> None:
    library = planted(
        tmp_path,
        "int nanosleep(const struct timespec *asked, struct timespec *left) "
        "{ (void)asked; (void)left; return 0; }\n",
    )
    command = [lm_sources / "build/lat_usleep", "--call=nanosleep", "--repetitions=1"]
    outcome = run(command, tmp_path / "work", LD_PRELOAD=library)
    assert outcome.exit_code == 1
    assert outcome.of("latency") == {}
    told = next(line for line in outcome.stderr.splitlines() if "nanosleep: expected" in line)
    asked_us, slept_ns = map(int, re.findall(r"\d+", told))
    assert (asked_us, slept_ns < 1000) == (1, True)


def test_jobs_do_their_work(lm_sources: Path, tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [lm_sources / "build/lat_pmake", "--jobs=3", "--work-us=20000", "--repetitions=2"]
    outcome = run(command, tmp_path / "work")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert_conforms(outcome, repetitions=2)
    sets = 2 * only(outcome)[0]["operations"]
    # A tenth: a processor may become faster after the work was calibrated. Without it there would be next to nothing.
    assert after.ru_utime - before.ru_utime > 0.1 * sets * 3 * 0.020
    processors = len(os.sched_getaffinity(0))
    assert least(outcome, jobs=3, work_us=20000) > 0.1 * 20e6 * 3 / min(3, processors)


@needs_strace
@pytest.mark.parametrize("operation", ["create", "delete"])
def test_files_are_created_filled_and_deleted(operation: str, lm_sources: Path, tmp_path: Path) -> None:
    command: list[str | Path] = [lm_sources / "build/lat_fs", "--operation", operation]
    command += ["--size-bytes=100000", "--repetitions=2"]
    outcome, trace = traced(command, tmp_path, "-e", "trace=openat,write,unlinkat")
    operations = 2 * only(outcome)[0]["operations"]
    created = len(re.findall(r"openat\(\d+, \"f\d+\", O_WRONLY\|O_CREAT\|O_EXCL, 0600\) = \d+", trace))
    deleted = len(re.findall(r"unlinkat\(\d+, \"f\d+\", 0\) += 0", trace))
    written = [int(count) for count in re.findall(r"write\(\d+, \"\\0.* = (\d+)", trace)]
    assert created == deleted >= operations
    assert sum(written) == created * 100000
    assert list((tmp_path / "work").iterdir()) == []


def test_files_are_gone_after_a_failure_too(lm_sources: Path, tmp_path: Path) -> None:
    """The first write past the limit kills the child in the middle of its work."""
    ended = subprocess.run(
        [lm_sources / "build/lat_fs", "--size-bytes=100000", "--operation=create"],
        cwd=tmp_path, env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000)),
    )  # fmt: skip
    assert ended.returncode == 1
    assert "File size limit exceeded" in ended.stderr or "File too large" in ended.stderr
    assert list(tmp_path.iterdir()) == []


@needs_strace
def test_every_thread_counted_was_made(lm_sources: Path, tmp_path: Path) -> None:
    command: list[str | Path] = [lm_sources / "build/lat_thread", "--repetitions=2"]
    outcome, trace = traced(command, tmp_path, "-e", "trace=clone,clone3")
    made = len(re.findall(r"clone3?\(.*CLONE_THREAD", trace))
    assert made >= 2 * only(outcome)[0]["operations"]


def switches_of_children() -> int:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_nvcsw + usage.ru_nivcsw


@pytest.mark.parametrize("kind", ["mutex_handoff", "condition", "futex"])
def test_the_turn_really_changes_between_two_threads(kind: str, lm_sources: Path, tmp_path: Path) -> None:
    """On one processor neither thread can go on before the other has: two switches a round trip.

    A thread that is taken off right after it woke the other finds its turn come back and need not sleep:
    the kernel counts that switch as involuntary.
    """
    before = switches_of_children()
    command = [lm_sources / "build/lat_sync", "--kind", kind, "--repetitions=3", "--placement=compact"]
    outcome = run(command, tmp_path / "work")
    switches = switches_of_children() - before
    assert_conforms(outcome, repetitions=3)
    assert switches > 0.9 * 2 * 3 * only(outcome)[0]["operations"]


def skip_where_a_processor_stopped(outcome: Run) -> None:
    """The program gives up a partner that does not answer for 3 s, for which a virtual machine can stop a processor."""
    if outcome.exit_code == 1 and "Connection timed out" in outcome.stderr:
        pytest.skip(f"machine too busy: {outcome.stderr.strip()}")


@pytest.mark.alone  # where a neighbour has a processor no interval is long enough, and nothing is reported
@needs_two_processors
def test_a_cache_line_goes_from_every_processor_to_every_other(lm_sources: Path, tmp_path: Path) -> None:
    first, second = sorted(os.sched_getaffinity(0))[:2]
    quick = run(command_of("lat_cacheline", "quick", lm_sources), tmp_path / "quick")
    skip_where_a_processor_stopped(quick)
    assert_conforms(quick, repetitions=5)
    assert {dict(key)["from_cpu"] for key in quick.of("latency")} == {first}
    program = ["taskset", "-c", f"{first},{second}", lm_sources / "build/lat_cacheline", "--repetitions=1"]
    found = {}
    for name, arguments in {
        "all": ["--pairs=all"],
        "from": [f"--from-cpu={second}"],
        "to": [f"--to-cpu={first}"],
    }.items():
        outcome = run([*program, *arguments], tmp_path / name)
        skip_where_a_processor_stopped(outcome)
        assert outcome.exit_code == 0, outcome.stderr
        found[name] = [(dict(key)["from_cpu"], dict(key)["to_cpu"]) for key in outcome.of("latency")]
    assert found == {
        "all": [(first, second), (second, first)],
        "from": [(second, first)],
        "to": [(second, first)],
    }


def test_a_cache_line_cannot_be_moved_with_one_processor(lm_sources: Path, tmp_path: Path) -> None:
    first = min(os.sched_getaffinity(0))
    command = ["taskset", "-c", str(first), lm_sources / "build/lat_cacheline"]
    outcome = run(command, tmp_path / "work")
    assert outcome.exit_code == 1
    assert re.search(r"least 2 .*processors, got 1\b", outcome.stderr)
    same = run([command[3], f"--from-cpu={first}", f"--to-cpu={first}"], tmp_path / "same")
    assert same.exit_code == 2
    assert "--to-cpu: " in same.stderr
    assert "other than --from-cpu" in same.stderr


@needs_two_processors
def test_a_partner_that_stops_answering_is_an_error_and_no_hang(lm_sources: Path, tmp_path: Path) -> None:
    """A second thread stops for ever when it looks at the clock, which it does while it waits."""
    library = planted(
        tmp_path,
        "#include <sys/syscall.h>\n"
        "int clock_gettime(clockid_t clock, struct timespec *now) {\n"
        "    while (gettid() != getpid()) pause();\n"
        "    return (int)syscall(SYS_clock_gettime, clock, now);\n"
        "}\n",
    )
    command = [lm_sources / "build/lat_cacheline", "--repetitions=1000000", "--interval-us=1000"]
    first, second = sorted(os.sched_getaffinity(0))[:2]
    pair = [f"--from-cpu={first}", f"--to-cpu={second}"]
    outcome = run([*command, *pair], tmp_path / "work", LD_PRELOAD=library)
    assert outcome.exit_code == 1
    assert "benchmark: Connection timed out" in outcome.stderr
    assert outcome.of("latency") == {}


@pytest.mark.skipif(
    platform.machine() != "x86_64" or shutil.which("objdump") is None,
    reason="NOT TESTED: instructions are counted by objdump on x86-64 only",
)
@pytest.mark.parametrize("chains", [1, 12])
def test_the_compiler_leaves_every_operation_as_it_is_written(lm_sources: Path, chains: int) -> None:
    program = lm_sources / "build" / ("lat_ops" if chains == 1 else "par_ops")
    listing = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", program], capture_output=True, text=True, check=True
    ).stdout
    # In a turn of the loop; see OPS_STEPS_PER_TURN.
    steps = 256 if chains == 1 else 32 * chains
    functions = dict(re.findall(r"<(ops_\w+)>:\n(.*?)\n\n", listing + "\n\n", re.DOTALL))
    for function, mnemonic in {
        "add_float": "addss",
        "add_double": "addsd",
        "mul_double": "mulsd",
        "div_float": "divss",
        "div_double": "divsd",
        "mul_int": "imul",
        "mul_int64": "imul",
        "div_int": "idiv",
        "mod_int64": "idiv",
    }.items():
        body = functions[f"ops_{function}_{chains}"]
        assert len(re.findall(rf"\t{mnemonic}l?q? ", body)) == steps, function
        assert not re.search(r"\t(add|mul|div)p[sd] ", body), function


def test_no_more_operations_are_under_way_than_there_are_chains(lm_sources: Path, tmp_path: Path) -> None:
    outcome = run(command_of("par_ops", "quick", lm_sources), tmp_path / "work")
    assert_conforms(outcome, repetitions=1, metric="parallelism", unit="ratio")
    found = {dict(key)["operation"]: lines[0]["value"] for key, lines in outcome.of("parallelism").items()}
    assert list(found) == REALS
    # The best number of chains may be one.
    assert all(value >= 1 for value in found.values())


def test_parallelism_is_latency_over_the_least_time_of_an_operation(lm_sources: Path, tmp_path: Path) -> None:
    """Of a processor with eight multiplications under way, seen through disturbances of most intervals."""
    program = altered(
        lm_sources, tmp_path, "par_ops", "double value_ns = samples.value_ns[i];",
        "static const double known_ns[] = {4, 4.0 / 3, 4.0 / 6, 0.5};\n"
        "double value_ns = known_ns[index] * (i == 2 ? 1 : 1 + (double)i);",
    )  # fmt: skip
    outcome = run([program, "--operation=mul", "--type=double", "--repetitions=5"], tmp_path / "work")
    assert_conforms(outcome, repetitions=1, metric="parallelism", unit="ratio")
    ((line,),) = outcome.of("parallelism").values()
    assert line["value"] == 8


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        ("lat_proc", ["--kind=vfork"]),
        ("lat_proc", ["--program=true"]),
        ("lat_proc", ["--program=./missing"]),
        ("lat_proc", ["--end-at-once", "--kind=fork"]),
        ("lat_usleep", ["--requested-us=0"]),
        ("lat_usleep", ["--requested-us=1,,2"]),
        ("lat_usleep", ["--requested-us="]),
        ("lat_usleep", ["--requested-us", ",".join("1" * 33)]),
        ("lat_usleep", ["--requested-us=1,000000000000000000000000000002"]),
        ("lat_pmake", ["--jobs=0"]),
        ("lat_pmake", ["--work-us=1s"]),
        ("lat_fs", ["--size-bytes=16777217"]),
        ("lat_fs", ["--directory=missing"]),
        ("lat_fs", ["--directory=/dev/null"]),
        ("lat_cacheline", ["--from-cpu=1023"]),
        ("lat_cacheline", ["--to-cpu="]),
        ("lat_ops", ["--operation=mod", "--type=float"]),
        ("par_ops", ["--operation=xor", "--type=double"]),
        ("lat_rand", ["--function=dice"]),
    ],
)  # fmt: skip
def test_bad_input_is_refused_with_a_message(
    lm_sources: Path, tmp_path: Path, program: str, arguments: list[str], golden: Golden
) -> None:
    outcome = run([lm_sources / "build" / program, *arguments], tmp_path / "work")
    assert outcome.exit_code == 2
    golden(shlex.join([program, *arguments]), outcome.stderr)
    assert (outcome.stdout, outcome.lines) == ("", [])
