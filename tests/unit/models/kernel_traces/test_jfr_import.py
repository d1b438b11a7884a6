"""A recording of the JVM becomes an event trace: which events, how they pair, their times, and what is refused."""

from __future__ import annotations

import io
import json
import re
import shutil
import struct
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regatta.host.errors import RegattaError
from regatta.models.kernel_traces import jfr_recording
from regatta.models.kernel_traces.jfr import import_jfr
from regatta.models.kernel_traces.jfr_recording import (
    Chunk,
    decode_events,
    parse_duration,
    parse_time,
    read_chunks,
    wall_clock,
)
from regatta.models.kernel_traces.measures import measure
from regatta.models.kernel_traces.model import NONE, Kind, Sleep, Trace, open_trace

PROGRAM = Path(__file__).with_name("Waits.java")
#: far above any error of the clock, and far below that of a wrong zone or unit
SLACK_NS = 1_000_000_000
#: of the header of a chunk
SIZE_AT, HEADER_BYTES = 8, 68
RECORDED = [
    *("ThreadPark", "JavaMonitorEnter", "JavaMonitorWait", "SocketRead", "SocketWrite", "FileWrite", "FileForce"),
    *("ThreadSleep", "ThreadStart", "ThreadEnd", "GCPhasePause", "GarbageCollection"),
    *("JVMInformation", "CPUInformation"),
]  # fmt: skip


@dataclass(frozen=True)
class Recorded:
    """A run of the program: its recording, and the window of CLOCK_MONOTONIC around it."""

    file: Path
    written: Path
    port: int
    #: System.nanoTime() before and after a sleep of the thread `writer`
    slept_ns: tuple[int, int]
    begin_ns: int
    end_ns: int
    offset_ns: int


@dataclass(frozen=True)
class Rows:
    """The tables of a trace."""

    trace: Trace
    events: list[dict[str, Any]]
    objects: list[dict[str, Any]]

    def named(self, kind: str, name: str) -> int:
        (found,) = (row["id"] for row in self.objects if (row["kind"], row["name"]) == (kind, name))
        return int(found)

    def of(self, kind: str, name: str) -> list[dict[str, Any]]:
        wanted = self.named(kind, name)
        return [row for row in self.events if row["object"] == wanted]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    missing = [program for program in ("javac", "java", "jfr") if shutil.which(program) is None]
    if missing:
        pytest.skip(f"RECORDINGS OF THE JVM ARE NOT TESTED: {', '.join(missing)} not on PATH")
    folder = tmp_path_factory.mktemp("jfr")
    settings, file, written = folder / "all.jfc", folder / "waits.jfr", folder / "written"
    events = "".join(
        f'<event name="jdk.{name}"><setting name="enabled">true</setting><setting name="threshold">0 ms</setting></event>'
        for name in RECORDED
    )
    settings.write_text(f'<configuration version="2.0">{events}</configuration>')
    subprocess.run(["javac", "-d", folder, PROGRAM], check=True)
    option = f"-XX:StartFlightRecording:filename={file},settings={settings},dumponexit=true"
    begin_ns, offset_ns = time.monotonic_ns(), time.time_ns() - time.monotonic_ns()
    done = subprocess.run(
        ["java", option, "-cp", folder, "Waits", written], check=True, capture_output=True, text=True
    )
    before_ns, after_ns, port = (int(number) for number in done.stdout.split()[-3:])
    return Recorded(file, written, port, (before_ns, after_ns), begin_ns, time.monotonic_ns(), offset_ns)


def imported(recording: Path, folder: Path, offset_ns: int | None = None) -> Rows:
    trace = import_jfr(recording, folder, monotonic_offset_ns=offset_ns)
    assert open_trace(folder) == trace
    return Rows(trace, pq.read_table(trace.events).to_pylist(), trace.read_objects().to_pylist())


@pytest.fixture(scope="module")
def rows(recorded: Recorded, tmp_path_factory: pytest.TempPathFactory) -> Rows:
    return imported(recorded.file, tmp_path_factory.mktemp("trace"), recorded.offset_ns)


