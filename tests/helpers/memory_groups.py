"""Run a program with a limit of memory in a private control group, and count its page faults as the kernel does."""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

_ROOT = Path("/sys/fs/cgroup/memory")
_PREFIX = "regatta-test-memory"
_number = itertools.count()
#: enters the group, then becomes the program, so that all that the program uses is charged to the group
_ENTER = 'echo $$ > "$0" && exec "$@"'
_END_S = 300


@dataclass(frozen=True)
class Measured:
    """What the kernel counted.

    Args:
        major: faults of the program that waited for the disk (rusage).
        major_of_group: the same of its control group.
        read_pages: pages of 4 KiB that were read from the disk for the program, with read-ahead (rusage).
    """

    major: int
    major_of_group: int
    read_pages: int


@contextlib.contextmanager
def memory_group(limit_bytes: int) -> Iterator[Path]:
    """Make a memory control group of version 1 with a limit, and remove it with all that runs in it.

    Skips the test where that is not possible, or where swap would take anonymous memory.
    """
    if not (_ROOT / "memory.limit_in_bytes").exists():
        pytest.skip("NOT MEASURED: no memory controller of control groups, version 1")
    if len(Path("/proc/swaps").read_text().splitlines()) > 1:
        pytest.skip("NOT MEASURED: this machine has swap, and the predictions are without")
    _remove_stale()
    group = _ROOT / f"{_PREFIX}-{os.getpid()}-{next(_number)}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"NOT MEASURED: no control group may be made here: {error.strerror}")
    try:
        (group / "memory.limit_in_bytes").write_text(str(limit_bytes))
        assert int((group / "memory.limit_in_bytes").read_text()) == limit_bytes // 4096 * 4096
        yield group
    finally:
        _remove(group)


def run_limited(
    command: Sequence[str | Path], limit_bytes: int, environment: dict[str, str] | None = None
) -> Measured:
    """Run a program with a limit of memory until it ends; it must end well."""
    with memory_group(limit_bytes) as group:
        argv = ["sh", "-c", _ENTER, str(group / "cgroup.procs"), *map(str, command)]
        child = subprocess.Popen(argv, stdout=subprocess.DEVNULL, env={**os.environ, **(environment or {})})
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        assert child.returncode == 0, f"{command[0]} ended with {child.returncode}"
        told = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        return Measured(usage.ru_majflt, int(told["pgmajfault"]), usage.ru_inblock * 512 // 4096)


def uncache(path: Path) -> None:
    """Write a file to the disk, and remove it from the page cache: a cold begin, and charged to who reads it next."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _remove(group: Path) -> None:
    until = time.monotonic() + _END_S
    while group.exists():
        for pid in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), 9)
        with contextlib.suppress(OSError):
            group.rmdir()
        if time.monotonic() > until:
            raise AssertionError(f"{group} could not be removed")
        time.sleep(0.01)


def _remove_stale() -> None:
    """Remove groups that killed tests have left."""
    for group in _ROOT.glob(f"{_PREFIX}-*"):
        if not Path(f"/proc/{group.name.split('-')[-2]}").exists():
            _remove(group)
