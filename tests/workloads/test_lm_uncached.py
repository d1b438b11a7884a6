"""Operations that wait for a disk: lat_uncached, and the directory that it shares with lat_fs."""

from __future__ import annotations

import os
import re
import resource
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.golden import Golden
from helpers.workloads.lm_runs import Run, altered, assert_conforms, command_of, run

needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="NOT TESTED: strace is not on PATH")

#: of the quick size
SERIES = [
    *({"operation": "read", "bytes": size} for size in (4096, 65536)),
    {"operation": "ahead", "bytes": 65536},
    *({"operation": "write", "bytes": size} for size in (4096, 65536)),
]
FILE_BYTES = 64 << 20
FILES = 256
DROP_CACHES = Path("/proc/sys/vm/drop_caches")


@pytest.fixture
def in_memory() -> Iterator[Path]:
    """An empty directory on a tmpfs."""
    if not os.access("/dev/shm", os.W_OK) or "/dev/shm tmpfs" not in Path("/proc/mounts").read_text():
        pytest.skip("NOT TESTED: there is no tmpfs at /dev/shm")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        yield Path(place)


def cached_of(outcome: Run) -> set[str]:
    return {str(dict(key)["cached"]) for key in outcome.of("latency")}


def assert_quick(outcome: Run, cached: str) -> None:
    """All series of the quick size, with a bandwidth and a latency of the same samples."""
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    found = [one | {"cached": cached, "parallel": 1} for one in SERIES]
    assert [dict(key) for key in outcome.of("latency")] == found
    ((ahead, rates),) = outcome.of("bandwidth").items()
    times = outcome.of("latency")[ahead]
    for rate, time in zip(rates, times, strict=True):
        assert (rate["unit"], time["unit"]) == ("MB/s", "ns")
        assert rate["value"] * time["value"] == pytest.approx(65536 * 1000, rel=1e-6)


def test_each_series_of_the_quick_size_is_reported(lm_sources: Path, tmp_path: Path) -> None:
    outcome = run(command_of("lat_uncached", "quick", lm_sources), tmp_path / "work")
    if cached_of(outcome) == {"true"}:
        pytest.skip("NOT TESTED: the temporary directory is not on a disk")
    assert_quick(outcome, "false")
    # Why there is no stat and no open.
    assert [key for line in outcome.lines for key in line.get("info", {}) if key in ("stat", "open")] == [
        "stat",
        "open",
    ]
    assert list((tmp_path / "work").iterdir()) == []


def test_in_a_file_system_in_memory_a_miss_costs_as_much_as_a_hit(
    lm_sources: Path, tmp_path: Path, in_memory: Path
) -> None:
    command = command_of("lat_uncached", "quick", lm_sources)
    assert_quick(run(command, tmp_path / "work", TMPDIR=str(in_memory)), "true")
    assert list(in_memory.iterdir()) == list((tmp_path / "work").iterdir()) == []


@pytest.mark.parametrize("name", ["lat_uncached", "lat_fs"])
def test_an_absolute_directory_for_temporary_files_is_used(
    name: str, lm_sources: Path, tmp_path: Path, golden: Golden
) -> None:
    operation = {"lat_uncached": ["--operation=write", "--bytes=4096"], "lat_fs": ["--operation=create"]}
    command: list[str | Path] = [lm_sources / "build" / name, *operation[name], "--repetitions=1"]
    outcome = run(command, tmp_path / "missing", TMPDIR="/missing")
    assert (outcome.exit_code, outcome.lines) == (2, [])
    golden(f"TMPDIR=/missing {name}", outcome.stderr)
    assert_conforms(run(command, tmp_path / "relative", TMPDIR="missing"), repetitions=1)


# ---- what an operation is ----


def intervals_of(program: Path, place: Path, *options: str) -> tuple[Run, list[list[str]]]:
    """What a program said, and the transfers of each of its intervals, which begin when the file is dropped."""
    trace = place / "trace"
    calls = "trace=fadvise64,pread64,pwrite64,fdatasync"
    watched: list[str | Path] = ["strace", "-f", "-qq", "-e", calls, "-o", trace, program, *options]
    outcome = run([*watched, "--repetitions=2"], place / "work")
    if cached_of(outcome) == {"true"}:
        pytest.skip("NOT TESTED: the temporary directory is not on a disk")
    assert outcome.exit_code == 0, outcome.stderr
    _, *parts = re.split(r".*POSIX_FADV_DONTNEED.*\n", trace.read_text())
    # A file that another processor has just used is dropped repeatedly.
    lines = [[line.split(maxsplit=1)[1] for line in part.splitlines()] for part in parts]
    transfers = [[line for line in part if not line.startswith("fadvise64")] for part in lines]
    return outcome, [part for part in transfers if part]


@needs_strace
def test_no_place_is_read_twice_in_an_interval_and_nothing_beside_it(
    lm_sources: Path, tmp_path: Path
) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock
    options = ["--operation=read", "--bytes=5000", "--interval-us=30000"]
    outcome, intervals = intervals_of(lm_sources / "build/lat_uncached", tmp_path, *options)
    read_bytes = 512 * (resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock - before)
    places = [
        [int(at) for at in re.findall(r"^pread64\(\d+, .*, 5000, (\d+)\) += 5000$", "\n".join(part), re.M)]
        for part in intervals
    ]
    assert [len(part) for part in places] == [len(part) for part in intervals]
    for part in places:
        assert len(set(part)) == len(part)
        assert all(at % 8192 == 0 and 0 <= at < FILE_BYTES for at in part)
    assert places[-1] != sorted(places[-1])
    ((lines),) = outcome.of("latency").values()
    assert len(places[-1]) == lines[0]["operations"]
    # Two pages for each; a window of read-ahead would be sixteen times as large.
    reads = sum(map(len, places))
    assert reads * 8192 <= read_bytes <= reads * 8192 * 2 + (16 << 20)


