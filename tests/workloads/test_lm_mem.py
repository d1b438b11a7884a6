"""Memory, files and the processor: what these micro-benchmarks find, and that they do what they count."""

from __future__ import annotations

import math
import os
import re
import resource
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

from helpers.golden import Golden
from helpers.workloads.lm_runs import PATIENCE_S, Run, altered, assert_conforms, command_of, run

OPERATIONS = ["read", "write", "copy", "fill", "libc_copy", "libc_fill"]
KERNELS = [(1, "copy"), (1, "scale"), (1, "add"), (1, "triad"), (2, "fill"), (2, "copy"), (2, "daxpy"), (2, "sum")]  # fmt: skip
WARM = {"file": "shared", "cache": "warm"}

#: what the quick size of a scalable program reports
REPORTED: dict[str, list[dict[str, Any]]] = {
    "bw_mem": [
        {"operation": operation, "size_bytes": kib * 1024} for operation in OPERATIONS for kib in (16, 4096)
    ],
    "stream": [{"version": version, "kernel": kernel, "array_bytes": 8 << 20} for version, kernel in KERNELS],
    "bw_file_rd": [
        {"method": method, "size_bytes": 1 << 20, "block_bytes": 65536, **WARM}
        for method in ("read", "open_close")
    ],
    "bw_mmap_rd": [{"mapping": mapping, "size_bytes": 1 << 20, **WARM} for mapping in ("kept", "fresh")],
    "lat_mmap": [{"size_bytes": kib * 1024, "file": "shared"} for kib in (16, 1024)],
    "lat_pagefault": [{"size_bytes": 4 << 20, "step_bytes": 65536, **WARM}],
    "lat_page_copy": [{}],
}
#: smaller than quick where several processes run, each series for 0.1 s and more
SCALED: dict[str, list[str]] = {
    "bw_mem": ["--operation=copy", "--kib=16"],
    "stream": ["--kernel=triad", "--mib=1"],
    "bw_file_rd": ["--file=own", "--kib=256", "--method=open_close"],
    "bw_mmap_rd": ["--file=own", "--kib=256", "--mapping=fresh"],
    "lat_mmap": ["--file=own", "--kib=64"],
    "lat_pagefault": ["--file=own", "--kib=1024"],
    "lat_page_copy": [],
    "lat_mem_rd": ["--max-kib=4"],
}


def metric_of(name: str) -> tuple[str, str]:
    return ("latency", "ns") if name.startswith("lat_") else ("bandwidth", "MB/s")


def least(lines: list[dict[str, Any]]) -> float:
    """Who else uses the machine can only lengthen a time."""
    return min(line["value"] for line in lines)


def only(outcome: Run, metric: str) -> dict[str, Any]:
    ((line,),) = outcome.of(metric).values()
    return line


@pytest.mark.parametrize("name", REPORTED)
def test_the_quick_size_reports_its_series(name: str, lm_sources: Path, tmp_path: Path) -> None:
    outcome = run(command_of(name, "quick", lm_sources), tmp_path / "work")
    metric, unit = metric_of(name)
    assert_conforms(outcome, repetitions=5, metric=metric, unit=unit)
    assert [dict(series) for series in outcome.of(metric)] == [
        reported | {"parallel": 1} for reported in REPORTED[name]
    ]
    assert list((tmp_path / "work").iterdir()) == []


@pytest.mark.parametrize("name", SCALED)
def test_two_processes_have_memory_and_files_of_their_own(
    name: str, lm_sources: Path, tmp_path: Path
) -> None:
    command = [lm_sources / "build" / name, "--parallel=2", "--interval-us=100000", "--repetitions=1"]
    outcome = run([*command, *SCALED[name]], tmp_path / "work")
    assert outcome.exit_code == 0, outcome.stderr
    ((series, lines),) = outcome.of(metric_of(name)[0]).items()
    assert dict(series)["parallel"] == 2
    assert least(lines) > 0
    assert list((tmp_path / "work").iterdir()) == []