def test_events_are_ordered_and_within_the_run(recorded: Recorded, rows: Rows) -> None:
    times = [row["time_ns"] for row in rows.events]
    facts = rows.trace.facts
    assert times == sorted(times)
    assert recorded.begin_ns < facts.begin_ns <= times[0] < times[-1] <= facts.end_ns < recorded.end_ns
    assert (facts.clock, facts.realtime_offset_ns) == ("monotonic", recorded.offset_ns)
    assert facts.cpus > 0
    assert "VM" in facts.source
    assert "built" not in facts.source
    assert {row["cpu"] for row in rows.events} == {NONE}


def test_every_request_is_granted_or_finished_once_and_later(rows: Rows) -> None:
    requests: dict[int, list[dict[str, Any]]] = {}
    for row in rows.events:
        if row["request"] != NONE:
            requests.setdefault(row["request"], []).append(row)
    shapes = {
        "lock": [Kind.REQUEST, Kind.WAIT, Kind.ACCEPT],
        "function": [Kind.ACCEPT, Kind.FINISH],
        **{
            kind: [Kind.REQUEST, Kind.ACCEPT, Kind.WAIT, Kind.FINISH] for kind in ("network", "disk", "timer")
        },
    }
    assert requests
    for parts in requests.values():
        kind = rows.objects[parts[0]["object"]]["kind"]
        assert [part["kind"] for part in parts] == shapes[kind]
        assert len({(part["actor"], part["object"]) for part in parts}) == 1
        assert parts[-1]["time_ns"] > parts[0]["time_ns"]


def test_objects_are_numbered_and_have_parents(rows: Rows) -> None:
    assert [row["id"] for row in rows.objects] == list(range(len(rows.objects)))
    (process,) = (row for row in rows.objects if row["kind"] == "process")
    assert process["pid"] > 0
    for row in rows.objects:
        inside = row["kind"] in ("thread", "lock", "function")
        assert row["parent"] == (process["id"] if inside else NONE)
    for name in ("main", "asker", "writer"):
        thread = rows.objects[rows.named("thread", name)]
        assert thread["tid"] > 0
        assert thread["pid"] == process["pid"]
    assert (
        rows.objects[rows.named("thread", "main")]["tid"]
        != rows.objects[rows.named("thread", "asker")]["tid"]
    )


def test_a_monitor_is_granted_by_its_owner(rows: Rows) -> None:
    enters = [row for row in rows.events if row["object"] in locks_of(rows, "Waits$Shared")]
    granted = [row for row in enters if row["kind"] == Kind.ACCEPT and row["peer"] != NONE]
    (accept,) = granted
    assert accept["actor"] == rows.named("thread", "asker")
    assert accept["peer"] == rows.named("thread", "main")


def test_a_parked_thread_waits_for_its_blocker(rows: Rows) -> None:
    waits = [row for row in rows.events if row["object"] in locks_of(rows, "Waits$Shared")]
    parks = [row for row in waits if row["kind"] == Kind.ACCEPT and row["peer"] == NONE]
    assert [row["actor"] for row in parks] == [rows.named("thread", "asker")]


def locks_of(rows: Rows, name: str) -> set[int]:
    return {row["id"] for row in rows.objects if (row["kind"], row["name"]) == ("lock", name)}


def test_who_waits_to_be_notified_names_the_notifier(rows: Rows) -> None:
    joins = locks_of(rows, "java.lang.Thread.wait")
    ended = {row["peer"] for row in rows.events if row["object"] in joins and row["kind"] == Kind.ACCEPT}
    assert rows.named("thread", "asker") in ended


def test_bytes_of_sockets_and_files_are_the_value(recorded: Recorded, rows: Rows) -> None:
    reads = rows.of("network", f"localhost:{recorded.port}")
    assert [(row["kind"], row["value"]) for row in reads][-1] == (Kind.FINISH, 7)
    assert {row["actor"] for row in reads} == {rows.named("thread", "main")}
    written = [row for row in rows.of("disk", str(recorded.written)) if row["kind"] == Kind.FINISH]
    assert sorted(row["value"] for row in written) == [0, 5000]


def test_a_sleeping_thread_waits_for_the_timer(rows: Rows) -> None:
    actors = {row["actor"] for row in rows.of("timer", "sleep")}
    assert {rows.named("thread", "main"), rows.named("thread", "writer")} <= actors


