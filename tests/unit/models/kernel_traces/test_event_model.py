"""Traces on disk: what is written is read, and what is no trace is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from helpers.synthetic_traces import write_trace
from regatta.host.errors import RegattaError
from regatta.models.kernel_traces.conversion import Mark, parse_mark
from regatta.models.kernel_traces.importing import import_text
from regatta.models.kernel_traces.measures import measure, metrics
from regatta.models.kernel_traces.model import (
    EVENTS,
    EVENTS_FILE,
    FACTS_FILE,
    OBJECTS_FILE,
    Facts,
    Kind,
    open_trace,
)

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


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cpus", 0),
        ("cpus", 8193),
        ("cpus", 1.5),
        ("cpus", "2"),
        ("cpus", True),
        ("begin_ns", -1),
        ("begin_ns", -(2**63) - 1),
        ("begin_ns", 96),
        ("end_ns", 4),
        ("end_ns", 2**63),
        ("lost", {"0": -5}),
        ("lost", {"x": 5}),
        ("lost", {"99999": 3}),
        ("lost", [1]),
        ("own", [2**40]),
        ("realtime_offset_ns", 2**80),
        ("remarks", [1]),
        ("host", None),
        ("scheduled", 1),
    ],
)
def test_facts_out_of_their_range_are_refused(name: str, value: object, tmp_path: Path) -> None:
    write_trace(tmp_path, [], OBJECTS, FACTS)
    told: dict[str, Any] = json.loads((tmp_path / FACTS_FILE).read_text())
    (tmp_path / FACTS_FILE).write_text(json.dumps({**told, name: value}))
    with pytest.raises(RegattaError) as caught:
        open_trace(tmp_path)
    assert caught.value.problems[0].where.startswith(str(tmp_path / FACTS_FILE))


def _rewritten(path: Path, name: str, values: list[Any]) -> None:
    """Change a column, and forget the digests: as in a trace of another program."""
    table = pq.read_table(path)
    column = pa.array(values, table.schema.field(name).type)
    pq.write_table(table.set_column(table.schema.get_field_index(name), name, column), path)
    told = json.loads((path.parent / FACTS_FILE).read_text())
    del told["sha256"]
    (path.parent / FACTS_FILE).write_text(json.dumps(told))


@pytest.mark.parametrize(
    ("file", "name", "values"),
    [
        (EVENTS_FILE, "kind", [2, 99]),
        (EVENTS_FILE, "kind", [0, 2]),
        (EVENTS_FILE, "actor", [1, 2]),
        (EVENTS_FILE, "object", [-2, 0]),
        (EVENTS_FILE, "peer", [0, 1_000_000]),
        (EVENTS_FILE, "cpu", [0, 8192]),
        (EVENTS_FILE, "time_ns", [20, 10]),
        (EVENTS_FILE, "time_ns", [-1, 10]),
        (EVENTS_FILE, "value", [0, -1]),
        (EVENTS_FILE, "value", [0, None]),
        (OBJECTS_FILE, "id", [1, 0]),
        (OBJECTS_FILE, "parent", [-1, 2]),
        (OBJECTS_FILE, "kind", ["cpu", "other"]),
        (OBJECTS_FILE, "name", ["cpu0", None]),
    ],
)
def test_rows_out_of_their_range_are_refused(file: str, name: str, values: list[Any], tmp_path: Path) -> None:
    run = {"kind": Kind.RESUME, "actor": 1, "object": 0}
    write_trace(tmp_path, [{"time_ns": 10, **run}, {"time_ns": 20, **run}], OBJECTS, FACTS)
    _rewritten(tmp_path / file, name, values)
    with pytest.raises(RegattaError) as caught:
        open_trace(tmp_path)
    assert caught.value.problems[0].where == str(tmp_path / file)


@pytest.mark.parametrize("name", [EVENTS_FILE, OBJECTS_FILE])
def test_every_changed_byte_of_a_table_is_found(name: str, tmp_path: Path) -> None:
    run = {"kind": Kind.RESUME, "actor": 1, "object": 0}
    write_trace(tmp_path, [{"time_ns": 10, **run}, {"time_ns": 20, **run}], OBJECTS, FACTS)
    whole = (tmp_path / name).read_bytes()
    for at in range(0, len(whole), 101):
        (tmp_path / name).write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(RegattaError) as caught:
            open_trace(tmp_path)
        assert caught.value.problems[0].where == str(tmp_path / name)


def test_digests_name_files_of_the_folder_only(tmp_path: Path) -> None:
    write_trace(tmp_path, [], OBJECTS, FACTS)
    told: dict[str, Any] = json.loads((tmp_path / FACTS_FILE).read_text())
    wrongs: tuple[Any, ...] = ({"../x": "0"}, [], {"a/b": "0"}, {"missing": "0"})
    for wrong in wrongs:
        (tmp_path / FACTS_FILE).write_text(json.dumps({**told, "sha256": wrong}))
        with pytest.raises(RegattaError):
            open_trace(tmp_path)


def test_a_trace_of_an_older_version_without_digests_is_read(tmp_path: Path) -> None:
    write_trace(tmp_path, [], OBJECTS, FACTS)
    _rewritten(tmp_path / OBJECTS_FILE, "tid", [0, 1])
    assert open_trace(tmp_path).facts == FACTS


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
