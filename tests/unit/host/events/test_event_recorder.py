"""Recordings of this host: probes and system calls of a short command are counted exactly, and nothing remains, whoever dies."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from regatta.host.errors import HostError
from regatta.host.events.recorder import Recorder
from regatta.host.events.tracefs import missing_for_events
from regatta.host.values.events import ABOUT_FILE, TRACE_FILE, Events, Probe
from regatta.models.kernel_traces.importing import import_recording
from regatta.models.kernel_traces.measures import measure
from regatta.models.kernel_traces.model import Kind, Trace

MISSING = missing_for_events() or ("" if shutil.which("perl") else "perl")
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"recording events needs {MISSING}")
LIBC = "libc.so.6"
CALLS = 1000
PATIENCE_S = 300
ENTRY = Probe(LIBC, "getppid", "entry", ("accept function getppid",))
RETURN = Probe(LIBC, "getppid", "return", ("finish function getppid",))
PROBED = Events(groups=("scheduling", "system-calls"), probes=(ENTRY, RETURN), buffer_mib=16)
#: lists in a mount that only it sees what the kernel's tracing holds
LISTING = 'mount -t tracefs nodev "$1" && ls "$1/instances" && cat "$1/uprobe_events"'
#: a parent of a recorder: prints the number of the recorder's process once the window has begun, and waits
PARENT = """
import sys, time
from pathlib import Path
from regatta.host.events.recorder import Recorder
from regatta.host.values.events import Events, Probe
with Recorder(Path(sys.argv[1]), Events(groups=("scheduling",), probes=(Probe("libc.so.6", "getppid", "entry", ()),), buffer_mib=1)) as one:
    one.prepare()
    one.begin()
    print(one._process.pid, flush=True)
    sys.stdin.readline()
    one.end()
