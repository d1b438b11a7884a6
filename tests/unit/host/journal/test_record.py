"""A record's line: any record comes back as it was, and nothing else passes for one."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.synthetic_journal import cell, record
from regatta.host.errors import NewerVersion
from regatta.host.journal.record import DamagedLine, check_line, decode_line, decode_record, encode_record
from regatta.host.journal.record_shape import NEEDED

_numbers = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
_values = st.recursive(
    st.none() | st.booleans() | _numbers | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
records = st.dictionaries(st.text().filter(lambda key: key not in ("v", "crc32")), _values, max_size=8).map(
    lambda rest: {"v": 1, **rest}
)
lines = records.map(encode_record)


@given(records)
def test_any_record_comes_back_as_it_was(record: dict[str, Any]) -> None:
    line = encode_record(record)
    assert line.count(b"\n") == 1
    assert line.endswith(b'"}\n')
    assert decode_line(line) == record


@given(lines, st.data())
def test_any_flipped_byte_is_damage(line: bytes, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(line) - 2))
    flip = data.draw(st.integers(1, 255))
    flipped = bytearray(line)
    flipped[place] ^= flip
    with pytest.raises(DamagedLine):
        decode_line(bytes(flipped))


@given(lines, st.data())
def test_any_truncation_is_damage(line: bytes, data: st.DataObject) -> None:
    with pytest.raises(DamagedLine):
        decode_line(line[: data.draw(st.integers(0, len(line) - 2))])


@given(lines, lines)
def test_two_lines_without_the_newline_between_are_damage(one: bytes, other: bytes) -> None:
    with pytest.raises(DamagedLine):
        decode_line(one[:-1] + other)


@given(st.binary(max_size=200))
def test_bytes_that_are_no_record_are_damage(noise: bytes) -> None:
    with pytest.raises(DamagedLine):
        decode_line(noise)


@pytest.mark.parametrize("shown", [r"\ud800", r"\udcff"])
def test_lone_surrogates_are_recorded_as_text(shown: str) -> None:
    surrogate = chr(int(shown[2:], 16))
    line = encode_record({"v": 1, "info": {surrogate: [{"x": f"é{surrogate}"}]}})
    assert decode_line(line) == {"v": 1, "info": {shown: [{"x": f"é{shown}"}]}}


@pytest.mark.parametrize("written", [rb"\ud800", rb"\uDCFF", b"\xed\xb3\xbf"])
def test_lone_surrogates_of_lines_that_exist_are_read_as_text(written: bytes) -> None:
    body = b'{"v":1,"info":{"%b":[{"x":"%b"}]}' % (written, written)
    ((key, (item,)),) = decode_line(b'%b,"crc32":"%08x"}' % (body, zlib.crc32(body)))["info"].items()
    assert key == item["x"]
    assert key in (r"\ud800", r"\udcff")


def test_pairs_of_surrogates_and_nuls_are_text_as_any_other() -> None:
    body = rb'{"v":1,"x":"\ud83d\ude00 \u0000 \\ud800"'
    assert decode_line(b'%b,"crc32":"%08x"}' % (body, zlib.crc32(body)))["x"] == "\U0001f600 \0 \\ud800"


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_are_none_are_refused(number: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        encode_record({"v": 1, "x": number})


@pytest.mark.parametrize("version", [0, -1, None, "2", 2.0, [2]])
def test_a_line_of_an_unknown_version_is_damage(version: object) -> None:
    with pytest.raises(DamagedLine, match="version 1"):
        decode_line(encode_record({"v": version}))


def test_a_line_of_a_newer_version_is_no_damage() -> None:
    with pytest.raises(NewerVersion):
        decode_line(encode_record({"v": 2}))


def test_the_checksum_is_over_the_line_before_it() -> None:
    line = encode_record({"v": 1, "a": "ä"})
    assert check_line(line) == '{"v":1,"a":"ä"'.encode()
    assert line[len('{"v":1,"a":"ä"'.encode()) :].startswith(b',"crc32":"')


def changed(**keys: Any) -> bytes:
    """The line of a whole record with other values."""
    return encode_record({**record(cell(), 0, [1.0]), "sequence": 0, **keys})


def test_a_record_without_what_is_not_needed_is_read() -> None:
    whole = decode_record(changed())
    bare = {key: value for key, value in whole.items() if key in ("v", *NEEDED)}
    assert decode_record(encode_record(bare)) == bare
    assert decode_record(changed(info=None, rusage=None, new={"a": [1]}))["new"] == {"a": [1]}


@pytest.mark.parametrize("key", NEEDED)
def test_a_record_without_what_readers_rely_on_is_damage(key: str) -> None:
    whole = decode_record(changed())
    del whole[key]
    with pytest.raises(DamagedLine, match=f"no {key}"):
        decode_record(encode_record(whole))
    with pytest.raises(DamagedLine, match=key):
        decode_record(changed(**{key: None}))


def deep(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"x": value}
    return value


MISSHAPEN: dict[str, Any] = {
    "sequence": [1], "round": "0", "attempt": 1.5, "block": True, "host": 5, "cell_id": ["x"], "plan_id": "x" * 201,
    "status": "excellent", "elapsed_ns": -1, "started_utc_ns": 2**63, "exit_code": 10**12, "iterations": {"0": 1},
    "rusage": {"user_s": []}, "cgroup": {"cpu_ns": "x"}, "runner": {"version": []}, "stdout": {"bytes": {}},
    "stderr": "x", "info": [], "isolation": "x", "perturbation": [1], "host_before": {"load1": "x"}, "cores": [1.5],
    "digest": 5, "reason": {}, "kept": [{"name": "../x"}], "new": 2**64,
}  # fmt: skip


@pytest.mark.parametrize("key", MISSHAPEN)
def test_a_record_of_another_shape_is_damage(key: str) -> None:
    with pytest.raises(DamagedLine, match=key):
        decode_record(changed(**{key: MISSHAPEN[key]}))


@pytest.mark.parametrize(
    ("group", "key", "value", "expected", "got"),
    [
        ("host_before", "governor", "performance", "float", "'performance'"),
        ("host_before", "load1", [1], "float", "list"),
        ("cgroup", "cpu_ns", 1.5, "int64", "1.5"),
        ("stdout", "new", 2**64, "64-bit", str(2**64)),
    ],
)
def test_the_wrong_value_of_a_group_is_named_with_what_it_is(
    group: str, key: str, value: Any, expected: str, got: str
) -> None:
    with pytest.raises(DamagedLine) as raised:
        decode_record(changed(**{group: {"version": 1, key: value}}))
    told = str(raised.value)
    assert f"'{group}'" in told
    assert f"'{key}'" in told
    assert expected in told.partition("expected")[2]
    assert told.endswith(f"got {got}")


@pytest.mark.parametrize(
    "row",
    [5, "sixsix", dict.fromkeys("abcdef"), [0, "x"], [0, "x", "1", "ns", None, None], [0, "x", 1, "ns", 2**64, None], [0, "x", 1, "ns", 1.5, None],
     [0, "x", 10**400, "ns", None, None], [0, "x", 1, None, None, None], [0, "x", 1, "ns", None, ["x"]]],
)  # fmt: skip
def test_a_measurement_of_another_shape_is_damage(row: Any) -> None:
    with pytest.raises(DamagedLine, match="iterations"):
        decode_record(changed(iterations=[row]))


@pytest.mark.parametrize("key", ["info", "isolation", "new"])
def test_a_value_that_is_nested_too_deeply_is_damage(key: str) -> None:
    assert decode_record(changed(**{key: deep(16)}))
    for depth in (65, 500):
        with pytest.raises(DamagedLine, match="at most 64 levels"):
            decode_record(changed(**{key: deep(depth)}))


@pytest.mark.parametrize("read", [decode_line, decode_record])
def test_a_line_of_brackets_is_damage(read: Callable[[bytes], Any]) -> None:
    body = b'{"v":1,"x":' + b"[" * 100_000 + b"]" * 100_000
    with pytest.raises(DamagedLine, match="deeply"):
        read(b'%b,"crc32":"%08x"}' % (body, zlib.crc32(body)))
