"""What a process prints: counted exactly, kept at both ends, however it comes."""

from __future__ import annotations

import base64
import hashlib
import os
import zlib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from regatta.host.measure.capture import Capture


def captured(chunks: list[bytes], cap_bytes: int = 64, hashed: bool = False) -> Capture:
    reading, writing = os.pipe()
    capture = Capture(reading, cap_bytes, hashed)
    for chunk in chunks:
        os.write(writing, chunk)
        assert capture.drain() is True
    os.close(writing)
    assert capture.drain() is False
    os.close(reading)
    return capture


def unpacked(value: dict[str, Any], part: str) -> bytes:
    return zlib.decompress(base64.b64decode(value[part]))


@given(st.lists(st.binary(max_size=200), max_size=8), st.integers(2, 128))
def test_beginning_and_end_are_kept_and_all_is_counted_and_hashed(chunks: list[bytes], cap: int) -> None:
    everything = b"".join(chunks)
    capture = captured(chunks, cap, hashed=True)
    half = cap // 2
    value = capture.to_json()
    assert value["bytes"] == len(everything)
    assert capture.sha256 == hashlib.sha256(everything).hexdigest()
    assert capture.cut == (len(everything) > 2 * half)
    if not everything:
        assert value == {"bytes": 0, "head": ""}
    elif capture.cut:
        assert unpacked(value, "head") == everything[:half]
        assert unpacked(value, "tail") == everything[-half:]
        assert b"[... %d bytes dropped ...]" % (len(everything) - 2 * half) in capture.kept
    else:
        assert unpacked(value, "head") == capture.kept == everything
        assert "tail" not in value


def test_nothing_is_hashed_that_nobody_asked_for() -> None:
    assert captured([b"text"]).sha256 is None


def test_draining_gives_its_turn_back_while_the_writer_goes_on() -> None:
    """One call reads a bounded amount, so that timeouts are seen beside a program that prints without end."""
    reading, writing = os.pipe()
    capture = Capture(reading, 64, False)
    reads = 0
    real = os.read

    def endless(fd: int, size: int) -> bytes:
        nonlocal reads
        reads += 1
        assert reads < 10_000
        return bytes(size)

    os.read = endless
    try:
        assert capture.drain() is True
    finally:
        os.read = real
        os.close(reading)
        os.close(writing)


def test_keeping_nothing_still_counts() -> None:
    assert captured([b"x" * 1000], 0).to_json()["bytes"] == 1000
