"""Read the text of ftrace, `trace-cmd report` and `perf script` into a table of numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from regatta.host.errors import RegattaError
from regatta.host.foreign import foreign

#: what precedes the time in a line: task-pid [cpu]; perf writes `task pid/tid`, -1 for a thread that is
#: ending, and trace-cmd the name of the buffer first
_HEAD = r"\s*(?:\w+:\s+)?(.{0,16}?)[-\s]\s*(?:-?\d+/)?(-?\d+)\s+(?:\([\s\d-]+\)\s+)?\[(\d+)\]"
HEAD = f"^{_HEAD}$"
#: the same before flags and time: for lines where the first `] ` may belong to the name of a task
_WHOLE = rf"^({_HEAD})\s+(?:\S+\s+)?\d+\.\d+: "
#: headers and comments, which say nothing of events
_SILENT = r"^\s*(#.*|cpus=\d+|version = .*|CPU \d+ is empty|)$"
_LOST = r"^CPU:?\s*(\d+)\s*\[(?:LOST )?(\d*) ?EVENTS( DROPPED)?\]"
#: lines without events, as a share of all, above which a file is no trace
_UNREADABLE = 0.01
_MEMORY = "1500MB"
_TAIL_BYTES = 1 << 16
#: trace-cmd could not apply the format of an event, and wrote its raw fields instead
_FAILED = "[FAILED TO PARSE]"
#: CPUs of the largest Linux kernel; seconds that a time in ns can hold; shortest gap that is reported, ns
_MOST_CPUS, _MOST_S, _GAP_NS = 8192, 9_000_000_000, 10**9

#: event -> code of the table
CODES = {
    "sched_switch": 1,
    "sched_waking": 2,
    "sched_wakeup": 3,
    "sched_wakeup_new": 3,
    "sched_process_fork": 4,
    "irq_handler_entry": 5,
    "irq_handler_exit": 6,
    "softirq_entry": 7,
    "softirq_exit": 8,
    "local_timer_entry": 9,
    "local_timer_exit": 10,
    "sys_enter": 11,
    "sys_exit": 12,
    "block_rq_issue": 13,
    "block_rq_complete": 14,
    "contention_begin": 15,
    "contention_end": 16,
    "print": 17,
    "tracing_mark_write": 17,
}
#: an event of no other code: a probe, by its name
PROBE = 18

#: the parts of a line: `HEAD`, flags and time, event, details. Functions of text are many times faster than
#: expressions.
_PARTS = f"""
select n, head, split_part(trim(split_part(tail, ': ', 1)), ' ', -1) as time,
  split_part(trim(split_part(tail, ': ', 2)), ':', -1) as event,
  ltrim(substr(tail, len(split_part(tail, ': ', 1)) + len(split_part(tail, ': ', 2)) + 5)) as rest
from (
  select n, left(line, ends) as head, substr(line, ends + 2) as tail from (
    select n, line, case when contains(substr(line, strpos(line, '] ') + 2, 40), '] ')
      then coalesce(nullif(len(regexp_extract(line, '{_WHOLE}', 1)), 0), strpos(line, '] ')) else strpos(line, '] ') end as ends
    from lines))
