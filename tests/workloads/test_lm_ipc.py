"""Latencies between processes: round trips, locks, context switches, connections, requests, readiness, io_uring."""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from helpers.golden import Golden
from helpers.waiting import wait_until
from helpers.workloads.lm_runs import PATIENCE_S, Run, assert_conforms, command_of, run, skip_a_refusal

needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="NOT TESTED: strace is not on PATH")

#: the series of each program at its quick size: values of the parameters that tell them apart
SERIES: dict[str, list[dict[str, object]]] = {
    "lat_pipe": [{}],
    "lat_fifo": [{}],
    "lat_unix": [{}],
    "lat_tcp": [{}],
    "lat_udp": [{}],
    "lat_rpc": [{"protocol": "udp"}, {"protocol": "tcp"}],
    "lat_sem": [{}],
    "lat_fcntl": [{"file": "own"}],
    "lat_ctx": [{"shape": shape, "processes": 2, "size_bytes": 0} for shape in ("ring", "star")],
    "lat_connect": [{"until": "connected"}, {"until": "accepted"}],
    "lat_unix_connect": [{}],
    "lat_http": [{"size_bytes": 4096}],
    "lat_select": [{"kind": kind, "descriptors": 10} for kind in ("file", "tcp")],
    "lat_epoll": [{"kind": kind, "descriptors": 10} for kind in ("pipe", "tcp")],
    "lat_io_uring": [
        {"call": "nop", "size_bytes": 0},
        {"call": "read", "size_bytes": 1},
        {"call": "read", "size_bytes": 4096},
    ],
}
#: one series is enough where several processes run it
SCALED = {
    "lat_pipe": {}, "lat_fifo": {}, "lat_unix": {}, "lat_tcp": {}, "lat_udp": {}, "lat_sem": {},
    "lat_fcntl": {"file": "shared"}, "lat_rpc": {"protocol": "udp"}, "lat_ctx": {"shape": "ring"},
    "lat_unix_connect": {}, "lat_http": {}, "lat_select": {"kind": "tcp"}, "lat_epoll": {"kind": "tcp"},
    "lat_io_uring": {"call": "read"},
}  # fmt: skip


def skip_what_is_not_here(name: str, outcome: Run) -> None:
    if name == "lat_rpc" and "built without libtirpc" in outcome.stderr:
        pytest.skip("NOT TESTED: libtirpc-dev is not installed")
    if name == "lat_io_uring" and "io_uring_setup" in outcome.stderr:
        pytest.skip(f"NOT TESTED: {outcome.stderr.strip()}")


@pytest.mark.parametrize("name", SERIES)
def test_a_program_reports_each_of_its_series_and_leaves_nothing(
    lm_sources: Path, tmp_path: Path, name: str
) -> None:
    outcome = run([*command_of(name, "quick", lm_sources)], tmp_path / "work")
    skip_what_is_not_here(name, outcome)
    assert_conforms(outcome, repetitions=5)
    assert [dict(series) for series in outcome.series] == [given | {"parallel": 1} for given in SERIES[name]]
    assert list((tmp_path / "work").iterdir()) == []


@pytest.mark.parametrize("name", SCALED)
def test_several_processes_have_a_partner_each(lm_sources: Path, tmp_path: Path, name: str) -> None:
    command = command_of(name, "quick", lm_sources, parallel=2, repetitions=1, **SCALED[name])
    outcome = run([*command, "--interval-us", "100000"], tmp_path / "work")
    skip_what_is_not_here(name, outcome)
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    middle, least, most = (
        [line["value"] for line in outcome.lines if line.get("metric") == metric]
        for metric in ("latency", "latency_fastest", "latency_slowest")
    )
    assert middle
    assert all(0 < low <= value <= high for low, value, high in zip(least, middle, most, strict=True))
    assert list((tmp_path / "work").iterdir()) == []


