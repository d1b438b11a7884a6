"""Read access logs into a table of requests. Text of a log is only data: it is never part of a query."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from regatta.host.cache import regular_status
from regatta.host.errors import RegattaError
from regatta.models.load.formats import TIMES, LogFormat, Part, find_format

_CHUNK = 16 << 20
#: longer lines are no requests
MOST_LINE_BYTES = 1 << 20
_PACKED = 4 << 20
#: bytes of compressed data that are lost before damage at most
_STEP = 64
#: for zlib: the header of gzip
_GZIP = 16 + zlib.MAX_WBITS
_TRIED_LINES = 1000
_BATCH_ROWS = 8192
_SHOWN = 160
#: of lines that are not counted; a line of Windows ends with \r
_BLANK = " \t\r"
#: methods of HTTP; all others are named `other`
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE", "PROPFIND")
#: earlier than the line before by more than a request takes to be answered
_DISORDER_US = 60_000_000

#: One row per line with text; `requests` has those without `broken`. `line`: counted over all logs. `at_us`: microseconds since 1970.
#: `duration_us`: null if the log has none. `client` and `object` are hashes: of address and program, and of the path. `query`: whether
#: the URL has one. `cache`: what the cache of a proxy did (`hit`, `miss`, `bypass`); null: nothing, or the log does not say. `origin_us`:
#: time that the server behind it took; null: it was not asked. `broken`: why the line is no request, with the begin of its `text`.
_TABLES = """
create table lines (line bigint, at_us bigint, duration_us bigint, client ubigint, object ubigint, method varchar,
  status smallint, bytes bigint, query boolean, cache varchar, origin_us bigint, zone varchar, broken varchar, text varchar, path varchar);
create view requests as select * exclude (zone, broken, text) from lines where broken is null
"""

#: what a client is known by
_CLIENT: tuple[Part, ...] = ("client", "agent")
#: microseconds in a unit of durations
_UNITS: tuple[tuple[Part, int], ...] = (("us", 1), ("ms", 1000), ("s", 1_000_000))
_CLF = "%d/%b/%Y:%H:%M:%S %z"
#: part of a line -> SQL of its time in microseconds since 1970
_TIME_OF: dict[Part, str] = {
    "time": f"epoch_us(try_strptime(p.time, '{_CLF}'))",
    "iso": "epoch_us(try_cast(p.iso as timestamptz))",
    "msec": "try_cast(1e6 * try_cast(p.msec as double) as bigint)",
    "usec": "try_cast(p.usec as bigint)",
}
#: the years 1990 and 2100; a clock that counts other units than seconds is far beyond
_LEAST_TIME_US, _MOST_TIME_US = 631_152_000_000_000, 4_102_444_800_000_000
#: no request takes over a day, and no answer has over 2^50 bytes
_MOST_DURATION_US, _MOST_BYTES = 86_400_000_000, 1 << 50
#: A request line has a method and a target; bytes that are no HTTP have neither.
_METHOD = "split_part(p.request, ' ', 1)"
_PROTOCOL = "split_part(p.request, ' ', -1)"
_TARGET = f"trim(substr(p.request, length({_METHOD}) + 2, greatest(0, length(p.request) - length({_METHOD}) - 1 - if(starts_with({_PROTOCOL}, 'HTTP/'), length({_PROTOCOL}), 0))))"


#: What a cache did, by the words of nginx, of varnishncsa, and of Squid. An answer that was checked or is stale is a hit: its body
#: came from the cache. Squid's words begin with the protocol; those of errors and tunnels are none of a cache.
_CACHE = """
case when p.cache is null or p.cache = '-' then 'none'
     when upper(p.cache) in ('HIT', 'STALE', 'UPDATING', 'REVALIDATED') then 'hit'
     when upper(p.cache) in ('MISS', 'EXPIRED') then 'miss'
     when upper(p.cache) in ('BYPASS', 'PASS', 'PIPE') then 'bypass'
     when upper(p.cache) in ('SYNTH', 'ERROR') then 'none'
     when regexp_matches(p.cache, '^TCP_[A-Z_]+$') then
       case when regexp_matches(p.cache, 'HIT|REFRESH_UNMODIFIED|REFRESH_FAIL_OLD') then 'hit'
            when contains(p.cache, 'CLIENT_REFRESH') then 'bypass'
            when regexp_matches(p.cache, 'MISS|MODIFIED|REFRESH_FAIL') then 'miss' else 'none' end
     when regexp_matches(p.cache, '^(UDP_[A-Z_]+|NONE(_[A-Z_]+)?)$') then 'none' else 'unknown' end
