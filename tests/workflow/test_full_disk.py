"""A full disk: a clear error, everything recorded before it whole, and the same command goes on when there is room."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers import synthetic_journal
from helpers.experiments.small_experiments import SmallExperiment
from helpers.runner_plans import HOST, Runner, sh, write_plan
from regatta.host.errors import StoreError
from regatta.host.journal.journal import Damage, read_file
from regatta.store.database import open_database

SIZE_KIB = 2048


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two MiB, gone at the end whatever happens."""
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if os.geteuid() != 0 or not mount or not umount:
        pytest.skip("NOT TESTED: only root can mount a small file system to fill")
    path = tmp_path / "disk"
    path.mkdir()
    made = subprocess.run(
        [mount, "-t", "tmpfs", "-o", f"size={SIZE_KIB}k", "regatta-test", str(path)],
        capture_output=True,
        text=True,
    )
    if made.returncode != 0:
        pytest.skip(f"NOT TESTED: this machine does not let us mount: {made.stderr.strip()}")
    try:
        yield path
    finally:
        if subprocess.run([umount, str(path)]).returncode != 0:
            subprocess.run([umount, "-l", str(path)], check=True)


def fill(disk: Path, leave_bytes: int = 0) -> Path:
    """Fill the disk up but for some pages."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        while True:
            try:
                if file.write(bytes(4096)) == 0:
                    break
            except OSError:
                break
        kept = max(0, ballast.stat().st_size - leave_bytes)
        file.truncate(kept)
    return ballast


def test_a_disk_that_fills_while_measuring_costs_no_record(small_disk: Path) -> None:
    # Noise cannot be compressed, so that a record is some KiB and ends in the middle of a page.
    noise = [sh(f"noise {n}", f"head -c {5000 + 617 * n} /dev/urandom") for n in range(3)]
    runner = Runner(small_disk / "hand")
    write_plan(runner.folder, noise, rounds=20)
    ballast = fill(small_disk, leave_bytes=150_000)
    stopped = runner.run()
    assert stopped.returncode == 3
    path = runner.folder.journal / HOST / "00000.jsonl"
    assert f"error: {path}: expected free space for " in stopped.stderr
    assert os.strerror(errno.ENOSPC) in stopped.stderr
    assert "fix: free disk space" in stopped.stderr
    assert "previous records are intact" in stopped.stderr
    assert "Traceback" not in stopped.stderr
    before = path.read_bytes()
    items = list(read_file(path))
    assert 5 < len(items) < 60
    assert not [item for item in items if isinstance(item, Damage)]
    assert not runner.receipt_path().exists()

    still_full = runner.run()
    assert still_full.returncode == 3
    assert "Traceback" not in still_full.stderr
    assert path.read_bytes() == before

    ballast.unlink()
    assert runner.run().returncode == 0
    assert path.read_bytes().startswith(before)
    assert len({r["invocation_id"] for r in runner.records()}) == len(runner.records()) == 60
    runner.assert_nothing_left()


@pytest.mark.parametrize("left", [0, 4096, 8192, 12288, 16384, 24576])
def test_a_disk_with_next_to_no_room_gives_a_clear_error_and_leaves_no_wreck(
    small_disk: Path, left: int
) -> None:
    runner = Runner(small_disk / "hand")
    write_plan(runner.folder, [sh(f"noise {n}", "head -c 5000 /dev/urandom") for n in range(4)])
    ballast = fill(small_disk, leave_bytes=left)
    stopped = runner.run()
    assert stopped.returncode == 3
    assert stopped.stderr.startswith(f"error: {small_disk}")
    assert os.strerror(errno.ENOSPC) in stopped.stderr
    assert "Traceback" not in stopped.stderr
    ballast.unlink()
    assert runner.run().returncode == 0
    assert len(runner.records()) == 4
    assert sorted(p.name for p in runner.receipt_path().parent.iterdir()) == ["00000.json"]


def test_a_workflow_on_a_full_disk_ends_with_the_error_and_goes_on_with_room(
    small_disk: Path, tmp_path: Path
) -> None:
    small = SmallExperiment(tmp_path, invocations={"fixed": 4}, segment={"rounds": 2})
    small.suite["benchmarks"] = {"noise": {"command": ["head", "-c", "9000", "/dev/urandom"]}}
    small.write()
    (tmp_path / "results").symlink_to(small_disk)
    small.plan()
    ballast = fill(small_disk, leave_bytes=100_000)
    stopped = small.regatta("run", "spec.yml")
    assert stopped.returncode == 3, stopped.stderr
    assert os.strerror(errno.ENOSPC) in stopped.stderr
    assert "Traceback" not in stopped.stderr
    recorded = small.records()
    fill(small_disk)
    full = small.regatta("run", "spec.yml")
    assert full.returncode == 3, full.stderr
    assert os.strerror(errno.ENOSPC) in full.stderr
    assert "Traceback" not in full.stderr
    assert small.records() == recorded
    ballast.unlink()
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    small.run()
    small.assert_complete()


def test_a_database_that_found_no_room_is_made_when_there_is_some(small_disk: Path) -> None:
    g1 = synthetic_journal.cell("g1")
    records = [synthetic_journal.record(g1, round_, [1.0]) for round_ in range(5)]
    experiment = synthetic_journal.write_experiment(small_disk / "made-up", [g1], records, 5)

    def rows() -> tuple[int, ...]:
        with open_database(experiment) as connection:
            return connection.execute("select count(*) from last_attempts").fetchone() or ()

    failures = 0
    for size_kib in range(200, 3800, 200):
        shutil.rmtree(experiment / "store", ignore_errors=True)
        subprocess.run(["mount", "-o", f"remount,size={size_kib}k", str(small_disk)], check=True)
        try:
            assert rows() == (5,)
        except StoreError:
            failures += 1
        subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
        assert rows() == (5,), f"made with {size_kib} KiB"
    assert failures > 3