# ---- the processor and its caches ----


def test_the_frequency_is_plausible_and_the_cycle_its_inverse(lm_sources: Path, tmp_path: Path) -> None:
    outcome = run(command_of("mhz", "quick", lm_sources), tmp_path / "work")
    assert outcome.exit_code == 0, outcome.stderr
    (frequencies,), (cycles,) = outcome.of("frequency").values(), outcome.of("cycle_time").values()
    assert {line["unit"] for line in frequencies} == {"MHz"}
    assert [line["iteration"] for line in frequencies] == list(range(5))
    for frequency, cycle in zip(frequencies, cycles, strict=True):
        assert 100 < frequency["value"] < 10000
        assert frequency["value"] * cycle["value"] == pytest.approx(1000)


#: of mhz.c: times of chains, and in their place those of a processor of 2,500 MHz, most of them lengthened
TIMED = """    uint64_t start_ns = lm_now_ns();
    chain(turns);
    return (double)(lm_now_ns() - start_ns);
"""
OF_A_PROCESSOR = """    static const double cycles[] = {%s};
    static uint64_t state = 1;
    int i = 0;
    while (CHAINS[i] != chain) {
        i++;
    }
    const double disturbed_ns = lm_random(&state) %% 4 == 0 ? 0 : (double)(lm_random(&state) %% 100000);
    return 50 + 0.4 * cycles[i] * ELEMENTS_PER_TURN * (double)turns + disturbed_ns;
"""


@pytest.mark.parametrize("cycles", ["1, 2, 3, 4, 5, 7", "1, 2, 4, 5, 6, 9", "2, 4, 6, 8, 10, 14"])
def test_the_frequency_of_a_known_processor_is_found(lm_sources: Path, tmp_path: Path, cycles: str) -> None:
    program = altered(lm_sources, tmp_path, "mhz", TIMED, OF_A_PROCESSOR % cycles)
    outcome = run([program, "--repetitions=20"], tmp_path / "work")
    assert outcome.exit_code == 0, outcome.stderr
    (lines,) = outcome.of("frequency").values()
    # A processor all of whose instructions take two cycles cannot be told from one of half the frequency.
    expected = 1250 if cycles.startswith("2") else 2500
    assert [line["value"] for line in lines] == pytest.approx([expected] * 20, rel=1e-3)


def test_chains_that_no_cycle_explains_give_no_frequency(lm_sources: Path, tmp_path: Path) -> None:
    program = altered(lm_sources, tmp_path, "mhz", TIMED, OF_A_PROCESSOR % "1, 2.3, 3, 4, 5.4, 7")
    outcome = run([program, "--repetitions=1"], tmp_path / "work", may_refuse=False)
    assert outcome.exit_code == 1
    assert "multiples of one cycle" in outcome.stderr
    assert outcome.lines[1:] == [{"error": outcome.stderr.removeprefix("mhz: ").rstrip()}]


def test_the_line_is_as_long_as_the_kernel_says(lm_sources: Path, tmp_path: Path) -> None:
    outcome = run(command_of("line", "quick", lm_sources), tmp_path / "work")
    assert outcome.exit_code == 0, outcome.stderr
    found = only(outcome, "line_size")
    assert found["unit"] == "bytes"
    told = Path("/sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size")
    if not told.exists():
        pytest.skip("NOT TESTED: the kernel does not tell the size of a line")
    assert found["value"] == int(told.read_text())


#: of line.c: least times of pairs, and in their place known ones
LEAST = "measure_least(&harness, &pairs, least_ns);"


def pairs_take(longer: str) -> str:
    """Known times of pairs: so much longer (in C) where `distance` has some value."""
    return (
        "for (int i = 0; i < DISTANCES; i++) { const uint64_t distance = (uint64_t)LEAST_DISTANCE << i; "
        f"(void)distance; least_ns[i] = 1 + ({longer}); }}"
    )


