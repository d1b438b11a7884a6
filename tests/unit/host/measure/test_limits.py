"""Processors and processor time of real processes, where this machine lets us set them, and what is said where it does not."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from helpers.runner_plans import Runner, groups_of, printed, python, write_plan
from regatta.cli.explain import explain
from regatta.host.errors import HostError
from regatta.host.measure import cgroup, cpu_quota
from regatta.host.measure.cgroup import end_stale_groups, open_accounting
from regatta.host.measure.containers.limits import ContainerLimits
from regatta.host.measure.limits import check_limits, controllers_of, cores_of, set_limits

SEEN = "import os; print(sorted(os.sched_getaffinity(0)))"
#: each process prints the quota of its control group, and its period, and does a fixed amount of work
BURN = """
import os
def quota():
    own = {{}}
    for line in open("/proc/self/cgroup"):
        _, names, path = line.strip().split(":", 2)
        own.update(dict.fromkeys(names.split(","), path))
    for line in open("/proc/self/mounts"):
        _, point, kind, options = line.split()[:4]
        files = {{"cgroup": ("cpu.cfs_quota_us", "cpu.cfs_period_us"), "cgroup2": ("cpu.max",)}}.get(kind, ())
        group = point + own.get("cpu" if kind == "cgroup" else "", "")
        if (kind == "cgroup2" or "cpu" in options.split(",")) and all(os.path.exists(group + "/" + f) for f in files) and files:
            return " ".join(open(group + "/" + f).read().strip() for f in files)
    return "none"
def burn():
    os.write(1, (quota() + chr(10)).encode())
    t = __import__("time")
    while t.process_time() < {cpu_s}: pass
pids = []
for _ in range({processes}):
    pid = os.fork()
    if not pid:
        burn()
        os._exit(0)
    pids.append(pid)
