"""The zipapp's verb `quiet`, as a process of its own, and for real on the knobs that this machine has."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from helpers.quiet_machines import ARM, build, snapshot
from regatta.fleet.zipapp import zipapp_file
from regatta.host.quiet.command import main
from regatta.host.quiet.engine import NAMES

#: what of this machine is changed for real, and nothing else
_REAL = {
    "aslr": "/proc/sys/kernel/randomize_va_space",
    "thp": "/sys/kernel/mm/transparent_hugepage/enabled",
    "swappiness": "/proc/sys/vm/swappiness",
    "watchdogs": "/proc/sys/kernel/nmi_watchdog",
}


@pytest.fixture(scope="module")
def archive() -> Path:
    """What travels to hosts."""
    return zipapp_file()


Done = subprocess.CompletedProcess[str]
Call = Callable[..., Done]


def run(archive: Path, *arguments: object) -> Done:
    """The verb as the hosts run it."""
    return subprocess.run(
        [sys.executable, "-I", archive, "quiet", *map(str, arguments)],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """The verb in this process, which saves the start of another."""

    def called(*arguments: object) -> Done:
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = int(end.code or 0)
        said = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, code, said.out, said.err)

    return called


def knobs(done: Done) -> dict[str, dict[str, Any]]:
    assert done.returncode == 0, done.stderr
    return {knob["name"]: knob for knob in json.loads(done.stdout)["knobs"]}


def test_the_verb_works_from_an_archive_on_another_root(archive: Path, tmp_path: Path) -> None:
    root, state = tmp_path / "root", tmp_path / "state"
    build(root, ARM)
    before = snapshot(root)
    common = ["--state", state, "--root", root]
    for key in ("sys/kernel/mm/transparent_hugepage/enabled", "sys/kernel/mm/transparent_hugepage/defrag"):
        (root / key).write_text("always\n")
    before = snapshot(root)
    asked = ["--cpus", "1-3", "--leave", "services", "--leave", "interrupts"]
    assert knobs(run(archive, "status", *common, *asked))["governor"]["state"] == "noisy"
    assert snapshot(root) == before
    assert not state.exists()
    first = run(archive, "apply", *common, *asked)
    assert knobs(first)["governor"]["changed"] == 4
    assert json.loads(run(archive, "apply", *common, *asked).stdout)["changed"] == 0
    restored = json.loads(run(archive, "restore", *common).stdout)
    assert (restored["failed"], restored["kept"]) == (False, False)
    assert snapshot(root) == before


def test_commands_and_tasks_of_another_root_are_never_this_machines(call: Call, tmp_path: Path) -> None:
    build(tmp_path / "root", ARM)
    mine = os.sched_getaffinity(0)
    (tmp_path / f"root/proc/{os.getpid()}").mkdir()
    for name in ("stat", "status", "comm"):
        text = (tmp_path / f"root/proc/40/{name}").read_text()
        (tmp_path / f"root/proc/{os.getpid()}/{name}").write_text(text)
    (tmp_path / "root/proc/swaps").write_text(
        "Filename Type Size Used Priority\n/dev/none partition 1 0 -2\n"
    )
    found = knobs(call("apply", "--state", tmp_path / "state", "--root", tmp_path / "root", "--cpus", "1-3"))
    (told,) = found["swap"]["told"]
    assert "swapoff and swapon" in told
    assert all("outside this root" in text for text in found["kernel_threads"]["refused"])
    assert os.sched_getaffinity(0) == mine


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--cpus", "1-x"], 2, "CPU numbers and ranges"),
        (["--cpus", "99"], 3, "CPUs (0-3) · got CPU 99"),
        (["--cpus", "1-2", "--housekeeping", "0-1"], 3, "CPU 1 in both lists"),
        (["--leave", "noise"], 2, "invalid choice"),
    ],
)
def test_a_wrong_request_is_refused_before_anything_is_changed(
    call: Call, tmp_path: Path, arguments: list[str], code: int, words: str
) -> None:
    build(tmp_path / "root", ARM)
    before = snapshot(tmp_path / "root")
    done = call("apply", "--state", tmp_path / "state", "--root", tmp_path / "root", *arguments)
    assert done.returncode == code
    assert words in done.stderr
    assert snapshot(tmp_path / "root") == before


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "before.json"),
        ('{"version": 2}', "not version 1"),
        ("VALUES:" + '{"aslr": {"proc/sys/kernel/core_pattern": "|/bin/sh"}}', "unknown place"),
        ("VALUES:" + '{"aslr": {"proc/sys/kernel/randomize_va_space": 2}}', "unknown place"),
        ("VALUES:" + '{"services": {"cpus:sys/../etc": "0"}}', "unknown place"),
        ("VALUES:" + '{"shell": {}}', "unknown setting"),
    ],
)
def test_kept_state_that_was_not_written_here_is_refused(
    call: Call, tmp_path: Path, text: str, words: str
) -> None:
    build(tmp_path / "root", ARM)
    state = tmp_path / "state"
    state.mkdir(mode=0o755)
    if text.startswith("VALUES:"):
        value = {
            "version": 1,
            "boot_id": ARM.files["proc/sys/kernel/random/boot_id"],
            "cpus": [],
            "housekeeping": [],
        }
        text = json.dumps(
            {**value, "isolate": False, "dropped": False, "refused": {}, "values": json.loads(text[7:])}
        )
    (state / "before.json").write_text(text)
    for verb in ("status", "apply", "restore"):
        done = call(verb, "--state", state, "--root", tmp_path / "root")
        assert done.returncode == 3
        assert words in done.stderr
        assert "Traceback" not in done.stderr


def test_a_folder_that_others_may_write_is_refused(call: Call, tmp_path: Path) -> None:
    build(tmp_path / "root", ARM)
    (tmp_path / "state").mkdir()
    (tmp_path / "state").chmod(0o777)
    done = call("apply", "--state", tmp_path / "state", "--root", tmp_path / "root")
    assert done.returncode == 3
    assert " current user" in done.stderr


def test_two_commands_at_once_do_not_mix(call: Call, tmp_path: Path) -> None:
    build(tmp_path / "root", ARM)
    (tmp_path / "state").mkdir(mode=0o755)
    with open(tmp_path / "state/lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        done = call("apply", "--state", tmp_path / "state", "--root", tmp_path / "root")
    assert done.returncode == 3
    assert "another running command" in done.stderr


def test_a_command_enters_the_partition_only_where_there_is_one(archive: Path, tmp_path: Path) -> None:
    build(tmp_path / "root", ARM)
    done = run(archive, "enter", "--root", tmp_path / "root", "--", "true")
    assert done.returncode == 3
    assert "`quiet apply --isolate`" in done.stderr
    group = tmp_path / "root/sys/fs/cgroup/regatta-measured"
    group.mkdir()
    for name, text in (("cgroup.procs", ""), ("cpuset.cpus", "1-3"), ("cpuset.cpus.partition", "isolated")):
        (group / name).write_text(text)
    done = run(archive, "enter", "--root", tmp_path / "root", "--", "sh", "-c", "echo $$")
    assert done.returncode == 0
    assert done.stdout == (group / "cgroup.procs").read_text()


@pytest.fixture
def real_values() -> Iterator[dict[str, str]]:
    """What this machine has there; put back whatever happens. One test run at a time does so."""
    with open(Path(tempfile.gettempdir()) / "regatta-real-knobs.lock", "a") as lock:
        # Before the first look: to see whether a value can be written, it is written.
        fcntl.flock(lock, fcntl.LOCK_EX)
        unwritable = [path for path in _REAL.values() if not _writable(path)]
        paths = [path for path in _REAL.values() if path not in unwritable]
        if not paths:
            pytest.skip(
                f"NOTHING OF THIS MACHINE IS CHANGED: none of {', '.join(unwritable)} can be written here"
            )
        values = {path: _chosen(path) for path in paths}
        try:
            yield values
        finally:
            for path, value in values.items():
                if _chosen(path) != value:
                    Path(path).write_text(value)


def _writable(path: str) -> bool:
    try:
        Path(path).write_text(_chosen(path))
    except OSError:
        return False
    return True


def _chosen(path: str) -> str:
    text = Path(path).read_text().strip()
    return text.partition("[")[2].partition("]")[0] or text


def test_this_machines_own_knobs_are_set_and_put_back(
    call: Call, tmp_path: Path, real_values: dict[str, str]
) -> None:
    quiet = {"aslr": "0", "thp": "madvise", "swappiness": "1", "watchdogs": "0"}
    others = [f"--leave={name}" for name in NAMES if name not in _REAL]
    # Values that are neither the quiet ones nor necessarily this machine's, so that there is something to put back.
    noisy = {"aslr": "2", "thp": "always", "swappiness": "77"}
    for name, value in noisy.items():
        if _REAL[name] in real_values:
            Path(_REAL[name]).write_text(value)
    before = {path: _chosen(path) for path in real_values}
    found = knobs(call("apply", "--state", tmp_path / "state", *others))
    now = {name: _chosen(path) for name, path in _REAL.items() if path in real_values}
    assert now == {name: quiet[name] for name in now}
    assert all(found[name]["changed"] >= 1 for name in noisy if name in now)
    again = json.loads(call("apply", "--state", tmp_path / "state", *others).stdout)
    assert again["changed"] == 0
    restored = json.loads(call("restore", "--state", tmp_path / "state").stdout)
    assert (restored["failed"], restored["kept"]) == (False, False)
    assert {path: _chosen(path) for path in real_values} == before
