"""Small valid files of every kind that Regatta reads: each function writes one into a folder, and returns its path."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

TESTS = Path(__file__).parents[1]
CONFIGS = TESTS.parent / "configs"
_LINES = (
    "           a {0} [000] {1}.{2:09d}: sched:sched_waking: comm=b pid=11 prio=120 target_cpu=000",
    "           a {0} [000] {1}.{3:09d}: sched:sched_switch: prev_comm=a prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=b next_pid=11 next_prio=120",
    "           b 11 [000] {1}.{4:09d}: raw_syscalls:sys_enter: NR 1 (1, 7f, 5)",
    "           b 11 [000] {1}.{5:09d}: sched:sched_switch: prev_comm=b prev_pid=11 prev_prio=120 prev_state=R ==> next_comm=a next_pid=10 next_prio=120",
)


class Unavailable(Exception):
    """This machine cannot make the file. The message is the reason."""


def _written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def event_text(folder: Path) -> Path:
    rows = [line.format(10, 100 + second, 1000, 2000, 3000, 4000) for second in range(40) for line in _LINES]
    return _written(folder / "events.txt", "\n".join(rows) + "\n")


def trace_cmd_text(folder: Path) -> Path:
    rows = []
    for second in range(40):
        at = 100 + second
        rows += [
            f"             a-10    [000] d..2. {at}.000001000: sched_waking:         comm=b pid=11 prio=120 target_cpu=000",
            f"             a-10    [000] d..3. {at}.000002000: sched_switch:         prev_comm=a prev_pid=10 prev_prio=120 "
            "prev_state=S ==> next_comm=b next_pid=11 next_prio=120",
            f"             b-11    [000] ..... {at}.000003000: sys_enter:            NR 1 (1, 7f, 5, 0, 0, 0)",
            f"             b-11    [000] ..... {at}.000004000: sys_exit:             NR 1 = 5",
            f"             b-11    [000] d..3. {at}.000005000: sched_switch:         prev_comm=b prev_pid=11 prev_prio=120 "
            "prev_state=S ==> next_comm=a next_pid=10 next_prio=120",
        ]
    return _written(folder / "trace-cmd.txt", "\n".join(["cpus=1", *rows]) + "\n")


def event_trace(folder: Path) -> Path:
    from regatta.models.kernel_traces.importing import import_text

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


def recorded_events(folder: Path) -> Path:
    from regatta.host.events.recorder import Recorder
    from regatta.host.events.tracefs import missing_for_events
    from regatta.host.values.events import Events

    if missing := missing_for_events():
        raise Unavailable(f"recording events needs {missing}")
    with Recorder(folder, Events(groups=("scheduling", "system-calls"), buffer_mib=1)) as recorder:
        recorder.prepare()
        recorder.begin()
        subprocess.run(["true"], check=True)
        recorder.end()
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
    from regatta.models.page_cache.operations import write_operations
    from regatta.models.page_cache.strace_reader import read_strace

    write_operations(folder / "trace", read_strace(strace_text(folder).read_text().splitlines(keepends=True)))
    return folder / "trace"


def file_trace_without_digests(folder: Path) -> Path:
    return _without_digests(file_trace(folder))


def memory_trace_without_digests(folder: Path) -> Path:
    return _without_digests(memory_trace(folder))


def memory_trace(folder: Path) -> Path:
    import numpy as np

    from regatta.models.page_cache.cache import FILE_PAGES
    from regatta.models.page_cache.references import Facts, File, References, write_references

    files = (File("/a"), File("anonymous memory", anonymous=True))
    pages = np.array([0, 1, FILE_PAGES, FILE_PAGES + 5, 0], np.int64)
    write_references(folder, References(pages, files, Facts("valgrind", references=9, exact_from_pages=2)))
    return folder


def gc_log(folder: Path) -> Path:
    return Path(shutil.copy(TESTS / "unit/models/gc/logs/g1-21.log", folder / "gc.log"))


def heap_vector(folder: Path) -> Path:
    from helpers.heap_vectors import made_vector
    from regatta.models.gc.heap_vector import write_heap_vector

    write_heap_vector(made_vector(), folder / "heap.json")
    return folder / "heap.json"


def heap_profile(folder: Path) -> Path:
    from dataclasses import asdict

    from helpers.heap_vectors import checkpoint, profile

    walks = [checkpoint(1000 * (at + 1), 10, {0: 1, at: 5}, at, ends=True) for at in range(3)]
    made = profile(walks, ["startup", "iteration 0", "iteration 1"])
    return _written(folder / "heap.json", json.dumps(asdict(made)))


def recorded_flight(folder: Path) -> Path:
    """Record the compiler of Java: the only program that every JDK has, and that needs some threads and files."""
    programs = ("java", "jfr")
    if missing := [name for name in programs if shutil.which(name) is None]:
        raise Unavailable(f"no {', '.join(missing)} on PATH")
    names = (
        "ThreadPark",
        "JavaMonitorWait",
        "FileWrite",
        "ThreadStart",
        "ThreadEnd",
        "GCPhasePause",
        "JVMInformation",
        "CPUInformation",
    )
    events = "".join(
        f'<event name="jdk.{name}"><setting name="enabled">true</setting><setting name="threshold">0 ms</setting></event>'
        for name in names
    )
    samples = '<event name="jdk.ExecutionSample"><setting name="enabled">true</setting><setting name="period">10 ms</setting></event>'
    settings = _written(folder / "a.jfc", f'<configuration version="2.0">{events}{samples}</configuration>')
    option = f"-XX:StartFlightRecording:filename={folder / 'a.jfr'},settings={settings},dumponexit=true"
    compiler = (
        "-m",
        "jdk.compiler/com.sun.tools.javac.Main",
        "-d",
        str(folder),
        str(TESTS / "unit/models/kernel_traces/Waits.java"),
    )
    subprocess.run(["java", option, *compiler], check=True, stdout=subprocess.DEVNULL)
    return folder / "a.jfr"


def java_events(folder: Path) -> Path:
    written = {
        "events": 1, "java": "OpenJDK 64-Bit Server VM 21", "windows": ["startup", "iteration 0", "rest"], "ended_ns": [100, 200, 210],
        "counts": {"classes_loaded": [900, 80, 1], "contended_ns": [0, 0, 10]},
        "threads": {"main": {"exceptions": 3, "contended_monitors": 0, "contended_ns": 0}}, "missing": ["x"],
    }  # fmt: skip
    return _written(folder / "events.json", json.dumps(written))


def java_profile(folder: Path) -> Path:
    methods = [
        {"method": "java.lang.String.charAt(I)C", "calls": [1, 100, 1]},
        {
            "method": "java.lang.StringBuilder.append(Ljava/lang/String;)V",
            "calls": [0, 9, 0],
            "unit": "chars",
            "amount": [0, 99, 0],
        },
    ]
    written = {
        "profile": 1, "java": "OpenJDK 64-Bit Server VM 21", "windows": ["startup", "iteration 0", "rest"], "methods": methods,
        "threads": {"main": 300}, "not_profiled": {"x": "y"},
    }  # fmt: skip
    return _written(folder / "profile.json", json.dumps(written))


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


def request_log_gzip(folder: Path) -> Path:
    import gzip

    path = folder / "access.log.gz"
    path.write_bytes(gzip.compress(request_log(folder).read_bytes(), mtime=0))
    return path


def request_log_json(folder: Path) -> Path:
    rows = [
        {"remote_addr": f"192.0.2.{at % 5}", "time_iso8601": f"2026-11-24T10:{at % 60:02}:00Z", "request": f"GET /{at % 7} HTTP/1.1",
         "status": 200, "body_bytes_sent": 100 + at, "http_referer": "-", "http_user_agent": "x"}
        for at in range(60)
    ]  # fmt: skip
    return _written(folder / "access.json", "".join(json.dumps(row) + "\n" for row in rows))


def request_model(folder: Path) -> Path:
    from helpers.in_process import regatta

    done = regatta("model", "log", str(request_log(folder)), "-o", "model.yml", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


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


def two_vectors(folder: Path) -> Path:
    system_vector(folder).rename(folder / "system.yml")
    shares = "[{arguments: {bytes: 100}, share: 0.5}, {arguments: {bytes: 4096}, share: 0.5}]"
    text = (
        "kind: application\nname: a\nper: request\ntime_unit: ns\nuser_time: {value: 10.5, low: 9.5, high: 11.5, n: 5}\ncounts:\n"
        "  - {primitive: getpid, count: {value: 0.75, low: 0.7, high: 0.8, n: 5}, stands_for: [getpid]}\n"
        f"  - {{primitive: file_read, count: {{value: 2, low: 2, high: 2, n: 5}}, distribution: {shares}}}\n"
    )
    _written(folder / "app.yml", text)
    with (folder / "system.yml").open("a") as file:
        linear = "{linear: {argument: bytes, fixed: {value: 900, low: 800, high: 1000}, per: {value: 0.1, low: 0.05, high: 0.2}}}"
        file.write(f"  file_read: {{unit: operation, cost: {linear}, measured: {{bytes: [64, 8192]}}}}\n")
    return folder


def home(folder: Path) -> Path:
    """Write registries, a suite, and a spec with an include."""
    from helpers.specs.spec_examples import FILES, write

    for name, text in FILES.items():
        write(folder / name, text)
    write(
        folder / "configs/modifiers.yml",
        "modifiers:\n  quiet: {environment: {QUIET: '1'}}\n  big: {flags: [-Xmn10m]}\n",
    )
    write(folder / "configs/suites/minheap/toy.yml", "suite: toy\nheaps_mib:\n  lzw: {default: 20}\n")
    write(folder / "common.yml", "order: randomized-blocks\nseed: 7\nlevel: 0.9\ntimeout_s: 60\n")
    write(
        folder / "spec.yml",
        """
        include: [common.yml]
        name: small
        question: Which is faster?
        modifiers:
          c: {environment: {LC_ALL: C}}
        modifier_sets: [[], [c], [quiet]]
        benchmarks: [{suite: toy, benchmark: "true"}]
        invocations: {fixed: 3}
        perturbation: {other_cpu_percent: 30, steal_percent: 10}
        """,
    )
    return folder


def calls(folder: Path) -> Path:
    return _of_configs("primitives/java-calls.yml", folder)


def primitives(folder: Path) -> Path:
    return _of_configs("primitives/files.yml", folder)


def _of_configs(name: str, folder: Path) -> Path:
    return Path(shutil.copy(CONFIGS / name, folder))


def influx_settings(folder: Path) -> Path:
    _written(folder / "password", "secret\n").chmod(0o600)
    text = "url: http://localhost:8086\ndatabase: regatta\nretention_policy: ''\nwrite: {user: w, password_file: password}\ntimeout_s: 10\n"
    _written(folder / "influx.yml", text)
    return folder


def results(folder: Path) -> Path:
    shutil.copytree(TESTS / "reference/stored-java", folder / "stored-java")
    return folder / "stored-java"


def facts_of_host(folder: Path) -> Path:
    facts = {
        "facts": {"architecture": "x86_64", "cpu": "a"},
        "jvms": {"/opt/jdk": "x 21"},
        "utc_ns": 1,
        "node": "",
    }
    return _written(folder / "answer.json", json.dumps({"answer": facts}))


def state_of_host(folder: Path) -> Path:
    state = {
        "total": 4, "started_utc_s": 1, "cell": "x", "index": 0, "since_utc_s": 1.5, "counts": {"ok": 2},
        "waiting_for": {"pid": 5, "experiment": "x", "holder": "y", "since": "z"},
    }  # fmt: skip
    return _written(folder / "state.json", json.dumps(state))


def answer_of_influx(folder: Path) -> Path:
    influx_settings(folder)
    rows = {"name": "m", "tags": {"host": "a"}, "columns": ["time", "value"], "values": [[1, 0.5], [2, None]]}
    _written(folder / "answer.json", json.dumps({"results": [{"statement_id": 0, "series": [rows]}]}))
    return folder


def compilations(folder: Path) -> Path:
    line = "<nmethod compile_id='{0}' compiler='c2' level='{1}' size='{2}' method='java.lang.String hash{0} ()I' bytes='60' stamp='0.1'/>"
    rows = [line.format(at, 1 + at % 4, 100 + at) for at in range(40)]
    return _written(folder / "log", "<?xml version='1.0'?>\n" + "\n".join(rows) + "\n")


def strace_calls(folder: Path) -> Path:
    rows = [
        '10 read(3</etc/passwd>, ""..., 4096) = 1498',
        "10 clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|SIGCHLD, child_tidptr=0x7f) = 11",
        "10 read(3<pipe:[1]>,  <unfinished ...>",
        '11 write(4<TCP:[127.0.0.1:80->127.0.0.1:5000]>, ""..., 5) = 5',
        '10 <... read resumed>""..., 9) = 5',
        '11 execve("/bin/true", ["true"], 0x7f /* 5 vars */) = 0',
        "11 +++ exited with 0 +++",
        "10 --- SIGCHLD {si_signo=SIGCHLD} ---",
        "10 getpid() = 10",
    ]
    return _written(folder / "strace.txt", "\n".join(rows * 5) + "\n")


def lackey_lines(folder: Path) -> Path:
    _written(
        folder / "maps",
        "00100000-00102000 r-xp 00003000 fe:00 5   /bin/program\n00102000-00104000 rw-p 00000000 00:00 0   [heap]\n"
        "00200000-00204000 rw-p 00000000 fe:00 7   /data/private file\n",
    )
    rows = [
        "==17== Lackey, an example Valgrind tool",
        *("I  00100ffe,2", " L 00103008,8", " S 00200010,4", " M 00102000,1") * 10,
        "SYSCALL[17,1](257) sys_openat ( 4294967196, 0x1ffe(/tmp/x), 0 ) --> [async] ... ",
        "SYSCALL[17,1](257) ... [async] --> Success(0x3)",
        "SYSCALL[17,1](9) sys_mmap ( 0x0, 8192, 1, 2, 3, 0 ) --> [pre-success] Success(0x4835000) ",
        *(" L 04835008,8", "I  00100ffe,2") * 10,
        "==17==   guest instrs:  20",
    ]
    _written(folder / "lackey.txt", "\n".join(rows) + "\n")
    return folder


def output(name: str) -> Callable[[Path], Path]:
    """Return what writes an output of a benchmark."""
    return lambda folder: Path(shutil.copy(TESTS / "unit/host/adapters/outputs" / name, folder))


def protocol_lines(folder: Path) -> Path:
    rows = [
        *({"iteration": at, "metric": "elapsed", "value": 1234567 + at, "unit": "ns"} for at in range(3)),
        {"iteration": 0, "metric": "latency", "value": 1.07, "unit": "ns", "operations": 1000, "parameters": {"size_bytes": 4096}},
        {"iteration": 0, "requests": {"start_ns": [0, 81300], "end_ns": [80100, 164200]}},
        {"iteration": 0, "digest": "0" * 64},
        {"info": {"heap": 5, "name": "x"}},
    ]  # fmt: skip
    return _written(folder / "results.jsonl", "".join(json.dumps(row) + "\n" for row in rows))


def _tree(folder: Path) -> Path:
    inside = folder / "tree" / "inside"
    inside.mkdir(parents=True)
    _written(inside / "a.txt", "text\n" * 100)
    _written(inside / "run.sh", "#!/bin/sh\n").chmod(0o755)
    (inside / "link").symlink_to("a.txt")
    os.link(inside / "a.txt", inside / "hard")
    return folder / "tree"


def archive_tar(folder: Path) -> Path:
    return Path(shutil.make_archive(str(folder / "a"), "tar", _tree(folder)))


def archive_tar_gz(folder: Path) -> Path:
    return Path(shutil.make_archive(str(folder / "a"), "gztar", _tree(folder)))


def archive_zip(folder: Path) -> Path:
    return Path(shutil.make_archive(str(folder / "a"), "zip", _tree(folder)))


def program(folder: Path) -> Path:
    source = _written(folder / "a.c", "int main(void) { return 0; }\n")
    subprocess.run(["gcc", "-o", folder / "a", source], check=True)
    return folder / "a"
