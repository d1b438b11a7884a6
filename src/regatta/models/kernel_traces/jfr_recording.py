"""Recordings of the JVM's flight recorder (JFR): their chunks, their clock, and a stream of their events."""

from __future__ import annotations

import json
import os
import re
import shutil
import struct
import subprocess
import tempfile
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from regatta.host.errors import HostError, RegattaError

#: Source: OpenJDK, jdk.jfr.internal.consumer.ChunkHeader
_HEADER = struct.Struct(">4sHHQQQQQQQI")
_MAGIC = b"FLR\0"
#: major versions that `jfr` reads
_MAJORS = (1, 2)
#: so many ticks per second has the clock `os::elapsed_counter`, which is CLOCK_MONOTONIC since the start of
#: the JVM
MONOTONIC_TICKS = 1_000_000_000
#: A larger correction is a step of the wall clock and no drift of the ticks.
_LARGEST_DRIFT = 1e-3
_READ_BYTES = 1 << 20
_EVENTS = re.compile(r'"events"\s*:\s*\[')
_BETWEEN = re.compile(r"[\s,]*")
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d(?::\d\d)?)")
_DURATION = re.compile(r"PT(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?)(\d+)(?:\.(\d{1,9}))?S)?")
_AGAIN = "record again, and let the JVM end the recording (dumponexit=true, or jcmd PID JFR.stop)"


@dataclass(frozen=True)
class Chunk:
    """The header of a part of a recording. Within a chunk, times are ticks since its start."""

    #: of the header in the file, in bytes
    offset: int
    #: since 1970
    begin_ns: int
    duration_ns: int
    begin_ticks: int
    ticks_per_second: int


@dataclass(frozen=True)
class WallClock:
    """Correct the times that `jfr` prints.

    `jfr` derives the time of an event from its ticks: begin_ns + (ticks - begin_ticks) / ticks_per_second.
    Both beginnings are read when the chunk begins. Where ticks are CLOCK_MONOTONIC, the rate is exact. Where
    they are the processor's time stamp counter, `ticks_per_second` is an estimate of the JVM, so that an
    error grows until the next chunk begins. The beginnings of the first and the last chunk then give the
    rate.
    """

    chunks: tuple[Chunk, ...]
    #: true length of a second by the ticks
    rate: float

    def corrected_ns(self, printed_ns: int) -> int:
        """Return the time of CLOCK_REALTIME in ns since 1970."""
        if self.rate == 1:
            return printed_ns
        later = bisect_right(self.chunks, printed_ns, key=lambda chunk: chunk.begin_ns)
        begin = self.chunks[max(0, later - 1)].begin_ns
        return begin + round((printed_ns - begin) * self.rate)


def wall_clock(chunks: Sequence[Chunk]) -> WallClock:
    """Return the clock of a recording, with the rate of its ticks if it has several chunks."""
    first, last = chunks[0], chunks[-1]
    ticks = last.begin_ticks - first.begin_ticks
    if first.ticks_per_second == MONOTONIC_TICKS or ticks <= 0:
        return WallClock(tuple(chunks), 1.0)
    rate = (last.begin_ns - first.begin_ns) / 1e9 * first.ticks_per_second / ticks
    return WallClock(tuple(chunks), rate if abs(rate - 1) < _LARGEST_DRIFT else 1.0)


def read_chunks(recording: Path) -> list[Chunk]:
    """Read the headers of a recording.

    Raises:
        RegattaError: the file is missing, no recording, or ends early.
    """
    chunks: list[Chunk] = []
    try:
        size = recording.stat().st_size
        with recording.open("rb") as file:
            offset = 0
            while offset < size or not chunks:
                chunk, length = _chunk(recording, file, offset, size)
                chunks.append(chunk)
                offset += length
    except OSError as error:
        raise RegattaError(
            str(recording), "a recording of JFR", error.strerror or str(error), "name a .jfr file"
        ) from error
    return chunks


def _chunk(recording: Path, file: IO[bytes], offset: int, size: int) -> tuple[Chunk, int]:
    """Read the header at an offset; return the chunk and its length in bytes."""
    where = f"{recording}, byte {offset}"
    file.seek(offset)
    header = file.read(_HEADER.size)
    if header[:4] != _MAGIC and (len(header) >= len(_MAGIC) or offset == 0):
        raise RegattaError(where, f"the magic number {_MAGIC!r} of JFR", repr(header[:4]), "name a .jfr file")
    if len(header) < _HEADER.size:
        raise RegattaError(where, f"a header of {_HEADER.size} bytes", f"{len(header)} bytes", _AGAIN)
    _, major, minor, length, _, _, begin_ns, duration_ns, begin_ticks, per_second, _ = _HEADER.unpack(header)
    if major not in _MAJORS:
        raise RegattaError(
            where, "version 1 or 2 of JFR", f"version {major}.{minor}", "use a newer release of Regatta"
        )
    if length < _HEADER.size:
        raise RegattaError(where, "a finished chunk", f"a length of {length} bytes", _AGAIN)
    if offset + length > size:
        raise RegattaError(where, f"a chunk of {length} bytes", f"{size - offset} bytes", _AGAIN)
    if per_second == 0 or max(begin_ns, duration_ns, begin_ticks) >= 1 << 63:
        raise RegattaError(where, "times of a chunk", f"{per_second} ticks per second", _AGAIN)
    return Chunk(offset, begin_ns, duration_ns, begin_ticks, per_second), length