for pid in pids: os.waitpid(pid, 0)
"""


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path / "limits")


@pytest.fixture(scope="module")
def quotas() -> None:
    """Skips where no quota can be set."""
    accounting, reason = open_accounting({"cpu"})
    if accounting is not None:
        reason = reason or accounting.limit(0.5, None)
        accounting.close()
    if accounting is None or reason:
        pytest.skip(f"NOT TESTED: no quota of processor time may be set here: {reason}")


@pytest.mark.usefixtures("quotas")
def test_a_busy_loop_is_held_to_its_quota_and_the_next_cell_is_free(runner: Runner) -> None:
    # How much of the processor it gets, the kernel decides, and on a virtual machine the host. A loop that wants all of one
    # is throttled as soon as it gets more than this.
    twentieth = {"kind": "cgroup", "cpu_quota": 0.05}
    script = BURN.format(cpu_s=0.05, processes=1)
    limited, free = runner.measure(python("twentieth", script, isolation=twentieth), python("free", script))
    assert (limited["status"], free["status"]) == ("ok", "ok")
    throttled = limited["isolation"].pop("throttled_ns")
    assert limited["isolation"] == twentieth
    assert throttled > 0
    assert printed(limited, "stdout") == b"5000 100000\n"
    assert free["isolation"] == {"kind": "cgroup"}
    assert printed(free, "stdout") != printed(limited, "stdout")
    runner.assert_nothing_left()


@pytest.mark.usefixtures("quotas")
def test_a_quota_holds_for_all_processes_together_and_is_no_perturbation(runner: Runner) -> None:
    half = {"kind": "cgroup", "cpu_quota": 0.5}
    # What others do on this machine is no matter here.
    judged = {
        "steal_percent": None, "other_cpu_percent": None, "memory_pressure_percent": None, "io_pressure_percent": None,
        "frequency_drop_percent": None, "swapped_pages": None, "throttle_events": 0, "retries": 0,
    }  # fmt: skip
    record = runner.one(python("two", BURN.format(cpu_s=0.2, processes=2), isolation=half), limits=judged)
    assert record["status"] == "ok", record["reason"]
    assert printed(record, "stdout") == b"50000 100000\n" * 2


@pytest.mark.parametrize("kind", ["cgroup", "none"])
def test_a_cell_with_one_processor_sees_the_last_one_and_its_record_says_so(
    runner: Runner, kind: str
) -> None:
    if kind == "cgroup":
        accounting, reason = open_accounting()
        if accounting is None:
            pytest.skip(f"NOT TESTED: no control group may be made here: {reason}")
        accounting.close()
    last = max(os.sched_getaffinity(0))
    one, all_of_them = runner.measure(
        python("one", SEEN, isolation={"kind": kind, "processors": 1}), python("all", SEEN)
    )
    assert printed(one, "stdout").decode().strip() == str([last])
    assert one["cores"] == [last]
    assert one["isolation"] == {"kind": kind, "processors": 1}
    told = CliRunner().invoke(explain, ["hand/one", "--results", str(runner.folder.path.parent)]).output
    assert f"isolation: kind {kind}, processors 1; the command below" in told
    assert f" taskset -c {last} " in told
    every = sorted(os.sched_getaffinity(0))
    assert printed(all_of_them, "stdout").decode().strip() == str(every)
    assert all_of_them["cores"] == every


def test_processors_are_of_those_that_the_host_measures_on() -> None:
    cell = {"isolation": {"kind": "cgroup", "processors": 2}}
    assert cores_of(cell, [1, 3, 5]) == [3, 5]
    assert cores_of({}, [1, 3, 5]) == [1, 3, 5]


def test_a_host_with_too_few_processors_is_refused_before_anything_is_measured(runner: Runner) -> None:
    many = len(os.sched_getaffinity(0)) + 1
    cells = [python("first", SEEN), python("many", SEEN, isolation={"kind": "cgroup", "processors": many})]
    write_plan(runner.folder, cells)
    done = runner.run()
    assert done.returncode == 3
    assert "hand/many:default · native: isolation: processors: " in done.stderr
    assert f"expected {many} measured CPUs" in done.stderr
    assert "fix: reduce `processors`" in done.stderr
    assert runner.records() == []


def test_a_quota_without_a_control_group_is_refused_and_never_silently_none() -> None:
    cell = {"label": "x", "isolation": {"kind": "cgroup", "cpu_quota": 0.5}}
    assert controllers_of([cell]) == {"cpu"}
    memory = {"isolation": {"kind": "cgroup", "memory_mib": 64}}
    assert controllers_of([cell, memory]) == {"cpu", "memory"}
    contained = {"isolation": {"kind": "docker", "cpu_quota": 0.5, "memory_mib": 64}}
    assert controllers_of([{}, contained]) == set()
    with pytest.raises(HostError, match=r"0\.5 · got no groups"):
        check_limits([cell], [0], None, "no groups here")
    with pytest.raises(HostError, match="memory_mib 64 · got no groups"):
        check_limits([{"label": "x", **memory}], [0], None, "no groups here")
    set_limits({"label": "y"}, None, "no groups here")


@pytest.fixture
def unified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A hierarchy of version 2 as systemd makes it, in plain files: this process is in `user/session`, which hands nothing down."""
    made = Path.mkdir

    def fill(folder: Path, cpu: bool) -> None:
        (folder / "cgroup.procs").write_text("")
        (folder / "cgroup.subtree_control").write_text("cpu memory\n" if cpu else "\n")
        (folder / "cpu.stat").write_text("usage_usec 1000\nthrottled_usec 70\n")

    def mkdir(self: Path, *args: object, **kwargs: object) -> None:
        made(self)
        fill(self, False)
        if "cpu" in (self.parent / "cgroup.subtree_control").read_text():
            (self / "cpu.max").write_text("max 100000\n")

    def rmdir(self: Path) -> None:
        for file in self.iterdir():
            file.unlink()
        os.rmdir(self)

    fill(tmp_path, True)
    monkeypatch.setattr(Path, "mkdir", mkdir)
    monkeypatch.setattr(Path, "rmdir", rmdir)
    (tmp_path / "user").mkdir()
    (tmp_path / "user/session").mkdir()
    monkeypatch.setattr(cgroup, "mounts", lambda: [("cgroup2", str(tmp_path), {"rw"})])
    monkeypatch.setattr(cgroup, "paths_of", lambda _: {"": "/user/session"})
    return tmp_path


def test_with_version_2_the_group_is_made_where_the_controller_is_handed_down(unified: Path) -> None:
    accounting, reason = open_accounting({"cpu"})
    assert accounting is not None, reason
    group = unified / f"regatta-{os.getpid()}"
    assert accounting.limit(0.25, None) == ""
    assert (group / "cpu.max").read_text() == "25000 100000"
    (group / "cpu.stat").write_text("usage_usec 2000\nthrottled_usec 570\n")
    assert accounting.throttled_ns() == 500_000
    accounting.begin()
    accounting.started()
    # Once to try, once for good. The runner goes back to where it was, not to where the group was made.
    assert (unified / "user/session/cgroup.procs").read_text() == "00"
    assert accounting.limit(None, None) == ""
    assert (group / "cpu.max").read_text() == "max 100000"
    accounting.close()
    assert not group.exists()


