"""What the runner says of itself, and the processes of runners that are gone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.runner_plans import is_gone
from helpers.waiting import wait_until
from regatta.host.journal.runner_state import StateFile, read_state
from regatta.host.processes import end_orphans, process_start


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "alpha.json"


def test_a_living_runner_is_alive_and_says_what_it_does(path: Path) -> None:
    state = StateFile(path, {"host": "alpha"})
    state.write(cell="vm/compress", index=3)
    read = read_state(path)
    assert read is not None
    assert (read["alive"], read["pid"], read["host"], read["cell"], read["index"]) == (
        True, os.getpid(), "alpha", "vm/compress", 3,
    )  # fmt: skip
    state.write(cell=None, index=None)
    read = read_state(path)
    assert read is not None
    assert read["cell"] is None
    state.close()


@pytest.mark.parametrize("label", ["x" * 5000, "ä" * 1000, "\ud800" * 600])
def test_a_label_of_any_length_leaves_the_state_readable(path: Path, label: str) -> None:
    state = StateFile(path, {"host": "alpha"})
    state.write(cell=label, index=3)
    state.close()
    assert path.stat().st_size == 1024
    read = read_state(path)
    assert read is not None
    assert read["index"] == 3
    assert read["cell"][:50] == label[:50]


@pytest.mark.parametrize("text", ["", "{", "[]", "5", '{"pid": "x"}', "{}", '{"pid": null}', "\0" * 1024])
def test_anything_else_in_the_file_is_no_state(path: Path, text: str) -> None:
    path.parent.mkdir()
    path.write_text(text)
    assert read_state(path) is None


def test_a_runner_that_is_gone_is_not_alive_nor_is_one_that_took_its_number(path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    path.parent.mkdir()
    for pid in (gone.pid, os.getpid()):
        path.write_text(json.dumps({"pid": pid, "pid_start": 1}))
        read = read_state(path)
        assert read is not None
        assert read["alive"] is False


def test_a_dead_process_that_nobody_asked_about_is_gone() -> None:
    zombie = subprocess.Popen(["true"])
    wait_until(lambda: is_gone(zombie.pid), "its end")
    assert process_start(zombie.pid) is None
    zombie.wait()
    assert process_start(os.getpid()) is not None


def sleeper(results: Path, code: str = "import time; time.sleep(600)") -> subprocess.Popen[bytes]:
    environment = {"REGATTA_RESULTS": str(results), "PATH": os.environ["PATH"]}
    return subprocess.Popen([sys.executable, "-I", "-S", "-c", code], env=environment)


def test_orphans_of_this_file_are_ended_and_others_are_left(tmp_path: Path) -> None:
    ours, other = sleeper(tmp_path / "results.jsonl"), sleeper(tmp_path / "results.jsonl.2")
    # environ is the parent's until exec is done
    wait_until(lambda: b"REGATTA_RESULTS" in Path(f"/proc/{ours.pid}/environ").read_bytes(), "exec")
    try:
        assert end_orphans(str(tmp_path / "results.jsonl")) == 1
        assert ours.wait() == -9
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_orphans_that_fork_are_ended_to_the_last(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    forking = "import os, time\nfor _ in range(200):\n    if os.fork() == 0: time.sleep(600)\n    time.sleep(0.001)\ntime.sleep(600)"
    ours = sleeper(results, forking)
    wait_until(lambda: len(_children(ours.pid)) > 5, "the first children")
    assert end_orphans(str(results)) > 5
    assert ours.wait() == -9
    assert end_orphans(str(results)) == 0


def _children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
