"""Cursors: what they say is true after a kill, and a journal that was replaced is found."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from helpers.golden import Golden
from regatta.host.errors import StoreError
from regatta.influx.cursor import Cursor, Cursors, Position
from regatta.influx.settings import Settings
from regatta.store.folder import Folder


@pytest.fixture
def cursors(tmp_path: Path) -> Cursors:
    return Cursors(Folder(tmp_path), Settings(Path("x"), "http://h:1"))


def after_all_lines(path: Path) -> Position:
    position = Position()
    for line in path.read_bytes().splitlines(keepends=True):
        position = position.after(line, carry=7, points=2)
    return position


def test_a_cursor_reads_what_it_has_saved(cursors: Cursors) -> None:
    with cursors.locked("alpha") as cursor:
        cursor.positions["0.jsonl"] = Position(10, 4, 77, 1_700_000_000_000_000_000, 2, 20, 1)
        cursor.refused, cursor.refusal = 3, "another type"
        cursor.save()
        cursor.keep_series([2**64 - 1, 5])
    with cursors.locked("alpha") as again:
        assert again.positions == {"0.jsonl": Position(10, 4, 77, 1_700_000_000_000_000_000, 2, 20, 1)}
        assert (again.refused, again.refusal) == (3, "another type")
        assert list(again.series()) == [5, 2**64 - 1]
    assert cursors.names() == ["alpha"]
    assert cursors.series_elsewhere("alpha") == 0
    assert cursors.series_elsewhere("beta") == 2
    assert cursors.refused() == (3, "another type")


def test_forgetting_begins_again(cursors: Cursors) -> None:
    with cursors.locked("alpha") as cursor:
        cursor.positions["0.jsonl"] = Position(10)
        cursor.save()
        cursor.keep_series([5])
        cursor.forget()
    with cursors.locked("alpha") as again:
        assert again.positions == {}
        assert list(again.series()) == []


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b'{"v":1}', b'{"v":9,"files":{},"refused":0,"refusal":""}']
)
def test_a_cursor_that_cannot_be_read_begins_again(cursors: Cursors, damage: bytes) -> None:
    with cursors.locked("alpha") as cursor:
        cursor.positions["0.jsonl"] = Position(10)
        cursor.save()
        cursor.path.write_bytes(damage)
        assert Cursor(cursors.directory, "alpha").positions == {}


def test_a_journal_that_grew_fits_its_cursor(tmp_path: Path) -> None:
    path = tmp_path / "0.jsonl"
    path.write_bytes(b"one\ntwo\n")
    position = after_all_lines(path)
    assert (position.offset, position.records, position.points, position.carry) == (8, 2, 4, 7)
    path.write_bytes(b"one\ntwo\nthree\n")
    position.check(path)


@pytest.mark.parametrize("data", [None, b"", b"one\n", b"one\ntwO\n", b"uno\ndos\ntres\n"])
def test_a_journal_that_was_replaced_is_told_with_what_mends_it(tmp_path: Path, data: bytes | None) -> None:
    path = tmp_path / "0.jsonl"
    path.write_bytes(b"one\ntwo\n")
    position = after_all_lines(path)
    path.unlink()
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(StoreError, match=r"first 2 records .*--rebuild"):
        position.check(path)


def test_a_damaged_line_moves_the_cursor_and_keeps_the_time() -> None:
    position = Position().after(b"record\n", carry=5, points=3).after(b"damage\n")
    assert (position.offset, position.carry, position.records, position.points, position.damaged) == (
        14,
        5,
        1,
        3,
        1,
    )


def test_the_second_waits_for_the_first_or_says_so_when_its_patience_ends(
    cursors: Cursors, golden: Golden
) -> None:
    said: list[str] = []
    order: list[str] = []

    def second() -> None:
        with cursors.locked("alpha", say=said.append):
            order.append("second")

    with cursors.locked("alpha"):
        with pytest.raises(StoreError, match="another process"):
            cursors.locked("alpha", patience_s=0).__enter__()
        with cursors.locked("beta", patience_s=0):
            pass
        thread = threading.Thread(target=second)
        thread.start()
        while not said:
            assert thread.is_alive()
        order.append("first")
    thread.join(300)
    assert order == ["first", "second"]
    (waiting,) = said
    golden("waiting", waiting)


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "influx").write_text("a file")
    cursors = Cursors(Folder(tmp_path), Settings(Path("x"), "http://h:1"))
    with pytest.raises(StoreError, match="no data is lost"), cursors.locked("alpha"):
        pass


def test_names_that_an_older_version_kept_are_those_of_the_points_still(cursors: Cursors) -> None:
    cursors.directory.mkdir(parents=True, exist_ok=True)
    label = ["s/old:x", "jdk-21", "g1", "none", "2x", "s/old:x · jdk-21 g1", 2.0, 64.0]
    (cursors.directory / "alpha.cells.json").write_text(json.dumps({"0c0ffee": label}))
    with cursors.locked("alpha") as cursor:
        cursor.save()
        assert cursor.former_cells["0c0ffee"].benchmark == "s/old:x"
    assert cursors.names() == ["alpha"]
