"""Runs that read pages from a disk or wait for memory have a note; others have none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from helpers.golden import Golden
from regatta.models.system_calls import memory_waits
from regatta.models.system_calls.memory_waits import MemoryWaits

#: maps a file, touches each page, and prints how many page faults read from a disk; `evict`: out of the page cache first
TOUCH = """
import mmap, os, resource, sys
name, is_cold = sys.argv[1], sys.argv[2] == "evict"
file = os.open(name, os.O_RDONLY)
if is_cold:
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
area = mmap.mmap(file, 0, prot=mmap.PROT_READ)
area.madvise(mmap.MADV_RANDOM)
sum(area[at] for at in range(0, len(area), 4096))
print(resource.getrusage(resource.RUSAGE_SELF).ru_majflt)
"""
PAGES = 64


def runs(file: Path, how: str, count: int = 3) -> tuple[MemoryWaits, list[int]]:
    """What was counted, and what the program counted itself."""
    found, own = MemoryWaits(), []
    for _ in range(count):
        with found.of_a_run():
            command = [sys.executable, "-c", TOUCH, str(file), how]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
        own.append(int(done.stdout))
    return found, own


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 4096 * PAGES)
    subprocess.run(["sync", str(path)], check=True)
    return path


def test_page_faults_that_read_from_a_disk_are_counted(file: Path) -> None:
    cold, own = runs(file, "evict")
    # A program may read more until its end.
    assert all(counted >= told for counted, told in zip(cold.read_faults, own, strict=True))
    if min(own) < PAGES:
        pytest.skip("NOT TESTED: the file system of this folder keeps its pages in memory")
    (note,) = [note for note in cold.notes if "read from a disk" in note]
    assert note.startswith(f"{sorted(cold.read_faults)[1]} page faults")


def test_runs_whose_pages_are_in_memory_give_no_note(file: Path) -> None:
    warm, own = runs(file, "keep", 5)
    if sorted(own)[2] > 0:
        pytest.skip("NOT TESTED: the machine has no memory for the pages of a small program")
    assert not [note for note in warm.notes if "read from a disk" in note]


def test_a_single_run_that_fills_the_page_cache_gives_no_note() -> None:
    assert MemoryWaits([40, 0, 0], [0.0, 0.0, 0.0]).notes == []
    assert MemoryWaits().notes == []


def pressure_of(root: Path, text: str) -> None:
    place = root / "proc" / "pressure"
    place.mkdir(parents=True, exist_ok=True)
    (place / "memory").write_text(text)


def test_waiting_for_memory_is_a_share_of_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    # Runs of 10 ms, with waits of 1, 2.5 and 9 ms
    clock = iter([0, 10_000_000] * 3)
    monkeypatch.setattr(memory_waits, "time", SimpleNamespace(monotonic_ns=clock.__next__))
    found = MemoryWaits(root=tmp_path)
    for waited_us in (1000, 2500, 9000):
        pressure_of(tmp_path, "some avg10=0.00 avg60=0.00 avg300=0.00 total=70\nfull total=0\n")
        with found.of_a_run():
            pressure_of(tmp_path, f"some avg10=9.00 avg60=0.00 total={70 + waited_us}\nfull total=5\n")
    assert found.waits == [0.1, 0.25, 0.9]
    golden("waits", found.notes[0])


@pytest.mark.parametrize("text", ["", "some\n", "nothing of this kind\n"])
def test_a_kernel_that_does_not_count_waits_gives_no_note(tmp_path: Path, text: str) -> None:
    if text:
        pressure_of(tmp_path, text)
    found = MemoryWaits(root=tmp_path)
    with found.of_a_run():
        pass
    assert found.notes == []