@needs_strace
def test_the_whole_file_is_read_in_order_for_the_read_ahead(lm_sources: Path, tmp_path: Path) -> None:
    outcome, intervals = intervals_of(lm_sources / "build/lat_uncached", tmp_path, "--operation=ahead")
    assert {line["operations"] for lines in outcome.of("latency").values() for line in lines} == {1024}
    assert len(intervals) >= 2
    for part in intervals:
        found = re.findall(r"^pread64\(\d+, .*, 65536, (\d+)\) += 65536$", "\n".join(part), re.M)
        assert [int(at) for at in found] == list(range(0, FILE_BYTES, 65536))


@needs_strace
def test_a_write_is_complete_when_it_is_on_the_disk(lm_sources: Path, tmp_path: Path) -> None:
    options = ["--operation=write", "--bytes=16384"]
    _, intervals = intervals_of(lm_sources / "build/lat_uncached", tmp_path, *options)
    for part in intervals:
        assert all(re.match(r"pwrite64\(\d+, .*, 16384, 0\) += 16384$", line) for line in part[::2])
        assert all(re.match(r"fdatasync\(\d+\) += 0$", line) for line in part[1::2])
        assert len(part) % 2 == 0


@needs_strace
@pytest.mark.long  # It drops the names of the whole machine.
@pytest.mark.parametrize(
    ("operation", "call"),
    [("stat", r"newfstatat\(\d+, \"(d\d+/f\d+)\","), ("open", r"openat\(\d+, \"(d\d+/f\d+)\", O_RDONLY\)")],
)
def test_each_name_is_used_once_after_all_were_dropped(
    operation: str, call: str, lm_sources: Path, tmp_path: Path, in_memory: Path
) -> None:
    if not os.access(DROP_CACHES, os.W_OK):
        pytest.skip("NOT TESTED: only root can drop names")
    trace = tmp_path / "trace"
    watched: list[str | Path] = [
        "strace", "-f", "-qq", "-e", "trace=pwrite64,newfstatat,openat", "-o", trace,
        lm_sources / "build/lat_uncached", f"--operation={operation}", "--drop-caches=yes", "--repetitions=2",
    ]  # fmt: skip
    outcome = run(watched, tmp_path / "work", TMPDIR=str(in_memory))
    assert_conforms(outcome, repetitions=2)
    assert [dict(key) for key in outcome.series] == [
        {"operation": operation, "cached": "true", "parallel": 1}
    ]
    _, *parts = re.split(r".*pwrite64\(\d+, \"2\", 1, 0\) += 1\n", trace.read_text())
    names = [re.findall(call, part) for part in parts]
    assert {line["operations"] for lines in outcome.series.values() for line in lines} == {FILES}
    for part in names:
        assert len(part) == len(set(part)) == FILES
    assert names[-1] != names[-2]
    assert list(in_memory.iterdir()) == []


# ---- failures and bad input ----


def test_data_of_another_place_are_an_error(lm_sources: Path, tmp_path: Path) -> None:
    program = altered(lm_sources, tmp_path, "lat_uncached", "(off_t)at_bytes", "(off_t)(at_bytes ^ 65536)")
    outcome = run([program, "--operation=read", "--bytes=4096", "--repetitions=1"], tmp_path / "work")
    assert outcome.exit_code == 1
    assert "benchmark: Bad message" in outcome.stderr


def test_a_file_that_does_not_fit_is_an_error_and_nothing_stays(lm_sources: Path, tmp_path: Path) -> None:
    limited = ["prlimit", "--fsize=1048576", lm_sources / "build/lat_uncached", "--operation=read"]
    outcome = run([*limited], tmp_path / "work")
    assert outcome.exit_code != 0
    assert list((tmp_path / "work").iterdir()) == []


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="NOT TESTED: nobody else to be"
)
def test_others_than_root_cannot_drop_names(lm_sources: Path, golden: Golden) -> None:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "work").mkdir()
        shutil.copy(lm_sources / "build/lat_uncached", place)
        for path in (place, place / "work"):
            path.chmod(0o777)
        other: list[str | Path] = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        asked: list[str | Path] = [place / "lat_uncached", "--drop-caches=yes", "--repetitions=1"]
        outcome = run([*other, *asked, "--operation=stat"], place / "work")
        assert outcome.exit_code == 1
        golden("stat", outcome.stderr)
        outcome = run([*other, *asked, "--bytes=4096"], place / "work")
        assert outcome.exit_code == 0
        golden("all", outcome.stderr)
        assert {dict(key)["operation"] for key in outcome.of("latency")} == {"read", "ahead", "write"}


@pytest.mark.parametrize(
    "arguments",
    [
        ["--operation", "append"],
        ["--operation", "stat"],
        ["--operation", "open", "--drop-caches", "no"],
        ["--drop-caches", "maybe"],
        ["--bytes", "511"],
        ["--bytes", "4096,4194305"],
        ["--parallel", "2"],
    ],
)
def test_bad_input_is_refused_with_a_message(
    lm_sources: Path, tmp_path: Path, arguments: list[str], golden: Golden
) -> None:
    outcome = run([lm_sources / "build/lat_uncached", *arguments], tmp_path / "work")
    assert outcome.exit_code == 2
    golden(shlex.join(["lat_uncached", *arguments]), outcome.stderr)
    assert (outcome.stdout, outcome.lines) == ("", [])