def test_with_version_2_a_smaller_quota_above_is_told(unified: Path) -> None:
    (unified / "user/cgroup.subtree_control").write_text("cpu")
    (unified / "user/cpu.max").write_text("20000 100000")
    accounting, reason = open_accounting({"cpu"})
    assert accounting is not None, reason
    assert "0.2 in " in accounting.limit(0.5, None)
    assert accounting.limit(0.2, None) == ""
    accounting.close()


def test_with_version_2_where_nobody_hands_the_controller_down_the_reason_is_told(unified: Path) -> None:
    (unified / "cgroup.subtree_control").write_text("memory")
    accounting, reason = open_accounting({"cpu"})
    assert accounting is not None, reason
    assert "has the controller cpu" in accounting.limit(0.5, None)
    assert accounting.limit(None, None) == ""
    accounting.close()


def test_a_group_that_was_left_further_up_is_removed(unified: Path) -> None:
    (unified / f"regatta-{os.getpid()}").mkdir()
    end_stale_groups()
    assert not (unified / f"regatta-{os.getpid()}").exists()


@pytest.mark.parametrize("joint", [True, False], ids=["cpu,cpuacct", "cpu beside cpuacct"])
def test_with_version_1_the_quota_is_in_the_hierarchy_of_the_controller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, joint: bool
) -> None:
    made = Path.mkdir

    def mkdir(self: Path, *args: object, **kwargs: object) -> None:
        made(self)
        for name in ("cgroup.procs", "cpu.cfs_quota_us", "cpu.cfs_period_us", "cpuacct.usage"):
            if "cpu" in self.parent.name or not name.startswith("cpu"):
                (self / name).write_text("0" if "procs" not in name else "")
        if self.parent.name == "cpuacct" and not joint:
            (self / "cpu.cfs_quota_us").unlink()

    names = ["cpu,cpuacct", "memory"] if joint else ["cpu", "cpuacct", "memory"]
    for name in names:
        made(tmp_path / name)
        (tmp_path / name / "cgroup.procs").write_text("")
    monkeypatch.setattr(Path, "mkdir", mkdir)
    monkeypatch.setattr(
        cgroup, "mounts", lambda: [("cgroup", str(tmp_path / name), set(name.split(","))) for name in names]
    )
    monkeypatch.setattr(cgroup, "paths_of", lambda _: dict.fromkeys(("cpu", "cpuacct", "memory"), ""))
    accounting, reason = open_accounting({"cpu"})
    assert accounting is not None, reason
    group = tmp_path / names[0] / f"regatta-{os.getpid()}"
    assert accounting.limit(1.5, None) == ""
    assert (group / "cpu.cfs_quota_us").read_text() == "150000"
    accounting.begin()
    assert (group / "cgroup.procs").read_text() == "00"
    (group / "cpu.cfs_quota_us").write_text("120000")
    assert "120000 us of 100000 us" in cpu_quota.why_not(group, 1, 1.5)
    monkeypatch.setattr(Path, "rmdir", lambda self: None)
    accounting.close()


@pytest.mark.parametrize(
    ("isolation", "expected"),
    [
        ({"processors": 1}, "a container on CPUs [4095]"),
        ({"cpu_quota": 0.5}, "a quota of 0.5 CPUs"),
        ({"capabilities": ["SYS_BOOT", "SETUID"]}, "the capabilities SYS_BOOT, SETUID"),
    ],
)
def test_a_container_whose_limits_are_others_than_asked_for_is_refused(
    isolation: dict[str, object], expected: str
) -> None:
    """This process stands for the container's: none of these was set for it."""
    cores = [4095] if "processors" in isolation else sorted(os.sched_getaffinity(0))
    limits = ContainerLimits("Docker", {"isolation": {"kind": "docker", **isolation}}, os.getpid(), cores)
    with pytest.raises(HostError, match=re.escape(expected)):
        limits.check()


def test_groups_are_gone_after_all_this() -> None:
    assert groups_of([os.getpid()]) == []
