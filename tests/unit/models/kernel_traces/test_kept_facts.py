"""One damaged recording that a host keeps costs its own measures, and nothing else: no other answer, and no memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from regatta.host.errors import RegattaError
from regatta.host.values.events import ABOUT_FILE, TRACE_FILE, Events
from regatta.models.kernel_traces.importing import read_about
from regatta.models.kernel_traces.record_measures import UNREADABLE, KeptTrace, _rows

ABOUT: dict[str, Any] = {
    "version": 1, "begin_ns": 10, "end_ns": 20, "realtime_offset_ns": 5, "cpus": 2, "kernel": "6.1", "machine": "x86_64",
    "host": "alpha", "lost": {"1": 3}, "missing": [], "recording": Events().to_json(), "own": [7],
    "tasks": {"7": [7, "web", "web", False]},
}  # fmt: skip


def _recording(folder: Path, **changes: object) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / ABOUT_FILE).write_text(json.dumps({**ABOUT, **changes}))
    (folder / TRACE_FILE).write_bytes(b"no file of trace-cmd")
    return folder


def test_facts_of_a_host_are_read_as_it_wrote_them(tmp_path: Path) -> None:
    about = read_about(_recording(tmp_path))
    assert (about.cpus, about.lost, about.own) == (2, {"1": 3}, (7,))
    assert about.tasks == ABOUT["tasks"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("version", 2),
        ("cpus", 10**7),
        ("cpus", 2**63 - 1),
        ("cpus", -3),
        ("begin_ns", -(2**63) - 1),
        ("begin_ns", 21),
        ("lost", {"0": -5}),
        ("lost", {"99999": 3}),
        ("own", [2**40]),
        ("realtime_offset_ns", 2**80),
        ("tasks", {"7": [7, "web", "web"]}),
        ("tasks", {"7": [2**40, "web", "web", False]}),
        ("tasks", {"x": [7, "web", "web", False]}),
        ("tasks", {"7": 7}),
        ("missing", [[]]),
    ],
)
def test_facts_of_a_host_out_of_their_range_are_refused(name: str, value: object, tmp_path: Path) -> None:
    with pytest.raises(RegattaError) as caught:
        read_about(_recording(tmp_path, **{name: value}))
    assert caught.value.problems[0].where.startswith(str(tmp_path / ABOUT_FILE))


@pytest.mark.parametrize("text", ["[" * 5000, "{", "[]", "\xff", '{"version": NaN}'])
def test_facts_that_are_no_json_are_refused(text: str, tmp_path: Path) -> None:
    recording = _recording(tmp_path)
    (recording / ABOUT_FILE).write_text(text, encoding="latin-1")
    with pytest.raises(RegattaError):
        read_about(recording)


@pytest.mark.parametrize(
    "damage", [OverflowError(), IndexError(), MemoryError(), RecursionError(), AttributeError()]
)
def test_a_failure_of_any_type_costs_one_recording(
    damage: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise damage

    monkeypatch.setattr("regatta.models.kernel_traces.importing.read_about", fails)
    rows = _rows(KeptTrace(_recording(tmp_path / "kept"), tmp_path / "cache" / "x.json"))
    assert [row[1] for row in rows] == [UNREADABLE]
