"""Commands whose output or temporary files find no room: the error names the place and the fix, and no half file is left."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from helpers.experiments.experiment_parts import HOME
from helpers.in_process import PROGRAM

#: mounts a small disk in a mount namespace, which ends with the script; fills it, runs a command, and lists what is left
SCRIPT = """
mount -t tmpfs -o size="$SIZE_KIB"k regatta-test "$DISK" || exit 99
head -c "$BALLAST_KIB"k /dev/zero > "$DISK/ballast"
"$@"; code=$?
find "$DISK" -type f ! -name ballast > "$LEFT"
exit $code
"""
STRACE = """1 1700000000.000001 openat(AT_FDCWD</tmp>, "f", O_RDONLY) = 3</tmp/f> <0.000001>
1 1700000000.000002 read(3</tmp/f>, ""..., 10) = 10 <0.000001>
"""
EVENTS = """    perf 17707 [000]  2694.714693044:    sched:sched_waking: comm=a pid=18 prio=0 target_cpu=000
    perf 17707 [000]  2694.714697310:    sched:sched_switch: prev_comm=perf prev_pid=17707 prev_prio=120 prev_state=D ==> next_comm=a next_pid=18 next_prio=0
    a    18 [000]  2694.714797310:    sched:sched_switch: prev_comm=a prev_pid=18 prev_prio=0 prev_state=S ==> next_comm=perf next_pid=17707 next_prio=120
"""
SIZE_KIB = 1024


@dataclass
class Bench:
    """Input files, and a folder for a small disk."""

    root: Path

    @property
    def disk(self) -> Path:
        return self.root / "disk"

    def ended(self, free_kib: int, *arguments: str, **environment: str) -> tuple[int, str, list[str]]:
        """Run `regatta ...` with a disk that has so much room; give the exit code, its stderr, and the files on the disk."""
        left = self.root / "left"
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", SCRIPT, "sh", str(PROGRAM), *arguments],
            cwd=self.root,
            env={
                **os.environ,
                "REGATTA_HOME": str(HOME),
                "DISK": str(self.disk),
                "LEFT": str(left),
                "SIZE_KIB": str(SIZE_KIB),
                "BALLAST_KIB": str(SIZE_KIB - free_kib),
                **environment,
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stderr, left.read_text().splitlines()

    def assert_told(self, place: Path, ended: tuple[int, str, list[str]]) -> None:
        code, err, left = ended
        assert code == 3, err
        assert "Traceback" not in err
        (told,) = [line for line in err.splitlines() if line.startswith("error: ")]
        assert told.startswith(f"error: {place}"), told
        assert os.strerror(errno.ENOSPC) in told
        assert "fix: free disk space" in told
        assert left == []


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    root = tmp_path_factory.mktemp("full")
    may = shutil.which("unshare") and os.geteuid() == 0
    if not may or subprocess.run(["unshare", "-m", "true"], check=False, capture_output=True).returncode:
        pytest.skip("NOT TESTED: no right to mount a small disk in a namespace")
    (root / "disk").mkdir()
    (root / "calls.txt").write_text(STRACE)
    (root / "events.txt").write_text(EVENTS)
    log = [sys.executable, "-I", str(HOME / "benchmarks/web/example_log.py"), "--hours", "1", "--output"]
    subprocess.run([*log, str(root / "access.log")], check=True, capture_output=True)
    return Bench(root)


#: with the small disk as {}
OUTPUTS = {
    "trace files -o": ("trace", "files", "--from", "calls.txt", "-o", "{}/out"),
    "trace events -o": ("trace", "events", "--from", "events.txt", "-o", "{}/out"),
    "trace events --transactions": ("trace", "events", "--from", "events.txt", "--transactions", "{}/out"),
    "trace events --perfetto": ("trace", "events", "--from", "events.txt", "--perfetto", "{}/out"),
    "init": ("init", "mine", "--command", "true", "--directory", "{}"),
    "model log": ("model", "log", "access.log", "-o", "{}/out"),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_an_output_without_room_is_named_and_not_left_in_half(bench: Bench, name: str) -> None:
    arguments = (word.format(bench.disk) for word in OUTPUTS[name])
    bench.assert_told(bench.disk, bench.ended(0, *arguments))


def test_a_spec_without_room_leaves_no_suite(bench: Bench) -> None:
    # One page, which the suite takes.
    bench.assert_told(
        bench.disk / "mine.yml",
        bench.ended(4, "init", "mine", "--command", "true", "--directory", str(bench.disk)),
    )


TEMPORARY = {
    "model log": ("model", "log", "access.log"),
    "model compare": ("model", "compare", "access.log", "access.log"),
}


@pytest.mark.parametrize("name", TEMPORARY)
def test_a_full_folder_of_temporary_files_is_named(bench: Bench, name: str) -> None:
    bench.assert_told(bench.disk, bench.ended(60, *TEMPORARY[name], TMPDIR=str(bench.disk)))


def test_a_recording_is_not_blamed_for_a_full_folder_of_temporary_files(bench: Bench) -> None:
    recording = bench.root / "recording"
    words = ["trace", "events", "--record-into", str(recording), "--", sys.executable, "-c", "print(1)"]
    made = subprocess.run([PROGRAM, *words], cwd=bench.root, capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"NOT TESTED: this machine records no events: {made.stderr.strip()[-200:]}")
    bench.assert_told(
        bench.disk, bench.ended(60, "trace", "events", "--from", str(recording), TMPDIR=str(bench.disk))
    )
    shutil.rmtree(recording)