def test_times_are_those_of_nano_time(recorded: Recorded, rows: Rows) -> None:
    writer = rows.named("thread", "writer")
    times = [row["time_ns"] for row in rows.of("timer", "sleep") if row["actor"] == writer]
    before_ns, after_ns = recorded.slept_ns
    assert before_ns - SLACK_NS < min(times) < max(times) < after_ns + SLACK_NS


def test_pauses_and_collections_are_functions(rows: Rows) -> None:
    functions = {row["id"]: row["name"] for row in rows.objects if row["kind"] == "function"}
    actors = {
        functions[row["object"]]: rows.objects[row["actor"]]["name"]
        for row in rows.events
        if row["object"] in functions
    }
    assert "VM Thread" in actors.values()
    assert "GC" in actors.values()


def test_threads_start_by_their_parent_and_end(rows: Rows) -> None:
    main, asker = rows.named("thread", "main"), rows.named("thread", "asker")
    own = [row for row in rows.events if row["actor"] == asker and row["kind"] in (Kind.WAKE, Kind.SLEEP)]
    assert [(row["kind"], row["peer"], row["value"]) for row in own] == [
        (Kind.WAKE, main, 0),
        (Kind.SLEEP, NONE, Sleep.ENDED),
    ]


def test_without_an_offset_times_are_since_1970(recorded: Recorded, rows: Rows, tmp_path: Path) -> None:
    wall = imported(recorded.file, tmp_path / "trace")
    assert (wall.trace.facts.clock, wall.trace.facts.realtime_offset_ns) == ("realtime", 0)
    shifts = {one["time_ns"] - two["time_ns"] for one, two in zip(wall.events, rows.events, strict=True)}
    assert shifts == {recorded.offset_ns}


def test_a_recording_needs_no_suffix(recorded: Recorded, rows: Rows, tmp_path: Path) -> None:
    shutil.copy(recorded.file, tmp_path / "recording")
    assert len(imported(tmp_path / "recording", tmp_path / "trace").events) == len(rows.events)


def test_several_chunks_are_read(recorded: Recorded, rows: Rows, tmp_path: Path) -> None:
    twice = tmp_path / "twice.jfr"
    data = recorded.file.read_bytes()
    twice.write_bytes(data + data)
    assert [chunk.offset for chunk in read_chunks(twice)] == [0, len(data)]
    assert len(imported(twice, tmp_path / "trace").events) == 2 * len(rows.events)


def refused(recording: Path, folder: Path) -> str:
    with pytest.raises(RegattaError) as raised:
        import_jfr(recording, folder, monotonic_offset_ns=None)
    assert not folder.exists()
    (problem,) = raised.value.problems
    assert problem.fix
    assert str(recording) in problem.where
    return problem.where.removeprefix(str(recording))


def test_files_that_are_no_recordings_are_refused(tmp_path: Path) -> None:
    for name, data in {
        "text": b"a text\n" * 40,
        "empty": b"",
        "short": b"FLR\0",
        "zip": b"PK\3\4" * 99,
    }.items():
        (tmp_path / name).write_bytes(data)
        assert refused(tmp_path / name, tmp_path / "trace") == ", byte 0"
    assert refused(tmp_path / "missing", tmp_path / "trace") == ""
    assert refused(tmp_path, tmp_path / "trace") == ""


@pytest.mark.parametrize("removed", [1, 1000, -HEADER_BYTES, -HEADER_BYTES - 1])
def test_truncated_recordings_are_refused(recorded: Recorded, tmp_path: Path, removed: int) -> None:
    data = recorded.file.read_bytes()
    cut = tmp_path / "cut.jfr"
    cut.write_bytes(data[:-removed])
    assert refused(cut, tmp_path / "trace") == ", byte 0"


def test_the_offset_of_a_truncated_chunk_is_named(recorded: Recorded, tmp_path: Path) -> None:
    data = recorded.file.read_bytes()
    cut = tmp_path / "cut.jfr"
    for rest in (data[:-1], data[:30], b"F", b"\0" * 100):
        cut.write_bytes(data + rest)
        assert refused(cut, tmp_path / "trace") == f", byte {len(data)}"


