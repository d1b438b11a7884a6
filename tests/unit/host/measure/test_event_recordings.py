"""A cell with a recording of events keeps its trace beside the record; its measures are measurements of the invocation."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from helpers.runner_plans import HOST, Runner, sh, write_plan
from regatta.host.events.tracefs import missing_for_events
from regatta.host.values.events import ABOUT_FILE, TRACE_FILE, Events, Probe
from regatta.models.kernel_traces.record_measures import UNREADABLE, EventMeasures

_MISSING = missing_for_events()
needs_recorder = pytest.mark.skipif(bool(_MISSING), reason=f"NOT TESTED: no {_MISSING}")
_FILES = [TRACE_FILE, ABOUT_FILE]


def _traced(name: str, script: str, events: Events) -> dict[str, Any]:
    return sh(name, script, keep=_FILES, events=events.to_json())


@pytest.mark.full
@needs_recorder
def test_the_trace_is_kept_and_measured_once(runner: Runner, tmp_path: Path) -> None:
    write_plan(runner.folder, [_traced("traced", "sleep 0.05; ls /usr > /dev/null", Events(for_s=5.0))])
    assert runner.run().returncode == 0
    (record,) = runner.records()
    assert record["status"] == "ok"
    assert [kept["name"] for kept in record["kept"]] == _FILES
    assert record["left_behind"] == 0
    journal = runner.folder.journal / HOST
    about = json.loads((journal / "kept" / f"{record['invocation_id']}-a0" / ABOUT_FILE).read_text())
    assert about["end_ns"] - about["begin_ns"] >= record["elapsed_ns"]
    extended = EventMeasures(tmp_path / "cache").added_to(record, journal)
    rows = extended["iterations"][len(record["iterations"]) :]
    assert {row[1] for row in rows} >= {"event_transactions", "event_lost", "event_cpu_busy"}
    assert all(0 <= row[2] <= 100.5 for row in rows if row[1] == "event_cpu_busy")
    shutil.rmtree(journal / "kept")
    assert EventMeasures(tmp_path / "cache").added_to(record, journal) == extended
    unreadable = EventMeasures(tmp_path / "other").added_to(record, journal)["iterations"][-1]
    assert unreadable[1:3] == (UNREADABLE, 1.0)


@pytest.mark.full
@needs_recorder
@pytest.mark.parametrize("probe", [Probe("libc.so.6", "no_such_function", "entry", ("accept phase x",)), Probe("no-such-program", "f", "entry", ("accept phase x",))])  # fmt: skip
def test_a_probe_that_does_not_exist_fails_the_invocation_and_not_the_others(
    runner: Runner, probe: Probe
) -> None:
    write_plan(runner.folder, [_traced("probed", "true", Events(probes=(probe,))), sh("plain", "true")])
    assert runner.run().returncode == 0
    by_status = {record["status"]: record for record in runner.records()}
    assert set(by_status) == {"failed", "ok"}
    assert probe.function in by_status["failed"]["reason"] or probe.program in by_status["failed"]["reason"]


def test_a_journal_without_traces_depends_on_none(tmp_path: Path) -> None:
    assert EventMeasures.fingerprint(tmp_path) == ""


def test_a_trace_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    kept = [{"name": name, "bytes": 3, "sha256": 64 * "0"} for name in _FILES]
    record: Any = {
        "invocation_id": "i", "attempt": 0, "status": "ok", "kept": kept, "iterations": [(0, "elapsed", 1.0, "ns", None, None)],
    }  # fmt: skip
    folder = tmp_path / "kept" / "i-a0"
    folder.mkdir(parents=True)
    (folder / TRACE_FILE).write_bytes(b"???")
    (folder / ABOUT_FILE).write_text("{")
    rows = EventMeasures(tmp_path / "cache").added_to(record, tmp_path)["iterations"]
    assert [row[1] for row in rows] == ["elapsed", UNREADABLE]
    assert not (tmp_path / "cache").exists()