def find_jfr(java: str) -> str:
    """Return the path of the `jfr` next to `java`, or of the one on PATH.

    Raises:
        HostError: there is none.
    """
    found = shutil.which(java)
    beside = Path(found).resolve().with_name("jfr") if found else None
    tool = str(beside) if beside and beside.is_file() else shutil.which("jfr")
    if tool is None:
        raise HostError("jfr", "the tool next to java, or on PATH", "none", "install a JDK")
    return tool


def stream_events(recording: Path, types: Sequence[str], java: str) -> Iterator[Any]:
    """Yield events as `jfr print --json` prints them, without a stack. Memory holds a few events at a time.

    DuckDB's `read_json` reads the same text, but as one value. For 200,000 events (144 MB of text) it needed
    14 s and 600 MiB, the whole import 9 s and 250 MiB.

    Raises:
        RegattaError: `jfr` is missing or cannot read the recording.
    """
    command = [find_jfr(java), "print", "--json", "--stack-depth", "0", "--events", ",".join(types)]
    # The text is in the encoding of the locale.
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    with (
        _with_suffix(recording) as readable,
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            [*command, str(readable)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment,
        ) as child,
    ):
        assert child.stdout is not None
        try:
            yield from decode_events(child.stdout)
            wrong = "" if child.wait() == 0 else f"exit code {child.returncode}"
        except (ValueError, RecursionError) as error:
            child.kill()
            child.wait()
            wrong = str(error)
        except GeneratorExit:
            child.kill()
            raise
        errors.seek(0)
        said = errors.read().decode(errors="replace").strip().partition("\n")[0]
    if wrong:
        raise RegattaError(str(recording), "events as `jfr print --json` prints them", said or wrong, _AGAIN)


@contextmanager
def _with_suffix(recording: Path) -> Iterator[Path]:
    """Yield a name of the recording that ends in .jfr: `jfr` refuses all others."""
    if recording.suffix == ".jfr":
        yield recording
        return
    with tempfile.TemporaryDirectory(prefix="regatta-jfr-") as folder:
        link = Path(folder) / "recording.jfr"
        link.symlink_to(recording.resolve())
        yield link


def decode_events(stream: IO[bytes]) -> Iterator[Any]:
    """Yield the elements of `{"recording": {"events": [...]}}` while they arrive.

    Args:
        stream: the output of `jfr`.

    Raises:
        ValueError: the text ends early or is something else.
    """
    decoder = json.JSONDecoder()
    read = _texts(stream)
    text = ""
    while (begin := _EVENTS.search(text)) is None:
        more = next(read, "")
        if not more:
            raise ValueError("the output has no events")
        text += more
    at = begin.end()
    while True:
        match = _BETWEEN.match(text, at)
        at = match.end() if match else at
        if text.startswith("]", at):
            break
        try:
            event, at = decoder.raw_decode(text, at)
        except ValueError as error:
            more = next(read, "")
            if not more:
                raise ValueError("the output ends within an event") from error
            text, at = text[at:] + more, 0
            continue
        yield event
    for _ in read:  # so that the writer can end
        pass


def _texts(stream: IO[bytes]) -> Iterator[str]:
    """Yield the text of a binary stream piece by piece, each at a border of lines."""
    rest = b""
    while data := stream.read(_READ_BYTES):
        whole, newline, rest = (rest + data).rpartition(b"\n")
        if newline:
            yield (whole + newline).decode(errors="replace")
    if rest:
        yield rest.decode(errors="replace")


def parse_time(text: str) -> int:
    """Return ns since 1970 of a time such as `2026-01-31T10:30:00.000000001+01:00`.

    Raises:
        ValueError: it is no time.
    """
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError(f"no time: {text[:60]!r}")
    whole, fraction, zone = found.groups()
    return _second(whole + zone) * 1_000_000_000 + int((fraction or "").ljust(9, "0"))


@lru_cache(maxsize=1024)
def _second(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp())


def parse_duration(text: str) -> int:
    """Return the ns of a duration such as `PT1H2M0.000000003S`; negative ones have a sign at each part.

    Raises:
        ValueError: it is no duration.
    """
    found = _DURATION.fullmatch(text)
    if found is None or text == "PT":
        raise ValueError(f"no duration: {text[:60]!r}")
    hours, minutes, sign, seconds, fraction = found.groups()
    rest = int(seconds or 0) * 1_000_000_000 + int((fraction or "").ljust(9, "0"))
    return (int(hours or 0) * 60 + int(minutes or 0)) * 60_000_000_000 + (-rest if sign else rest)