"""


def held(recorder: int) -> list[str]:
    """What the kernel holds for a recorder: its instance and its probes."""
    with tempfile.TemporaryDirectory() as place:
        words = ["unshare", "--mount", "sh", "-c", LISTING, "sh", place]
        listed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    name = f"regatta_{os.stat('/proc/self/ns/pid').st_ino}_{recorder}"
    return [line for line in listed.splitlines() if line == name or f":{name}/" in line]


def mounts() -> Counter[str]:
    return Counter(line for line in Path("/proc/self/mounts").read_text().splitlines() if "tracefs" in line)


def calls_of_perl(count: int = CALLS, cpus: set[int] | None = None) -> int:
    """Let perl call a function of libc, on some of the CPUs. Return the number of its process."""
    where = ",".join(map(str, cpus or os.sched_getaffinity(0)))
    process = subprocess.Popen(["taskset", "--cpu-list", where, "perl", "-e", f"getppid() for 1..{count}"])
    assert process.wait(PATIENCE_S) == 0
    return process.pid


def recorded(
    folder: Path, events: Events = PROBED, calls: int = CALLS, cpus: set[int] | None = None
) -> tuple[Trace, int, int]:
    """A trace around perl, with the numbers of the processes of perl and the recorder."""
    with Recorder(folder, events) as recorder:
        recorder.prepare()
        pid = pid_of(recorder)
        recorder.begin()
        thread = calls_of_perl(calls, cpus)
        recorder.end()
    return import_recording(folder, folder / "trace"), thread, pid


def pid_of(recorder: Recorder) -> int:
    assert recorder._process is not None
    return recorder._process.pid


def seen(trace: Trace, thread: int) -> Counter[tuple[str, str, Kind]]:
    """How often each kind of event of each object happened to a thread."""
    objects = trace.read_objects().to_pylist()
    table = pq.read_table(trace.events, columns=["kind", "actor", "object"])
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return Counter(
        (objects[target]["kind"], objects[target]["name"], Kind(kind))
        for kind, actor, target in rows
        if actor >= 0 and target >= 0 and objects[actor]["tid"] == thread
    )


@pytest.fixture
def nothing_mounted() -> Iterator[None]:
    before = mounts()
    yield
    assert mounts() == before


@pytest.mark.usefixtures("nothing_mounted")
def test_probes_and_calls_of_a_command_are_counted_exactly(tmp_path: Path) -> None:
    trace, perl, recorder = recorded(tmp_path)
    found = seen(trace, perl)
    assert trace.facts.lost == {}
    assert found["function", "getppid", Kind.ACCEPT] == found["function", "getppid", Kind.FINISH] == CALLS
    assert (
        found["system-call", "getppid", Kind.ACCEPT] == found["system-call", "getppid", Kind.FINISH] == CALLS
    )
    assert sum(count for (kind, _, _), count in found.items() if kind == "cpu") > 0
    assert held(recorder) == []
    measures = measure(trace)
    window = trace.facts.end_ns - trace.facts.begin_ns
    assert all(0 <= busy <= window for busy in measures.cpus.values())
    assert sum(measures.cpus.values()) > 0


@pytest.mark.full
@pytest.mark.usefixtures("nothing_mounted")
def test_a_recording_follows_another(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        trace, perl, recorder = recorded(tmp_path / name)
        assert seen(trace, perl)["function", "getppid", Kind.ACCEPT] == CALLS
        assert held(recorder) == []


@pytest.mark.full
def test_phases_of_transactions_come_from_probes(tmp_path: Path) -> None:
    means = ("accept transaction call", "accept phase calling")
    entry = Probe(LIBC, "getppid", "entry", means)
    ends = Probe(LIBC, "getppid", "return", ("finish phase calling", "finish transaction call"))
    trace, perl, _ = recorded(tmp_path, Events(groups=("scheduling",), probes=(entry, ends), buffer_mib=16))
    found, measures = seen(trace, perl), measure(trace)
    assert found["transaction", "call", Kind.FINISH] == found["phase", "calling", Kind.ACCEPT] == CALLS
    assert measures.transactions >= CALLS
    assert measures.phases["calling"].entries == measures.transactions
    assert (measures.responses > 0).all()


@pytest.mark.full
def test_a_small_buffer_loses_events_and_says_so(tmp_path: Path) -> None:
    # Each CPU has a buffer of 1 MiB. The calls need 2 MB: on one CPU they do not fit, and on two they would. Nothing else is
    # recorded, or a busy machine fills the buffers before perl has begun.
    one = {min(os.sched_getaffinity(0))}
    events = Events(groups=(), probes=(ENTRY,), buffer_mib=1)
    trace, perl, recorder = recorded(tmp_path, events, 100_000, one)
    assert sum(trace.facts.lost.values()) > 0
    assert 0 < seen(trace, perl)["function", "getppid", Kind.ACCEPT] < 100_000
    assert len(measure(trace).remarks) > 0
    assert held(recorder) == []


@contextlib.contextmanager
def parent(folder: Path, *before: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A process with a recorder, and the number of the recorder's process."""
    with tempfile.TemporaryDirectory() as place:
        paths = os.pathsep.join(path for path in sys.path if path)
        process = subprocess.Popen(
            [*before, sys.executable, "-c", PARENT, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            # A killed recorder leaves its folder for temporary files.
            env={**os.environ, "PYTHONPATH": paths, "TMPDIR": place},
        )
        assert process.stdout is not None
        try:
            yield process, int(process.stdout.readline())
        finally:
            process.kill()
            process.communicate()


def wait_for_end(pid: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_bytes():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.full
@pytest.mark.usefixtures("nothing_mounted")
def test_nothing_remains_of_a_recorder_whose_parent_is_killed(tmp_path: Path) -> None:
    with parent(tmp_path) as (process, recorder):
        assert len(held(recorder)) == 2
        process.kill()
        wait_for_end(recorder)
    assert held(recorder) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.full
@pytest.mark.usefixtures("nothing_mounted")
def test_the_next_recording_removes_what_a_killed_recorder_left(tmp_path: Path) -> None:
    with parent(tmp_path) as (_, recorder):
        os.kill(recorder, signal.SIGKILL)
        wait_for_end(recorder)
    assert len(held(recorder)) == 2
    trace, perl, other = recorded(tmp_path)
    assert held(recorder) == held(other) == []
    assert seen(trace, perl)["function", "getppid", Kind.ACCEPT] == CALLS


@pytest.mark.full
@pytest.mark.usefixtures("nothing_mounted")
def test_a_host_without_a_mount_records_in_one_of_its_own(tmp_path: Path) -> None:
    hide = 'while umount /sys/kernel/tracing /sys/kernel/debug 2>/dev/null; do :; done; exec "$@"'
    with parent(tmp_path, "unshare", "--mount", "sh", "-c", hide, "sh") as (process, recorder):
        assert len(held(recorder)) == 2
        process.communicate("\n", PATIENCE_S)
        assert process.returncode == 0
    assert held(recorder) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted((ABOUT_FILE, TRACE_FILE))


@pytest.mark.full
def test_end_asked_at_once_ends_the_window(tmp_path: Path) -> None:
    with Recorder(tmp_path, Events(groups=("scheduling",), for_s=3600, buffer_mib=1)) as recorder:
        recorder.prepare()
        recorder._tell("begin")
        recorder._tell("end")
        recorder._answer()
        recorder._answer()
    assert (tmp_path / TRACE_FILE).exists()


@pytest.mark.full
@pytest.mark.parametrize(
    ("probe", "name"),
    [
        (Probe(LIBC, "no_such_function", "entry", ()), "no_such_function"),
        (Probe("no-such-program", "main", "entry", ()), "no-such-program"),
        (Probe("/etc/passwd", "main", "entry", ()), "/etc/passwd"),
    ],
)
def test_a_probe_that_is_impossible_is_refused(probe: Probe, name: str, tmp_path: Path) -> None:
    with Recorder(tmp_path, Events(probes=(ENTRY, probe), buffer_mib=1)) as recorder:
        with pytest.raises(HostError) as caught:
            recorder.prepare()
        pid = pid_of(recorder)
    problem = caught.value.problems[0]
    assert name in f"{problem.where} {problem.expected}"
    assert held(pid) == []


@pytest.mark.full
def test_a_folder_that_cannot_be_written_is_refused() -> None:
    with Recorder(Path("/proc"), Events(groups=("scheduling",), buffer_mib=1)) as recorder:
        recorder.prepare()
        pid = pid_of(recorder)
        recorder.begin()
        with pytest.raises(HostError):
            recorder.end()
    assert held(pid) == []


@pytest.mark.full
def test_a_recording_that_is_not_asked_for_leaves_nothing(tmp_path: Path) -> None:
    with Recorder(tmp_path, Events(groups=("scheduling",), buffer_mib=1)) as recorder:
        recorder.prepare()
        pid = pid_of(recorder)
    assert held(pid) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.full
def test_a_process_that_ends_before_its_window_has_no_trace(tmp_path: Path) -> None:
    with Recorder(tmp_path, Events(groups=("scheduling",), after_s=3600, buffer_mib=1)) as recorder:
        recorder.prepare()
        recorder.begin()
        with pytest.raises(HostError) as caught:
            recorder.end()
    assert "3600" in caught.value.problems[0].expected
    assert not (tmp_path / TRACE_FILE).exists()