@pytest.mark.parametrize("line", [32, 64, 128])
def test_a_line_ends_where_pairs_begin_to_take_longer(lm_sources: Path, tmp_path: Path, line: int) -> None:
    program = altered(
        lm_sources, tmp_path, "line", LEAST, pairs_take(f"distance >= {line} ? 0.5 : 0.05 * (i % 2)")
    )
    outcome = run([program, "--repetitions=1"], tmp_path / "work")
    assert outcome.exit_code == 0, outcome.stderr
    assert only(outcome, "line_size")["value"] == line


def test_pairs_that_the_first_cache_holds_are_no_proof_of_a_line(lm_sources: Path, tmp_path: Path) -> None:
    program = altered(lm_sources, tmp_path, "line", LEAST, pairs_take("0.05 * (i % 2)"))
    outcome = run([program, "--repetitions=1"], tmp_path / "work", may_refuse=False)
    assert outcome.exit_code == 1
    assert "first-level cache holds all" in outcome.stderr
    assert "--pairs" in outcome.stderr
    assert outcome.of("line_size") == {}


def test_the_first_level_of_the_tlb_is_found(lm_sources: Path, tmp_path: Path) -> None:
    outcome = run(command_of("tlb", "quick", lm_sources), tmp_path / "work")
    assert outcome.exit_code == 0, outcome.stderr
    entries = {dict(series)["level"]: lines[0] for series, lines in outcome.of("entries").items()}
    reach = {dict(series)["level"]: lines[0]["value"] for series, lines in outcome.of("reach").items()}
    # From the smallest of today's processors to the largest that the quick size would see.
    assert 8 <= entries[1]["value"] < 512
    assert reach[1] == entries[1]["value"] * os.sysconf("SC_PAGESIZE")


def test_side_by_side_chains_are_faster_but_no_faster_than_their_number(
    lm_sources: Path, tmp_path: Path
) -> None:
    command = [lm_sources / "build/par_mem", "--kib=16", "--repetitions=5"]
    outcome = run(command, tmp_path / "work")
    assert outcome.exit_code == 0, outcome.stderr
    chains = [dict(series)["chains"] for series in outcome.of("latency")]
    assert chains == [1, 2, 3, 4, 6, 8, 12, 16, 24]
    # Every processor since the 1990s has more than one load under way in its first cache.
    assert 1.5 < only(outcome, "parallelism")["value"] <= 24 * 1.05


def test_an_open_page_of_dram_is_measured_or_refused_for_want_of_huge_pages(
    lm_sources: Path, tmp_path: Path
) -> None:
    outcome = run(command_of("lat_dram_page", "quick", lm_sources), tmp_path / "work")
    assert outcome.exit_code == 0, outcome.stderr
    walks = {dict(series)["page"]: lines for series, lines in outcome.of("latency").items()}
    assert set(walks) == {"open", "closed"}
    assert all(least(lines) > 0 for lines in walks.values())
    assert math.isfinite(only(outcome, "page_open")["value"])


# ---- bandwidth of memory ----


def test_own_loops_call_nothing(lm_sources: Path) -> None:
    """A compiler that replaced a loop by memcpy() or memset() would measure the C library."""
    if shutil.which("objdump") is None:
        pytest.skip("NOT TESTED: objdump is not on PATH")
    for program, functions in {
        "stream": ["stream_copy", "stream_copy_2", "stream_fill", "stream_sum", "stream_triad"],
        "bw_mem": ["mem_read", "mem_write", "mem_copy", "mem_fill"],
    }.items():
        for function in functions:
            listed = subprocess.run(
                ["objdump", "-d", "--no-show-raw-insn", f"--disassemble={function}", f"build/{program}"],
                cwd=lm_sources, capture_output=True, text=True, check=True,
            ).stdout  # fmt: skip
            body = listed.split(f"<{function}>:")[1]
            assert len(body.splitlines()) > 10
            assert re.findall(r"\b(?:call|bl|jmp +[0-9a-f]+ <mem)\b.*", body) == []