def switches_and_operations(command: list[str | Path], place: Path) -> tuple[int, int]:
    """How often the processes of the whole family have left a processor; the loop size reported."""
    results, told = place / "results.jsonl", place / "stderr"
    with told.open("wb") as stderr:
        started = subprocess.Popen(
            [*command, "--repetitions=1", "--interval-us=50000"], cwd=place, stdout=subprocess.DEVNULL,
            stderr=stderr, env={"PATH": os.environ["PATH"], "REGATTA_RESULTS": str(results)},
        )  # fmt: skip
        _, status, usage = os.wait4(started.pid, 0)
    started.returncode = os.waitstatus_to_exitcode(status)
    skip_a_refusal(started.returncode, told.read_text())
    assert started.returncode == 0, told.read_text()
    lines = [json.loads(line) for line in results.read_text().splitlines()]
    (operations,) = (line["operations"] for line in lines if "metric" in line)
    return usage.ru_nvcsw + usage.ru_nivcsw, operations


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("lat_pipe", []),
        ("lat_fifo", []),
        ("lat_unix", []),
        ("lat_tcp", []),
        ("lat_udp", []),
        ("lat_sem", []),
        ("lat_fcntl", []),
        ("lat_ctx", ["--shape=ring", "--processes=4"]),
    ],
)
def test_processes_really_wait_for_each_other(
    lm_sources: Path, tmp_path: Path, name: str, arguments: list[str]
) -> None:
    """A round trip has two waits, a pass of the token one, less those whose answer was quick. Before the repetition
    the loop has been run at least twice at its size, so that a quarter of all waits is still what is asked for here.

    Who is taken off its processor right after it woke the other need not wait, which the kernel counts as involuntary.
    """
    switches, operations = switches_and_operations([lm_sources / "build" / name, *arguments], tmp_path)
    assert switches >= operations


def children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def helpers(program: int) -> list[int]:
    """The helpers of the measured child, a little after the first is there: most often in the midst of its work."""

    def found() -> list[int]:
        return [helper for child in children(program) for helper in children(child)]

    wait_until(found, "a helper", PATIENCE_S)
    time.sleep(0.05)
    # The list of children in /proc can miss some while others come and go: one look may see none.
    return wait_until(found, "a helper after a little while", PATIENCE_S)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("lat_pipe", []),
        ("lat_fifo", []),
        ("lat_unix", []),
        ("lat_tcp", []),
        ("lat_udp", []),
        ("lat_sem", []),
        ("lat_fcntl", []),
        ("lat_rpc", ["--protocol=tcp"]),
        ("lat_ctx", ["--shape=ring", "--processes=3"]),
        ("lat_ctx", ["--shape=star", "--processes=2"]),
        ("lat_connect", ["--until=accepted"]),
        ("lat_unix_connect", []),
        ("lat_http", []),
        ("lat_serve", ["--operation=reply", "--bytes=1024"]),
        ("lat_serve", ["--operation=sendfile", "--bytes=1024"]),
        ("lat_serve", ["--operation=send"]),
        ("lat_serve", ["--operation=connect"]),
        ("lat_transfer", ["--through=pipe", "--bytes=1024"]),
        ("lat_transfer", ["--operation=connect"]),
    ],
)
def test_a_partner_that_dies_is_an_error_and_no_hang(
    lm_sources: Path, tmp_path: Path, name: str, arguments: list[str]
) -> None:
    command: list[str | Path] = [
        lm_sources / "build" / name,
        *arguments,
        "--interval-us=60000000",
        # Of a program whose intervals have a limit of operations, one can end before its partner is killed.
        "--repetitions=1000",
    ]
    if name == "lat_rpc":
        skip_what_is_not_here(name, run([command[0], "--repetitions=1"], tmp_path / "work"))
    started = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        found = helpers(started.pid)
        os.kill(found[-1], signal.SIGKILL)
        stdout, stderr = started.communicate(timeout=PATIENCE_S)
    finally:
        started.kill()
        started.wait()
    assert started.returncode == 1
    assert stdout == ""
    # On a machine that was stopped, the partner may have died before or between two intervals.
    assert re.search(rf"{name}: (initialise|benchmark|cleanup): ", stderr)
    wait_until(
        lambda: not any(Path(f"/proc/{helper}").exists() for helper in found),
        "the helpers to end",
        PATIENCE_S,
    )


