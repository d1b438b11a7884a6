"""Import recordings of a kernel, and texts of other tools, as traces of the abstract events of `model`."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from regatta.host.errors import HostError, RegattaError
from regatta.host.files import check_room, scratch_folder, written
from regatta.host.foreign import foreign
from regatta.host.values.events import ABOUT_FILE, TRACE_FILE, About, Probe, events_from_json
from regatta.models.kernel_traces.call_numbers import call_numbers
from regatta.models.kernel_traces.conversion import Conversion, Mark, parse_mark
from regatta.models.kernel_traces.model import (
    EVENTS,
    EVENTS_FILE,
    FACTS_FILE,
    NONE,
    Facts,
    Kind,
    Trace,
    check_window,
    write_facts,
)
from regatta.models.kernel_traces.text import Read, quoted, read_text
from regatta.models.recordings.facts import MOST, MOST_CPUS, MOST_PIDS, Ranges, read_facts

_AGAIN = "record again"
_ABOUT: Ranges = {
    "begin_ns": (0, MOST),
    "end_ns": (0, MOST),
    "realtime_offset_ns": (-MOST, MOST),
    "cpus": (1, MOST_CPUS),
    "lost": (0, MOST),
    "own": (0, MOST_PIDS),
}


def import_recording(recording: Path, folder: Path) -> Trace:
    """Convert the files of the recorder, `events.dat` and `events.json`, to a trace.

    Args:
        recording: folder with both files.
        folder: of the trace; a complete one is replaced.

    Raises:
        RegattaError: a file is missing or damaged.
        HostError: trace-cmd is missing.
    """
    about = read_about(recording)
    with scratch_folder("regatta-events-") as scratch:
        text = scratch / "text"
        _report(recording / TRACE_FILE, text)
        facts = Facts(
            begin_ns=about.begin_ns,
            end_ns=about.end_ns,
            cpus=about.cpus,
            lost=about.lost,
            source="trace-cmd",
            host=about.host,
            kernel=about.kernel,
            realtime_offset_ns=about.realtime_offset_ns,
            own=about.own,
            remarks=tuple(f"{event} is missing in this kernel" for event in about.missing),
        )
        probes = [
            tuple(mark for text in probe.means if (mark := parse_mark(text)) is not None)
            for probe in _probes(recording, about)
        ]
        return _import(text, folder, probes, about.tasks, facts, _call_names(about.machine))


def read_about(recording: Path) -> About:
    """Return the recorder's facts of its recording. They come from the measured host, so all are checked.

    Raises:
        RegattaError: the file is missing or damaged.
    """
    path = recording / ABOUT_FILE
    about = read_facts(About, path, "a recording of events", _ABOUT, _AGAIN)
    check_window(path, about.begin_ns, about.end_ns, about.lost, _AGAIN)
    for tid, task in about.tasks.items():
        if not (_is_pid(tid) and _is_task(task)):
            got = f"{tid[:20]}: {task!r}"[:100]
            raise RegattaError(
                f"{path}: tasks", "pid, two names and whether it is of the kernel", got, _AGAIN
            )
    return about


def _is_pid(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= len(str(MOST_PIDS))


def _is_task(task: object) -> bool:
    if not isinstance(task, list) or [type(one) for one in task] != [int, str, str, bool]:
        return False
    return bool(0 <= task[0] <= MOST_PIDS)


def _probes(recording: Path, about: About) -> Sequence[Probe]:
    path = recording / ABOUT_FILE
    with foreign(path, "the probes of a recording", _AGAIN):
        probes = events_from_json(about.recording).probes
        if not all(isinstance(text, str) for probe in probes for text in probe.means):
            raise ValueError("a meaning that is no text")
        return probes


def import_text(path: Path, folder: Path) -> Trace:
    """Convert the text of ftrace, trace-cmd or perf to a trace.

    Raises:
        RegattaError: the file is truncated or no trace; the message has the offset.
    """
    # The text does not name the machine that wrote it.
    return _import(path, folder, (), {}, None, {})


def _call_names(machine: str) -> dict[int, str]:
    """Return the names of system calls by number; empty for an unknown machine."""
    try:
        return {number: name for name, number in call_numbers(machine).items()}
    except HostError:
        return {}


def _report(path: Path, text: Path) -> None:
    """Let trace-cmd write its file as text."""
    program = shutil.which("trace-cmd")
    if program is None:
        raise HostError(
            "trace-cmd", "the program, to read its file", "none", "run `apt-get install trace-cmd`"
        )
    if not path.exists():
        raise RegattaError(str(path), "a trace", "no such file", "record again")
    with text.open("wb") as output:
        done = subprocess.run(
            [program, "report", "-t", "-N", "-q", "-i", str(path.resolve())],
            stdout=output,
            stderr=subprocess.PIPE,
            check=False,
            cwd=text.parent,
        )
    # trace-cmd does not report that it cannot write.
    check_room(text.parent)
    if done.returncode or not text.stat().st_size:
        got = done.stderr.decode(errors="replace").strip()[-200:] or f"exit code {done.returncode}"
        raise RegattaError(
            str(path), f"a complete file of trace-cmd ({path.stat().st_size} bytes read)", got, "record again"
        )


def _import(
    text: Path,
    folder: Path,
    probes: Sequence[Sequence[Mark]],
    tasks: Mapping[str, Sequence[Any]],
    facts: Facts | None,
    calls: Mapping[int, str],
) -> Trace:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FACTS_FILE).unlink(missing_ok=True)
    with scratch_folder("regatta-events-") as scratch:
        read = read_text(text, scratch)
        with foreign(text, "the events of a trace", "record or export it again"), closing(read.connection):
            full = None if facts is None else _cut_when_full(read, facts)
            ((begin, end, cpus),) = read.connection.execute(
                "select min(time_ns), max(time_ns), max(cpu) + 1 from raw"
            ).fetchall()
            if facts is None:
                facts = Facts(begin, end, cpus, read.lost, "text", remarks=tuple(read.remarks))
            else:
                facts = replace(
                    facts,
                    begin_ns=min(begin, facts.begin_ns),
                    end_ns=max(end, facts.end_ns) if full is None else full,
                    remarks=(*facts.remarks, *read.remarks, *_words_of_full(full, facts)),
                )
            conversion = Conversion(read, (begin, end), probes, tasks, calls)
            unsorted = scratch / EVENTS_FILE
            conversion.write(unsorted)
            if conversion.unseen:
                remark = (
                    f"{conversion.unseen} switches are missing, as from idle threads on some kernels: such a thread runs from its "
                    "wake-up on"
                )
                facts = replace(facts, remarks=(*facts.remarks, remark))
            with written(folder / EVENTS_FILE) as file:
                _sort(read.connection, unsorted, file)
    conversion.objects.write(folder)
    return write_facts(folder, facts)


def _cut_when_full(read: Read, facts: Facts) -> int | None:
    """Remove events after the first buffer was full: from there on, times of threads on its CPU are unknown.

    Returns:
        The end of the window in ns; None if no buffer was full.
    """
    if not facts.lost:
        return None
    ((end,),) = read.connection.execute(
        "select min(last) from (select max(time_ns) as last from raw where list_contains(?, cpu) group by cpu)",
        [[int(cpu) for cpu in facts.lost]],
    ).fetchall()
    if end is not None:
        read.connection.execute("delete from raw where time_ns > ?", [end])
    return None if end is None else int(end)


def _words_of_full(full: int | None, facts: Facts) -> tuple[str, ...]:
    if full is None:
        return ()
    return (f"a buffer was full after {(full - facts.begin_ns) / 1e9:.3g} s: the window ends there",)


def _sort(connection: duckdb.DuckDBPyConnection, unsorted: Path, path: Path) -> None:
    """Write the events in order of time, with numbers for transactions that have none."""
    rows = connection.execute(
        f"select n, kind, actor, object from read_parquet(?) where request = {NONE} order by time_ns, n",
        [str(unsorted)],
    ).fetchall()
    connection.execute("create table numbers (row_n bigint, number bigint)")
    if rows:
        numbers = pa.table({"row_n": [row[0] for row in rows], "number": _numbers(rows)})
        connection.register("found_numbers", numbers)
        connection.execute("insert into numbers select * from found_numbers")
    columns = ", ".join(
        "coalesce(number, request) as request" if name == "request" else name for name in EVENTS.names
    )
    connection.execute(
        f"copy (select {columns} from read_parquet({quoted(unsorted)}) left join numbers on n = row_n order by time_ns, n)"
        f" to {quoted(path)} (format parquet, compression zstd, row_group_size 1000000)"
    )


def _numbers(rows: Sequence[tuple[int, int, int, int]]) -> list[int]:
    """Number the requests of marks without one: a finish ends the last open one of its thread and object."""
    last = 0
    open_ones: dict[tuple[int, int], list[int]] = {}
    found = []
    for _, kind, actor, target in rows:
        stack = open_ones.setdefault((actor, target), [])
        if kind == Kind.REQUEST or (kind == Kind.ACCEPT and not (stack and stack[-1] < 0)):
            last += 1
            stack.append(-last if kind == Kind.REQUEST else last)
            found.append(last)
        elif kind == Kind.ACCEPT:
            stack[-1] = -stack[-1]
            found.append(stack[-1])
        elif kind == Kind.FINISH:
            found.append(abs(stack.pop()) if stack else 0)
        else:
            found.append(abs(stack[-1]) if stack else 0)
    return found
