"""Hardware counters of the chat server: what perf writes is read, and counted exactly in the windows."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from helpers.workloads import chat_runs, java_runs

FAKE = Path(chat_runs.__file__).with_name("fake_perf.py")
#: `perf stat -x,` of perf 6.1 on a machine with counters, as perf-stat(1) documents it under CSV FORMAT
KEPT = """\
# started on Mon Mar  3 10:00:00 2025

6000000,,cycles:u,2000000,100.00,,
4000000,,cycles:k,2000000,100.00,,
3000000,,instructions:u,2000000,75.02,0.50,insn per cycle
1000000,,instructions:k,2000000,75.00,0.25,insn per cycle
40000,,cache-misses:u,1500000,60.10,25.00,of all cache refs
160000,,cache-references:u,1500000,60.10,,
<not counted>,,iTLB-load-misses:u,0,0.00,,
<not supported>,,L1-icache-load-misses:k,0,100.00,,
12.5,msec,task-clock,12500000,100.00,0.9,CPUs utilized
"""
#: of a processor with cores of two kinds
HYBRID = """\
100,,cpu_core/cycles/u,1000,100.00,,
<not counted>,,cpu_atom/cycles/u,0,0.00,,
7,,cpu_core/branches/k,1000,50.00,,
5,,cpu_atom/branches/k,1000,40.00,,
"""


@pytest.fixture(scope="module")
def counters() -> ModuleType:
    sys.path.insert(0, str(chat_runs.SESSION))
    try:
        return importlib.import_module("counters")
    finally:
        sys.path.remove(str(chat_runs.SESSION))


def test_counts_of_user_and_kernel_are_read_apart_and_what_is_missing_is_no_0(counters: ModuleType) -> None:
    reading = counters.parse_perf(KEPT)
    assert reading.counts == {
        ("cycles", "user"): 6e6,
        ("cycles", "system"): 4e6,
        ("instructions", "user"): 3e6,
        ("instructions", "system"): 1e6,
        ("cache_misses", "user"): 4e4,
        ("cache_references", "user"): 1.6e5,
    }
    assert reading.missing == {
        ("itlb_misses", "user"): "not counted",
        ("l1_icache_misses", "system"): "not supported",
    }
    assert reading.least_percent == 60.10


def test_cores_of_two_kinds_count_together(counters: ModuleType) -> None:
    reading = counters.parse_perf(HYBRID)
    assert reading.counts == {("cycles", "user"): 100.0, ("branches", "system"): 12.0}
    assert reading.missing == {}
    assert reading.least_percent == 40.0


def test_what_follows_from_counts_is_told_by_space_and_only_where_they_are_known(
    counters: ModuleType,
) -> None:
    found = {
        (metric, space): value
        for metric, space, value, _ in counters.values_of(counters.parse_perf(KEPT), 500, 20)
    }
    assert found["cpi", "user"] == 2.0
    assert found["cpi", "system"] == 4.0
    assert found["cpi", "all"] == 2.5
    assert found["instructions_per_message", "all"] == 8000.0
    assert found["instructions_per_connection", "system"] == 50_000.0
    assert found["cache_miss_ratio", "user"] == 0.25
    assert ("cache_miss_ratio", "all") not in found
    assert not [key for key in found if key[0].startswith(("itlb", "l1_icache", "branch"))]
    assert not [key for key, value in found.items() if value == 0]


def test_without_messages_nothing_is_told_by_message(counters: ModuleType) -> None:
    found = {metric for metric, *_ in counters.values_of(counters.parse_perf(KEPT), 0, 20)}
    assert "instructions_per_connection" in found
    assert "instructions_per_message" not in found


@pytest.mark.parametrize("line", ["many,,cycles:u,1,100.00,,", "5,,cycles:u", "5,,cycles:u,1,,,"])
def test_a_line_that_is_no_count_is_an_error(counters: ModuleType, line: str) -> None:
    with pytest.raises(ValueError, match="perf: expected value,unit,event"):
        counters.parse_perf(line)


@pytest.fixture
def perf(tmp_path: Path) -> Path:
    """The made-up perf, as a program."""
    program = tmp_path / "perf"
    log = tmp_path / "perf.log"
    program.write_text(f"#!/bin/sh\nexport FAKE_PERF_LOG='{log}'\nexec {sys.executable} {FAKE} \"$@\"\n")
    program.chmod(0o755)
    return program


def test_each_window_is_counted_once_from_its_border_to_its_border(perf: Path, tmp_path: Path) -> None:
    perf.write_text(
        perf.read_text().replace("exec", "export FAKE_PERF_LACKS='L1-icache-load-misses:u'\nexec")
    )
    options = (
        "--mode",
        "selector",
        "--connections",
        20,
        "--iterations",
        2,
        "--seconds",
        0.3,
        "--warmup-seconds",
        0.1,
    )
    run = chat_runs.session(tmp_path, *options, "--perf", perf, java=java_runs.jvm(17))
    assert run.code == 0, run.stderr
    log = (tmp_path / "perf.log").read_text().splitlines()
    words = [" ".join(line.split()[:2]) for line in log]
    assert words == [
        # Asked whether it listens, before anybody connects.
        *("control-0 disable", "control-1 disable"),
        *("control-0 enable", "control-0 disable", "control-1 enable", "control-1 disable"),
    ]
    assert len({line.split()[2] for line in log}) == 1
    assert run.values("cpi", space="user") == [3.0, 3.0]
    assert run.values("cpi", space="system") == [4.0, 4.0]
    assert run.values("cpi", space="all") == [11 / 3, 11 / 3]
    for iteration, counted in enumerate(run.values("messages_counted")):
        assert run.values("instructions_per_message", space="user")[iteration] == pytest.approx(
            1000 / counted
        )
    assert run.values("instructions_per_connection", space="system", mode="selector") == [100.0, 100.0]
    # Each ratio is of its own group, whose instructions are others than those of the group before.
    assert run.values("branches_per_instruction", space="user") == [200 / 3000, 200 / 3000]
    assert run.values("dtlb_misses_per_instruction", space="system") == [10 / 6000, 10 / 6000]
    assert run.values("instructions", space="system") == [2000, 2000]
    # Counted for 12 % of the time.
    assert (
        run.values("dtlb_misses", space="user")
        == run.values("dtlb_misses_per_instruction", space="user")
        == []
    )
    assert run.values("l1_icache_misses", space="user") == []
    assert run.values("l1_icache_misses", space="system") == [10.0, 10.0]
    told = run.info["counters"]
    assert told["L1-icache-load-misses:u"] == "not supported"
    assert "less than 20 %" in told["dTLB-load-misses:u"]
    assert told["least_percent_of_time"] == 25.0


def test_a_kernel_that_may_not_be_counted_leaves_the_user_s_counts(perf: Path, tmp_path: Path) -> None:
    perf.write_text(perf.read_text().replace("exec", "export FAKE_PERF_REFUSES=':k'\nexec"))
    options = ("--mode", "selector", "--connections", 20, "--seconds", 0.2, "--warmup-seconds", 0.1)
    run = chat_runs.session(tmp_path, *options, "--perf", perf, java=java_runs.jvm(17))
    assert run.code == 0, run.stderr
    assert run.values("cpi", space="user") == [3.0]
    assert run.values("cpi", space="system") == run.values("cpi", space="all") == []
    told, of_perf = run.info["counters"]["system"].split(": ", 1)
    assert told == "not possible"
    assert of_perf.startswith("Access to performance monitoring")


def test_events_that_a_processor_cannot_count_at_once_give_counts_and_no_ratio(
    counters: ModuleType, perf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_PERF_HAS_NO_ROOM_FOR", "branches:u")
    asked = counters.Counters(str(perf), tmp_path, 1)
    ((names, reason),) = asked.told().items()
    assert names.split(" with ") == ["instructions:u", "branches:u", "branch-misses:u"]
    assert "same time" in reason
    groups = asked._grouped()
    assert groups.count("instructions:u") == 3, "with cycles, the instruction cache and the TLBs"
    assert "{branches:u},{branch-misses:u}," in groups
    assert "{instructions:k,branches:k,branch-misses:k}" in groups
    text = "3000,,cycles:u,1,100.00,,\n1000,,instructions:u,1,100.00,,\n200,,branches:u,1,100.00,,\n"
    found = {metric for metric, *_ in counters.values_of(asked._read(text), 10, 2)}
    assert {"branches", "cpi"} <= found
    assert "branches_per_instruction" not in found


@pytest.mark.parametrize(
    ("program", "told"), [("none", "disabled by --perf none"), ("no-such-perf", "no no-such-perf on PATH")]
)
def test_without_perf_the_run_goes_on_and_says_so(program: str, told: str, tmp_path: Path) -> None:
    options = ("--mode", "selector", "--connections", 20, "--seconds", 0.2, "--warmup-seconds", 0.1)
    run = chat_runs.session(tmp_path, *options, "--perf", program, java=java_runs.jvm(17))
    assert run.code == 0, run.stderr
    assert run.info["counters"] == {"all": told}
    assert not [line for line in run.lines if "space" in line.get("parameters", {})]