#: runs a command in a network of its own, where nobody else has connections, and keeps what that counted
IN_A_NETWORK = ["unshare", "--map-root-user", "--net", "sh", "-c"]
COUNTING = 'ip link set lo up || exit 9; "$@"; ended=$?; cat /proc/net/snmp /proc/net/sockstat >../counted; exit $ended'


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("lat_connect", ["--until=connected"]),
        ("lat_connect", ["--until=accepted"]),
        ("lat_http", []),
        ("lat_serve", ["--operation=connect"]),
    ],
)
def test_each_operation_is_a_connection_and_none_stays_in_time_wait(
    lm_sources: Path, tmp_path: Path, name: str, arguments: list[str]
) -> None:
    command = [lm_sources / "build" / name, *arguments, "--repetitions=5", "--interval-us=20000"]
    outcome = run([*IN_A_NETWORK, COUNTING, "sh", *command], tmp_path / "work")
    if outcome.exit_code == 9 or "unshare" in outcome.stderr:
        pytest.skip(f"NOT TESTED: no network namespace can be made here: {outcome.stderr.strip()}")
    assert outcome.exit_code == 0, outcome.stderr
    ((lines),) = outcome.of("latency").values()
    connections = 5 * lines[0]["operations"]
    counted = (tmp_path / "counted").read_text()
    names, values = (line.split() for line in counted.splitlines() if line.startswith("Tcp:"))
    assert int(values[names.index("ActiveOpens")]) >= connections
    in_time_wait = re.search(r"^TCP: .* tw (\d+)", counted, re.MULTILINE)
    assert in_time_wait is not None
    # A packet that is sent again can leave some; each of these operations would leave one.
    assert int(in_time_wait[1]) < connections / 2


def calls_of(command: list[str | Path], place: Path, calls: str) -> tuple[int, str]:
    """Operations of three repetitions, and what strace saw of such calls, each process by itself."""
    trace = place / "trace"
    outcome = run(
        ["strace", "-ff", "-qq", "-e", f"trace={calls}", "-o", trace, *command, "--repetitions=3"],
        place / "work",
    )
    assert outcome.exit_code == 0, outcome.stderr
    ((lines),) = outcome.series.values()
    return 3 * lines[0]["operations"], "".join(part.read_text() for part in place.glob("trace.*"))


@needs_strace
@pytest.mark.parametrize("kind", ["file", "tcp"])
def test_a_selection_looks_at_as_many_descriptors_as_it_says(
    lm_sources: Path, tmp_path: Path, kind: str
) -> None:
    operations, seen = calls_of(
        [lm_sources / "build/lat_select", f"--kind={kind}", "--descriptors=800"], tmp_path, "/p?select6?$"
    )
    sets = re.findall(r"^p?select6?\(\d+, \[([\d ]+)\], NULL, NULL, .* = (\d+) \(", seen, re.MULTILINE)
    assert len(sets) >= operations
    ready = {"file": "800", "tcp": "0"}[kind]
    assert {(len(numbers.split()), found) for numbers, found in sets} == {(800, ready)}


@needs_strace
def test_a_request_brings_the_whole_file(lm_sources: Path, tmp_path: Path) -> None:
    command: list[str | Path] = [lm_sources / "build/lat_http", "--bytes=2000000"]
    operations, seen = calls_of(command, tmp_path, "sendfile,read")
    sent, heard = (
        sum(map(int, re.findall(rf"^{call}\(.*\) += (\d+)$", seen, re.MULTILINE)))
        for call in ("sendfile", "read")
    )
    assert sent >= operations * 2_000_000
    assert heard >= sent


