"""The databases and Lucene: every request is noted, and a pause shows where it must."""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from helpers.workloads.java_runs import QUICK, TIMEOUT_S, Programs, Run, entry, jvm
from regatta.host.adapters import regatta_lines
from regatta.host.adapters.result import RunOutput

DATABASES = ("h2", "hsqldb")
REQUEST_DRIVEN = (*DATABASES, "lusearch")
#: what one unit of size is, in all of them
REQUESTS_PER_SIZE = 100
#: what lasts long enough for a pause in its midst
SIZE, ITERATIONS, PAUSE_S, PAUSES = 10, 4, 0.4, 6
#: runs in which no pause may happen to come while requests are answered
TRIES = 10


@pytest.fixture(scope="module")
def tiny(programs: Programs) -> dict[str, Run]:
    """Each program once at size tiny, for all tests that only look at what came out."""
    return {name: programs.benchmark(f"apps/{name}", size="tiny", flags=(QUICK,)) for name in REQUEST_DRIVEN}


def requests(lines: list[dict[str, Any]], iteration: int) -> list[tuple[int, int]]:
    """Start and end of each request, ns."""
    return [
        pair
        for line in lines
        if "requests" in line and line["iteration"] == iteration
        for pair in zip(line["requests"]["start_ns"], line["requests"]["end_ns"], strict=True)
    ]  # fmt: skip


def latencies(results: bytes, iteration: int) -> dict[tuple[str, str | None, float], int]:
    """What the adapter makes of the requests of an iteration: (kind, window, percentile) -> ns."""
    reported = regatta_lines.read(RunOutput(1, 0.0, 0.0, None, results, "", b"", False), {})
    assert reported.error == ""
    return {
        (parameters["kind"], parameters.get("window"), parameters["percentile"]): value
        for number, metric, value, _, _, parameters in reported.iterations
        if metric == "latency" and number == iteration
    }


def test_two_databases_end_with_the_same_tables_which_another_seed_changes(
    programs: Programs, tiny: dict[str, Run]
) -> None:
    assert entry("apps/h2")["sizes"]["tiny"] == entry("apps/hsqldb")["sizes"]["tiny"]
    changed = {"iterations": 1, "data_seed": -7}
    runs = [programs.benchmark(f"apps/{name}", size="tiny", flags=(QUICK,), **changed) for name in DATABASES]
    digests = {digest for run in runs for digest in run.digests()}
    assert [run.code for run in runs] == [0, 0]
    assert len(digests) == 1
    assert digests.isdisjoint(tiny["h2"].digests())


@pytest.mark.parametrize("name", REQUEST_DRIVEN)
def test_every_request_is_noted_from_its_start_to_its_end(tiny: dict[str, Run], name: str) -> None:
    asked = entry(f"apps/{name}")["sizes"]["tiny"]["parameters"]["size"] * REQUESTS_PER_SIZE
    for iteration, elapsed_ns in enumerate(tiny[name].values("elapsed")):
        noted = requests(tiny[name].lines, iteration)
        assert len(noted) == asked
        assert all(0 <= start < end <= elapsed_ns for start, end in noted)


@pytest.mark.parametrize("name", REQUEST_DRIVEN)
def test_the_adapter_gives_simple_and_metered_latencies(tiny: dict[str, Run], name: str) -> None:
    found = latencies((tiny[name].directory / "results.jsonl").read_bytes(), 1)
    noted = [end - start for start, end in requests(tiny[name].lines, 1)]
    assert found["simple", None, 100] == max(noted)
    assert abs(found["simple", None, 50] - statistics.median(noted)) <= statistics.median(noted) / 2
    for window in ("10 ms", "100 ms", "full"):
        for percentile in (50, 90, 99):
            assert found["metered", window, percentile] >= found["simple", None, percentile]


def paused_now_and_then(programs: Programs, place: Path) -> bytes:
    """What a program reports that is stopped for PAUSE_S some times, unless it has ended."""
    place.mkdir()
    results = place / "results.jsonl"
    command = programs.command("apps/lusearch", "command", size=SIZE, iterations=ITERATIONS, data_seed=1)
    environment = {"PATH": os.environ["PATH"], "HOME": str(place), "REGATTA_RESULTS": str(results)}
    process = subprocess.Popen(
        ["java", QUICK, *command], cwd=place, env=environment, stderr=subprocess.DEVNULL
    )
    try:
        # Its digest ends the first iteration, which is slow by itself.
        while process.poll() is None and not (results.exists() and b'"digest"' in results.read_bytes()):
            time.sleep(0.002)
        for _ in range(PAUSES):
            time.sleep(0.05)
            process.send_signal(signal.SIGSTOP)
            time.sleep(PAUSE_S)
            process.send_signal(signal.SIGCONT)
        assert process.wait(TIMEOUT_S) == 0
    finally:
        process.kill()
        process.wait()
    return results.read_bytes()


def test_a_pause_shows_in_metered_latency_but_hardly_in_the_simple_median(
    programs: Programs, tmp_path: Path
) -> None:
    pause_ns = PAUSE_S * 1e9
    for number in range(TRIES):
        results = paused_now_and_then(programs, tmp_path / str(number))
        iterations = [latencies(results, iteration) for iteration in range(1, ITERATIONS)]
        paused = [found for found in iterations if found["simple", None, 100] > 0.9 * pause_ns]
        if paused:
            break
    else:
        pytest.fail("no pause shows in the longest latency")
    # Unless the pause came near the end.
    assert any(
        found["simple", None, 50] < 0.1 * pause_ns
        and found["metered", "full", 90] > 5 * found["simple", None, 50]
        for found in paused
    )
    lines = [json.loads(line) for line in results.splitlines()]
    assert {len(requests(lines, i)) for i in range(ITERATIONS)} == {SIZE * REQUESTS_PER_SIZE}


def test_the_compiler_says_in_the_words_of_the_jvm_that_release_11_is_too_old(programs: Programs) -> None:
    probe = programs.probe("apps/ecj", program=jvm("11"))
    assert probe.code == 4
    assert probe.stderr.startswith("not possible: java.lang.UnsupportedClassVersionError: org/eclipse/jdt/")
    assert probe.stderr.count("\n") == 1
