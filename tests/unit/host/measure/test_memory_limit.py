"""Memory limits of real processes and their page cache, where this machine lets us set them; version 2 in plain files."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from helpers.runner_plans import NO_LIMITS, Runner, cell, groups_of, printed, python, sh, write_plan
from regatta.cli.explain import explain
from regatta.host.cgroup_mounts import mounts, paths_of
from regatta.host.measure import cgroup, memory_limit
from regatta.host.measure.cgroup import TreeAccounting, open_accounting
from regatta.host.measure.perturbation import LEAST_EVIDENCE_S
from regatta.host.measure.process import Launch, StopSignals, run_process

MIB = 1 << 20
PROGRAMS = Path(__file__).parents[4] / "benchmarks" / "files" / "programs.py"
SMALL = {"kind": "cgroup", "memory_mib": 32}
WRITE = """
import os
def write(name, mib):
    with open(name, "wb") as file:
        for _ in range(mib):
            file.write(os.urandom(1 << 20))
        file.flush()
        os.fsync(file.fileno())
"""
#: writes a file, reads it again twice, and prints how much of the second time came from the disk
READ_AGAIN = (
    WRITE
    + """
def from_disk():
    return int(dict(line.split(": ") for line in open("/proc/self/io"))["read_bytes"])
def read(name):
    with open(name, "rb", buffering=0) as file:
        while file.read(1 << 20): pass
write("data", 64)
read("data")
before = from_disk()
read("data")
print(from_disk() - before)
"""
)
ALLOCATE = "x = bytearray(256 << 20); print(len(x))"


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path / "memory")


@pytest.fixture
def accounting() -> Iterator[TreeAccounting]:
    """A group whose memory can be limited."""
    opened, reason = open_accounting({"memory"})
    if opened is not None:
        reason = opened.limit(None, 64 * MIB)
        opened.limit(None, None)
    if opened is None or reason:
        if opened is not None:
            opened.close()
        pytest.skip(f"NOT TESTED: no memory limit may be set here: {reason}")
    yield opened
    opened.close()
    assert groups_of([os.getpid()]) == []


@pytest.fixture
def limits(accounting: TreeAccounting) -> None:
    """Skips where no memory can be limited."""


@pytest.fixture
def disk(tmp_path: Path) -> None:
    """Skips where the kernel does not count what comes from the disk, or where no disk is behind the page cache."""

    def from_disk() -> int:
        lines = Path("/proc/self/io").read_text().splitlines()
        return int(dict(line.split(": ") for line in lines)["read_bytes"])

    file = tmp_path / "tried"
    try:
        with file.open("wb+", buffering=0) as stream:
            stream.write(os.urandom(MIB))
            os.fsync(stream.fileno())
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            before = from_disk()
            os.pread(stream.fileno(), MIB, 0)
            counted = from_disk() > before
    except OSError as error:
        pytest.skip(f"NOT TESTED: reads from the disk cannot be counted here: {error}")
    if not counted:
        pytest.skip(f"NOT TESTED: the file system of {tmp_path} reads from no disk that the kernel counts")


@pytest.mark.usefixtures("limits", "disk")
def test_a_file_larger_than_the_limit_is_read_from_the_disk_again_and_a_free_cell_has_it_cached(
    runner: Runner,
) -> None:
    limited, free = runner.measure(python("limited", READ_AGAIN, isolation=SMALL), python("free", READ_AGAIN))
    assert (limited["status"], free["status"]) == ("ok", "ok"), limited["reason"] or free["reason"]
    assert int(printed(limited, "stdout")) >= 32 * MIB
    assert int(printed(free, "stdout")) == 0
    assert limited["isolation"] == SMALL
    assert free["isolation"] == {"kind": "cgroup"}
    told = CliRunner().invoke(explain, ["hand/limited", "--results", str(runner.folder.path.parent)]).output
    assert "cgroup, memory_mib 32;" in told
    runner.assert_nothing_left()


@pytest.mark.usefixtures("limits")
def test_a_process_that_needs_more_is_killed_with_status_oom_and_the_next_cell_is_free(
    runner: Runner,
) -> None:
    killed, free = runner.measure(python("killed", ALLOCATE, isolation=SMALL), python("free", ALLOCATE))
    assert (killed["status"], killed["signal"]) == ("oom", 9)
    assert killed["cgroup"]["oom_kills"] >= 1
    assert (free["status"], printed(free, "stdout")) == ("ok", b"%d\n" % (256 * MIB))
    runner.assert_nothing_left()


@pytest.mark.usefixtures("limits", "disk")
def test_a_file_that_is_prepared_is_not_paid_for_with_the_limit_whoever_read_it_before(
    runner: Runner, tmp_path: Path
) -> None:
    """The file is larger than the limit. Without the preparation, the first cell would be the one that pays for it."""
    shared = tmp_path / "shared"
    shared.write_bytes(os.urandom(64 * MIB))
    with shared.open("rb") as stream:
        os.fsync(stream.fileno())
        os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    read = f"""
