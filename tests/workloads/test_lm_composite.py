"""What a server's processor spends, transfers on one processor, calls on cached files: lat_serve & co."""

from __future__ import annotations

import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.golden import Golden
from helpers.marked_processes import processes_with
from helpers.workloads.lm_runs import (
    PATIENCE_S,
    Interval,
    Run,
    assert_conforms,
    command_of,
    in_a_group,
    intervals_of,
    run,
)
from regatta.host.measure.cgroup import open_accounting

needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="NOT TESTED: strace is not on PATH")
needs_two_processors = pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="NOT TESTED: this process may use one processor only"
)

#: the series of each program at its quick size
SERIES: dict[str, list[dict[str, object]]] = {
    "lat_serve": [
        *({"operation": operation, "bytes": size} for operation in ("reply", "sendfile") for size in (64, 16384)),
        {"operation": "send", "bytes": 200},
        {"operation": "connect"},
    ],
    "lat_transfer": [
        *({"through": way, "operation": "transfer", "bytes": size} for way in ("pipe", "unix") for size in (64, 4096)),
        {"through": "unix", "operation": "connect"},
    ],
    "lat_file_io": [
        *({"operation": name, "bytes": size} for name in ("read", "write", "mmap_read") for size in (512, 65536)),
        {"operation": "append", "bytes": 100},
        {"operation": "mmap", "bytes": 65536},
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", SERIES)
def test_each_series_of_the_quick_size_is_reported(name: str, lm_sources: Path, tmp_path: Path) -> None:
    outcome = run(command_of(name, "quick", lm_sources), tmp_path / "work")
    assert_conforms(outcome, repetitions=5)
    assert [dict(key) for key in outcome.of("latency")] == [one | {"parallel": 1} for one in SERIES[name]]
    assert list((tmp_path / "work").iterdir()) == []


# ---- what the harness has for them ----


def measured(planted: Path, place: Path, kind: str) -> list[tuple[float, float, Interval]]:
    """What the harness says that intervals took by each clock, in ns, and what the clocks said in and around them."""
    outcome = run(
        [planted, f"--kind={kind}", "--amount=1000000", "--repetitions=5", "--log=log"], place / "work"
    )
    assert outcome.exit_code == 0, outcome.stderr
    ((latencies),) = outcome.of("latency").values()
    ((cpu_times),) = outcome.of("cpu_time").values()
    found = []
    for latency, cpu_time, interval in zip(
        latencies, cpu_times, intervals_of(place / "work/log.0")[-5:], strict=True
    ):
        operations = latency["operations"]
        assert interval.operations == operations
        subtracted = outcome.info["clock_overhead_ns"] + outcome.info["loop_overhead_ns"] * operations
        found.append((latency["value"] * operations + subtracted, cpu_time["value"] * operations, interval))
    return found


#: values are written with nine digits
ROUNDED = 1 + 1e-6


def test_a_pause_is_in_neither_metric(planted: Path, tmp_path: Path) -> None:
    """Of an operation 1 ms is timed and 16 ms lie in a pause; both are busy."""
    for elapsed_ns, cpu_ns, interval in measured(planted, tmp_path, "pause"):
        assert interval.paused.clock_ns >= 16e6 * interval.operations
        around_ns = interval.after.clock_ns - interval.before.clock_ns - interval.paused.clock_ns
        cpu_around_ns = interval.after.cpu_ns - interval.before.cpu_ns - interval.paused.cpu_ns
        assert 1e6 * interval.operations <= elapsed_ns * ROUNDED <= around_ns * ROUNDED**2
        assert 0 < cpu_ns <= cpu_around_ns * ROUNDED


def test_processor_time_is_what_the_process_used_and_latency_what_passed(
    planted: Path, tmp_path: Path
) -> None:
    """A sleep takes 1 ms and more, and hardly a processor."""
    for elapsed_ns, cpu_ns, interval in measured(planted, tmp_path, "sleep"):
        assert 1e6 * interval.operations <= elapsed_ns * ROUNDED
        for found_ns, within, around in (
            (elapsed_ns, interval.end.clock_ns - interval.start.clock_ns, interval.after.clock_ns - interval.before.clock_ns),
            (cpu_ns, interval.end.cpu_ns - interval.start.cpu_ns, interval.after.cpu_ns - interval.before.cpu_ns),
        ):  # fmt: skip
            assert within <= found_ns * ROUNDED <= around * ROUNDED**2


# ---- lat_serve ----


def traced(command: list[str | Path], place: Path, calls: str) -> tuple[Run, str]:
    """What a program said, and the calls of its processes, each by itself: no call is told in two halves."""
    trace = place / "trace"
    outcome = run(["strace", "-ff", "-qq", "-e", f"trace={calls}", "-o", trace, *command], place / "work")
    assert outcome.exit_code == 0, outcome.stderr
    return outcome, "".join(part.read_text() for part in sorted(place.glob("trace.*")))


def operations_of(outcome: Run, repetitions: int = 1) -> int:
    ((lines),) = outcome.of("latency").values()
    assert len(lines) == repetitions
    return int(lines[0]["operations"])


@needs_strace
@pytest.mark.parametrize(
    ("operation", "calls"),
    [
        ("reply", [r"recvfrom\(\d+, .*, 120, .*\) += 120$", r"write\(\d+, .*, 1000\) += 1000$"]),
        ("sendfile", [r"recvfrom\(\d+, .*, 120, .*\) += 120$", r"sendfile\(.*, 1000\) += 1000$"]),
        ("send", [r"write\(\d+, .*, 200\) += 200$"]),
        ("connect", [r"accept4\(.*SOCK_CLOEXEC\) += \d+$", r"shutdown\(\d+, SHUT_WR\) += 0$", r"close\(\d+\) += 0$"]),
    ],
)  # fmt: skip
def test_an_operation_of_the_server_is_what_it_is_said_to_be(
    operation: str, calls: list[str], lm_sources: Path, tmp_path: Path
) -> None:
    command = [lm_sources / "build/lat_serve", f"--operation={operation}", "--bytes=1000", "--repetitions=1"]
    outcome, trace = traced([*command], tmp_path, "recvfrom,write,sendfile,accept4,shutdown,close")
    for call in calls:
        assert len(re.findall(call, trace, re.MULTILINE)) >= operations_of(outcome)


def test_processor_time_of_the_server_is_told_beside_each_latency(lm_sources: Path, tmp_path: Path) -> None:
    outcome = run(command_of("lat_serve", "quick", lm_sources), tmp_path / "work")
    latency, cpu_time = outcome.of("latency"), outcome.of("cpu_time")
    assert list(cpu_time) == list(latency)
    for series, waited in latency.items():
        ratios = [used["value"] / line["value"] for used, line in zip(cpu_time[series], waited, strict=True)]
        # Its clock is read just outside the interval, where the machine may stop in one interval, but hardly in all.
        assert 0 < min(ratios) <= 1.1


def test_an_interval_may_hold_more_connections_than_can_wait(lm_sources: Path, tmp_path: Path) -> None:
    command = [lm_sources / "build/lat_serve", "--operation=connect", "--repetitions=1"]
    most = 0
    # Longer ones where connections take long: of up to 12 ms each, more than 256 are in the longest.
    for interval_us in (30_000, 300_000, 3_000_000):
        outcome = run([*command, f"--interval-us={interval_us}"], tmp_path / str(interval_us))
        assert outcome.exit_code == 0, outcome.stderr
        most = max(most, operations_of(outcome))
        if most > 256:
            break
    assert most > 256


def family(program: int) -> list[int]:
    """The measured child and its helper, once both are there."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        found = children(program)
        if found and (helpers := children(found[0])):
            return [found[0], *helpers]
        time.sleep(0.002)
    raise AssertionError(f"no helper within {PATIENCE_S} s")


def children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def allowed_of(process: int) -> str:
    text = Path(f"/proc/{process}/status").read_text()
    return next(line.split()[1] for line in text.splitlines() if line.startswith("Cpus_allowed_list"))


def comes_true(true: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if true():
            return True
        time.sleep(0.005)
    return False


@needs_two_processors
@pytest.mark.parametrize(("name", "apart"), [("lat_serve", True), ("lat_transfer", False)])
def test_server_and_peer_are_apart_and_both_ends_of_a_transfer_together(
    name: str, apart: bool, lm_sources: Path, tmp_path: Path
) -> None:
    marker = f"lm-composite-{os.getpid()}-{name}"
    started = subprocess.Popen(
        [lm_sources / "build" / name, "--interval-us=30000000", "--repetitions=1"],
        cwd=tmp_path,
        env={"MARKER": marker},
    )
    try:
        server, peer = family(started.pid)
        places = [str(number) for number in os.sched_getaffinity(0)]
        assert comes_true(lambda: allowed_of(server) in places and allowed_of(peer) in places)
        assert comes_true(lambda: (allowed_of(server) != allowed_of(peer)) == apart)
    finally:
        started.send_signal(signal.SIGKILL)
        started.wait()
    assert comes_true(lambda: processes_with(marker) == [])


def test_on_one_processor_the_peer_shares_it_and_that_is_told(lm_sources: Path, tmp_path: Path) -> None:
    only = min(os.sched_getaffinity(0))
    bound = ["taskset", "-c", str(only), lm_sources / "build/lat_serve", "--bytes=64", "--repetitions=2"]
    outcome = run([*bound], tmp_path / "work")
    assert_conforms(outcome, repetitions=2)
    assert outcome.info["placement"] == "apart"
    assert (outcome.info["serving_processor"], outcome.info["peer_processor"]) == (only, only)


# ---- lat_file_io ----


@needs_strace
@pytest.mark.parametrize(
    ("operation", "call"),
    [
        ("read", r"pread64\(\d+, .*, 512, 0\) += 512$"),
        ("write", r"pwrite64\(\d+, .*, 512, 0\) += 512$"),
        ("append", r"write\(\d+, .*, 100\) += 100$"),
        ("mmap", r"mmap\(NULL, 65536, PROT_READ, MAP_SHARED, \d+, 0\) += 0x"),
        ("mmap_read", r"mmap\(NULL, 512, PROT_READ, MAP_SHARED, \d+, 0\) += 0x"),
    ],
)
def test_an_operation_on_a_file_is_one_call(
    operation: str, call: str, lm_sources: Path, tmp_path: Path
) -> None:
    command = [lm_sources / "build/lat_file_io", f"--operation={operation}", "--bytes=512", "--repetitions=1"]
    outcome, trace = traced([*command], tmp_path, "pread64,pwrite64,write,mmap")
    assert len(re.findall(call, trace, re.MULTILINE)) >= operations_of(outcome)


def test_every_page_of_a_mapping_is_read(lm_sources: Path, tmp_path: Path) -> None:
    """Of 256 pages the kernel maps 16 at a fault. The loop runs some seven times for three repetitions."""
    command = [lm_sources / "build/lat_file_io", "--operation=mmap_read", "--bytes=1048576"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
    outcome = run([*command, "--repetitions=3"], tmp_path / "work")
    faults = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt - before
    assert outcome.exit_code == 0, outcome.stderr
    assert faults > 8 * 3 * operations_of(outcome, repetitions=3)


def test_a_log_never_grows_beyond_its_limit(lm_sources: Path, tmp_path: Path) -> None:
    """Half a million writes of 100 bytes or so; a file larger than 16 MiB and one more write cannot be made."""
    limited = [
        "prlimit",
        f"--fsize={(16 << 20) + 100}",
        lm_sources / "build/lat_file_io",
        "--operation=append",
    ]
    outcome = run([*limited, "--repetitions=1", "--interval-us=400000"], tmp_path / "work")
    assert (outcome.exit_code, outcome.stderr) == (0, "")


def test_a_log_that_cannot_be_written_is_an_error(lm_sources: Path, tmp_path: Path) -> None:
    limited = ["prlimit", "--fsize=4096", lm_sources / "build/lat_file_io", "--operation=append"]
    outcome = run([*limited, "--repetitions=1"], tmp_path / "work")
    assert outcome.exit_code == 1
    assert "lat_file_io: benchmark: " in outcome.stderr


# ---- bad input ----


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("lat_serve", ["--bytes", "0"]),
        ("lat_serve", ["--connections", "65"]),
        ("lat_serve", ["--placement", "free"]),
        ("lat_serve", ["--parallel", "2"]),
        ("lat_transfer", ["--through=pipe", "--operation=connect"]),
        ("lat_file_io", ["--bytes", "64,"]),
        ("lat_file_io", ["--operation", "rewrite"]),
        ("lat_simple", ["--program", "true"]),
        ("lat_simple", ["--mappings", "100000"]),
        ("lat_simple", ["--resident-kib", "much"]),
    ],
)
def test_bad_input_is_refused_with_a_message(
    lm_sources: Path, tmp_path: Path, name: str, arguments: list[str], golden: Golden
) -> None:
    outcome = run([lm_sources / "build" / name, *arguments], tmp_path / "work")
    assert outcome.exit_code == 2
    golden(shlex.join([name, *arguments]), outcome.stderr)
    assert (outcome.stdout, outcome.lines) == ("", [])


@needs_two_processors
def test_under_a_quota_server_and_client_take_from_each_other(lm_sources: Path, tmp_path: Path) -> None:
    """Time in which both are held back counts: half a processor for both leaves the server's no more than that."""
    opened, reason = open_accounting({"cpu"})
    reason = reason if opened is None else opened.limit(0.5, None)
    if opened is not None and reason:
        opened.close()
    if opened is None or reason:
        pytest.skip(f"NOT TESTED: no quota can be set here: {reason}")
    command = command_of(
        "lat_serve", "quick", lm_sources, operation="reply", bytes="512", repetitions=3, interval_us=1000000
    )
    try:
        outcome = in_a_group(opened, [*command], tmp_path / "work")
    finally:
        opened.close()
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    ((taken),) = outcome.of("latency").values()
    ((used),) = outcome.of("cpu_time").values()
    # Ten periods of the quota and a part of one, of half a processor each.
    for one, other in zip(taken, used, strict=True):
        assert other["value"] < 0.6 * one["value"]
