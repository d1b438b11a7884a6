"""A host is made quiet and put back, on trees of an Intel, an AMD and an ARM machine."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers.golden import Golden
from helpers.quiet_machines import (
    AMD,
    ARM,
    INTEL,
    MACHINES,
    NEEDS_CPUSETS,
    WATCHDOG,
    FakeKernel,
    Machine,
    build,
    snapshot,
)
from regatta.host.quiet.engine import KEYS, NAMES, apply, restore, status
from regatta.host.quiet.groups import partition_entry
from regatta.host.quiet.host import CPU
from regatta.host.quiet.report import KnobReport, Outcome
from regatta.host.quiet.state import StateFolder


class Bench:
    """A machine's tree, its kept state, and the verbs, each by a fresh process' eyes."""

    def __init__(self, folder: Path, machine: Machine, isolate: bool = False) -> None:
        self.root = folder / "root"
        self.machine = machine
        self.isolate = isolate
        self.state = StateFolder(folder / "state", KEYS)
        self.state.folder.mkdir()
        build(self.root, machine)
        self.at_first = snapshot(self.root)

    def kernel(self, **further: Any) -> FakeKernel:
        return FakeKernel(self.root, self.machine, self.isolate, **further)

    def apply(self, *left: str) -> Outcome:
        return apply(self.kernel(), self.state, left)

    def restore(self) -> Outcome:
        return restore(self.kernel(), self.state)

    def status(self) -> Outcome:
        return status(self.kernel(), self.state)

    def read(self, key: str) -> str | None:
        return self.kernel().read(key)

    def set(self, key: str, text: str) -> None:
        (self.root / key).write_text(f"{text}\n")


def knob(outcome: Outcome, name: str) -> KnobReport:
    return outcome.knobs[NAMES.index(name)]


@pytest.fixture(params=list(MACHINES))
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    return Bench(tmp_path, MACHINES[request.param])


def test_everything_is_put_back_as_it_was(bench: Bench) -> None:
    outcome = bench.apply()
    assert not outcome.failed, [report.problems for report in outcome.knobs]
    assert outcome.changed > 8
    assert snapshot(bench.root) != bench.at_first
    back = bench.restore()
    assert not back.failed, [report.problems for report in back.knobs]
    assert not back.kept
    assert back.changed > 8
    assert snapshot(bench.root) == bench.at_first
    assert not bench.state.path.exists()


def test_a_second_time_changes_nothing_and_keeps_what_was_there_first(bench: Bench) -> None:
    bench.apply()
    kept, quiet = bench.state.load(), snapshot(bench.root)
    kernel = bench.kernel()
    again = apply(kernel, bench.state)
    moves = sum("cgroup.procs" in key for key in quiet)
    assert again.changed == 0
    # Of all that could be written, only interrupts that refuse are tried once more.
    assert kernel.writes <= sum(refuses for _, _, refuses in bench.machine.irqs.values()) + moves
    assert bench.state.load() == kept
    assert snapshot(bench.root) == quiet
    bench.restore()
    assert bench.restore().changed == 0
    assert snapshot(bench.root) == bench.at_first


def test_looking_changes_nothing_and_sees_what_setting_did(bench: Bench) -> None:
    before = bench.status()
    assert snapshot(bench.root) == bench.at_first
    assert not bench.state.path.exists()
    bench.apply()
    after = bench.status()
    assert (before.kept, after.kept) == (False, True)
    assert "/proc/sys/vm/swappiness: 60 -> 1" in knob(before, "swappiness").changes
    assert "/proc/sys/vm/swappiness: 1 -> 60" in knob(after, "swappiness").restores
    assert not any(report.restores for report in before.knobs)
    assert not any(report.changes for report in after.knobs)
    for early, late in zip(before.knobs, after.knobs, strict=True):
        assert early.state != "noisy" or late.state == "quiet"
    assert json.loads(json.dumps(after.to_json()))["knobs"][0]["name"] == NAMES[0]


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        (
            INTEL,
            {
                f"{CPU}/cpufreq/policy2/scaling_governor": "performance",
                f"{CPU}/intel_pstate/no_turbo": "1",
                f"{CPU}/online": "0-5",
                "proc/irq/16/smp_affinity_list": "0-1,4-5",
                "proc/irq/120/smp_affinity_list": "2,6",
                "proc/irq/122/smp_affinity_list": "0",
                "proc/irq/default_smp_affinity": "33",
                "sys/devices/virtual/workqueue/writeback/cpumask": "33",
                "sys/fs/cgroup/init.scope/cpuset.cpus": "0-1,4-5",
                "sys/fs/cgroup/system.slice/cron.service/cpuset.cpus": "0-1,4-5",
                "sys/fs/cgroup/system.slice/slurmd.service/cpuset.cpus": "",
                "sys/fs/cgroup/user.slice/cpuset.cpus": "",
                "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
                "proc/sys/vm/drop_caches": "3",
                "proc/sys/kernel/nmi_watchdog": "0",
            },
        ),
        (
            AMD,
            {
                f"{CPU}/cpufreq/policy4/scaling_governor": "performance",
                f"{CPU}/cpufreq/boost": "0",
                f"{CPU}/cpufreq/policy4/boost": "0",
                f"{CPU}/online": "0-4,6",
                "sys/fs/cgroup/cpuset/regatta-others/cpuset.cpus": "0-3",
                "sys/fs/cgroup/cpuset/regatta-others/cgroup.procs": "700",
                "sys/fs/cgroup/cpuset/docker/cpuset.cpus": "0-7",
                "proc/40/status": "Name:\tkcompactd0\nCpus_allowed_list:\t0-3",
                "proc/15/status": "Name:\tksoftirqd/3\nCpus_allowed_list:\t3",
                "proc/sys/vm/swappiness": "1",
            },
        ),
        (
            ARM,
            {
                f"{CPU}/cpufreq/policy0/scaling_governor": "performance",
                f"{CPU}/cpufreq/boost": "0",
                f"{CPU}/online": "0-3",
                "proc/irq/43/smp_affinity_list": "0",
                "proc/irq/11/smp_affinity_list": "0-3",
                "proc/sys/kernel/soft_watchdog": "0",
                "proc/sys/kernel/timer_migration": "0",
                "proc/sys/kernel/randomize_va_space": "0",
            },
        ),
    ],
    ids=["intel", "amd", "arm"],
)
def test_a_quiet_machine_has_these_settings(
    tmp_path: Path, machine: Machine, expected: dict[str, str]
) -> None:
    bench = Bench(tmp_path, machine)
    bench.apply()
    assert {key: bench.read(key) for key in expected} == expected


#: the kernel's own
SWAPS_HEADER = "Filename\tType\tSize\tUsed\tPriority"


def test_swap_comes_back_with_its_priorities(tmp_path: Path) -> None:
    bench = Bench(tmp_path, AMD)
    bench.apply()
    assert bench.read("proc/swaps") == SWAPS_HEADER
    bench.restore()
    rows = [line.split() for line in (bench.read("proc/swaps") or "").splitlines()[1:]]
    assert [(row[0], row[-1]) for row in rows] == [("/dev/sda2", "-2"), ("/dev/sdb2", "-3")]


def test_swap_stays_on_where_what_is_swapped_out_would_not_fit(tmp_path: Path) -> None:
    bench = Bench(tmp_path, INTEL)
    bench.set("proc/meminfo", "MemTotal: 300000 kB\nMemAvailable: 100000 kB")
    outcome = bench.apply()
    assert outcome.failed
    assert "MiB of memory" in knob(outcome, "swap").problems[0].got
    assert not bench.restore().failed
    assert snapshot(bench.root) == {
        **bench.at_first,
        "proc/meminfo": "MemTotal: 300000 kB\nMemAvailable: 100000 kB",
    }


def test_an_interrupt_that_refuses_is_told_and_is_no_failure(tmp_path: Path, golden: Golden) -> None:
    bench = Bench(tmp_path, INTEL)
    outcome = bench.apply()
    (refused,) = knob(bench.status(), "interrupts").refused
    golden("interrupt", refused)
    assert knob(outcome, "interrupts").refused == [f"{refused}: {os.strerror(errno.EIO)}"]
    assert not outcome.failed


def test_what_cannot_be_moved_is_named(tmp_path: Path) -> None:
    bench = Bench(tmp_path, AMD)
    bench.set("proc/720/status", "Name:\tpinned\nCpus_allowed_list:\t4-5")
    outcome = bench.apply()
    (told,) = knob(outcome, "services").told
    assert told.endswith(" measured CPUs: pinned, sshd")


def test_threads_that_belong_to_a_measured_cpu_are_counted(tmp_path: Path) -> None:
    (told,) = knob(Bench(tmp_path, INTEL).apply(), "kernel_threads").told
    assert told.startswith("kernel threads ")
    assert told.endswith(": 1")


def test_the_group_by_which_the_command_came_keeps_all_cpus(tmp_path: Path) -> None:
    bench = Bench(tmp_path, ARM)
    told = knob(bench.apply(), "services").told
    assert any(text.startswith("system.slice/ssh.service keeps all CPUs") for text in told)
    assert bench.read("sys/fs/cgroup/cgroup.subtree_control") == "cpu memory"


def test_isolation_makes_a_partition_of_the_measured_cpus(tmp_path: Path) -> None:
    bench = Bench(tmp_path, INTEL, isolate=True)
    assert partition_entry(bench.kernel()) is None
    assert not bench.apply().failed
    folder = "sys/fs/cgroup/regatta-measured"
    assert bench.read(f"{folder}/cpuset.cpus") == "2-3"
    assert bench.read(f"{folder}/cpuset.cpus.partition") == "isolated"
    assert partition_entry(bench.kernel()) == f"{folder}/cgroup.procs"
    bench.kernel().write(f"{folder}/cgroup.procs", "700")
    assert bench.apply().changed == 0
    assert not bench.restore().failed
    assert snapshot(bench.root) == bench.at_first


def test_a_partition_that_the_kernel_holds_for_invalid_is_a_failure(tmp_path: Path) -> None:
    bench = Bench(tmp_path, INTEL, isolate=True)
    bench.apply()
    bench.set(
        "sys/fs/cgroup/regatta-measured/cpuset.cpus.partition",
        "isolated invalid (Cpu list in cpuset.cpus not exclusive)",
    )
    assert knob(bench.status(), "services").state == "noisy"


@pytest.mark.parametrize(("measured", "housekeeping", "shared"), [([2, 3], [0, 6], "6"), ([2, 6], [], "2,6")])
def test_a_thread_that_is_asked_for_stays_on_and_is_told(
    tmp_path: Path, measured: list[int], housekeeping: list[int], shared: str
) -> None:
    bench = Bench(tmp_path, INTEL)
    kernel = bench.kernel()
    kernel.measured, kernel.named_housekeeping = measured, housekeeping
    kernel.look_again()
    (told,) = knob(apply(kernel, bench.state), "smt").told
    assert told.startswith(f"CPU {shared} stays online ")
    assert bench.read(f"{CPU}/cpu6/online") == "1"
    bench.restore()
    assert snapshot(bench.root) == bench.at_first


def test_other_cpus_to_measure_on_put_the_first_ones_back(tmp_path: Path) -> None:
    bench = Bench(tmp_path, INTEL)
    bench.apply()
    kernel = bench.kernel()
    kernel.measured = [1]
    kernel.look_again()
    outcome = apply(kernel, bench.state)
    assert outcome.changed > 0
    assert bench.read(f"{CPU}/online") == "0-4,6-7"
    assert outcome.housekeeping == [0, 2, 3, 4, 6, 7]
    bench.restore()
    assert snapshot(bench.root) == bench.at_first


def test_after_a_restart_everything_is_back_and_nothing_is_written(bench: Bench) -> None:
    bench.apply()
    bench.set("proc/sys/kernel/random/boot_id", "another")
    kernel = bench.kernel()
    outcome = restore(kernel, bench.state)
    assert kernel.writes == 0
    assert (outcome.restarted, outcome.kept) == (True, False)
    assert {report.state for report in outcome.knobs} == {"back by restart"}
    assert not bench.state.path.exists()


def test_after_a_restart_what_was_kept_before_it_is_not_taken_for_this_time(tmp_path: Path) -> None:
    bench = Bench(tmp_path, ARM)
    bench.apply()
    # The host starts anew, with another setting than the last time.
    shutil.rmtree(bench.root)
    build(bench.root, ARM)
    bench.set("proc/sys/vm/swappiness", "45")
    bench.set("proc/sys/kernel/random/boot_id", "another")
    expected = snapshot(bench.root)
    bench.apply()
    assert bench.read("proc/sys/vm/swappiness") == "1"
    bench.restore()
    assert snapshot(bench.root) == expected


def test_knobs_can_be_left_alone(tmp_path: Path) -> None:
    bench = Bench(tmp_path, ARM)
    outcome = bench.apply("aslr", "page_cache")
    assert (knob(outcome, "aslr").state, knob(outcome, "page_cache").state) == ("left", "left")
    assert bench.read("proc/sys/kernel/randomize_va_space") == "2"
    assert bench.read("proc/sys/vm/drop_caches") == "0"


def test_a_knob_that_is_not_there_says_so(tmp_path: Path) -> None:
    machine = Machine(
        "bare", cores=((0,), (1,)), measured=(1,), files={"proc/sys/kernel/random/boot_id": "one"}
    )
    outcome = Bench(tmp_path, machine).apply()
    assert not outcome.failed
    names = {report.name for report in outcome.knobs if report.state == "not available"}
    assert names == set(NAMES) - {"smt", "swap", "interrupts"}
    assert all(report.told and report.effect for report in outcome.knobs if report.name in names)


def test_without_cpus_to_measure_on_the_rest_is_set_all_the_same(tmp_path: Path) -> None:
    bench = Bench(tmp_path, INTEL)
    kernel = bench.kernel()
    kernel.measured = []
    kernel.look_again()
    outcome = apply(kernel, bench.state)
    unasked = {report.name for report in outcome.knobs if report.state == "not asked"}
    assert unasked == {"smt", "interrupts", "workqueues", "kernel_threads", "services"}
    assert bench.read("proc/sys/kernel/randomize_va_space") == "0"


def test_a_value_that_does_not_hold_is_a_failure_with_expected_and_got(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path, ARM)
    true_write = FakeKernel.write

    def deaf(self: FakeKernel, key: str, text: str) -> None:
        if not key.endswith("swappiness"):
            true_write(self, key, text)

    monkeypatch.setattr(FakeKernel, "write", deaf)
    outcome = bench.apply()
    problem = knob(outcome, "swappiness").problems[0]
    assert (problem.where, problem.expected, problem.got) == ("/proc/sys/vm/swappiness", "1", "60")
    assert outcome.failed
    assert not bench.restore().failed


def test_nothing_is_changed_where_nothing_can_be_kept(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(fd: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("regatta.host.quiet.state.os.fsync", full)
        kernel = bench.kernel()
        with pytest.raises(OSError, match="No space left"):
            apply(kernel, bench.state)
    assert kernel.writes == 0
    assert snapshot(bench.root) == bench.at_first
    # What was half written does not stand in the way.
    assert not bench.apply().failed


@pytest.mark.parametrize("machine", MACHINES.values(), ids=list(MACHINES))
def test_watchdogs_come_back_after_another_program_has_read_their_common_switch(
    tmp_path: Path, machine: Machine
) -> None:
    bench = Bench(tmp_path, machine)
    bench.apply()
    assert bench.read(WATCHDOG) == "0"
    assert not bench.restore().failed
    assert snapshot(bench.root) == bench.at_first


@pytest.mark.parametrize("isolate", [False, True])
def test_cpusets_stay_when_a_user_logs_in(tmp_path: Path, isolate: bool) -> None:
    bench = Bench(tmp_path, INTEL, isolate=isolate)
    bench.apply()
    quiet = snapshot(bench.root)
    bench.kernel().log_in()
    assert snapshot(bench.root) == quiet
    assert knob(bench.status(), "services").state == "quiet"
    assert not bench.restore().failed
    assert snapshot(bench.root) == bench.at_first


#: starts a unit that needs cpusets
OTHER_UNIT = ["systemd-run", "--quiet", "--unit=other.service", "--slice=system.slice", "true"]


def test_cpusets_stay_when_the_unit_ends_for_which_systemd_had_enabled_them(tmp_path: Path) -> None:
    bench = Bench(tmp_path, INTEL)
    bench.kernel().run(OTHER_UNIT)
    bench.apply()
    bench.kernel().run(["systemctl", "stop", "other.service"])
    assert bench.read("sys/fs/cgroup/system.slice/cron.service/cpuset.cpus") == "0-1,4-5"
    assert knob(bench.status(), "services").state == "quiet"
    assert not bench.restore().failed
    assert snapshot(bench.root) == bench.at_first


def test_a_systemd_that_refuses_the_unit_for_cpusets_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path, INTEL)
    true_run = FakeKernel.run

    def masked(self: FakeKernel, argv: Sequence[str]) -> str:
        if argv[0] == "systemd-run":
            raise OSError(errno.EIO, "Unit is masked.")
        return true_run(self, argv)

    monkeypatch.setattr(FakeKernel, "run", masked)
    outcome = bench.apply()
    found = [(problem.where, problem.expected, problem.got) for problem in knob(outcome, "services").problems]
    assert found == [
        (f"regatta-cpusets-{name}.service", "active", "absent (Unit is masked.)")
        for name in ("-.slice", "system.slice")
    ]
    assert outcome.failed
    assert bench.read("sys/fs/cgroup/system.slice/cron.service/cpuset.cpus") == "0-1,4-5"
    assert not bench.restore().failed
    assert snapshot(bench.root) == bench.at_first


def test_a_systemd_that_knows_no_cpusets_is_left_alone(tmp_path: Path) -> None:
    bench = Bench(tmp_path, replace(INTEL, systemd="239"))
    assert not bench.apply().failed
    assert bench.read(NEEDS_CPUSETS) == ""
    assert bench.read("sys/fs/cgroup/system.slice/cron.service/cpuset.cpus") == "0-1,4-5"
    assert not bench.restore().failed
    assert snapshot(bench.root) == bench.at_first


@pytest.mark.parametrize(("takes_empty_cpusets", "at_last"), [(False, "0-7"), (True, "")])
def test_groups_that_had_the_controller_before_may_use_all_cpus_again(
    tmp_path: Path, takes_empty_cpusets: bool, at_last: str
) -> None:
    bench = Bench(tmp_path, replace(INTEL, takes_empty_cpusets=takes_empty_cpusets))
    bench.kernel().run(OTHER_UNIT)
    bench.at_first = snapshot(bench.root)
    for _ in range(2):
        bench.apply()
        assert bench.read("sys/fs/cgroup/init.scope/cpuset.cpus") == "0-1,4-5"
        outcome = bench.restore()
        assert (outcome.failed, outcome.kept) == (False, False)
        now = snapshot(bench.root)
        different = {key: now[key] for key in now if now[key] != bench.at_first[key]}
        assert set(different.values()) <= {at_last}
        assert bench.read("sys/fs/cgroup/init.scope/cpuset.cpus") == at_last


def test_a_group_that_was_limited_before_keeps_its_own_limit(tmp_path: Path) -> None:
    bench = Bench(tmp_path, replace(INTEL, takes_empty_cpusets=True))
    bench.kernel().run(OTHER_UNIT)
    bench.kernel().write("sys/fs/cgroup/init.scope/cpuset.cpus", "1-3")
    bench.at_first = snapshot(bench.root)
    bench.apply()
    assert bench.read("sys/fs/cgroup/init.scope/cpuset.cpus") == "1"
    assert not bench.restore().failed
    assert snapshot(bench.root) == bench.at_first


def test_what_cannot_be_put_back_stays_kept_for_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path, INTEL)
    bench.apply()
    true_write = FakeKernel.write

    def stuck(self: FakeKernel, key: str, text: str) -> None:
        if not key.endswith("/online"):
            true_write(self, key, text)

    with monkeypatch.context() as patch:
        patch.setattr(FakeKernel, "write", stuck)
        outcome = bench.restore()
    assert outcome.failed
    assert outcome.kept
    assert set((bench.state.load() or pytest.fail("nothing is kept")).values) == {"smt", "governor"}
    assert not bench.restore().failed
    assert snapshot(bench.root) == bench.at_first