@pytest.mark.parametrize(
    ("program", "source", "right", "wrong"),
    [
        ("stream", "stream.c", "statement(3)", "statement(2)"),
        ("bw_mem", "bw_mem.c", "to[i + 3] = from[i + 3];", "to[i + 3] = from[i + 2];"),
        ("bw_mmap_rd", "harness/file.c", "d += at[i + 3];", "d += at[i + 2];"),
    ],
)
def test_data_that_a_wrong_loop_leaves_are_an_error(
    lm_sources: Path, tmp_path: Path, program: str, source: str, right: str, wrong: str
) -> None:
    copy = tmp_path / "lm"
    shutil.copytree(lm_sources, copy)  # what is built already too, so that only this is compiled
    text = (copy / source).read_text()
    assert right in text
    (copy / source).write_text(text.replace(right, wrong))
    subprocess.run(["make", "-s", f"build/{program}"], cwd=copy, check=True)
    size = {"stream": "--mib=1", "bw_mem": "--kib=16", "bw_mmap_rd": "--kib=64"}[program]
    outcome = run([copy / "build" / program, size, "--repetitions=1"], tmp_path / "work")
    assert outcome.exit_code == 1
    assert "Bad message" in outcome.stderr


# ---- files ----


def test_a_cold_file_is_read_from_the_disk(lm_sources: Path, tmp_path: Path) -> None:
    """The system counts blocks that came from the disk; a warm file brings none."""
    blocks = {}
    for cache in ("warm", "cold"):
        command = [lm_sources / "build/bw_file_rd", "--kib=2048", "--method=read", f"--cache={cache}"]
        before = read_blocks()
        outcome = run([*command, "--repetitions=3"], tmp_path / f"work-{cache}")
        if "tmpfs keeps files" in outcome.stderr:
            pytest.skip("NOT TESTED: the temporary directory is not on a disk")
        assert outcome.exit_code == 0, outcome.stderr
        blocks[cache] = read_blocks() - before
        (lines,) = outcome.series.values()
        assert cache == "warm" or {line["operations"] for line in lines} == {1}
    assert blocks["cold"] * 512 >= 3 * 2048 * 1024
    assert blocks["warm"] * 512 < 2048 * 1024


