"""Traces on disk: what is written is read, and what is no trace is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from helpers.synthetic_traces import write_trace
from regatta.events.importing import import_text
from regatta.events.marks import Mark, parse_mark
from regatta.events.measures import measure, metrics
from regatta.events.model import EVENTS, EVENTS_FILE, FACTS_FILE, OBJECTS_FILE, Facts, Kind, open_trace
from regatta.host.errors import RegattaError

FACTS = Facts(5, 95, 2, {"1": 3}, "text", "host", "6.1", realtime_offset_ns=7, remarks=("one", "two"))
OBJECTS: list[dict[str, Any]] = [{"kind": "cpu", "name": "cpu0"}, {"kind": "thread", "name": "one", "tid": 1}]


def test_a_trace_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_trace(tmp_path, [{"time_ns": 10, "kind": Kind.RESUME, "actor": 1, "object": 0}], OBJECTS, FACTS)
    trace = open_trace(tmp_path)
    assert trace.facts == FACTS
    assert trace.facts.seconds == pytest.approx(90e-9)
    assert pq.read_table(trace.events).num_rows == 1
    assert trace.read_objects().column("name").to_pylist() == ["cpu0", "one"]


@pytest.mark.parametrize(
    "facts", ["", "[]", "1", "null", "{}", '{"version": 1}', "x", '{"begin_ns": 1, "other": 2}']
)
def test_facts_that_are_none_are_refused(facts: str, tmp_path: Path) -> None:
    write_trace(tmp_path, [], OBJECTS, FACTS)
    (tmp_path / FACTS_FILE).write_text(facts)
    with pytest.raises(RegattaError) as caught:
        open_trace(tmp_path)
    assert caught.value.problems[0].where == str(tmp_path / FACTS_FILE)


def test_another_version_is_refused(tmp_path: Path) -> None:
    write_trace(tmp_path, [], OBJECTS, FACTS)
    told: dict[str, Any] = json.loads((tmp_path / FACTS_FILE).read_text())
    (tmp_path / FACTS_FILE).write_text(json.dumps({**told, "version": 2}))
    with pytest.raises(RegattaError) as caught:
        open_trace(tmp_path)
    assert caught.value.problems[0].got == "2"


@pytest.mark.parametrize("name", [EVENTS_FILE, OBJECTS_FILE, FACTS_FILE])
def test_a_missing_file_is_refused(name: str, tmp_path: Path) -> None:
    write_trace(tmp_path, [], OBJECTS, FACTS)
    (tmp_path / name).unlink()
    with pytest.raises(RegattaError) as caught:
        open_trace(tmp_path)
    assert str(tmp_path) in caught.value.problems[0].where


@pytest.mark.parametrize("table", [pa.table({"time_ns": [1]}), EVENTS.empty_table().drop(["value"])])
def test_other_columns_are_refused(table: pa.Table, tmp_path: Path) -> None:
    write_trace(tmp_path, [], OBJECTS, FACTS)
    pq.write_table(table, tmp_path / EVENTS_FILE)
    with pytest.raises(RegattaError) as caught:
        open_trace(tmp_path)
    assert caught.value.problems[0].where == str(tmp_path / EVENTS_FILE)


def test_a_damaged_table_is_refused(tmp_path: Path) -> None:
    write_trace(tmp_path, [], OBJECTS, FACTS)
    data = (tmp_path / EVENTS_FILE).read_bytes()
    (tmp_path / EVENTS_FILE).write_bytes(data[: len(data) // 2])
    with pytest.raises(RegattaError):
        open_trace(tmp_path)


def test_a_window_without_length_has_no_utilisation(tmp_path: Path) -> None:
    events = [{"time_ns": 10, "kind": Kind.RESUME, "actor": 1, "object": 0}]
    found = measure(write_trace(tmp_path, events, OBJECTS, Facts(10, 10, 1)))
    assert {row[0] for row in metrics(found)} == {"event_transactions", "event_lost"}


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("accept phase parse", Mark(Kind.ACCEPT, "phase", "parse")),
        ("request lock a.b_c-d", Mark(Kind.REQUEST, "lock", "a.b_c-d")),
        ("finish transaction 17 order", Mark(Kind.FINISH, "transaction", "order", 17)),
        ("wait process 0 database", Mark(Kind.WAIT, "process", "database", 0)),
        ("accept function 12", Mark(Kind.ACCEPT, "function", "12")),
        ("accept phase", None),
        ("accept  phase x", None),
        ("accept phase x ", None),
        ("accept phase x\n", None),
        ("Accept phase x", None),
        ("accept cpu x", None),
        ("accept phase 1234567890123456789 x", None),
        ("accept phase ٣ x", None),
        ("", None),
    ],
)
def test_marks_are_words_of_the_model(text: str, mark: Mark | None) -> None:
    assert parse_mark(text) == mark


@pytest.mark.parametrize("name", ["it's", "run[1]", "a*b", "a?b", "{a,b}", "a b", "ä"])
def test_folders_may_have_any_name(name: str, tmp_path: Path) -> None:
    text = tmp_path / name / "text"
    text.parent.mkdir()
    text.write_text(
        " a-1 [000] 1.000000001: sys_exit: NR 0 = 0\n a-1 [000] 1.000000005: sys_enter: NR 0 (0)\n"
    )
    trace = import_text(text, tmp_path / name / "trace")
    assert trace.facts.seconds == pytest.approx(4e-9)
    assert measure(trace).processes["a"].kernel == 0
    assert open_trace(trace.folder) == trace