def test_unfinished_and_foreign_chunks_are_refused(recorded: Recorded, tmp_path: Path) -> None:
    data = recorded.file.read_bytes()
    changed = tmp_path / "changed.jfr"
    for at, part in ((SIZE_AT, b"\0" * 8), (4, b"\0\7")):
        changed.write_bytes(data[:at] + part + data[at + len(part) :])
        assert refused(changed, tmp_path / "trace") == ", byte 0"


def test_a_recording_with_a_spoilt_body_is_refused(recorded: Recorded, tmp_path: Path) -> None:
    data = recorded.file.read_bytes()
    spoilt = tmp_path / "spoilt.jfr"
    spoilt.write_bytes(data[:HEADER_BYTES] + b"\xff" * (len(data) - HEADER_BYTES))
    assert refused(spoilt, tmp_path / "trace") == ""


def stub(folder: Path, text: str) -> str:
    """Make a `java` whose `jfr` prints a text."""
    (folder / "text").write_text(text)
    for name, body in {"java": "exit 1", "jfr": f"cat {folder}/text"}.items():
        (folder / name).write_text(f"#!/bin/sh\n{body}\n")
        (folder / name).chmod(0o755)
    return str(folder / "java")


def recording_of(folder: Path, begin_ns: int = 1_700_000_000_000_000_001) -> Path:
    """Make a recording whose events another program prints."""
    path = folder / "made.jfr"
    header = (b"FLR\0", 2, 1, HEADER_BYTES, 0, 0, begin_ns, 1000, 0, 10**9, 0)
    path.write_bytes(struct.pack(">4sHHQQQQQQQI", *header))
    return path


def printed(*events: tuple[str, dict[str, Any]]) -> str:
    listed = [{"type": kind, "values": values} for kind, values in events]
    return json.dumps({"recording": {"events": listed}}, indent=2)


ENDED = ("jdk.ThreadEnd", {"startTime": "2023-11-14T22:13:20.5Z", "thread": {"osThreadId": 5, "osName": "t"}})


def test_unknown_events_are_skipped_and_counted(tmp_path: Path) -> None:
    java = stub(tmp_path, printed(("jdk.New", {}), ENDED, ("jdk.New", {})))
    trace = import_jfr(recording_of(tmp_path), tmp_path / "trace", java=java, monotonic_offset_ns=None)
    (remark,) = trace.facts.remarks
    assert "jdk.New: 2" in remark
    assert pq.read_table(trace.events).num_rows == 1


def test_an_allocation_stall_is_a_wait_for_the_heap(tmp_path: Path) -> None:
    """As JDK 25 prints it."""
    worker = {"osName": "worker-2", "osThreadId": 28443, "javaName": "worker-2", "javaThreadId": 30}
    values = {
        "startTime": "2023-11-14T22:13:20.870484411Z",
        "duration": "PT0.002383573S",
        "eventThread": worker,
        "type": "Small",
        "size": 2 << 20,
    }
    java = stub(tmp_path, printed(("jdk.ZAllocationStall", values)))
    trace = import_jfr(recording_of(tmp_path), tmp_path / "trace", java=java, monotonic_offset_ns=None)
    found = Rows(trace, pq.read_table(trace.events).to_pylist(), trace.read_objects().to_pylist())
    request, wait, accept = found.of("lock", "Java heap")
    assert [row["kind"] for row in (request, wait, accept)] == [Kind.REQUEST, Kind.WAIT, Kind.ACCEPT]
    assert {row["actor"] for row in (request, wait, accept)} == {found.named("thread", "worker-2")}
    assert accept["time_ns"] - request["time_ns"] == 2_383_573
    assert accept["peer"] == found.named("thread", "GC")
    assert trace.facts.remarks == ()


def test_a_clock_of_whole_milliseconds_is_remarked(tmp_path: Path) -> None:
    recording = recording_of(tmp_path, 1_700_000_000_001_000_000)
    java = stub(tmp_path, printed(ENDED))
    trace = import_jfr(recording, tmp_path / "trace", java=java, monotonic_offset_ns=None)
    assert any("1 ms" in remark for remark in trace.facts.remarks)