def from_disk():
    return int(dict(line.split(": ") for line in open("/proc/self/io"))["read_bytes"])
before = from_disk()
for _ in range(2):
    with open({str(shared)!r}, "rb", buffering=0) as file:
        while file.read(1 << 20): pass
print(from_disk() - before)
"""
    prepare = ["/bin/cat", str(shared)]
    # Some kernels page memory out that was not used for a while (DAMON), also between the preparation and the
    # measurement. Who pays with the limit reads at least 32 MiB in every turn.
    turns = 3
    free, *others = runner.measure(
        python("free", read),
        *(
            python(f"{name}-{turn}", read, isolation=SMALL, prepare=prepare)
            for turn in range(turns)
            for name in ("limited", "again")
        ),
    )
    assert [record["status"] for record in (free, *others)] == ["ok"] * (1 + 2 * turns)
    assert int(printed(free, "stdout")) >= 64 * MIB
    from_disk = [int(printed(record, "stdout")) for record in others]
    assert (0, 0) in zip(from_disk[::2], from_disk[1::2], strict=True)
    runner.assert_nothing_left()


@pytest.mark.usefixtures("limits")
def test_an_invocation_whose_child_alone_is_killed_is_no_success(runner: Runner) -> None:
    script = f"""{sys.executable} -I -S -c '{ALLOCATE}'; exit 0"""
    record = runner.one(sh("parent", script, isolation=SMALL))
    assert (record["status"], record["exit_code"]) == ("oom", 0)
    runner.assert_nothing_left()


def run(accounting: TreeAccounting, code: str, directory: Path) -> None:
    argv = python("", code)["argv"]
    launch = Launch(argv, {}, str(directory), 100.0, 8192, [])
    with StopSignals() as stop:
        outcome = run_process(launch, stop, accounting.begin, accounting.started)
    assert outcome.exit_code == 0, outcome.stderr.kept
    accounting.finish()


def used_bytes(accounting: TreeAccounting) -> int:
    name = {1: "memory.usage_in_bytes", 2: "memory.current"}[accounting.version]
    (path,) = [group / name for group in groups_of([os.getpid()]) if (group / name).exists()]
    return int(path.read_text())


def test_a_limited_invocation_starts_without_the_pages_of_earlier_ones(
    accounting: TreeAccounting, tmp_path: Path
) -> None:
    run(accounting, WRITE + "write('left', 48)", tmp_path)
    if used_bytes(accounting) < 48 * MIB:
        pytest.skip(f"NOT TESTED: the file system of {tmp_path} has no page cache that the kernel counts")
    assert accounting.limit(None, 64 * MIB) == ""
    assert used_bytes(accounting) < 8 * MIB


def test_the_kernel_cannot_kill_the_runner_instead_of_a_process_that_fills_its_memory_at_once(
    accounting: TreeAccounting, tmp_path: Path
) -> None:
    if accounting.version != 1:
        pytest.skip("NOT TESTED: with version 2, a process is in a group as a whole")
    members: list[str] = []

    def begin() -> None:
        accounting.begin()
        for group in groups_of([os.getpid()]):
            members.extend((group / "tasks").read_text().split())

    assert accounting.limit(None, 64 * MIB) == ""
    assert accounting.limits_memory
    launch = Launch(["/bin/true"], {}, str(tmp_path), 100.0, 8192, [])
    with StopSignals() as stop:
        outcome = run_process(launch, stop, begin, accounting.started, accounting.limits_memory)
    assert outcome.exit_code == 0
    assert len(members) == len(groups_of([os.getpid()]))
    assert str(os.getpid()) not in members


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="NOT TESTED: no /dev/shm")
def test_memory_that_cannot_be_given_back_is_an_error(accounting: TreeAccounting, tmp_path: Path) -> None:
    if len(Path("/proc/swaps").read_text().splitlines()) > 1:
        pytest.skip("NOT TESTED: this machine would swap it out")
    left = Path(f"/dev/shm/regatta-test-{os.getpid()}")
    try:
        run(accounting, WRITE + f"write({str(left)!r}, 48)", tmp_path)
        assert "invocations left in" in accounting.limit(None, 32 * MIB)
    finally:
        left.unlink()
    assert accounting.limit(None, 32 * MIB) == ""


def test_quota_and_memory_are_set_together_and_removed_one_by_one() -> None:
    accounting, reason = open_accounting({"cpu", "memory"})
    try:
        reason = reason if accounting is None else accounting.limit(0.5, 64 * MIB)
        if accounting is None or reason:
            pytest.skip(f"NOT TESTED: these limits cannot be set here: {reason}")
        assert accounting.throttled_ns() is not None
        assert accounting.limit(None, 64 * MIB) == ""
        assert accounting.throttled_ns() is None
        assert accounting.limit(None, None) == ""
    finally:
        if accounting is not None:
            accounting.close()


def test_a_smaller_limit_of_an_ancestor_is_told() -> None:
    home = next((Path(p + paths_of("self")["memory"]) for k, p, o in mounts() if "memory" in o), None)
    if home is None or not os.access(home, os.W_OK):
        pytest.skip("NOT TESTED: no memory controller of version 1 that this user may use")
    above = home / f"regatta-test-{os.getpid()}"
    group = above / "inside"
    above.mkdir()
    try:
        group.mkdir()
        assert memory_limit.apply(above, 1, 32 * MIB) == ""
        assert f"{32 * MIB} bytes in {above}" in memory_limit.apply(group, 1, 64 * MIB)
        assert memory_limit.apply(group, 1, 16 * MIB) == ""
        assert memory_limit.apply(group, 1, 32 * MIB) == ""
        for name in ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"):
            assert not (group / name).exists() or int((group / name).read_text()) == 32 * MIB
        assert memory_limit.apply(group, 1, None) == ""
        assert int((group / "memory.limit_in_bytes").read_text()) > 1 << 60
    finally:
        for folder in (group, above):
            if folder.exists():
                folder.rmdir()


def test_a_host_that_cannot_limit_memory_is_refused_before_anything_is_measured(
    runner: Runner, accounting: TreeAccounting
) -> None:
    more = {"kind": "cgroup", "memory_mib": 1 << 50}
    write_plan(runner.folder, [python("first", "pass"), python("more", "pass", isolation=more)])
    done = runner.run()
    assert done.returncode == 3
    assert "hand/more:default · native: isolation: memory_mib" in done.stderr
    assert "use `kind: docker`" in done.stderr
    assert runner.records() == []
    runner.assert_nothing_left()


def _fill(folder: Path, controllers: str) -> None:
    (folder / "cgroup.procs").write_text("")
    (folder / "cgroup.subtree_control").write_text(controllers)
    (folder / "cpu.stat").write_text("usage_usec 1000\nthrottled_usec 70\n")


@pytest.fixture
def unified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """Plain files of version 2, where this process is in `user/session`; give what the root and `user` hand down."""
    made = Path.mkdir

    def mkdir(self: Path, *args: object, **kwargs: object) -> None:
        made(self)
        _fill(self, "")
        handed = (self.parent / "cgroup.subtree_control").read_text().split()
        if "cpu" in handed:
            (self / "cpu.max").write_text("max 100000\n")
        if "memory" in handed:
            for name, text in (("max", "max\n"), ("swap.max", "max\n"), ("current", "0\n"), ("reclaim", "")):
                (self / f"memory.{name}").write_text(text)

    def rmdir(self: Path) -> None:
        for file in self.iterdir():
            file.unlink()
        os.rmdir(self)

    def fill(root: str, user: str) -> Path:
        _fill(tmp_path, root)
        for name, controllers in (("user", user), ("user/session", "")):
            (tmp_path / name).mkdir()
            (tmp_path / name / "cgroup.subtree_control").write_text(controllers)
        return tmp_path

    monkeypatch.setattr(Path, "mkdir", mkdir)
    monkeypatch.setattr(Path, "rmdir", rmdir)
    monkeypatch.setattr(cgroup, "mounts", lambda: [("cgroup2", str(tmp_path), {"rw"})])
    monkeypatch.setattr(cgroup, "paths_of", lambda _: {"": "/user/session"})
    return fill


def test_with_version_2_memory_and_swap_are_limited_where_the_controller_is_handed_down(
    unified: Callable[[str, str], Path],
) -> None:
    group = unified("cpu memory", "memory") / f"user/regatta-{os.getpid()}"
    accounting, reason = open_accounting({"memory"})
    assert accounting is not None, reason
    (group / "memory.current").write_text("1000000\n")
    assert accounting.limit(None, 64 * MIB) == ""
    values = {name: (group / f"memory.{name}").read_text() for name in ("max", "swap.max", "reclaim")}
    assert values == {"max": str(64 * MIB), "swap.max": "0", "reclaim": "1000000"}
    assert accounting.limit(None, None) == ""
    assert [(group / name).read_text() for name in ("memory.max", "memory.swap.max")] == ["max", "max"]
    (group / "memory.current").write_text(str(48 * MIB))
    assert f"{48 * MIB} bytes that earlier" in accounting.limit(None, 32 * MIB)
    accounting.close()
    assert not group.exists()


def test_with_version_2_the_group_is_where_both_controllers_are_handed_down(
    unified: Callable[[str, str], Path],
) -> None:
    root = unified("cpu memory", "cpu")
    accounting, reason = open_accounting({"cpu", "memory"})
    assert accounting is not None, reason
    assert accounting.limit(0.25, 32 * MIB) == ""
    group = root / f"regatta-{os.getpid()}"
    assert (group / "cpu.max").read_text() == "25000 100000"
    assert (group / "memory.max").read_text() == str(32 * MIB)
    accounting.close()


def test_with_version_2_a_smaller_limit_above_and_a_missing_controller_are_told(
    unified: Callable[[str, str], Path],
) -> None:
    root = unified("memory", "memory")
    (root / "user/memory.max").write_text(str(32 * MIB))
    accounting, reason = open_accounting({"memory"})
    assert accounting is not None, reason
    assert "limits all groups" in accounting.limit(None, 64 * MIB)
    assert accounting.limit(None, 32 * MIB) == ""
    accounting.close()
    accounting, reason = open_accounting({"cpu", "memory"})
    assert accounting is not None, reason
    assert "cpu and memory" in accounting.limit(None, 32 * MIB)
    accounting.close()


@pytest.mark.usefixtures("limits", "disk")
def test_waits_for_memory_of_a_limited_program_do_not_perturb_it(runner: Runner) -> None:
    limits = {**NO_LIMITS, "memory_pressure_percent": 0.001, "retries": 0}
    # Pages that are used often, are dropped and are read again are what the kernel counts as waits for memory.
    argv = [sys.executable, str(PROGRAMS), "sqlite", "--mib", "96"]
    limited = runner.one(cell("limited", argv, isolation=SMALL), limits=limits)
    waited_us = limited["host_after"]["psi_memory_some_us"] - limited["host_before"]["psi_memory_some_us"]
    if waited_us < 1e6 * LEAST_EVIDENCE_S:
        pytest.skip(f"NOT TESTED: the kernel counted only {waited_us} us of waits for memory")
    assert limited["status"] == "ok", limited["reason"]
    assert limited["perturbation"] == []
