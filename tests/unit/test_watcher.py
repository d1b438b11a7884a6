"""What the bar of a run is made of: what the workflow tells, and what runners say of themselves."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from synthetic_journal import cell, write_facts, write_plan

from regatta.cli.progress import Watcher
from regatta.model.record_shape import STATUSES
from regatta.store.folder import Folder
from regatta.store.runner_state import process_start

HOST = "alpha"


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Of an experiment that this process measures."""
    write_facts(tmp_path)
    write_plan(tmp_path, [cell("g1", heap_factor=1.5)], 20, HOST)
    folder = Folder(tmp_path)
    state = {"host": HOST, "segment": 0, "cell": "a cell", "index": 5, "since_utc_s": time.time(),
             "counts": {**dict.fromkeys(STATUSES, 1), "oom": 4}, "pid": os.getpid(),
             "pid_start": process_start(os.getpid())}  # fmt: skip
    folder.state.mkdir()
    (folder.state / f"{HOST}.json").write_text(json.dumps(state))
    return folder


def test_running_out_of_memory_is_told_apart_from_failing(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    with Watcher(folder) as watcher:
        watcher.stage = "measure"
        watcher.look()
    assert "a cell · 3 failed · 4 oom · 1 perturbed" in capsys.readouterr().err


def test_a_runner_of_which_no_event_tells_is_seen_and_left_alone(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    with Watcher(folder) as watcher:
        watcher.stage = "plan"
        watcher.look()
        assert watcher.measuring
        watcher.stage = "verify"
        watcher.look()
        assert not watcher.measuring, "it is not asked again at once"
    assert "measuring 5/20" in capsys.readouterr().err


def test_where_no_runner_is_the_workflow_says_what_is_done(folder: Folder) -> None:
    (folder.state / f"{HOST}.json").unlink()
    with Watcher(folder) as watcher:
        watcher.stage = "plan"
        watcher.look()
        assert not watcher.measuring