def read_blocks() -> int:
    """Blocks of 512 bytes that ended children of this process have read from disks."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock


@pytest.mark.parametrize("name", ["bw_file_rd", "bw_mmap_rd", "lat_pagefault"])
def test_a_file_system_in_memory_cannot_be_cold(name: str, lm_sources: Path, tmp_path: Path) -> None:
    shared = Path("/dev/shm")
    if not os.access(shared, os.W_OK) or "/dev/shm tmpfs" not in Path("/proc/mounts").read_text():
        pytest.skip("NOT TESTED: there is no tmpfs at /dev/shm")
    with tempfile.TemporaryDirectory(dir=shared) as place:
        ended = subprocess.run(
            [lm_sources / "build" / name, "--cache=cold", "--repetitions=1"],
            cwd=place, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        )  # fmt: skip
        assert list(Path(place).iterdir()) == []
    assert ended.returncode == 1
    assert "working directory on a" in ended.stderr
    assert "tmpfs" in ended.stderr


def test_every_touch_of_a_page_is_a_fault(lm_sources: Path, tmp_path: Path) -> None:
    outcome = run([lm_sources / "build/lat_pagefault", "--step-kib=4"], tmp_path / "work")
    if outcome.exit_code == 0:
        pytest.skip("NOT TESTED: this kernel maps a page at a time")
    assert outcome.exit_code == 1
    assert re.search(r"--step-kib: .* got 4 \(\d+ .* 16 touches\)", outcome.stderr)


def test_a_write_that_copies_no_page_is_an_error(lm_sources: Path, tmp_path: Path) -> None:
    program = altered(lm_sources, tmp_path, "lat_page_copy", "MAP_PRIVATE", "MAP_SHARED")
    outcome = run([program, "--interval-us=1000", "--repetitions=1"], tmp_path / "work")
    assert outcome.exit_code == 1
    assert "cannot copy 1024 pages: " in outcome.stderr
    assert "one fault per page" in outcome.stderr


def test_a_cold_fault_reads_the_disk_and_a_warm_one_only_maps(lm_sources: Path, tmp_path: Path) -> None:
    """The system counts faults for which it had to read."""
    for cache in ("warm", "cold"):
        command = [lm_sources / "build/lat_pagefault", "--kib=4096", f"--cache={cache}", "--repetitions=5"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_majflt
        outcome = run(command, tmp_path / f"work-{cache}")
        found = resource.getrusage(resource.RUSAGE_CHILDREN).ru_majflt - before
        if "tmpfs keeps files" in outcome.stderr:
            pytest.skip("NOT TESTED: the temporary directory is not on a disk")
        assert outcome.exit_code == 0, outcome.stderr
        (lines,) = outcome.series.values()
        assert (found >= 5 * lines[0]["operations"]) == (cache == "cold")


def test_every_mapping_is_made_and_unmade(lm_sources: Path, tmp_path: Path) -> None:
    if shutil.which("strace") is None:
        pytest.skip("NOT TESTED: strace is not on PATH")
    command = [lm_sources / "build/lat_mmap", "--kib=64", "--repetitions=2"]
    trace = tmp_path / "trace"
    outcome = run(
        ["strace", "-f", "-qq", "-e", "trace=mmap,munmap", "-o", trace, *command], tmp_path / "work"
    )
    assert outcome.exit_code == 0, outcome.stderr
    (lines,) = outcome.series.values()
    text = trace.read_text()
    mapped = len(re.findall(r"mmap\(NULL, 65536, PROT_READ, MAP_SHARED, \d+, 0\)", text))
    assert mapped >= 2 * lines[0]["operations"]
    assert len(re.findall(r"munmap\(0x[0-9a-f]+, 65536\)", text)) >= mapped


def test_a_named_file_is_removed_after_a_failure(lm_sources: Path, tmp_path: Path) -> None:
    for sharing in ("shared", "own"):
        # A file larger than may be written, so that making it fails half way.
        limited = f"ulimit -f 16; exec {lm_sources}/build/bw_file_rd --method open_close --file {sharing}"
        outcome = run(["bash", "-c", f"trap '' XFSZ; {limited}"], tmp_path / sharing)
        assert outcome.exit_code == 1
        assert "File too large" in outcome.stderr
        assert list((tmp_path / sharing).iterdir()) == []


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("bw_mem", ["--kib", "0"]),
        ("bw_mem", ["--kib", "16,,4"]),
        ("bw_mem", ["--kib", ""]),
        ("bw_mem", ["--kib", ",".join(["1"] * 33)]),
        ("stream", ["--mib", "0"]),
        ("stream", ["--version", "1", "--kernel", "daxpy"]),
        ("bw_file_rd", ["--kib", "0"]),
        ("bw_file_rd", ["--block-kib", "0"]),
        ("bw_file_rd", ["--cache", "cold", "--parallel", "2"]),
        ("bw_mmap_rd", ["--cache", "cold", "--mapping", "kept"]),
        ("lat_mmap", ["--kib", "many"]),
        ("lat_pagefault", ["--kib", "8"]),
        ("lat_dram_page", ["--mib", "2"]),
        ("lat_dram_page", ["--page-kib", "3"]),
        ("par_mem", ["--kib", "1"]),
        ("tlb", ["--max-pages", "0"]),
        ("line", ["--pairs", "0"]),
    ],
)
def test_sizes_that_cannot_be_are_refused(
    lm_sources: Path, tmp_path: Path, name: str, arguments: list[str], golden: Golden
) -> None:
    outcome = run([lm_sources / "build" / name, *arguments], tmp_path / "work")
    assert outcome.exit_code == 2
    golden(shlex.join([name, *arguments]), outcome.stderr)
    assert (outcome.stdout, outcome.lines) == ("", [])
