"""What a container used, from control groups of both versions as files in a folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from regatta.host.measure.containers import usage as container_usage
from regatta.host.measure.containers.program import ending_by_kernel, ending_by_word
from regatta.host.measure.containers.usage import ContainerGroups

ID = "4ec1"


def put(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


@pytest.fixture
def version_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = f"/system.slice/docker-{ID}.scope"
    monkeypatch.setattr(container_usage, "mounts", lambda: [("cgroup2", str(tmp_path), {"rw"})])
    monkeypatch.setattr(container_usage, "paths_of", lambda _: {"": path})
    folder = tmp_path / path[1:]
    put(
        folder,
        cpu__stat="usage_usec 1000\nuser_usec 600\nsystem_usec 400\n",
        memory__peak="5000\n",
        memory__events="low 0\noom 1\noom_kill 1\n",
        memory__stat="anon 1\npgfault 50\npgmajfault 5\n",
        cgroup__procs="10\n11\n",
    )
    return folder


@pytest.fixture
def version_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    points = [("cgroup", str(tmp_path / name), {"rw", name}) for name in ("cpuacct", "memory")]
    monkeypatch.setattr(container_usage, "mounts", lambda: points)
    paths = {"cpuacct": f"/docker/{ID}", "memory": f"/docker/{ID}", "": "/"}
    monkeypatch.setattr(container_usage, "paths_of", lambda _: paths)
    cpu, memory = (tmp_path / name / "docker" / ID for name in ("cpuacct", "memory"))
    put(
        cpu,
        cpuacct__usage="1000\n",
        cpuacct__usage_user="300\n",
        cpuacct__usage_sys="100\n",
        cgroup__procs="7\n",
    )
    put(
        memory,
        memory__max_usage_in_bytes="4096\n",
        memory__oom_control="oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
        memory__stat="cache 1\npgfault 9\npgmajfault 1\n",
    )
    return cpu, memory


def test_version_2_tells_what_was_used_since_the_program_was_let_go(version_2: Path) -> None:
    groups = ContainerGroups(10, ID)
    groups.begin()
    put(
        version_2,
        cpu__stat="usage_usec 3000\nuser_usec 2100\nsystem_usec 900\n",
        memory__peak="7000\n",
        memory__events="low 0\noom 2\noom_kill 3\n",
        memory__stat="anon 1\npgfault 80\npgmajfault 15\n",
    )
    used = groups.finish()
    assert (used.version, used.cpu_ns, used.oom_kills) == (2, 2_000_000, 2)
    assert (used.user_s, used.system_s) == (pytest.approx(0.0015), pytest.approx(0.0005))
    assert (used.memory_peak_bytes, used.minor_faults, used.major_faults) == (7000, 20, 10)
    assert used.untold == {}
    assert groups.processes() == [10, 11]
    groups.close()


def test_version_1_splits_the_exact_total_by_what_was_sampled(version_1: tuple[Path, Path]) -> None:
    groups = ContainerGroups(7, ID)
    groups.begin()
    put(version_1[0], cpuacct__usage="9000\n", cpuacct__usage_user="900\n", cpuacct__usage_sys="300\n")
    used = groups.finish()
    assert (used.version, used.cpu_ns, used.oom_kills) == (1, 8000, 0)
    assert (used.user_s, used.system_s) == (pytest.approx(6e-6), pytest.approx(2e-6))
    put(version_1[0], cpuacct__usage="19000\n")
    assert groups.processes() == [7]
    groups.close()


def test_what_is_not_told_is_none_with_a_reason_and_never_zero(version_2: Path) -> None:
    for name in ("memory.peak", "memory.events", "memory.stat"):
        (version_2 / name).unlink()
    groups = ContainerGroups(10, ID)
    groups.begin()
    used = groups.finish()
    assert (used.memory_peak_bytes, used.oom_kills, used.minor_faults, used.major_faults) == (None,) * 4
    assert {"memory_peak_bytes", "oom_kills", "minor_faults"} <= used.untold.keys()
    groups.close()


def test_groups_that_do_not_name_the_container_or_tell_no_cpu_time_are_refused(version_2: Path) -> None:
    with pytest.raises(LookupError, match="names the container"):
        ContainerGroups(10, "another")
    (version_2 / "cpu.stat").write_text("")
    with pytest.raises(LookupError, match="no CPU time"):
        ContainerGroups(10, ID)


def test_a_shells_word_is_an_exit_code_or_a_signal() -> None:
    assert [ending_by_word(code) for code in (0, 3, 127, 137, 139, 255)] == [
        (0, None), (3, None), (127, None), (None, 9), (None, 11), (255, None),
    ]  # fmt: skip


@pytest.mark.parametrize(("status", "ending"), [(0, (0, None)), (139, (139, None))])
def test_the_kernel_tells_an_exit_code_above_128_from_a_signal_where_it_tells_at_all(
    status: int, ending: tuple[int | None, int | None]
) -> None:
    pid = os.posix_spawn("/bin/sh", ["sh", "-c", f"exit {status}"], {})
    pidfd = os.pidfd_open(pid)
    os.waitpid(pid, 0)
    assert ending_by_kernel(pidfd) in (ending, None)
    os.close(pidfd)
