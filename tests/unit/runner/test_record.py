"""A record's line: any record comes back as it was, and nothing else passes for one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regatta.model.record import DamagedLine, check_line, decode_record, encode_record

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
    assert decode_record(line) == record


@given(lines, st.data())
def test_any_flipped_byte_is_damage(line: bytes, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(line) - 2))
    flip = data.draw(st.integers(1, 255))
    flipped = bytearray(line)
    flipped[place] ^= flip
    with pytest.raises(DamagedLine):
        decode_record(bytes(flipped))


@given(lines, st.data())
def test_any_truncation_is_damage(line: bytes, data: st.DataObject) -> None:
    with pytest.raises(DamagedLine):
        decode_record(line[: data.draw(st.integers(0, len(line) - 2))])


@given(lines, lines)
def test_two_lines_without_the_newline_between_are_damage(one: bytes, other: bytes) -> None:
    with pytest.raises(DamagedLine):
        decode_record(one[:-1] + other)


@given(st.binary(max_size=200))
def test_bytes_that_are_no_record_are_damage(noise: bytes) -> None:
    with pytest.raises(DamagedLine):
        decode_record(noise)


def test_text_that_is_no_unicode_survives() -> None:
    assert decode_record(encode_record({"v": 1, "info": {"x": "\ud800"}})) == {
        "v": 1,
        "info": {"x": "\ud800"},
    }


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_are_none_are_refused(number: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        encode_record({"v": 1, "x": number})


def test_a_line_of_another_version_is_damage() -> None:
    with pytest.raises(DamagedLine, match="version 1"):
        decode_record(encode_record({"v": 2}))


def test_the_checksum_is_over_the_line_before_it() -> None:
    line = encode_record({"v": 1, "a": "ä"})
    assert check_line(line) == '{"v":1,"a":"ä"'.encode()
    assert line[len('{"v":1,"a":"ä"'.encode()) :].startswith(b',"crc32":"')
