"""Finding the records of some invocations in a journal without decoding those of all others."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from helpers.synthetic_journal import cell
from helpers.synthetic_journal import record as made_up
from regatta.host.journal import journal
from regatta.host.journal.journal import read_records_of
from regatta.host.journal.record import encode_record, id_in_line


def record(invocation_id: str, attempt: int = 0) -> dict[str, Any]:
    return {**made_up(cell(), 0, attempt=attempt), "sequence": 0, "invocation_id": invocation_id}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "00000.jsonl"


def found(path: Path, *invocation_ids: str) -> list[tuple[str, int]]:
    return [(r["invocation_id"], r["attempt"]) for r in read_records_of(path, set(invocation_ids))]


def test_every_attempt_of_the_invocations_is_found_and_no_other_record_is_decoded(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [f"{cell:016x}-r{round_}" for round_ in range(20) for cell in range(3)]
    path.write_bytes(b"".join(encode_record(record(i, attempt)) for attempt in (0, 1) for i in ids))
    decoded = []
    decode = journal.decode_record
    monkeypatch.setattr(journal, "decode_record", lambda line: decoded.append(line) or decode(line))
    assert found(path, ids[4], ids[50], "none") == [(ids[4], 0), (ids[50], 0), (ids[4], 1), (ids[50], 1)]
    assert len(decoded) == 4


def test_damaged_and_torn_lines_are_no_records(path: Path) -> None:
    lines = [encode_record(record("a-r0", attempt)) for attempt in range(4)]
    lines[1] = lines[1].replace(b'"ok"', b'"OK"')
    lines[2] = lines[2].replace(b"a-r0", b"b-r0")
    path.write_bytes(b"".join(lines)[:-1])
    assert found(path, "a-r0", "b-r0") == [("a-r0", 0)]


@pytest.mark.parametrize(
    "line", [b"", b"\n", b"{}", b'{"v":1}', b'{"v":2,"invocation_id":"a-r0"', b"\xff" * 40]
)
def test_a_line_that_does_not_begin_as_a_record_has_no_id(line: bytes) -> None:
    assert id_in_line(line) == ""


def test_the_id_in_a_line_is_the_id_of_its_record() -> None:
    assert id_in_line(encode_record(record("0123456789abcdef-r12"))) == "0123456789abcdef-r12"


@pytest.mark.parametrize(
    "read", [journal.read_file, journal.read_cells, lambda path: read_records_of(path, ())]
)
def test_a_pipe_in_the_place_of_a_journal_is_an_error(
    read: Callable[[Path], Iterable[Any]], path: Path
) -> None:
    os.mkfifo(path)
    with pytest.raises(OSError, match="not a regular file"):
        list(read(path))
