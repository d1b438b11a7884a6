"""The harness' common promises on two programs: lines, messages, bad input, sanitizers."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from helpers.golden import Golden
from helpers.workloads.lm_runs import (
    PATIENCE_S,
    SUITE,
    Run,
    assert_conforms,
    command_of,
    compile_against,
    run,
)

#: each call to what strace shows of it
CALLS = {
    "null": r"getppid\(\) += \d+$",
    "read": r"read\(\d+, \"\\0\", 1\) += 1$",
    "write": r"write\(\d+, \"x\", 1\) += 1$",
    "stat": r"stat\w*\((?:AT_FDCWD, )?\"lat_syscall\.\w+\", .* = 0$",
    "fstat": r"(?:fstat\(\d+, |newfstatat\(\d+, \"\", ).* = 0$",
    "open_close": r"openat\(AT_FDCWD, \"lat_syscall\.\w+\", O_RDONLY\) += \d+\nclose\(\d+\) += 0$",
    "fcntl": r"fcntl\(\d+, F_GETFL\) += 0x\w+ ",
}
#: goes through all of an area as the benchmark does, and tells how far that is
WALK = """
#define main main_of_the_benchmark
#include "lat_mem_rd.c"
#undef main

int main(void) {
    for (uint64_t bytes = 4096; bytes <= 4096 << 8; bytes *= 2) {
        for (int random = 0; random < 2; random++) {
            struct chase chase = {.size_bytes = bytes, .stride_bytes = 64, .seed = 7, .random = random};
            if (chase_initialise(0, &chase) != 0) {
                return 1;
            }
            uint64_t places = 0, in_order = 0;
            void **at = slot(&chase, 0);
            do {
                void **next = (void **)*at;
                in_order += (char *)next == (char *)at + 64;
                at = next;
                places++;
            } while (at != slot(&chase, 0) && places <= bytes);
            void **after = chase.at;
            for (int i = 0; i < 6400; i++) {
                after = (void **)*after;
            }
            (void)chase_benchmark(6400, &chase);
            printf("%d %d %d\\n", (int)places, (int)in_order, chase.at == after);
            (void)chase_cleanup(0, &chase);
        }
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def memory(lm_sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run(command_of("lat_mem_rd", "quick", lm_sources), tmp_path_factory.mktemp("memory") / "work")


@pytest.fixture(scope="module")
def calls(lm_sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run(command_of("lat_syscall", "quick", lm_sources), tmp_path_factory.mktemp("calls") / "work")


def test_memory_latency_reports_a_series_for_each_size(memory: Run) -> None:
    assert_conforms(memory, repetitions=5)
    sizes = [dict(parameters)["size_bytes"] for parameters in memory.series]
    assert sizes == [4096 << step for step in range(9)]
    assert {dict(parameters)["stride_bytes"] for parameters in memory.series} == {64}
    (parameters,) = (found for found in memory.series if dict(found)["size_bytes"] == 4096)
    values = sorted(line["value"] for line in memory.series[parameters])
    (shown,) = (line for line in memory.stdout.splitlines() if "size_bytes=4096 " in line)
    told = shown.partition(": latency ")[2]
    numbers = [float(number) for number in re.findall(r"[\d.]+", told)]
    # The median, the quartiles, and the number of repetitions; four digits are shown.
    assert numbers[:4] == pytest.approx([values[2], values[1], values[3], 5], rel=1e-3)
    assert "quartiles" in told
    assert "median of 5" in told


def test_each_load_waits_for_the_one_before_and_all_of_the_area_is_visited(
    lm_sources: Path, tmp_path: Path
) -> None:
    source = tmp_path / "walk.c"
    source.write_text(WALK)
    program = compile_against(lm_sources, source, tmp_path / "walk")
    told = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    walks = [tuple(map(int, line.split())) for line in told.splitlines()]
    for step in range(9):
        places = 64 << step
        assert walks[2 * step] == (places, places - 1, 1), "in order, up to the last"
        visited, in_order, went_on = walks[2 * step + 1]
        assert (visited, went_on) == (places, 1)
        assert in_order < places // 4


def test_system_calls_report_a_series_each(calls: Run) -> None:
    assert_conforms(calls, repetitions=5)
    assert [dict(parameters) for parameters in calls.series] == [
        {"call": name, "parallel": 1} for name in CALLS
    ]


@pytest.mark.skipif(shutil.which("strace") is None, reason="NOT TESTED: strace is not on PATH")
@pytest.mark.parametrize("name", CALLS)
def test_an_operation_is_one_call_of_its_kind(name: str, lm_sources: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    command = ["strace", "-ff", "-qq", "-o", trace, lm_sources / "build/lat_syscall", f"--call={name}"]
    outcome = run([*command, "--repetitions=1"], tmp_path / "work")
    assert outcome.exit_code == 0, outcome.stderr
    ((lines),) = outcome.series.values()
    seen = "".join(part.read_text() for part in tmp_path.glob("trace.*"))
    assert len(re.findall(CALLS[name], seen, re.MULTILINE)) >= lines[0]["operations"]


def test_the_file_for_stat_and_open_is_gone_afterwards(lm_sources: Path, tmp_path: Path) -> None:
    outcome = run([lm_sources / "build/lat_syscall", "--call=stat", "--repetitions=1"], tmp_path / "work")
    assert outcome.exit_code == 0
    assert list((tmp_path / "work").iterdir()) == []


def test_the_harness_tells_what_it_found_about_clock_and_loop(memory: Run) -> None:
    info = memory.info
    assert info["clock"] == "CLOCK_MONOTONIC"
    assert info["clock_resolution_ns"] >= 1
    assert 0 < info["clock_overhead_ns"] < 1e6
    assert 0 < info["loop_overhead_ns"] < 1e3
    assert info["trusted_interval_ns"] >= 200 * info["clock_resolution_ns"]
    assert info["interval_trusted"] == (info["interval_error"] <= 0.0025) or info["interval_error"] == 0.0025
    assert info["interval_trusted"] or info["trusted_interval_ns"] >= 5_000_000
    assert (info["repetitions"], info["parallel"], info["placement"]) == (5, 1, "free")
    assert info["subtracted"] == "clock and loop"


def test_without_a_results_file_only_people_are_told(lm_sources: Path, tmp_path: Path) -> None:
    ended = subprocess.run(
        [lm_sources / "build/lat_syscall", "--call", "null", "--repetitions", "1"],
        cwd=tmp_path, env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("lat_syscall call=null: latency ")


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        ("lat_mem_rd", ["--max-kib", "many"]),
        ("lat_mem_rd", ["--max-kib", "-1"]),
        ("lat_mem_rd", ["--max-kib", "99999999999999999999"]),
        ("lat_mem_rd", ["--max-kib="]),
        ("lat_mem_rd", ["--max-kib"]),
        ("lat_mem_rd", ["--max-kib", "2"]),
        ("lat_mem_rd", ["--stride", "12"]),
        ("lat_mem_rd", ["--stride", "4096"]),
        ("lat_mem_rd", ["--order", "sideways"]),
        ("lat_mem_rd", ["--repetitions", "0"]),
        ("lat_syscall", ["--call", "fork"]),
        ("lat_syscall", ["--file", "not-there"]),
        ("lat_syscall", ["--speed", "1"]),
        ("lat_syscall", ["read"]),
    ],
)
def test_bad_input_is_refused_with_a_message(
    lm_sources: Path, tmp_path: Path, program: str, arguments: list[str], golden: Golden
) -> None:
    outcome = run([lm_sources / "build" / program, *arguments], tmp_path / "work")
    assert outcome.exit_code == 2
    golden(shlex.join([program, *arguments]), outcome.stderr)
    assert (outcome.stdout, outcome.lines) == ("", [])


def test_a_bad_seed_is_refused(lm_sources: Path, tmp_path: Path) -> None:
    outcome = run([lm_sources / "build/lat_mem_rd"], tmp_path / "work", REGATTA_SEED="0x10")
    assert outcome.exit_code == 2
    assert "REGATTA_SEED" in outcome.stderr


@pytest.mark.parametrize("program", ["lat_mem_rd", "lat_syscall"])
def test_help_names_every_option(lm_sources: Path, tmp_path: Path, program: str) -> None:
    outcome = run([lm_sources / "build" / program, "--help"], tmp_path / "work")
    assert outcome.exit_code == 0
    used = {a for a in SUITE["benchmarks"][program]["command"] if a.startswith("--")}
    assert {option for option in used if option not in outcome.stdout} == set()


def test_results_that_cannot_be_written_fail_the_run(lm_sources: Path, tmp_path: Path) -> None:
    outcome = run(
        [lm_sources / "build/lat_syscall"], tmp_path / "work", REGATTA_RESULTS=str(tmp_path / "no/file")
    )
    assert outcome.exit_code == 1
    assert "REGATTA_RESULTS" in outcome.stderr


def test_a_test_is_skipped_where_the_machine_is_too_busy_for_its_program(tmp_path: Path) -> None:
    def refusing(exit_code: int, text: str) -> list[str | Path]:
        return ["/bin/sh", "-c", f"echo 'line: {text}' >&2; exit {exit_code}"]

    for text in ("emulated or too busy", "the load is too unstable", "all 4 MiB in huge pages, got 2"):
        with pytest.raises(pytest.skip.Exception, match=r"^NOT TESTED: line: "):
            run(refusing(1, text), tmp_path / "work")
        assert run(refusing(1, text), tmp_path / "work", may_refuse=False).exit_code == 1
    for exit_code, text in ((1, "out of memory"), (2, "too busy"), (0, "too busy")):
        assert run(refusing(exit_code, text), tmp_path / "work").exit_code == exit_code
