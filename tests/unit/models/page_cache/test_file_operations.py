"""Traces of file operations on disk: what is written is read, and what is no trace is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regatta.host.errors import RegattaError
from regatta.models.page_cache.operations import (
    FACTS_FILE,
    FILES,
    FILES_FILE,
    OPERATIONS,
    OPERATIONS_FILE,
    Facts,
    Kind,
    Operations,
    Recorder,
    read_operations,
    write_operations,
)

PATH = "/data/déjà vu\n; rm -rf x"
FACTS = Facts("strace", "host", "6.18", {"splice": 2}, ("one", "two"))


def trace() -> Operations:
    recorder = Recorder()
    file = recorder.file(PATH, 5000)
    recorder.add(20, Kind.READ, file, duration_ns=7, process=3, handle=0, offset=4096, bytes=904)
    recorder.add(10, Kind.OPEN, file, duration_ns=9, process=3, handle=0)
    recorder.add(30, Kind.STAT, failed=True)
    return recorder.operations(FACTS)


def test_a_trace_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_operations(tmp_path / "new", trace())
    found = read_operations(tmp_path / "new")
    assert found.facts == FACTS
    assert found.paths == (PATH,)
    assert found.sizes_bytes.tolist() == [5000]
    for name in OPERATIONS.names:
        assert found[name].tolist() == trace()[name].tolist()


def test_operations_are_ordered_by_time_and_equal_times_keep_their_order() -> None:
    recorder = Recorder()
    for time, process in ((5, 1), (3, 2), (5, 3), (3, 4)):
        recorder.add(time, Kind.STAT, process=process)
    assert recorder.operations()["process"].tolist() == [2, 4, 1, 3]


@given(
    st.lists(
        st.tuples(
            st.integers(0, 1 << 61), st.sampled_from(Kind), st.integers(0, 1 << 61), st.integers(0, 1 << 61)
        ),
        max_size=8,
    ),
    st.text(st.characters(codec="utf-8"), max_size=20),
)
def test_any_trace_survives_the_round_trip(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, Kind, int, int]], path: str
) -> None:
    recorder = Recorder()
    file = recorder.file(path)
    for time, kind, offset, count in rows:
        recorder.add(time, kind, file, offset=offset, bytes=count)
    folder = tmp_path_factory.mktemp("trace")
    write_operations(folder, recorder.operations())
    found = read_operations(folder)
    assert found.paths == (path,)
    assert found["offset"].tolist() == recorder.operations()["offset"].tolist()


@pytest.mark.parametrize("facts", ["", "[]", "1", "{", '{"other": 2}', '{"remarks": 3}', '{"version": 1}'])
def test_facts_that_are_none_are_refused(facts: str, tmp_path: Path) -> None:
    write_operations(tmp_path, trace())
    (tmp_path / FACTS_FILE).write_text(facts)
    with pytest.raises(RegattaError) as caught:
        read_operations(tmp_path)
    assert caught.value.problems[0].where == str(tmp_path / FACTS_FILE)


def test_a_folder_without_facts_is_refused(tmp_path: Path) -> None:
    write_operations(tmp_path, trace())
    (tmp_path / FACTS_FILE).unlink()
    with pytest.raises(RegattaError) as caught:
        read_operations(tmp_path)
    assert caught.value.problems[0].where == str(tmp_path)


def test_the_facts_are_written_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("regatta.models.recordings.tables.write_facts", fails)
    with pytest.raises(OSError, match="No space"):
        write_operations(tmp_path, trace())
    with pytest.raises(RegattaError):
        read_operations(tmp_path)


@pytest.mark.parametrize("name", [OPERATIONS_FILE, FILES_FILE])
@pytest.mark.parametrize("data", [None, b"", b"PAR1", b"\0" * 100])
def test_broken_tables_are_refused(name: str, data: bytes | None, tmp_path: Path) -> None:
    write_operations(tmp_path, trace())
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: len(whole) // 2] if data is None else data)
    with pytest.raises(RegattaError) as caught:
        read_operations(tmp_path)
    assert caught.value.problems[0].where == str(tmp_path / name)


def test_a_missing_table_is_refused(tmp_path: Path) -> None:
    write_operations(tmp_path, trace())
    (tmp_path / FILES_FILE).unlink()
    with pytest.raises(RegattaError) as caught:
        read_operations(tmp_path)
    assert caught.value.problems[0].where == str(tmp_path / FILES_FILE)


def _set(name: str, row: int, value: object) -> Callable[[dict[str, list[Any]]], None]:
    def change(columns: dict[str, list[Any]]) -> None:
        columns[name][row] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        _set("kind", 0, 0),
        _set("kind", 0, 12),
        _set("file", 0, 1),
        _set("file", 0, -2),
        _set("peer", 0, 1),
        _set("offset", 1, -1),
        _set("bytes", 1, -5),
        _set("bytes", 1, (1 << 62) + 1),
        _set("handle", 1, -2),
        _set("time_ns", 0, 25),
        _set("time_ns", 0, -1),
        _set("duration_ns", 0, -2),
        _set("file", 1, -1),
        _set("bytes", 1, None),
    ],
)
def test_values_that_contradict_the_format_are_refused(
    change: Callable[[dict[str, list[Any]]], None], tmp_path: Path
) -> None:
    write_operations(tmp_path, trace())
    columns = pq.read_table(tmp_path / OPERATIONS_FILE).to_pydict()
    change(columns)
    pq.write_table(pa.table(columns, schema=OPERATIONS), tmp_path / OPERATIONS_FILE)
    with pytest.raises(RegattaError) as caught:
        read_operations(tmp_path)
    assert caught.value.problems[0].where == str(tmp_path / OPERATIONS_FILE)


@pytest.mark.parametrize(("ids", "sizes"), [([1], [5000]), ([0], [-2])])
def test_files_that_contradict_the_format_are_refused(
    ids: list[int], sizes: list[int], tmp_path: Path
) -> None:
    write_operations(tmp_path, trace())
    columns = {"id": ids, "path": ["x"], "size_bytes": sizes}
    pq.write_table(pa.table(columns, schema=FILES), tmp_path / FILES_FILE)
    with pytest.raises(RegattaError) as caught:
        read_operations(tmp_path)
    assert caught.value.problems[0].where == str(tmp_path / FILES_FILE)


def test_other_columns_are_refused(tmp_path: Path) -> None:
    write_operations(tmp_path, trace())
    pq.write_table(pq.read_table(tmp_path / OPERATIONS_FILE).drop_columns("peer"), tmp_path / OPERATIONS_FILE)
    with pytest.raises(RegattaError):
        read_operations(tmp_path)
    assert json.loads((tmp_path / FACTS_FILE).read_text())["version"] == 2