@needs_strace
def test_each_operation_of_io_uring_is_a_call_that_submits_one(lm_sources: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    traced: list[str | Path] = ["strace", "-f", "-qq", "-e", "trace=io_uring_enter", "-o", trace]
    traced += [lm_sources / "build/lat_io_uring", "--call=nop", "--repetitions=3"]
    outcome = run(traced, tmp_path / "work")
    skip_what_is_not_here("lat_io_uring", outcome)
    assert outcome.exit_code == 0, outcome.stderr
    ((lines),) = outcome.series.values()
    results = re.findall(r" = (-?\d+)", trace.read_text())
    assert len(results) >= 3 * lines[0]["operations"]
    assert set(results) == {"1"}


@needs_strace
def test_io_uring_that_the_kernel_refuses_is_an_error_with_its_cause(
    lm_sources: Path, tmp_path: Path
) -> None:
    refused: list[str | Path] = [
        "strace", "-f", "-qq", "-e", "trace=io_uring_setup", "-e", "inject=io_uring_setup:error=EPERM",
        "-o", tmp_path / "trace",
    ]  # fmt: skip
    outcome = run([*refused, lm_sources / "build/lat_io_uring"], tmp_path / "work")
    assert outcome.exit_code == 1
    error = outcome.lines[-1]["error"]
    assert error.startswith(f"io_uring_setup: {os.strerror(errno.EPERM)}; expected ")
    assert outcome.stderr == f"lat_io_uring: {error}\n"


def test_without_libtirpc_the_program_is_built_and_says_so(lm_sources: Path, tmp_path: Path) -> None:
    program = tmp_path / "build/lat_rpc"
    for compiled in ("harness", "ipc"):
        shutil.copytree(lm_sources / "build" / compiled, tmp_path / "build" / compiled)
    subprocess.run(["make", "-s", "TIRPC=no", f"BUILD={tmp_path}/build", program], cwd=lm_sources, check=True)
    outcome = run([program], tmp_path / "work")
    assert outcome.exit_code == 1
    error = outcome.lines[-1]["error"]
    assert error.startswith("built without libtirpc: install ")
    assert outcome.stderr == f"lat_rpc: {error}\n"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("lat_ctx", ["--processes", "0"]),
        ("lat_ctx", ["--processes", "1"]),
        ("lat_ctx", ["--kib", "much"]),
        ("lat_ctx", ["--shape", "line"]),
        ("lat_select", ["--descriptors", "0"]),
        ("lat_select", ["--descriptors", "1001"]),
        ("lat_select", ["--kind", "pipe"]),
        ("lat_epoll", ["--descriptors", "0"]),
        ("lat_http", ["--bytes", "0"]),
        ("lat_rpc", ["--protocol", "sctp"]),
        ("lat_fcntl", ["--file", "none"]),
        ("lat_io_uring", ["--call", "write"]),
        ("lat_connect", ["--parallel", "2"]),
        ("lat_pipe", ["--parallel", "0"]),
    ],
)
def test_bad_input_is_refused_with_a_message(
    lm_sources: Path, tmp_path: Path, name: str, arguments: list[str], golden: Golden
) -> None:
    outcome = run([lm_sources / "build" / name, *arguments], tmp_path / "work")
    assert outcome.exit_code == 2
    golden(shlex.join([name, *arguments]), outcome.stderr)
    assert (outcome.stdout, outcome.lines) == ("", [])


@pytest.mark.parametrize(
    "arguments", ["lat_select --descriptors=100", "lat_epoll --descriptors=100", "lat_ctx --processes=100"]
)
def test_too_few_descriptors_are_told_before_anything_is_measured(
    lm_sources: Path, tmp_path: Path, arguments: str
) -> None:
    outcome = run(["sh", "-c", f"ulimit -n 60; exec {lm_sources}/build/{arguments}"], tmp_path / "work")
    assert outcome.exit_code == 1
    assert re.search(r"file descriptors: .* 2[0-9][0-9], got 60; .*ulimit", outcome.stderr)
    assert outcome.stdout == ""


@pytest.mark.parametrize("name", ["lat_fifo", "lat_fcntl", "lat_unix_connect", "lat_http"])
def test_a_working_directory_that_cannot_be_written_is_an_error(
    lm_sources: Path, tmp_path: Path, name: str
) -> None:
    """A directory that has been removed: nothing can be made in it, not even by root."""
    script = f'mkdir gone && cd gone && rmdir "$PWD" && exec {lm_sources}/build/{name} --repetitions=1'
    outcome = run(["sh", "-c", script], tmp_path / "work")
    assert outcome.exit_code == 1
    assert os.strerror(errno.ENOENT) in outcome.stderr
