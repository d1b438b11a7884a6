"""Latencies between processes: round trips, locks, context switches, connections, requests, readiness, io_uring."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from lm_runs import Run, assert_conforms, command_of, run

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
    """How often the whole family of processes gave up a processor by itself; the loop size reported."""
    results = place / "results.jsonl"
    started = subprocess.Popen(
        [*command, "--repetitions=1", "--interval-us=50000"],
        cwd=place, stdout=subprocess.DEVNULL, env={"PATH": os.environ["PATH"], "REGATTA_RESULTS": str(results)},
    )  # fmt: skip
    _, status, usage = os.wait4(started.pid, 0)
    started.returncode = os.waitstatus_to_exitcode(status)
    assert started.returncode == 0
    lines = [json.loads(line) for line in results.read_text().splitlines()]
    (operations,) = (line["operations"] for line in lines if "metric" in line)
    return usage.ru_nvcsw, operations


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
    the loop has been run at least twice at its size, so that a quarter of all waits is still what is asked for here."""
    switches, operations = switches_and_operations([lm_sources / "build" / name, *arguments], tmp_path)
    assert switches >= operations


def children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def helpers(program: int) -> list[int]:
    """The helpers of the measured child, once they are there and it has begun."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        found = [helper for child in children(program) for helper in children(child)]
        if found:
            time.sleep(0.05)
            return [helper for child in children(program) for helper in children(child)]
        time.sleep(0.002)
    raise AssertionError("no helper within 20 s")


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
        "--interval-us=30000000",
        "--repetitions=1",
    ]
    if name == "lat_rpc":
        skip_what_is_not_here(name, run([command[0], "--repetitions=1"], tmp_path / "work"))
    started = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        found = helpers(started.pid)
        os.kill(found[-1], signal.SIGKILL)
        stdout, stderr = started.communicate(timeout=8)
    finally:
        started.kill()
        started.wait()
    assert started.returncode == 1
    assert stdout == ""
    assert f"{name}: benchmark: " in stderr
    assert not any(Path(f"/proc/{helper}").exists() for helper in found)


def tcp_counter(name: str) -> int:
    names, values = (
        line.split() for line in Path("/proc/net/snmp").read_text().splitlines() if line.startswith("Tcp:")
    )
    return int(values[names.index(name)])


def in_time_wait() -> int:
    found = re.search(r"^TCP: .* tw (\d+)", Path("/proc/net/sockstat").read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1])


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
    opened, waiting = tcp_counter("ActiveOpens"), in_time_wait()
    outcome = run(
        [lm_sources / "build" / name, *arguments, "--repetitions=5", "--interval-us=20000"], tmp_path / "work"
    )
    assert outcome.exit_code == 0, outcome.stderr
    ((lines),) = outcome.of("latency").values()
    connections = 5 * lines[0]["operations"]
    assert tcp_counter("ActiveOpens") - opened >= connections
    # Others on this machine may leave some; each of these operations would leave one.
    assert in_time_wait() - waiting < connections / 2


def least_of(command: list[str | Path], place: Path) -> float:
    """The least of three repetitions: what others do can only lengthen one."""
    outcome = run([*command, "--repetitions=3"], place)
    assert outcome.exit_code == 0, outcome.stderr
    ((lines),) = outcome.series.values()
    return float(min(line["value"] for line in lines))


@pytest.mark.parametrize("kind", ["file", "tcp"])
def test_selecting_among_eighty_times_as_many_takes_much_longer(
    lm_sources: Path, tmp_path: Path, kind: str
) -> None:
    few, many = (
        least_of(
            [lm_sources / "build/lat_select", f"--kind={kind}", f"--descriptors={count}"],
            tmp_path / str(count),
        )
        for count in (10, 800)
    )
    assert many > 5 * few


def test_a_request_takes_longer_for_a_file_two_thousand_times_as_large(
    lm_sources: Path, tmp_path: Path
) -> None:
    small, large = (
        least_of([lm_sources / "build/lat_http", f"--bytes={size}"], tmp_path / str(size))
        for size in (1000, 2_000_000)
    )
    assert large > 2 * small


def test_each_operation_of_io_uring_is_a_call_that_submits_one(lm_sources: Path, tmp_path: Path) -> None:
    if shutil.which("strace") is None:
        pytest.skip("NOT TESTED: strace is not on PATH")
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


def test_io_uring_that_the_kernel_refuses_is_an_error_with_its_cause(
    lm_sources: Path, tmp_path: Path
) -> None:
    if shutil.which("strace") is None:
        pytest.skip("NOT TESTED: strace is not on PATH")
    refused: list[str | Path] = [
        "strace", "-f", "-qq", "-e", "trace=io_uring_setup", "-e", "inject=io_uring_setup:error=EPERM",
        "-o", tmp_path / "trace",
    ]  # fmt: skip
    outcome = run([*refused, lm_sources / "build/lat_io_uring"], tmp_path / "work")
    assert outcome.exit_code == 1
    assert "lat_io_uring: io_uring_setup: Operation not permitted; expected" in outcome.stderr
    assert "io_uring_setup: Operation not permitted" in outcome.lines[-1]["error"]


def test_without_libtirpc_the_program_is_built_and_says_so(lm_sources: Path, tmp_path: Path) -> None:
    program = tmp_path / "build/lat_rpc"
    for compiled in ("harness", "ipc"):
        shutil.copytree(lm_sources / "build" / compiled, tmp_path / "build" / compiled)
    subprocess.run(["make", "-s", "TIRPC=no", f"BUILD={tmp_path}/build", program], cwd=lm_sources, check=True)
    outcome = run([program], tmp_path / "work")
    assert outcome.exit_code == 1
    assert "lat_rpc: built without libtirpc: install it" in outcome.stderr
    assert "built without libtirpc" in outcome.lines[-1]["error"]


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("lat_ctx", ["--processes", "0"], "--processes: expected an integer from 2 to"),
        ("lat_ctx", ["--processes", "1"], "--processes: expected an integer from 2 to"),
        ("lat_ctx", ["--kib", "much"], "--kib: expected an integer from 0 to"),
        ("lat_ctx", ["--shape", "line"], "expected one of all ring star, got line"),
        ("lat_select", ["--descriptors", "0"], "--descriptors: expected an integer from 1 to 1000"),
        ("lat_select", ["--descriptors", "1001"], "--descriptors: expected an integer from 1 to 1000"),
        ("lat_select", ["--kind", "pipe"], "expected one of all file tcp, got pipe"),
        ("lat_epoll", ["--descriptors", "0"], "--descriptors: expected an integer from 1 to"),
        ("lat_http", ["--bytes", "0"], "--bytes: expected an integer from 1 to"),
        ("lat_rpc", ["--protocol", "sctp"], "expected one of all udp tcp, got sctp"),
        ("lat_fcntl", ["--file", "none"], "expected one of own shared, got none"),
        ("lat_io_uring", ["--call", "write"], "expected one of all nop read, got write"),
        ("lat_connect", ["--parallel", "2"], "--parallel: expected 1 (an interval has no more connections"),
        ("lat_pipe", ["--parallel", "0"], "--parallel: expected an integer from 1 to"),
    ],
)
def test_bad_input_is_refused_with_a_message(
    lm_sources: Path, tmp_path: Path, name: str, arguments: list[str], message: str
) -> None:
    outcome = run([lm_sources / "build" / name, *arguments], tmp_path / "work")
    assert outcome.exit_code == 2
    assert message in outcome.stderr
    assert (outcome.stdout, outcome.lines) == ("", [])


@pytest.mark.parametrize(
    "arguments", ["lat_select --descriptors=100", "lat_epoll --descriptors=100", "lat_ctx --processes=100"]
)
def test_too_few_descriptors_are_told_before_anything_is_measured(
    lm_sources: Path, tmp_path: Path, arguments: str
) -> None:
    outcome = run(["sh", "-c", f"ulimit -n 60; exec {lm_sources}/build/{arguments}"], tmp_path / "work")
    assert outcome.exit_code == 1
    assert "too few descriptors: expected a limit of at least 2" in outcome.stderr
    assert outcome.stdout == ""


@pytest.mark.parametrize("name", ["lat_fifo", "lat_fcntl", "lat_unix_connect", "lat_http"])
def test_a_working_directory_that_cannot_be_written_is_an_error(
    lm_sources: Path, tmp_path: Path, name: str
) -> None:
    """A directory that has been removed: nothing can be made in it, not even by root."""
    script = f'mkdir gone && cd gone && rmdir "$PWD" && exec {lm_sources}/build/{name} --repetitions=1'
    outcome = run(["sh", "-c", script], tmp_path / "work")
    assert outcome.exit_code == 1
    assert "No such file or directory" in outcome.stderr
