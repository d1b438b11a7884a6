"""Accounting of process trees by control groups, where this machine lets us make one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.runner_plans import groups_of
from helpers.waiting import wait_until
from regatta.host.measure import cgroup
from regatta.host.measure.cgroup import TreeAccounting, end_stale_groups, open_accounting

BURN = "import time\nwhile time.process_time() < {cpu_s}: pass\n"
TREE = "import os, subprocess, sys\nsubprocess.run([sys.executable, '-I', '-S', '-c', {code!r}])"


@pytest.fixture
def accounting() -> Iterator[TreeAccounting]:
    opened, reason = open_accounting()
    if opened is None:
        pytest.skip(f"NOT TESTED: no control group may be made here: {reason}")
    yield opened
    opened.close()
    assert groups_of([os.getpid()]) == []


def cpu_ns_of_group() -> int:
    """All CPU time of the group of this process, as the kernel tells it."""
    for directory in groups_of([os.getpid()]):
        if (directory / "cpuacct.usage").exists():
            return int((directory / "cpuacct.usage").read_text())
        if (directory / "cpu.stat").exists():
            told = dict(line.split() for line in (directory / "cpu.stat").read_text().splitlines())
            if "usage_usec" in told:
                return 1000 * int(told["usage_usec"])
    raise AssertionError("no group tells its CPU time")


def run(accounting: TreeAccounting, code: str) -> cgroup.TreeUsage:
    accounting.begin()
    child = subprocess.Popen([sys.executable, "-I", "-S", "-c", code])
    accounting.started()
    assert child.wait() == 0
    return accounting.finish()


def test_the_cpu_time_of_grandchildren_is_counted_and_each_time_anew(accounting: TreeAccounting) -> None:
    usage = run(accounting, TREE.format(code=BURN.format(cpu_s=0.3)))
    assert usage.cpu_ns is not None
    assert usage.cpu_ns >= 0.3e9
    again = run(accounting, "pass")
    assert again.cpu_ns is not None
    assert usage.cpu_ns + again.cpu_ns <= cpu_ns_of_group(), "and nothing twice"
    assert (usage.oom_kills, again.oom_kills) == (0, 0)


def test_the_peak_is_of_the_tree_and_of_this_invocation_alone(accounting: TreeAccounting) -> None:
    large = run(accounting, "import sys; x = bytearray(64 << 20); y = bytes(x)")
    if large.memory_peak_bytes is None:
        pytest.skip("NOT TESTED: this kernel cannot reset the peak of a group (version 2 before Linux 6.12)")
    assert large.memory_peak_bytes >= 128 << 20
    small = run(accounting, "pass")
    assert small.memory_peak_bytes is not None
    assert small.memory_peak_bytes < 64 << 20


def test_the_runner_itself_is_out_again(accounting: TreeAccounting) -> None:
    run(accounting, "pass")
    for directory in groups_of([os.getpid()]):
        assert (directory / "cgroup.procs").read_text() == ""


def test_a_group_of_a_runner_that_is_gone_is_emptied_and_removed(accounting: TreeAccounting) -> None:
    # It lives until the group is as it shall be: any runner on this machine would end the group of a dead one.
    runner = subprocess.Popen(["sleep", "600"])
    home = groups_of([os.getpid()])[0].parent
    stale = home / f"regatta-{runner.pid}"
    stale.mkdir()
    sleeper = subprocess.Popen(["sleep", "600"], env={})
    try:
        (stale / "cgroup.procs").write_text(str(sleeper.pid))
        runner.kill()
        runner.wait()
        assert end_stale_groups() >= 1 or not stale.exists()
        wait_until(lambda: sleeper.poll() is not None, "the sleeper to be killed")
        # The runner of another test may be the one that removes it.
        wait_until(lambda: not stale.exists(), "its group to be removed")
    finally:
        for process in (runner, sleeper):
            process.kill()
            process.wait()


def test_the_group_of_a_living_runner_is_left_alone(accounting: TreeAccounting) -> None:
    home = groups_of([os.getpid()])[0].parent
    other = subprocess.Popen(["sleep", "600"])
    living = home / f"regatta-{other.pid}"
    living.mkdir()
    try:
        end_stale_groups()
        assert living.exists()
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()
        living.rmdir()


def test_without_control_groups_the_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroup, "mounts", list)
    found, reason = open_accounting()
    assert found is None
    assert reason.endswith(" mounted")
    assert end_stale_groups() == 0


def test_a_place_where_no_group_may_be_made_is_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(cgroup, "mounts", lambda: [("cgroup2", str(tmp_path / "file"), {"rw"})])
    monkeypatch.setattr(cgroup, "paths_of", lambda _: {"": "/"})
    found, reason = open_accounting()
    assert found is None
    assert reason.startswith("version 2: ")


def test_a_group_that_cannot_be_entered_is_taken_away_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container whose control groups are mounted for reading, or are another's."""
    monkeypatch.setattr(cgroup, "mounts", lambda: [("cgroup2", str(tmp_path), {"rw"})])
    monkeypatch.setattr(cgroup, "paths_of", lambda _: {"": ""})
    found, reason = open_accounting()
    assert found is None
    assert "cgroup.procs" in reason
    assert list(tmp_path.iterdir()) == []
