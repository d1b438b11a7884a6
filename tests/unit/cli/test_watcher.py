"""What the bar of a run is made of: what the workflow tells, and what runners say of themselves."""

from __future__ import annotations

import json
import math
import os
import re
import time
from pathlib import Path

import pytest

from helpers.golden import Golden
from helpers.synthetic_journal import cell, write_facts, write_plan
from regatta.cli.watcher import Watcher
from regatta.fleet.controller_side import show_state
from regatta.host.journal.record_shape import STATUSES
from regatta.host.journal.runner_state import read_state, waits_for
from regatta.host.processes import process_start
from regatta.store.folder import Folder
from regatta.store.progress import read_progress
from regatta.store.so_far import SoFar, write_so_far

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
    assert "3 failed · 4 oom · 1 perturbed · " in capsys.readouterr().err


def test_the_time_left_is_that_of_invocations_measured_now(
    folder: Folder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that goes on skips rows that are recorded."""
    path = folder.state / f"{HOST}.json"
    state = json.loads(path.read_text())
    moment = 1000.0
    monkeypatch.setattr("regatta.cli.watcher.time.monotonic", lambda: moment)
    with Watcher(folder) as watcher:
        watcher.stage = "measure"
        for index, measured in ((2, 0), (14, 1), (16, 3), (17, 0)):
            path.write_text(json.dumps({**state, "index": index, "counts": {"ok": measured}}))
            watcher.look()
            moment += 60.0
    # One runner measures an invocation in 60 s, then two more; another one has not measured yet.
    lefts = re.findall(r"measuring (\d+)/20(?:, about ([\d.]+) min left)?", capsys.readouterr().err)
    assert lefts == [("2", ""), ("14", "6.0"), ("16", "2.7"), ("17", "")]


def test_without_a_terminal_each_new_estimate_is_printed_once_and_at_once(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = []
    with Watcher(folder) as watcher:
        watcher.stage = "measure"
        for recorded, interval in ((2, ""), (4, ""), (6, "[0.7, 0.9]"), (8, "[0.8, 0.9]")):
            row = ("g1 / serial", "0.8", interval)
            write_so_far(folder, SoFar(recorded, "", ("comparison", "ratio", "95 % CI"), (row,)))
            watcher.look()
            watcher.look()
            shown.append(capsys.readouterr().err.count(f"from {recorded} invocations"))
    assert shown == [1, 1, 1, 1]


def test_for_whom_a_runner_waits_is_told_until_it_measures(
    folder: Folder, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    path = folder.state / f"{HOST}.json"
    measuring = json.loads(path.read_text())
    holder = {"pid": "7", "experiment": "other", "holder": "ada@lab", "since": "noon"}
    path.write_text(json.dumps({**measuring, "cell": None, "index": None, "waiting_for": holder}))
    (host,) = read_progress(folder).hosts
    golden("waiting", host.waiting)
    with Watcher(folder) as watcher:
        watcher.stage = "measure"
        watcher.look()
        assert capsys.readouterr().err.splitlines()[-1] == host.waiting
        watcher.look()
        assert capsys.readouterr().err == "", "it is told once"
        path.write_text(json.dumps(measuring))
        watcher.look()
    assert capsys.readouterr().err.startswith("measuring 5/20")
    assert read_progress(folder).hosts[0].waiting == ""


@pytest.mark.parametrize(
    ("holder", "who"),
    [
        ({}, "another process"),
        ({"pid": "7"}, "process 7"),
        ({"experiment": "demo", "since": "2001-02-03T04:05:06Z"}, "demo since 2001-02-03 05:05"),
    ],
)
def test_who_is_waited_for_is_named_by_what_is_known(
    holder: dict[str, str], who: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        assert waits_for({"host": "local", "waiting_for": holder}).endswith(f" host local, used by {who}")
    finally:
        monkeypatch.undo()
        time.tzset()


def test_what_a_host_says_of_its_holder_is_shown_bounded_and_printable(folder: Folder) -> None:
    told = {"total": 20, "started_utc_s": 1, "since_utc_s": 1, "counts": {}}
    holder = {"experiment": "\x1b]0;x\n" + "x" * 1000, "since": {}, "more": "unknown"}
    show_state(folder, HOST, 0, json.dumps({**told, "waiting_for": holder}).encode())
    state = read_state(folder.state / f"{HOST}.json")
    assert state is not None
    assert waits_for(state).isprintable()
    assert len(waits_for(state)) < 200
    assert set(state["waiting_for"]) == {"experiment", "since"}


def test_a_runner_of_which_no_event_tells_is_seen_and_left_alone(
    folder: Folder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Watcher(folder) as watcher:
        watcher._noticed_at = -math.inf
        monkeypatch.setattr("regatta.cli.watcher._NOTICE_EVERY_S", math.inf)
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
