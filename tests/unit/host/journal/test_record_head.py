"""The head of a record says the same as the whole record, whatever the line looks like."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from helpers.synthetic_journal import cell, record, write_experiment
from regatta.host.errors import NewerVersion
from regatta.host.journal.journal import Damage, read_heads, read_journal
from regatta.host.journal.record import (
    _HEAD,
    DamagedLine,
    RecordHead,
    decode_head,
    decode_record,
    encode_record,
)

G1, ZGC = cell("g1"), cell("zgc")


def whole(round_: int, **changes: Any) -> dict[str, Any]:
    return record(G1, round_, [1.0], **changes) | {"sequence": 0}


def head_of(whole_record: Any) -> RecordHead:
    return RecordHead(
        *(whole_record[key] for key in RecordHead._fields[:-1]), tuple(whole_record["perturbation"])
    )


def line_of(value: dict[str, Any], ascii_only: bool = False) -> bytes:
    body = json.dumps(value, separators=(",", ":"), ensure_ascii=ascii_only).encode()[:-1]
    return b'%b,"crc32":"%08x"}\n' % (body, zlib.crc32(body))


@pytest.mark.parametrize("status", ["ok", "failed", "timeout", "oom", "crashed", "perturbed", "skipped"])
def test_the_head_of_a_record_as_the_runner_writes_it_needs_no_parser(status: str) -> None:
    line = encode_record(whole(3, status=status))
    assert _HEAD.match(line)
    assert decode_head(line) == head_of(decode_record(line))


@pytest.mark.parametrize("host", ["größer", 'quo"ted', "back\\slash", "a b"])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_any_name_of_a_host_is_read(host: str, ascii_only: bool) -> None:
    line = line_of(whole(0, host=host), ascii_only)
    assert decode_head(line) == head_of(decode_record(line))


def test_another_order_of_keys_is_read() -> None:
    line = line_of({"v": 1, **dict(sorted(whole(2).items()))})
    assert decode_head(line) == head_of(decode_record(line))


def test_a_damaged_or_newer_line_is_no_head() -> None:
    line = encode_record(whole(0))
    for damaged in (line[:-9], line.replace(b'"ok"', b'"no"'), b"\n", b"{}\n"):
        with pytest.raises(DamagedLine):
            decode_head(damaged)
    with pytest.raises(NewerVersion):
        decode_head(line_of(whole(0) | {"v": 2}))


def test_heads_of_an_experiment_are_those_of_its_records_and_damage(tmp_path: Path) -> None:
    path = tmp_path / "made-up"
    write_experiment(path, [G1, ZGC], [record(c, r, [1.0]) for r in range(3) for c in (G1, ZGC)], 3)
    (journal,) = (path / "journal" / "alpha").glob("0*.jsonl")
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([*lines[:2], b"noise\n", *lines[2:], lines[0][:40]]))
    expected = [item if isinstance(item, Damage) else head_of(item) for item in read_journal(path)]
    assert list(read_heads(path)) == expected
    assert sum(isinstance(item, Damage) for item in expected) == 2
