"""The text of ftrace, trace-cmd and perf: the same events in each format give the same trace, and damage is located."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from helpers.golden import Golden
from regatta.host.errors import RegattaError
from regatta.models.cli.trace_events import _show, _task_name
from regatta.models.kernel_traces.importing import _import, import_text
from regatta.models.kernel_traces.measures import measure
from regatta.models.kernel_traces.model import Facts, Kind, Sleep, Trace

SECOND = 10**9


@dataclass(frozen=True)
class Line:
    """An event of a kernel: time in ns, CPU, the task on it, system, name and details."""

    time_ns: int
    cpu: int
    comm: str
    tid: int
    system: str
    event: str
    rest: str

    @property
    def stamp(self) -> str:
        return f"{self.time_ns // SECOND}.{self.time_ns % SECOND:09d}"


def ftrace(one: Line) -> str:
    """A line of the file `trace`, here with the clock `mono_raw`, whose times have 9 digits in newer kernels."""
    comm = "<idle>" if one.tid == 0 else one.comm
    return f"{comm:>16s}-{one.tid:<7d} [{one.cpu:03d}] d.h2. {one.stamp:>16s}: {one.event}: {one.rest}"


def trace_cmd(one: Line) -> str:
    comm = "<idle>" if one.tid == 0 else one.comm
    return f"regatta_42: {comm:>16s}-{one.tid:<5d} [{one.cpu:03d}] {one.stamp:>16s}: {one.event + ':':<21s} {one.rest}"


def trace_cmd_without_instance(one: Line) -> str:
    return trace_cmd(one).removeprefix("regatta_42: ")


def perf(one: Line) -> str:
    comm = "swapper" if one.tid == 0 else one.comm
    return f"{comm:>16s} {one.tid:5d} [{one.cpu:03d}] {one.stamp:>16s}: {one.system + ':' + one.event:>26s}: {one.rest}"


def perf_with_pids(one: Line) -> str:
    comm = "swapper" if one.tid == 0 else one.comm
    return f"{comm:>16s} {one.tid:5d}/{one.tid:<5d} [{one.cpu:03d}] {one.stamp:>16s}: {one.system + ':' + one.event:>26s}: {one.rest}"


FORMATS = {
    "ftrace": ftrace,
    "trace-cmd": trace_cmd,
    "trace-cmd, main buffer": trace_cmd_without_instance,
    "perf": perf,
    "perf with pids": perf_with_pids,
}
everywhere = pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS.keys())


def switch(time: int, before: tuple[str, int], state: str, after: tuple[str, int], cpu: int = 0) -> Line:
    rest = (
        f"prev_comm={before[0]} prev_pid={before[1]} prev_prio=120 prev_state={state} ==>"
        f" next_comm={after[0]} next_pid={after[1]} next_prio=120"
    )
    return Line(time, cpu, *before, "sched", "sched_switch", rest)


def waking(time: int, by: tuple[str, int], woken: tuple[str, int], cpu: int = 0) -> Line:
    return Line(
        time, cpu, *by, "sched", "sched_waking", f"comm={woken[0]} pid={woken[1]} prio=120 target_cpu=000"
    )


IDLE, SERVER, HELPER = ("swapper/0", 0), ("server", 100), ("helper", 200)
ALL = [
    Line(1_000_000_100, 0, *IDLE, "irq", "irq_handler_entry", "irq=24 name=eth0-rx-1"),
    Line(1_000_000_150, 0, *IDLE, "irq", "softirq_entry", "vec=3 [action=NET_RX]"),
    waking(1_000_000_200, IDLE, SERVER),
    Line(1_000_000_250, 0, *IDLE, "irq", "softirq_exit", "vec=3 [action=NET_RX]"),
    Line(1_000_000_300, 0, *IDLE, "irq", "irq_handler_exit", "irq=24 ret=handled"),
    switch(1_000_000_400, IDLE, "R", SERVER),
    Line(1_000_000_500, 0, *SERVER, "raw_syscalls", "sys_enter", "NR 56 (10, 0, 0, 0, 0, 0)"),
    Line(1_000_000_600, 0, *SERVER, "sched", "sched_process_fork", "comm=server pid=100 child_comm=server child_pid=200"),
    Line(1_000_000_700, 0, *SERVER, "raw_syscalls", "sys_exit", "NR 56 = 200"),
    Line(1_000_000_800, 0, *SERVER, "irq_vectors", "local_timer_entry", "vector=236"),
    Line(1_000_000_900, 0, *SERVER, "irq_vectors", "local_timer_exit", "vector=236"),
    Line(1_000_001_000, 0, *SERVER, "block", "block_rq_issue", "254,0 W 4096 () 63 + 8 none,0,0 [server]"),
    Line(1_000_001_100, 0, *SERVER, "lock", "contention_begin", "0xffff888100a1b2c8 (flags=SPIN|WRITE)"),
    Line(1_000_001_200, 0, *SERVER, "lock", "contention_end", "0xffff888100a1b2c8 (ret=0)"),
    Line(1_000_001_300, 1, "swapper/1", 0, "block", "block_rq_complete", "254,0 W () 63 + 8 none,0,0 [0]"),
    switch(1_000_001_400, SERVER, "D", HELPER),
    switch(1_000_001_500, HELPER, "R+", SERVER),
    switch(1_000_001_600, SERVER, "X", ("swapper/0", 0)),
]  # fmt: skip


def imported(folder: Path, text: str | bytes) -> Trace:
    path = folder / "text"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return import_text(path, folder / "trace")


def written(lines: Sequence[Line], form: Callable[[Line], str]) -> str:
    return "".join(f"{form(one)}\n" for one in lines)


def rows(trace: Trace) -> list[tuple[Any, ...]]:
    """Time, kind, CPU, names of actor, object and peer, whether there is a request, and value."""
    objects = trace.read_objects().to_pylist()

    def named(number: int) -> str:
        return f"{objects[number]['kind']} {objects[number]['name']}" if number >= 0 else ""

    return [
        (
            row["time_ns"] - SECOND,
            Kind(row["kind"]),
            row["cpu"],
            named(row["actor"]),
            named(row["object"]),
            named(row["peer"]),
            row["value"],
        )
        for row in pq.read_table(trace.events).to_pylist()
    ]


def meanings(trace: Trace) -> list[tuple[Kind, str]]:
    """Kind and object of the events of the marks."""
    return [
        (row[1], row[4])
        for row in rows(trace)
        if row[4].split(" ")[0] in ("phase", "transaction", "lock", "client", "process")
    ]


@everywhere
def test_each_format_gives_the_same_events(form: Callable[[Line], str], tmp_path: Path) -> None:
    idle, server, helper = "idle idle/0", "thread server", "thread helper"
    irq, soft, disk, clone = "network irq eth0-rx-1", "network softirq NET_RX", "disk 254,0", "system-call 56"
    cpu, lock, timer = "cpu cpu0", "lock kernel locks", "timer local timer"
    trace = imported(tmp_path, written(ALL, form))
    assert rows(trace) == [
        (100, Kind.INTERRUPT, 0, idle, irq, "", 0),
        (150, Kind.INTERRUPT, 0, idle, soft, "", 0),
        (200, Kind.WAKE, 0, server, "", soft, 0),
        (250, Kind.INTERRUPT_END, 0, idle, soft, "", 0),
        (300, Kind.INTERRUPT_END, 0, idle, irq, "", 0),
        (400, Kind.PREEMPT, 0, idle, cpu, "", 0),
        (400, Kind.RESUME, 0, server, cpu, "", 0),
        (500, Kind.ACCEPT, 0, server, clone, "", 0),
        (600, Kind.WAKE, 0, helper, "", server, 1),
        (700, Kind.FINISH, 0, server, clone, "", 0),
        (800, Kind.INTERRUPT, 0, server, timer, "", 0),
        (900, Kind.INTERRUPT_END, 0, server, timer, "", 0),
        (1000, Kind.REQUEST, 0, server, disk, "", 4096),
        (1000, Kind.ACCEPT, 0, server, disk, "", 4096),
        (1100, Kind.REQUEST, 0, server, lock, "", 1),
        (1200, Kind.ACCEPT, 0, server, lock, "", 0),
        (1300, Kind.FINISH, 1, "", disk, "", 0),
        (1400, Kind.SLEEP, 0, server, cpu, "", Sleep.UNINTERRUPTIBLE),
        (1400, Kind.RESUME, 0, helper, cpu, "", 0),
        (1500, Kind.PREEMPT, 0, helper, cpu, "", 0),
        (1500, Kind.RESUME, 0, server, cpu, "", 0),
        (1600, Kind.SLEEP, 0, server, cpu, "", Sleep.ENDED),
        (1600, Kind.RESUME, 0, idle, cpu, "", 0),
    ]
    assert (trace.facts.begin_ns, trace.facts.end_ns) == (SECOND + 100, SECOND + 1600)
    assert (trace.facts.cpus, trace.facts.lost, trace.facts.remarks) == (2, {}, ())


def test_times_of_microseconds_are_read(tmp_path: Path) -> None:
    text = "".join(
        f"          server-100     [000] .....    12.{micro:06d}: sys_exit: NR 1 = 1\n" for micro in (5, 70)
    )
    facts = imported(tmp_path, text).facts
    assert (facts.begin_ns, facts.end_ns) == (12_000_005_000, 12_000_070_000)


def test_a_thread_that_perf_cannot_number_any_more_is_the_one_that_leaves(tmp_path: Path) -> None:
    lines = [
        perf(switch(SECOND + 100, IDLE, "R", SERVER)),
        perf(Line(SECOND + 150, 0, ":-1", -1, "irq", "softirq_entry", "vec=1 [action=TIMER]")),
        perf(Line(SECOND + 160, 0, ":-1", -1, "irq", "softirq_exit", "vec=1 [action=TIMER]")),
        perf(switch(SECOND + 200, SERVER, "X", HELPER)).replace("server   100", "   :-1    -1", 1),
    ]
    assert [(row[0], row[1], row[3]) for row in rows(imported(tmp_path, "\n".join(lines) + "\n"))] == [
        (100, Kind.PREEMPT, "idle idle/0"),
        (100, Kind.RESUME, "thread server"),
        (150, Kind.INTERRUPT, "thread server"),
        (160, Kind.INTERRUPT_END, "thread server"),
        (200, Kind.SLEEP, "thread server"),
        (200, Kind.RESUME, "thread helper"),
    ]


NAMES = (
    "a b", "kworker/0:1", "G1 Main Marker", "[kthread]", "x] y", "pool[3] w", "n 1 [2] z", "a-b-7", "(sd-pam)", "C1:x", "=", "a=b c=d",
    "next_pid=9",
)  # fmt: skip


@everywhere
def test_names_of_threads_may_have_any_characters(form: Callable[[Line], str], tmp_path: Path) -> None:
    lines: list[Line] = []
    for number, name in enumerate(NAMES):
        task, at = (name, 321 + number), SECOND + 1000 * number
        lines += [
            waking(at + 100, IDLE, task),
            switch(at + 200, IDLE, "R", task),
            Line(at + 300, 0, *task, "raw_syscalls", "sys_enter", "NR 1 (1, 2, 3, 4, 5, 6)"),
            switch(at + 400, task, "S", IDLE),
        ]
    trace = imported(tmp_path, written(lines, form))
    found = [(row[0], row[1], row[3]) for row in rows(trace) if row[3].startswith("thread ")]
    assert found == [
        (1000 * number + time, kind, f"thread {name}")
        for number, name in enumerate(NAMES)
        for time, kind in ((100, Kind.WAKE), (200, Kind.RESUME), (300, Kind.ACCEPT), (400, Kind.SLEEP))
    ]
    assert trace.facts.remarks == ()


def test_names_are_utf_8(tmp_path: Path) -> None:
    task = ("Größe", 7)
    lines = [switch(SECOND + 1, IDLE, "R", task), switch(SECOND + 2, task, "S", IDLE)]
    assert task[0] in imported(tmp_path, written(lines, trace_cmd)).read_objects().column("name").to_pylist()


def test_names_may_be_cut_within_a_character(tmp_path: Path) -> None:
    lines = [switch(SECOND + 1, IDLE, "R", ("Größe", 7)), switch(SECOND + 2, ("Größe", 7), "S", IDLE)]
    data = written(lines, trace_cmd).encode()
    for name in ("ß".encode()[:1], b"\x9f", b"\xff\0"):
        trace = imported(tmp_path, data.replace("ß".encode(), name))
        assert (len(rows(trace)), trace.facts.remarks) == (4, ())


def test_a_name_that_ftrace_has_forgotten_comes_from_other_events(tmp_path: Path) -> None:
    text = written([switch(SECOND + 1, IDLE, "R", SERVER)], ftrace) + written(
        [switch(SECOND + 2, SERVER, "S", IDLE)], ftrace
    ).replace("server-100", "<...>-100", 1)
    objects = imported(tmp_path, text).read_objects().to_pylist()
    assert [one["name"] for one in objects if one["kind"] == "thread"] == ["server"]


@pytest.mark.parametrize(
    "rest",
    [
        "tracing_mark_write: regatta: accept phase parse",
        "print: regatta: accept phase parse",
        "print:                ffffffff81234567: regatta: accept phase parse",
        "print:                tracing_mark_write: regatta: accept phase parse",
        "print: 0xffffffff81234567s: regatta: accept phase parse",
        "ftrace:print: regatta: accept phase parse",
        "tracing_mark_write: regatta: accept phase parse   ",
    ],
)
def test_marks_with_the_prefix_are_events(rest: str, tmp_path: Path) -> None:
    assert meanings(imported(tmp_path, f"   server-100   [000] .....  1.000000001: {rest}\n")) == [
        (Kind.ACCEPT, "phase parse")
    ]


@pytest.mark.parametrize(
    "mark",
    [
        "accept transaction order",
        "B|1234|regatta",
        "regatta: accept",
        "regatta: accept phase",
        "regatta: accepted phase x",
        "regatta: accept disk sda",
        "regatta: accept phase a b",
        f"regatta: accept phase {'x' * 65}",
    ],
)
def test_other_marks_mean_nothing(mark: str, tmp_path: Path) -> None:
    text = f"   server-100   [000] .....  1.000000001: tracing_mark_write: {mark}\n"
    assert rows(imported(tmp_path, text)) == []


def test_marks_are_numbered_by_thread_and_object(tmp_path: Path) -> None:
    marks = [
        (1, "request transaction order"), (2, "request transaction order"), (1, "accept transaction order"),
        (2, "accept transaction 77 order"), (1, "finish transaction order"), (2, "finish transaction 77 order"),
        (1, "accept transaction order"), (1, "finish transaction order"),
    ]  # fmt: skip
    text = "".join(
        f" task-{tid}  [000] .....  1.{at:09d}: tracing_mark_write: regatta: {mark}\n"
        for at, (tid, mark) in enumerate(marks)
    )
    table = pq.read_table(imported(tmp_path, text).events).to_pylist()
    requests = [row["request"] for row in table if row["kind"] >= Kind.REQUEST]
    assert requests[0] == requests[2] == requests[4]
    assert requests[3] == requests[5] == 77
    assert requests[6] == requests[7]
    assert len({requests[0], requests[1], requests[6]}) == 3


GOOD, MORE = (
    written([waking(begin + at, IDLE, SERVER) for at in range(1000)], trace_cmd)
    for begin in (SECOND, SECOND + 1000)
)


@pytest.mark.parametrize(
    ("line", "lost"),
    [
        ("CPU:1 [LOST 123 EVENTS]", {"1": 123}),
        ("CPU:1 [EVENTS DROPPED]", {"1": 1}),
        ("CPU:12 [123 EVENTS DROPPED]", {"12": 123}),
    ],
)
def test_lost_events_are_counted_by_cpu(line: str, lost: dict[str, int], tmp_path: Path) -> None:
    facts = imported(tmp_path, f"{GOOD}{line}\n{MORE}").facts
    assert (facts.lost, facts.remarks) == (lost, ())


def test_losses_add_up(tmp_path: Path) -> None:
    text = f"CPU:0 [LOST 5 EVENTS]\n{GOOD}CPU:0 [LOST 7 EVENTS]\nCPU:1 [EVENTS DROPPED]\n"
    assert imported(tmp_path, text).facts.lost == {"0": 12, "1": 1}


def test_headers_and_empty_lines_are_silent(tmp_path: Path) -> None:
    text = "# tracer: nop\n#\n#  entries-in-buffer/entries-written: 3/3   #P:2\n\nversion = 7\ncpus=2\nCPU 1 is empty\n"
    text += "##### CPU 1 buffer started ####\n\n" + written(ALL, ftrace)
    trace = imported(tmp_path, text)
    assert (len(rows(trace)), trace.facts.remarks) == (23, ())


def test_lines_of_windows_are_read(tmp_path: Path) -> None:
    trace = imported(tmp_path, written(ALL, trace_cmd).replace("\n", "\r\n"))
    assert len(rows(trace)) == 23


def where(folder: Path, text: bytes | str) -> str:
    with pytest.raises(RegattaError) as caught:
        imported(folder, text)
    assert not (folder / "trace" / "trace.json").exists()
    return caught.value.problems[0].where


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    assert where(tmp_path, b"") == str(tmp_path / "text")


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RegattaError) as caught:
        import_text(tmp_path / "none", tmp_path / "trace")
    assert caught.value.problems[0].where == str(tmp_path / "none")


def test_headers_alone_are_refused(tmp_path: Path) -> None:
    assert where(tmp_path, b"# tracer: nop\ncpus=2\n") == str(tmp_path / "text")


@pytest.mark.parametrize("cut", [1, 10, 60])
def test_a_truncated_file_is_refused_at_its_last_line(cut: int, tmp_path: Path) -> None:
    data = GOOD.encode()[:-cut]
    last = data.rindex(b"\n") + 1
    assert where(tmp_path, data) == f"{tmp_path / 'text'}, offset {last}"


@pytest.mark.parametrize(
    ("before", "foreign"),
    [
        (b"", b"time,value\n1,2\n"),
        (b"cpus=2\n", b"hello\n"),
        (b"# \xc3\xa4\xc3\xb6 comment\n\n\ncpus=2\n", b"foreign\n"),
        (GOOD.encode()[:300].rsplit(b"\n", 1)[0] + b"\n", b"<html>\n</html>\n"),
        (b"", b"\x7fELF\x02\x01\x01\x00\x00\x01\x02 \xff\xfe\n\x00\x00\n"),
        (b"cpus=1\n", b"a\x01b\x01c\n"),
    ],
)
def test_a_foreign_file_is_refused_at_its_first_foreign_line(
    before: bytes, foreign: bytes, tmp_path: Path
) -> None:
    assert where(tmp_path, before + foreign) == f"{tmp_path / 'text'}, offset {len(before)}"


def test_output_of_plugins_is_refused(tmp_path: Path) -> None:
    line = (
        b"  server-100   [000]  1.000000001: sched_switch:         server:100 [120] S ==> swapper/0:0 [120]\n"
    )
    assert where(tmp_path, line) == f"{tmp_path / 'text'}, offset 0"


def test_a_few_unreadable_lines_are_counted_with_the_first_offset(tmp_path: Path) -> None:
    remarks = imported(tmp_path, f"{GOOD}\nodd\n{MORE}other odd\n").facts.remarks
    assert len(remarks) == 1
    assert remarks[0].split()[0] == "2"
    assert remarks[0].split()[-1] == str(len(GOOD) + 1)


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    data = bytes(range(256)) * 64 + b"\n"
    assert where(tmp_path, data) == f"{tmp_path / 'text'}, offset 0"


def test_lines_of_cpus_out_of_order_are_sorted(tmp_path: Path) -> None:
    in_order = rows(imported(tmp_path, written(ALL, perf)))
    assert rows(imported(tmp_path, written([*ALL[14:15], *ALL[:14], *ALL[15:]], perf))) == in_order


def test_many_lines_keep_their_number(tmp_path: Path) -> None:
    events = 70_000
    text = "".join(
        f" t-{1 + at % 50} [00{at % 2}] 1.{at:09d}: sys_enter: NR {at % 7} (0)\n" for at in range(events)
    )
    trace = imported(tmp_path, text)
    table = pq.read_table(trace.events)
    accepted = table.filter(pq.read_table(trace.events).column("kind").to_numpy() == Kind.ACCEPT)
    assert accepted.num_rows == events
    assert Counter(accepted.column("object").to_pylist()).most_common(1)[0][1] == -(-events // 7)


def test_a_window_ends_where_the_first_buffer_was_full(tmp_path: Path) -> None:
    lines = [
        switch(1_000, ("swapper/0", 0), "R", ("a", 1), 0),
        switch(2_000, ("swapper/1", 0), "R", ("b", 2), 1),
        switch(5_000, ("a", 1), "S", ("swapper/0", 0), 0),
        switch(9_000, ("b", 2), "S", ("swapper/1", 0), 1),
    ]
    text = tmp_path / "text"
    text.write_text(written(lines, trace_cmd))
    facts = Facts(0, 10_000, 2, lost={"0": 7})
    trace = _import(text, tmp_path / "trace", (), {}, facts, {})
    found = measure(trace)
    assert (trace.facts.begin_ns, trace.facts.end_ns) == (0, lines[2].time_ns)
    assert found.seconds == pytest.approx((lines[2].time_ns) / 1e9)
    assert found.lost == 7


A, B = ("server", 300), ("other", 301)
TURNS = [
    switch(SECOND + 1000 * at, *((A, "S", B) if at % 2 == 0 else (B, "S", A)))
    for at in range(400)
]  # fmt: skip


@everywhere
def test_a_trace_that_is_in_a_file_twice_is_refused(form: Callable[[Line], str], tmp_path: Path) -> None:
    text = written(TURNS, form)
    assert where(tmp_path, text + text).startswith(f"{tmp_path / 'text'}, offset ")
    lines = sorted([*text.splitlines(), *text.splitlines()])
    assert where(tmp_path, "\n".join(lines) + "\n").startswith(f"{tmp_path / 'text'}, offset ")
    assert imported(tmp_path, text).facts.remarks == ()


def test_lines_out_of_order_are_sorted_and_reported(tmp_path: Path) -> None:
    right = imported(tmp_path, written(TURNS, perf))
    expected = pq.read_table(right.events).to_pylist()
    mixed = imported(tmp_path, written([*TURNS[200:], *TURNS[:200]], perf))
    assert pq.read_table(mixed.events).to_pylist() == expected
    assert [remark.split()[0] for remark in mixed.facts.remarks] == ["1"]
    assert "sorted by time" in mixed.facts.remarks[0]


def test_a_gap_of_most_of_the_window_is_reported(tmp_path: Path, golden: Golden) -> None:
    late = switch(10**8 * SECOND, A, "S", B)
    (remark,) = imported(tmp_path, written([*TURNS, late], perf)).facts.remarks
    golden("gap-of-most-of-the-window", remark)


@pytest.mark.parametrize("raw", [False, True])
def test_a_switch_that_was_not_formatted_does_not_count(raw: bool, tmp_path: Path) -> None:
    fields = (
        "prev_comm=server prev_pid=300 prev_prio=120 prev_state=0 next_comm=other next_pid=301 next_prio=120"
    )
    bad = replace(TURNS[0], rest=fields if raw else f"[FAILED TO PARSE] {fields}")
    text = written([*TURNS, replace(bad, time_ns=SECOND + 10**6)], trace_cmd)
    if raw:
        assert where(tmp_path, text).startswith(f"{tmp_path / 'text'}, offset ")
        with pytest.raises(RegattaError, match="without -R"):
            imported(tmp_path, text)
    else:
        remarks = imported(tmp_path, text).facts.remarks
        assert [remark.split()[0] for remark in remarks] == ["1", "1"]
        assert "[FAILED TO PARSE]" in remarks[0]


@pytest.mark.parametrize(
    "changes",
    [
        {"tid": 17_707_000_000}, {"cpu": 32766}, {"cpu": 40_000}, {"time_ns": 10**20 * SECOND},
        {"rest": "prev_comm=a prev_pid=1 prev_prio=1 prev_state=S ==> next_comm=b next_pid=18000000000 next_prio=0"},
    ],
)  # fmt: skip
def test_a_number_that_no_kernel_writes_is_an_unreadable_line(
    changes: dict[str, Any], tmp_path: Path
) -> None:
    trace = imported(tmp_path, written([*TURNS, replace(TURNS[0], **changes)], trace_cmd))
    (remark,) = trace.facts.remarks
    assert remark.startswith("1 lines without")
    assert trace.facts.cpus == 1


@everywhere
def test_a_thread_has_its_name_after_exec(form: Callable[[Line], str], tmp_path: Path) -> None:
    before = ("regatta", 300)
    found = [switch(SECOND, B, "S", before), switch(SECOND + 10, ("fast", 300), "R", B), switch(SECOND + 20, B, "S", ("fast", 300))]  # fmt: skip
    trace = imported(tmp_path, written([*found, switch(SECOND + 30, ("fast", 300), "S", B)], form))
    names = {row["tid"]: row["name"] for row in trace.read_objects().to_pylist() if row["kind"] == "thread"}
    assert names[300] == "fast"


def test_a_traced_command_has_its_name_after_exec_and_is_the_first_of_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fast = ("fast", 300)
    found = [switch(SECOND, B, "S", ("regatta", 300)), switch(SECOND + 10, fast, "R", B), switch(SECOND + 50, B, "S", fast)]  # fmt: skip
    text = tmp_path / "text"
    text.write_text(written([*found, switch(SECOND + 60, fast, "S", B)], trace_cmd))
    tasks = {"300": [300, "regatta", "regatta", False], "301": [301, "other", "other", False]}
    facts = Facts(SECOND, SECOND + 60, 1, {}, "trace-cmd")
    trace = _import(text, tmp_path / "trace", (), tasks, facts, {})
    assert {row["name"] for row in trace.read_objects().to_pylist()} >= {"fast", "other"}
    assert "regatta" not in {row["name"] for row in trace.read_objects().to_pylist()}
    for first in ("", _task_name(("/opt/fast", "1"))):
        _show(trace, first, None, as_json=False, clients=None)
        rows = [
            line.split()[0] for line in capsys.readouterr().out.splitlines() if line[:5] in ("fast ", "other")
        ]
        assert rows == (["fast", "other"] if first else ["other", "fast"])