"""
#: Several servers were asked one after the other. A server that did not answer has no time.
_ORIGIN_US = f"""
list_sum([case when one = '-' then null
  when try_cast(one as double) between 0 and {_MOST_DURATION_US // 1_000_000} then 1e6 * try_cast(one as double)
  else cast('nan' as double) end for one in string_split_regex(replace(p.origin, ' ', ''), '[,:]')])
"""


@dataclass(frozen=True)
class Broken:
    """Lines that are no requests, for one reason. `example` is the begin of the first one, at `where` (`file:line`)."""

    reason: str
    count: int
    where: str
    example: str


@dataclass
class Read:
    """What was read from logs into the table `requests` of a database.

    `lines`: all lines with text. `broken`: by reason. `formats`: names of the formats. `at_end`: whether times are those of the
    ends of requests. `zones`: number of time zones. `disordered`: lines that are over a minute earlier than the one before.
    `resolution_us`: 1,000,000 if all times are whole seconds, else 1.
    """

    database: duckdb.DuckDBPyConnection
    lines: int = 0
    requests: int = 0
    formats: list[str] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)
    at_end: bool = False
    zones: int = 1
    disordered: int = 0
    resolution_us: int = 1


def read_logs(
    paths: Sequence[Path],
    scratch: Path,
    given: LogFormat | None = None,
    names: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Read:
    """Read logs, plain or compressed with gzip, in any order.

    Args:
        paths: of the logs.
        scratch: folder for the database; 10^7 requests take about 300 MB.
        given: format of all of them. By default, each one's is found from its first lines.
        names: whether to keep paths, which may identify people.
        progress: called with the bytes read and those of all files.

    Returns:
        the database with the table `requests`, and the counts.

    Raises:
        RegattaError: a file cannot be read, has no known format, or there is no request in any.
    """
    database = duckdb.connect(str(scratch / "requests.duckdb"))
    database.execute("set memory_limit = '500MB'")
    database.execute("set timezone = 'UTC'")
    database.execute(f"set temp_directory = '{str(scratch / 'spilled').replace(chr(39), chr(39) * 2)}'")
    database.execute(_TABLES)
    reader = _Reader(Read(database), names)
    total = sum(path.stat().st_size for path in paths if path.exists())
    before = 0
    for path in paths:
        reader.read(path, given, lambda done, before=before: progress(before + done, total))  # type: ignore[misc]
        before += path.stat().st_size
    return reader.finished(paths)


class _Reader:
    def __init__(self, found: Read, names: bool) -> None:
        self._found = found
        self._names = names
        self._unread: list[Broken] = []
        #: number of the first line of each log, over all logs
        self._begins: list[tuple[int, Path]] = []
        self._next = 1

    def read(self, path: Path, given: LogFormat | None, progress: Callable[[int], None]) -> None:
        self._begins.append((self._next, path))
        used = given
        try:
            # A log is read from its start again, once its first bytes have shown its format.
            regular_status(path)
            with path.open("rb") as raw:
                for lines in map(_lines, self._chunks(raw, path, progress)):
                    if used is None:
                        tried = [
                            shown for line in lines[:_TRIED_LINES].to_pylist() if (shown := line.strip())
                        ]
                        if tried:
                            used = find_format(tried, str(path))
                    if used is not None:
                        self._insert(lines, used)
                    self._next += len(lines)
        except OSError as error:
            raise RegattaError(str(path), "a readable log", str(error)) from error
        if used is not None:
            self._found.at_end = self._found.at_end or used.at_end
            if used.name not in self._found.formats:
                self._found.formats.append(used.name)

    def _chunks(self, raw: IO[bytes], path: Path, progress: Callable[[int], None]) -> Iterator[bytes]:
        """Yield many whole lines at a time, without the last newline. A compressed file that is cut off ends early, and is counted."""
        pieces = (
            self._unpacked(raw, path) if raw.read(2) == b"\x1f\x8b" else iter(partial(raw.read, _CHUNK), b"")
        )
        raw.seek(0)
        rest = b""
        for piece in pieces:
            progress(raw.tell())
            head, newline, tail = (rest + piece).rpartition(b"\n")
            if newline:
                yield head
            # Of a line that is too long, the begin is enough to count it.
            rest = tail[: MOST_LINE_BYTES + 1]
        if rest:
            yield rest

    def _unpacked(self, raw: IO[bytes], path: Path) -> Iterator[bytes]:
        """Yield the data of a gzip file with any number of members, as far as they can be read."""
        member = zlib.decompressobj(_GZIP)
        packed, fresh = b"", False
        while packed := packed or raw.read(_PACKED):
            before = member.copy()
            try:
                piece = member.decompress(packed, _CHUNK)
            except zlib.error as error:
                yield from _until_damage(before, packed)
                self._unread.append(Broken("damaged compressed data", 1, str(path), str(error)))
                return
            packed = member.unconsumed_tail
            fresh = False
            if member.eof:
                packed, member = member.unused_data.lstrip(b"\0"), zlib.decompressobj(_GZIP)
                fresh = not packed
            if piece:
                yield piece
        if not member.eof and not fresh:
            self._unread.append(Broken("compressed data that ends early", 1, str(path), ""))

    def _insert(self, lines: pa.StringArray, used: LogFormat) -> None:
        rows = pa.table({"line": np.arange(self._next, self._next + len(lines)), "text": lines})
        taken, parts = _parts(used)
        database = self._found.database
        database.register("chunk", pa.Table.from_batches(rows.to_batches(max_chunksize=_BATCH_ROWS)))
        database.execute(
            f"""
            insert into lines
            select line, at_us, duration_us, client, hash(path), method, status, bytes, query, nullif(cache, 'none'),
              case when cache in ('miss', 'bypass') then origin_us end, zone, broken,
              case when broken is not null then left(text, {_SHOWN}) end, {"path" if self._names else "null"}
            from (select line, text, {_columns(used)} from (
              select line, text, {parts} as p from (
                select line, text, {taken} from chunk where length(trim(text, '{_BLANK}')) > 0)))
            """,
            {"given": used.pattern or [path for _, path in used.parts]},
        )
        database.unregister("chunk")

    def finished(self, paths: Sequence[Path]) -> Read:
        found = self._found
        (found.lines, found.requests, zones, fractions) = found.database.execute(
            """
            select count(*), count(*) filter (broken is null), count(distinct zone) filter (broken is null),
              count(*) filter (broken is null and at_us % 1000000 <> 0) from lines
            """
        ).fetchall()[0]
        counted = found.database.execute(
            "select broken, count(*), min(line), arg_min(text, line) from lines where broken is not null group by 1 order by 2 desc, 1"
        ).fetchall()
        found.broken = [
            *self._unread,
            *(Broken(reason, count, self._place(first), text) for reason, count, first, text in counted),
        ]
        if found.requests == 0:
            reasons = ", ".join(f"{one.reason}: {one.count}" for one in found.broken) or "no lines"
            raise RegattaError(", ".join(map(str, paths)), "an access log with requests", reasons)
        found.zones = zones
        found.resolution_us = 1 if fractions else 1_000_000
        found.disordered = found.database.execute(
            f"""
            select count(*) from (select at_us, lag(at_us) over (order by line) as before from requests)
            where before - at_us > {_DISORDER_US}
            """
        ).fetchall()[0][0]
        return found

    def _place(self, line: int) -> str:
        begin, path = next(one for one in reversed(self._begins) if one[0] <= line)
        return f"{path}:{line - begin + 1}"


def _until_damage(member: zlib._Decompress, packed: bytes) -> Iterator[bytes]:
    """Yield what can be read before the damage: zlib discards all output of the call that finds it."""
    with suppress(zlib.error):
        for at in range(0, len(packed), _STEP):
            yield member.decompress(packed[at : at + _STEP])


def _lines(text: bytes) -> pa.StringArray:
    """Return the lines of a text; bytes that are not UTF-8 are replaced."""
    try:
        whole = pa.array([text], pa.binary()).cast(pa.string())
    except pa.ArrowInvalid:
        whole = pa.array([text.decode("utf-8", "replace")], pa.string())
    return pc.split_pattern(whole, "\n").flatten()


def _parts(used: LogFormat) -> tuple[str, str]:
    """Return SQL of what is taken from `text` first, and of a structure of the texts of the parts (null: a line has none).

    `$given` is the pattern, or the paths of JSON keys.
    """

    def of(values: Sequence[str]) -> str:
        named = zip(used.parts, values, strict=True)
        return "{" + ", ".join(f"'{meaning}': nullif({value}, '')" for (meaning, _), value in named) + "}"

    if not used.pattern:
        taken = "json_extract_string(case when json_valid(text) then text end, $given) as r"
        return taken, of([f"r[{at}]" for at in range(1, len(used.parts) + 1)])
    groups = ", ".join(f"'{group}'" for _, group in used.parts)
    matched = f"regexp_extract(text, $given, [{groups}])"
    slow = of([f"m.{group}" for _, group in used.parts])
    if not used.pieces:
        return f"{matched} as m", slow
    # A quote in a field has a backslash before it.
    simple = f"len(r) = {used.pieces} and strpos(text, '\\') = 0"
    taken = (
        f"string_split(text, '\"') as r, {simple} as simple, case when not ({simple}) then {matched} end as m"
    )
    fast = of([sql.replace("piece", f"r[{number}]") for number, sql in used.places])
    return taken, f"case when simple then {fast} else {slow} end"


def _columns(used: LogFormat) -> str:
    """Return the columns of `lines`, except those of the texts."""
    key = next(part for part in TIMES if used.has(part))
    if used.pattern:
        time = _TIME_OF[key]
    else:
        # The values of JSON keys are what their writer chose.
        kinds: tuple[Part, ...] = ("time", "iso", "msec")
        time = f"coalesce({', '.join(_TIME_OF[kind].replace(f'p.{kind}', f'p.{key}') for kind in kinds)})"
    zone = "right(p.time, 5)" if used.has("time") else "''"
    durations = [f"{factor} * try_cast(p.{unit} as double)" for unit, factor in _UNITS if used.has(unit)]
    duration = (
        f"case when {durations[0]} between 0 and {_MOST_DURATION_US} then cast({durations[0]} as bigint) end"
        if durations
        else "null"
    )
    client = " || ' ' || ".join(f"coalesce(p.{part}, '')" for part in _CLIENT if used.has(part)) or "''"
    if used.has("request"):
        method, target = _METHOD, _TARGET
    else:
        method = "p.method" if used.has("method") else "'GET'"
        target = (
            "p.target"
            if used.has("target")
            else "p.path || coalesce(p.query, '')"
            if used.has("query")
            else "p.path"
        )
    methods = ", ".join(f"'{name}'" for name in METHODS)
    cache = _CACHE if used.has("cache") else "'none'"
    # No cache sees what is in a tunnel.
    tunnel = "method = 'CONNECT'" if used.has("cache") else "false"
    # A log of a cache without times of the origin has those of whole answers.
    origin = _ORIGIN_US if used.has("origin") else duration if used.has("cache") else "null"
    size = (
        f"greatest(0, least(coalesce(try_cast(p.bytes as bigint), 0), {_MOST_BYTES}))"
        if used.has("bytes")
        else "0"
    )
    return f"""
      {time} as at_us, {duration} as duration_us, hash({client}) as client, {zone} as zone,
      {target} as url, case when {method} in ({methods}) then {method} else 'other' end as method,
      try_cast(p.status as smallint) as status, {size} as bytes, strpos(url, '?') > 0 as query,
      split_part(url, '?', 1) as path, {cache} as cache, {origin} as took,
      case when not isnan(cast(took as double)) then cast(took as bigint) end as origin_us,
      case when strlen(text) > {MOST_LINE_BYTES} then 'a line of over {MOST_LINE_BYTES >> 20} MiB'
           when p.status is null then 'not in the format of the log'
           when at_us is null or at_us not between {_LEAST_TIME_US} and {_MOST_TIME_US} then 'unreadable time'
           when coalesce(url, '') = '' or not coalesce({method} = upper({method}) and length({method}) between 3 and 16, false) then 'no HTTP request'
           when not coalesce(try_cast(p.status as smallint) between 100 and 999, false) then 'unreadable status'
           when {tunnel} then 'a tunnel (CONNECT)'
           when cache = 'unknown' then 'unknown status of a cache'
           when isnan(cast(took as double)) then 'unreadable time of the origin' end as broken
    """
