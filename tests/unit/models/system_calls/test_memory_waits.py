"""Runs that read pages from a disk or wait for memory have a note; others have none."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers.golden import Golden
from regatta.models.system_calls import memory_waits
from regatta.models.system_calls.memory_waits import MemoryWaits

#: maps a file and touches each page; `evict`: out of the page cache first
TOUCH = """
import mmap, os, sys
name, is_cold = sys.argv[1], sys.argv[2] == "evict"
file = os.open(name, os.O_RDONLY)
if is_cold:
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
area = mmap.mmap(file, 0, prot=mmap.PROT_READ)
area.madvise(mmap.MADV_RANDOM)
sys.exit(sum(area[at] for at in range(0, len(area), 4096)) % 1)
"""
PAGES = 64


def runs(file: Path, how: str, count: int = 3) -> MemoryWaits:
    found = MemoryWaits()
    for _ in range(count):
        with found.of_a_run():
            subprocess.run([sys.executable, "-c", TOUCH, str(file), how], check=True)
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 4096 * PAGES)
    subprocess.run(["sync", str(path)], check=True)
    return path


def test_page_faults_that_read_from_a_disk_are_counted(file: Path) -> None:
    cold = runs(file, "evict")
    if max(cold.read_faults) < PAGES // 2:
        pytest.skip("NOT TESTED: the file system of this folder keeps its pages in memory")
    (note,) = [note for note in cold.notes if "read from a disk" in note]
    assert note.startswith(f"{sorted(cold.read_faults)[1]} page faults")


def test_a_single_run_that_fills_the_page_cache_gives_no_note() -> None:
    assert MemoryWaits([40, 0, 0], [0.0, 0.0, 0.0]).notes == []
    assert MemoryWaits().notes == []


def test_waiting_for_memory_is_a_share_of_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    pressure = tmp_path / "memory"
    monkeypatch.setattr(memory_waits, "_PRESSURE", pressure)
    found = MemoryWaits()
    for at in range(3):
        pressure.write_text(f"some avg10=0.00 avg60=0.00 avg300=0.00 total={at}\nfull total=0\n")
        with found.of_a_run():
            began = time.monotonic()
            time.sleep(0.01)
            # As if all of this time, at least, had been a wait.
            waited_us = at + 1e6 * (time.monotonic() - began)
            pressure.write_text(
                f"some avg10=9.00 avg60=0.00 avg300=0.00 total={waited_us:.0f}\nfull total=0\n"
            )
    assert all(0.0 < wait <= 1.0 for wait in found.waits)
    golden("waits", MemoryWaits([0], [0.25]).notes[0])


@pytest.mark.parametrize("text", ["", "some\n", "nothing of this kind\n"])
def test_a_kernel_that_does_not_count_waits_gives_no_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    pressure = tmp_path / "memory"
    monkeypatch.setattr(memory_waits, "_PRESSURE", pressure)
    if text:
        pressure.write_text(text)
    found = MemoryWaits()
    with found.of_a_run():
        pass
    assert found.notes == []