"""
_PARSED = f"""
select n, code, split_part(time, '.', 1)::bigint * 1000000000 + rpad(split_part(time, '.', 2), 9, '0')::bigint as time_ns, cpu,
  -- perf has no number for a thread that is ending
  case when code = 1 and tid < 0 then coalesce(try_cast(split_part(split_part(rest, ' prev_pid=', -1), ' ', 1) as integer), tid)
    else tid end as tid,
  case code
    when 1 then split_part(split_part(rest, ' next_pid=', -1), ' ', 1)
    when 2 then split_part(split_part(rest, ' pid=', -1), ' ', 1)
    when 3 then split_part(split_part(rest, ' pid=', -1), ' ', 1)
    when 4 then split_part(split_part(rest, ' child_pid=', -1), ' ', 1)
    when 5 then split_part(split_part(rest, 'irq=', 2), ' ', 1)
    when 6 then split_part(split_part(rest, 'irq=', 2), ' ', 1)
    when 7 then split_part(split_part(rest, 'vec=', 2), ' ', 1)
    when 8 then split_part(split_part(rest, 'vec=', 2), ' ', 1)
    when 11 then split_part(rest, ' ', 2)
    when 12 then split_part(rest, ' ', 2)
    when 13 then split_part(split_part(rest, ') ', 2), ' ', 1)
    when 14 then split_part(split_part(rest, ') ', 2), ' ', 1)
    -- the lock and who waits: many may wait for a lock at once
    when 15 then (hash(split_part(rest, ' ', 1), case tid when 0 then -1 - cpu else tid end) >> 2)::varchar
    when 16 then (hash(split_part(rest, ' ', 1), case tid when 0 then -1 - cpu else tid end) >> 2)::varchar
    when {PROBE} then split_part(rest, 'arg1=', 2)
    else '0' end as a,
  case code
    when 1 then left(split_part(split_part(rest, ' ==> ', 1), 'prev_state=', -1), 1)
    when 13 then split_part(split_part(rest, ' + ', 2), ' ', 1)
    when 15 then case when contains(rest, 'SPIN') then '1' else '0' end
    else '' end as b,
  case code
    when 1 then split_part(split_part(rest, 'next_comm=', -1), ' next_pid=', 1)
    when 4 then split_part(split_part(rest, 'child_comm=', -1), ' child_pid=', 1)
    when 5 then split_part(split_part(rest, 'name=', 2), ' ', 1)
    when 7 then regexp_extract(rest, 'action=(\\w+)', 1)
    when 13 then split_part(rest, ' ', 1)
    when 14 then split_part(rest, ' ', 1)
    when 17 then case when contains(rest, 'regatta: ') then trim(split_part(rest, 'regatta: ', 2)) else '' end
    when {PROBE} then event
    else '' end as name
