"""Small valid files of every kind that Regatta reads: each function writes one into a folder, and returns its path."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

TESTS = Path(__file__).parents[1]
_LINES = (
    "           a {0} [000] {1}.{2:09d}: sched:sched_waking: comm=b pid=11 prio=120 target_cpu=000",
    "           a {0} [000] {1}.{3:09d}: sched:sched_switch: prev_comm=a prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=b next_pid=11 next_prio=120",
    "           b 11 [000] {1}.{4:09d}: raw_syscalls:sys_enter: NR 1 (1, 7f, 5)",
    "           b 11 [000] {1}.{5:09d}: sched:sched_switch: prev_comm=b prev_pid=11 prev_prio=120 prev_state=R ==> next_comm=a next_pid=10 next_prio=120",
)


def _written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def event_text(folder: Path) -> Path:
    rows = [line.format(10, 100 + second, 1000, 2000, 3000, 4000) for second in range(40) for line in _LINES]
    return _written(folder / "events.txt", "\n".join(rows) + "\n")


def event_trace(folder: Path) -> Path:
    from regatta.events.importing import import_text

    return import_text(event_text(folder), folder / "trace").folder


def _without_digests(folder: Path) -> Path:
    path = folder / "trace.json"
    facts = json.loads(path.read_text())
    del facts["sha256"]
    path.write_text(json.dumps(facts))
    return folder


def event_trace_without_digests(folder: Path) -> Path:
    return _without_digests(event_trace(folder))


def event_recording(folder: Path) -> Path:
    from regatta.host.values.events import ABOUT_FILE, TRACE_FILE, Events, Probe

    (folder / TRACE_FILE).write_bytes(b"no file of trace-cmd")
    recording = Events(probes=(Probe("web", "main", "entry", ("accept phase parse",)),)).to_json()
    about = {
        "version": 1, "begin_ns": 10, "end_ns": 20, "realtime_offset_ns": 5, "cpus": 2, "kernel": "6.1", "machine": "x86_64",
        "host": "alpha", "lost": {"1": 3}, "missing": ["x"], "recording": recording, "own": [7],
        "tasks": {"7": [7, "web", "web", False]},
    }  # fmt: skip
    (folder / ABOUT_FILE).write_text(json.dumps(about))
    return folder


def strace_text(folder: Path) -> Path:
    rows = []
    for at in range(20):
        rows += [
            f'7 {100 + at}.000100 openat(AT_FDCWD</tmp>, "x{at}", O_RDWR|O_CREAT, 0644) = 3</tmp/x{at}> <0.000020>',
            f'7 {100 + at}.000200 write(3</tmp/x{at}>, ""..., 9000) = 9000 <0.000030>',
            f'7 {100 + at}.000300 pread64(3</tmp/x{at}>, ""..., 4096, 4096) = 4096 <0.000010>',
            f"7 {100 + at}.000400 close(3</tmp/x{at}>) = 0 <0.000001>",
        ]
    return _written(folder / "strace.txt", "\n".join(rows) + "\n")


def file_trace(folder: Path) -> Path:
    from regatta.files.operations import write_operations
    from regatta.files.strace_reader import read_strace

    write_operations(folder / "trace", read_strace(strace_text(folder).read_text().splitlines(keepends=True)))
    return folder / "trace"


def file_trace_without_digests(folder: Path) -> Path:
    return _without_digests(file_trace(folder))


def memory_trace(folder: Path) -> Path:
    import numpy as np

    from regatta.files.cache import FILE_PAGES
    from regatta.memory.references import Facts, File, References, write_references

    files = (File("/a"), File("anonymous memory", anonymous=True))
    pages = np.array([0, 1, FILE_PAGES, FILE_PAGES + 5, 0], np.int64)
    write_references(folder, References(pages, files, Facts("valgrind", references=9, exact_from_pages=2)))
    return folder


def gc_log(folder: Path) -> Path:
    return Path(shutil.copy(TESTS / "unit/gc/logs/g1-21.log", folder / "gc.log"))


def heap_vector(folder: Path) -> Path:
    from helpers.heap_vectors import made_vector
    from regatta.gc.heap_vector import write_heap_vector

    write_heap_vector(made_vector(), folder / "heap.json")
    return folder / "heap.json"


def flight_recording(folder: Path) -> Path:
    import struct

    chunk = struct.pack(">4sHH7QI", b"FLR\0", 2, 1, 68, 0, 0, 10**18, 10**9, 5, 10**9, 0)
    (folder / "a.jfr").write_bytes(2 * chunk)
    return folder / "a.jfr"


def request_log(folder: Path) -> Path:
    import numpy as np

    from helpers.request_logs import Known, as_combined, synthetic

    requests = synthetic(Known(sessions=30, objects=20), np.random.default_rng(1))
    return _written(folder / "access.log", as_combined(requests))


def request_model(folder: Path) -> Path:
    from helpers.in_process import regatta

    done = regatta("model", "log", str(request_log(folder)), "-o", "model.yml", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "model.yml"


def sessions(folder: Path) -> Path:
    from helpers.in_process import regatta

    request_model(folder)
    done = regatta("model", "sessions", "model.yml", "-o", "a.sessions", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "a.sessions"


def csv_of_groups(folder: Path) -> Path:
    rows = [f"{group},{100 + at % 7}.5" for at in range(12) for group in ("a", "b")]
    return _written(folder / "a.csv", "g,v\n" + "\n".join(rows) + "\n")


def csv_of_heaps(folder: Path) -> Path:
    rows = [f"serial,{heap},{2 + 10 / heap}" for heap in (80, 96, 128, 256) for _ in range(3)]
    return _written(folder / "a.csv", "collector,heap_mib,seconds\n" + "\n".join(rows) + "\n")


def system_vector(folder: Path) -> Path:
    text = "kind: system\nname: s\ntime_unit: ns\nprimitives:\n  getpid:\n    unit: operation\n    cost: {value: 5.5, low: 5.1, high: 5.9}\n"
    return _written(folder / "a.yml", text)


def rebench(folder: Path) -> Path:
    return Path(shutil.copy(TESTS / "unit/imports/rebench/variables.conf", folder / "a.conf"))


def running_ng(folder: Path) -> Path:
    return Path(shutil.copy(TESTS / "unit/imports/running_ng/plain.yml", folder / "a.yml"))