def test_virtual_threads_are_told_apart_by_their_number(tmp_path: Path) -> None:
    made = [
        ("jdk.ThreadEnd", {"startTime": "2023-11-14T22:13:20Z", "thread": {"osThreadId": 0, "javaThreadId": n, "javaName": ""}})
        for n in (31, 32, 31)
    ]  # fmt: skip
    trace = import_jfr(
        recording_of(tmp_path),
        tmp_path / "trace",
        java=stub(tmp_path, printed(*made)),
        monotonic_offset_ns=None,
    )
    assert [row["tid"] for row in trace.read_objects().to_pylist() if row["kind"] == "thread"] == [NONE, NONE]


@pytest.mark.parametrize(
    "text",
    [
        printed(),
        printed(("jdk.ThreadEnd", {})),
        printed(("jdk.ThreadSleep", {"startTime": "x", "duration": "PT1S"})),
        printed(("jdk.ThreadSleep", {"startTime": "2023-11-14T22:13Z", "duration": "1 s"})),
        printed(ENDED)[:-40],
        '{"recording": {"events": [3]}}',
        "no JSON",
        "",
    ],
)
def test_output_without_events_is_refused(tmp_path: Path, text: str) -> None:
    recording = recording_of(tmp_path)
    with pytest.raises(RegattaError, match=re.escape(str(recording))):
        import_jfr(recording, tmp_path / "trace", java=stub(tmp_path, text), monotonic_offset_ns=None)


@given(
    st.lists(st.dictionaries(st.text(), st.text() | st.integers() | st.none()), max_size=9),
    st.sampled_from([None, 2]),
    st.integers(1, 40),
)
def test_events_arrive_whole_in_any_pieces(events: list[Any], indent: int | None, piece: int) -> None:
    text = json.dumps({"recording": {"events": events}}, indent=indent, ensure_ascii=False)

    class Pieces(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            return super().read(piece)

    assert list(decode_events(Pieces(text.encode()))) == events


def test_times_and_durations_are_read_to_the_nanosecond() -> None:
    assert parse_time("1970-01-01T00:00Z") == 0
    assert parse_time("2023-11-14T23:13:20.000000001+01:00") == 1_700_000_000_000_000_001
    assert parse_time("2023-11-14T22:13:20.5Z") == 1_700_000_000_500_000_000
    assert parse_duration("PT1H2M3.000000004S") == 3_723_000_000_004
    assert parse_duration("PT0S") == 0
    assert parse_duration("PT-0.5S") == -500_000_000
    for text in ("PT", "1 s", "", "P1D"):
        with pytest.raises(ValueError, match="no duration"):
            parse_duration(text)


def test_ticks_of_the_processor_are_corrected_between_chunks() -> None:
    drift, second = 1.00002, 10**9
    chunks = [
        Chunk(0, i * 10 * second, 10 * second, round(i * 10 * 2e9 / drift), 2 * second) for i in range(4)
    ]
    clock = wall_clock(chunks)
    assert clock.rate == pytest.approx(drift, abs=1e-9)
    # what `jfr` prints for an event 9 s after the beginning of the third chunk
    assert clock.corrected_ns(20 * second + round(9e9 / drift)) == pytest.approx(29 * second, abs=100)
    assert clock.corrected_ns(20 * second) == 20 * second


def test_exact_ticks_and_steps_of_the_clock_change_nothing() -> None:
    second = jfr_recording.MONOTONIC_TICKS
    exact = [Chunk(0, 5 * second, 0, 0, second), Chunk(9, 15 * second, 0, 10 * second + 300, second)]
    stepped = [Chunk(0, 5 * second, 0, 0, 2 * second), Chunk(9, 3600 * second, 0, 20 * second, 2 * second)]
    for chunks in (exact, stepped, exact[:1]):
        assert wall_clock(chunks).corrected_ns(16 * second + 1) == 16 * second + 1


def test_a_recording_of_a_jvm_alone_has_waits_but_no_times_on_cpus(
    recorded: Recorded, tmp_path: Path
) -> None:
    trace = import_jfr(recorded.file, tmp_path / "trace", monotonic_offset_ns=None)
    found = measure(trace)
    assert found.cpus == {}
    assert all(times.cpu == 0 for times in found.processes.values())
    assert any(usage.kind == "lock" and usage.waited_ns > 0 for usage in found.usages.values())