from found
"""


@dataclass
class Read:
    """What was read: a table `raw` in `connection`, and what the lines say besides."""

    connection: duckdb.DuckDBPyConnection
    lost: dict[str, int] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


def connect(folder: Path) -> duckdb.DuckDBPyConnection:
    """Return a database in memory that spills into a folder."""
    return duckdb.connect(
        config={"memory_limit": _MEMORY, "temp_directory": str(folder), "preserve_insertion_order": True}
    )


def quoted(path: Path) -> str:
    """Return a path as a text of SQL, for statements that take no parameters."""
    return "'" + str(path).replace("'", "''") + "'"


def read_text(path: Path, scratch: Path) -> Read:
    """Read the lines of a trace into the table `raw`: n, time_ns, cpu, tid, code, a, b, name.

    Args:
        path: text of ftrace (`trace`, `trace_pipe`), `trace-cmd report -t -N` or `perf script`.
        scratch: folder for what does not fit into memory.

    Raises:
        RegattaError: the file is truncated, no trace, or the same trace twice. It names the offset.
    """
    _check_end(path)
    connection = connect(scratch)
    with foreign(path, "the text of a trace", "export it again"):
        try:
            _read_lines(connection, path)
        except duckdb.InvalidInputException:
            # The kernel cuts names between bytes.
            _read_lines(connection, _repaired(path, scratch / "repaired"))
        return _events_of_lines(connection, path)


def _events_of_lines(connection: duckdb.DuckDBPyConnection, path: Path) -> Read:
    """Make the table `raw` from the table `lines`."""
    codes = ", ".join(f"('{name}', {code})" for name, code in CODES.items())
    connection.execute(f"create table parts as {_PARTS}")
    connection.execute(
        f"create table heads as select head, last, trim(parts[1]) as comm, try_cast(parts[2] as integer) as tid,"
        " try_cast(parts[3] as smallint) as cpu from"
        f" (select head, last, regexp_extract_all(head, '{HEAD}', 0) as whole, [regexp_extract(head, '{HEAD}', 1),"
        f" regexp_extract(head, '{HEAD}', 2), regexp_extract(head, '{HEAD}', 3)] as parts from (select head, max(n) as last from parts group by head))"
        f" where len(whole) = 1 and tid is not null and cpu < {_MOST_CPUS}"
    )
    connection.execute(
        f"create table found as select n, tid, cpu, time, event, rest, coalesce(code, {PROBE})::utinyint as code from parts"
        f" join heads using (head) left join (values {codes}) as codes(known, code) on event = known"
        " where regexp_full_match(time, '\\d+\\.\\d{1,9}') and event <> ''"
        f" and try_cast(split_part(time, '.', 1) as bigint) < {_MOST_S}"
        # The raw fields have other values: a state is a number.
        f" and (code is null or not contains(rest, '{_FAILED}'))"
        # The plugins of trace-cmd write other details, which say nothing here: a line without its thread is
        # unreadable.
        f" and case code when 1 then {_thread('next_pid')} when 2 then {_thread('pid')} when 3 then {_thread('pid')}"
        f" when 4 then {_thread('child_pid')} else true end"
    )
    connection.execute("drop table parts")
    read = Read(connection)
    _check_lines(read, path)
    connection.execute("drop table lines")
    # The last name of a thread, after `exec`: first as a switch has it, because trace-cmd keeps one name per
    # thread in the head. ftrace writes <...> for a name that it has forgotten.
    connection.execute(
        "create table comms as with switched as (select tid, arg_max(split_part(split_part(rest, 'prev_comm=', 2), ' prev_pid=', 1), n)"
        " as comm from found where code = 1 and tid > 0 group by tid),"
        " written as (select tid, arg_max(comm, last) filter (comm <> '<...>') as comm from heads where tid > 0 group by tid)"
        " select tid, coalesce(nullif(switched.comm, ''), written.comm, '') as comm from written left join switched using (tid)"
    )
    connection.execute(f"create table parsed as {_PARSED}")
    connection.execute("drop table found")
    connection.execute(
        "create table names as select row_number() over (order by name) - 1 as id, name"
        " from (select distinct name from parsed)"
    )
    connection.execute(
        "create table raw as select n, time_ns, cpu, tid, code, coalesce(try_cast(a as bigint), 0) as a,"
        " case code when 1 then (case b when 'R' then 0 when 'D' then 2 when 'X' then 3 when 'Z' then 3 else 1 end)"
        " when 13 then 512 * coalesce(try_cast(b as bigint), 0) else coalesce(try_cast(b as bigint), 0) end as b,"
        " names.id as name from parsed join names using (name)"
    )
    connection.execute("drop table parsed")
    _check_times(read, path)
    return read


def _thread(key: str) -> str:
    """Return the condition that the details of an event have the number of a thread under this key."""
    return f"try_cast(split_part(split_part(rest, ' {key}=', -1), ' ', 1) as integer) >= 0"


def _check_times(read: Read, path: Path) -> None:
    """Refuse a trace that is in the file twice; report times that go back, and a gap of most of the window.

    A CPU cannot switch from one thread to another twice in a row.
    """
    connection = read.connection
    twice, first = connection.execute(
        "select count(*), min(n) from (select n, time_ns = lag(time_ns) over w and tid = lag(tid) over w and a = lag(a) over w as twice"
        " from raw where code = 1 and tid <> a window w as (partition by cpu order by time_ns, n)) where twice"
    ).fetchone() or (0, None)
    if twice:
        raise RegattaError(
            f"{path}, offset {_offset(path, first)}",
            "each event once",
            f"{twice} switches twice",
            "the file has events of another part, or of the same file: give each trace once",
        )
    (back,) = connection.execute(
        "select count(*) from (select time_ns < lag(time_ns) over (order by n) as back from raw) where back"
    ).fetchone() or (0,)
    if back:
        read.remarks.append(
            f"{back} lines have an earlier time than the line before; the events are sorted by time"
        )
    gap, window = connection.execute(
        "select max(gap), sum(gap) from (select time_ns - lag(time_ns) over (order by time_ns) as gap from raw)"
    ).fetchone() or (None, None)
    if gap is not None and gap > _GAP_NS and 2 * gap > window:
        read.remarks.append(
            f"no events during {gap / 1e9:.4g} s of {window / 1e9:.4g} s: does the file have a stray line, or two traces?"
        )


def _read_lines(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    connection.execute(
        "create table lines as select row_number() over () - 1 as n, line from read_csv(?, delim=e'\\x01', quote='', escape='',"
        " header=false, columns={'line': 'varchar'}, strict_mode=false, new_line='\\n', max_line_size=1048576, null_padding=true,"
        " auto_detect=false)",
        [str(path)],
    )


def _repaired(path: Path, copy: Path) -> Path:
    """Write a copy with the same lines that is UTF-8 throughout."""
    with (
        path.open(encoding="utf-8", errors="replace", newline="\n") as file,
        copy.open("w", encoding="utf-8", newline="\n") as output,
    ):
        while part := file.read(1 << 20):
            output.write(part.replace("\0", "\ufffd"))
    return copy


def _check_end(path: Path) -> None:
    try:
        if not path.is_file():
            raise RegattaError(str(path), "a regular file", "another kind of file", "save the text to a file")
        size = path.stat().st_size
        with path.open("rb") as file:
            file.seek(max(0, size - _TAIL_BYTES))
            tail = file.read(_TAIL_BYTES)
    except OSError as error:
        raise RegattaError(str(path), "a trace", error.strerror or str(error)) from error
    if not size:
        raise RegattaError(str(path), "the text of a trace", "an empty file", "record it again")
    if not tail.endswith(b"\n"):
        torn = tail[tail.rfind(b"\n") + 1 :]
        where = f"{path}, offset {size - len(torn)}"
        raise RegattaError(
            where, "a complete last line", repr(torn[:60]), "the file was truncated: copy it again"
        )


def _check_lines(read: Read, path: Path) -> None:
    """Sort out the lines without an event: losses, comments, and those that cannot be read."""
    connection = read.connection
    connection.execute(
        f"create table odd as select n, coalesce(line, '') as line from lines anti join found using (n)"
        f" where not regexp_matches(coalesce(line, ''), '{_SILENT}')"
    )
    rows = connection.execute(
        f"select regexp_extract(line, '{_LOST}', 1), sum(greatest(1, coalesce(try_cast(regexp_extract(line, '{_LOST}', 2) as bigint), 1)))"
        f" from odd where regexp_matches(line, '{_LOST}') group by 1"
    ).fetchall()
    read.lost = {str(int(cpu)): int(lost) for cpu, lost in rows}
    _check_raw(connection, path)
    (failed,) = connection.execute(
        "select count(*) from lines where contains(line, ?)", [_FAILED]
    ).fetchone() or (0,)
    if failed:
        read.remarks.append(f"{failed} lines that trace-cmd could not parse ({_FAILED})")
    unreadable, first = connection.execute(
        f"select count(*), min(n) from odd where not regexp_matches(line, '{_LOST}')"
    ).fetchone() or (0, None)
    (events,) = connection.execute("select count(*) from found").fetchone() or (0,)
    if unreadable and unreadable > _UNREADABLE * events:
        (line,) = connection.execute("select line from odd where n = ?", [first]).fetchone() or ("",)
        raise RegattaError(
            f"{path}, offset {_offset(path, first)}",
            "a line of ftrace, trace-cmd or perf script",
            repr(line[:80]),
            "write it by `trace-cmd report -t -N`, or by `perf script -F comm,tid,cpu,time,event,trace --ns`",
        )
    if unreadable:
        read.remarks.append(
            f"{unreadable} lines without a readable event, the first at offset {_offset(path, first)}"
        )
    if not events:
        raise RegattaError(str(path), "events", "none", "record for a longer time")
    connection.execute("drop table odd")


def _check_raw(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Refuse raw fields: states are numbers there, and no switch has an arrow."""
    count, first = connection.execute(
        "select count(*), min(n) from found where code = 1 and not contains(rest, ' ==> ')"
    ).fetchone() or (0, None)
    if count:
        raise RegattaError(
            f"{path}, offset {_offset(path, first)}",
            "switches as `prev_state=S ==> next_comm=...`",
            f"{count} switches as raw fields",
            "write it by `trace-cmd report -t -N`, without -R",
        )


def _offset(path: Path, line: int) -> int:
    """Return the offset of a line of a file."""
    offset = 0
    with path.open("rb") as file:
        for number, text in enumerate(file):
            if number == line:
                return offset
            offset += len(text)
    return offset
