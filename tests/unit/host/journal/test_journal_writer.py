"""Appending records: whole, durable, one writer, cut back to the last whole line."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from helpers.synthetic_journal import cell
from helpers.synthetic_journal import record as made_up
from regatta.host.errors import StoreError
from regatta.host.journal.journal import Damage, read_file
from regatta.host.journal.journal_writer import JournalWriter
from regatta.host.journal.record import encode_record


def record(number: int, attempt: int = 0) -> dict[str, Any]:
    return {**made_up(cell(), number, attempt=attempt), "invocation_id": f"c-r{number}"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal" / "alpha" / "00000.jsonl"


def filled(path: Path, count: int) -> bytes:
    writer = JournalWriter(path)
    for number in range(count):
        writer.append(record(number))
    writer.close()
    return path.read_bytes()


def test_records_come_back_in_order_with_their_sequence(path: Path) -> None:
    filled(path, 3)
    items = list(read_file(path))
    assert [(i["invocation_id"], i["sequence"]) for i in items if isinstance(i, dict)] == [
        ("c-r0", 0),
        ("c-r1", 1),
        ("c-r2", 2),
    ]


def test_each_record_is_on_the_disk_before_append_returns(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = JournalWriter(path)
    synced: list[int] = []
    real = os.fdatasync

    def sync(fd: int) -> None:
        synced.append(os.fstat(fd).st_size)
        real(fd)

    monkeypatch.setattr(os, "fdatasync", sync)
    writer.append(record(0))
    writer.append(record(1))
    first, second = (len(encode_record({**record(number), "sequence": number})) for number in (0, 1))
    assert synced == [first, first + second]
    writer.close()


def test_a_line_torn_at_any_byte_is_cut_off_and_the_rest_stays(path: Path) -> None:
    whole = filled(path, 3)
    first_two = whole.rindex(b"\n", 0, -1) + 1
    for end in range(first_two, len(whole)):
        path.write_bytes(whole[:end])
        writer = JournalWriter(path)
        assert (writer.torn_bytes, writer.sequence, len(writer.records)) == (end - first_two, 2, 2)
        writer.append(record(2))
        writer.close()
        assert path.read_bytes() == whole


def test_a_tail_of_nul_bytes_is_cut_off(path: Path) -> None:
    whole = filled(path, 2)
    path.write_bytes(whole + bytes(4096))
    writer = JournalWriter(path)
    assert (writer.torn_bytes, writer.sequence) == (4096, 2)
    writer.close()
    assert path.read_bytes() == whole


def test_a_damaged_line_stays_as_evidence_and_numbers_go_on_above_it(path: Path) -> None:
    whole = bytearray(filled(path, 3))
    whole[len(whole) // 2] ^= 1
    path.write_bytes(whole)
    writer = JournalWriter(path)
    assert [r["invocation_id"] for r in writer.records] == ["c-r0", "c-r2"]
    writer.append(record(1))
    writer.close()
    assert path.read_bytes().startswith(bytes(whole))
    items = list(read_file(path))
    assert [isinstance(item, Damage) for item in items] == [False, True, False, False]
    assert isinstance(items[3], dict)
    assert items[3]["sequence"] == 3


def test_the_rest_of_a_line_that_arrives_while_it_is_read_is_no_damage(path: Path) -> None:
    whole = filled(path, 3)
    end = whole.index(b"\n") + 20
    path.write_bytes(whole[:end])
    items = read_file(path)
    assert isinstance(next(items), dict)
    torn = next(items)
    assert isinstance(torn, Damage)
    assert torn.torn
    path.write_bytes(whole)
    assert list(items) == []
    assert [isinstance(item, dict) for item in read_file(path)] == [True] * 3


def test_a_line_that_is_too_long_for_a_record_does_not_hide_those_after_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = filled(path, 1)
    longest = len(whole) + 1
    monkeypatch.setattr("regatta.host.journal.journal.MAXIMUM_LINE_BYTES", longest)
    path.write_bytes(b"x" * 2 * longest + b"\n" + whole)
    *damage, last = read_file(path)
    assert all(isinstance(item, Damage) for item in damage)
    assert isinstance(last, dict)


def test_no_sequence_is_given_twice_though_a_line_was_deleted(path: Path) -> None:
    lines = filled(path, 3).splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[2])
    writer = JournalWriter(path)
    writer.append(record(1))
    writer.close()
    assert [item["sequence"] for item in read_file(path) if isinstance(item, dict)] == [0, 2, 3]


def test_a_second_writer_is_refused_while_the_first_lives(path: Path) -> None:
    writer = JournalWriter(path)
    with pytest.raises(StoreError, match="no other runner"):
        JournalWriter(path)
    writer.close()
    JournalWriter(path).close()


@pytest.mark.parametrize("fault", ["short", "full", "sync"])
def test_a_full_disk_is_an_error_that_leaves_earlier_records_whole(
    path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    whole = filled(path, 2)
    writer = JournalWriter(path)
    real = os.write

    def write(fd: int, data: bytes) -> int:
        if fault == "full":
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(fd, data[:10] if fault == "short" else data)

    def sync(fd: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write)
        if fault == "sync":
            patch.setattr(os, "fdatasync", sync)
        with pytest.raises(StoreError, match="free disk space") as caught:
            writer.append(record(2))
    assert caught.value.exit_code == 3
    assert path.read_bytes() == whole
    writer.append(record(2))
    writer.close()
    assert len(list(read_file(path))) == 3


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file/00000"):
        JournalWriter(tmp_path / "file" / "00000.jsonl")


def test_lines_are_json_of_their_own(path: Path) -> None:
    for line in filled(path, 2).splitlines():
        assert json.loads(line)["v"] == 1
