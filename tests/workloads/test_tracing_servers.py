"""Tracing of servers that run, and by drivers that start the tracer: attaching, windows, ends in the middle."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

from helpers.workloads.tracing_runs import (
    HOME,
    PATIENCE_S,
    REGATTA,
    TABLE,
    begin_watching,
    let_turn,
    needs,
    wait_for,
)
from regatta.host.errors import HostError, RegattaError
from regatta.models.cli.trace import trace as trace_group
from regatta.models.system_calls import bpftrace
from regatta.models.system_calls.processes import is_there, tracer_of, tree_of
from regatta.models.system_calls.runs import Figure, read_tally, watch
from regatta.models.system_calls.tools import NoTracer, make_tracer
from regatta.models.vectors.calls import Seen
from regatta.models.vectors.files import read_vector


def test_a_running_server_and_its_children_are_watched_until_the_end_is_asked_for(
    tracing_tool, traced_server, tmp_path
):
    watching = begin_watching(traced_server, tracing_tool, tmp_path, "--tally", tmp_path / "seen.json")
    let_turn(traced_server)
    watching.send_signal(signal.SIGINT)
    assert watching.wait(PATIENCE_S) == 0
    watching.communicate()
    tally = read_tally(tmp_path / "seen.json")
    count, _ = tally.seen[Seen("getppid", ending="some")]
    assert count >= 4
    assert traced_server.poll() is None
    assert len(tree_of(traced_server.pid)) == 2


def test_a_killed_trace_leaves_no_tracer_and_the_server_goes_on(tracing_tool, traced_server, tmp_path):
    watching = begin_watching(traced_server, tracing_tool, tmp_path, "--tally", tmp_path / "seen.json")
    tracers = [pid for pid in tree_of(watching.pid) if pid != watching.pid]
    assert tracers
    watching.kill()
    watching.wait(PATIENCE_S)
    watching.communicate()
    wait_for(lambda: not any(is_there(pid) for pid in tracers))
    assert traced_server.poll() is None
    assert len(tree_of(traced_server.pid)) == 2
    for pid in tree_of(traced_server.pid):
        assert "TracerPid:\t0\n" in Path(f"/proc/{pid}/status").read_text()


def test_a_tracer_that_is_killed_is_an_error_and_no_vector(tracing_tool, traced_server, tmp_path):
    watching = begin_watching(traced_server, tracing_tool, tmp_path, "-o", tmp_path / "vector.yml")
    tracers = [pid for pid in tree_of(watching.pid) if pid != watching.pid]
    for pid in tracers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not any(is_there(pid) for pid in tracers))
    watching.send_signal(signal.SIGINT)
    _, said = watching.communicate(timeout=PATIENCE_S)
    assert watching.returncode == 3
    assert "expected a complete trace" in said
    assert not (tmp_path / "vector.yml").exists()
    assert traced_server.poll() is None


def test_a_process_that_is_traced_already_is_an_error(traced_server, traced):
    needs("strace")
    first, second = make_tracer("strace", TABLE), make_tracer("strace", TABLE)
    try:
        first.start(traced_server.pid)
        with pytest.raises(HostError, match=rf"process {traced_server.pid} .* traced twice"):
            second.start(traced_server.pid)
    finally:
        first.kill()
        second.kill()


@contextlib.contextmanager
def hidden_children(monkeypatch, tool, hidden):
    """The tree is listed without the root's children, where `hidden` says so of the call's number."""
    calls = []

    def listed(pid):
        calls.append(pid)
        found = tree_of(pid)
        return found[:1] if hidden(len(calls)) else found

    for module in ("processes", tool):
        monkeypatch.setattr(f"regatta.models.system_calls.{module}.tree_of", listed)
    yield


def test_a_process_that_was_missed_while_attaching_is_attached_to_the_next_time(
    tracing_tool, traced_server, monkeypatch
):
    wait_for(lambda: len(tree_of(traced_server.pid)) == 2)
    tracer = make_tracer(tracing_tool, TABLE)
    if tracing_tool == "bpftrace":
        monkeypatch.setattr("regatta.models.system_calls.bpftrace.started_ticks", lambda pid: 1)
    try:
        with hidden_children(monkeypatch, tracing_tool, lambda number: number == 1):
            tracer.start(traced_server.pid)
        assert tracer.missed == 0
        if tracing_tool == "strace":
            assert [tracer_of(pid) for pid in tree_of(traced_server.pid)] == [tracer.process.pid] * 2
        let_turn(traced_server)
        assert tracer.stop().remarks == ()
    finally:
        tracer.kill()


def test_processes_that_are_missed_each_time_are_an_error(traced_server, monkeypatch):
    needs("strace")
    wait_for(lambda: len(tree_of(traced_server.pid)) == 2)
    tracer = make_tracer("strace", TABLE)
    try:
        with (
            hidden_children(monkeypatch, "strace", lambda number: number % 2),
            pytest.raises(HostError, match="stable process tree"),
        ):
            tracer.start(traced_server.pid)
    finally:
        tracer.kill()
    assert [tracer_of(pid) for pid in tree_of(traced_server.pid)] == [0, 0]


def test_a_process_in_a_namespace_of_its_own_is_refused(tracing_tool, traced):
    inside = subprocess.Popen(["unshare", "--pid", "--fork", "--kill-child", traced, "serve"])
    try:
        wait_for(lambda: len(tree_of(inside.pid)) == 3 or inside.poll() is not None)
        if inside.poll() is not None:
            pytest.skip("NOT TESTED: no namespace of processes can be made here")
        with pytest.raises(HostError, match=r"in the PID namespace\b"):
            make_tracer(tracing_tool, TABLE).start(inside.pid)
    finally:
        inside.kill()
        inside.wait()


@pytest.mark.parametrize(
    ("attached", "last", "after", "numbers"),
    [
        (100, 1100, 1100, ()),
        (103, 1103, 1108, ()),
        (
            130,
            1100,
            1110,
            # units while the tracer attached and detached, their share in %, and all units of the window
            (["40", "4.1", "970"],),
        ),
    ],
)
def test_work_at_a_windows_ends_is_told_where_it_is_much(monkeypatch, attached, last, after, numbers):
    told = iter([attached, last, after])
    monkeypatch.setattr(
        "regatta.models.system_calls.runs.read_figure", lambda figure, printed: float(next(told))
    )
    counter = Figure("served.json", "served")
    run, tally = watch(os.getpid(), NoTracer(), counter, threading.Event(), 0.1, before=100.0)
    assert run.units == last - attached
    assert tuple(re.findall(r"\d[\d.]*", remark) for remark in tally.remarks) == numbers


def test_the_web_driver_waits_longer_than_the_tracer_may_take():
    driver = HOME / "benchmarks" / "web" / "driver"
    (end_ns,) = re.findall(r"END_NS = UINT64_C\((\d+)\)", (driver / "tracer.c").read_text())
    (wait_ms,) = re.findall(r"\.trace_wait_ms = (\d+)", (driver / "options.c").read_text())
    assert int(end_ns) / 1e9 > bpftrace.STOP_S
    assert int(wait_ms) / 1e3 > bpftrace.START_S


DRIVER = """
import json, os, pathlib, signal, subprocess, sys, time
program, folder, *tracing = sys.argv[1:]
server = subprocess.Popen([program, "serve"])
try:
    ready = pathlib.Path(folder) / f"ready-{os.getpid()}"
    tracing = [word.replace("{pid}", str(server.pid)).replace("{ready}", str(ready)) for word in tracing]
    if tracing:
        tracer = subprocess.Popen(tracing, stdout=sys.stderr)
        while not ready.exists() and tracer.poll() is None:
            time.sleep(0.01)
        status = pathlib.Path(f"/proc/{server.pid}/status")
        turns = lambda: int(status.read_text().split("voluntary_ctxt_switches:")[1].split()[0])
        before = turns()
        while turns() < before + 100:
            time.sleep(0.01)
        tracer.send_signal(signal.SIGINT)
        assert tracer.wait() == 0
    print(json.dumps({"served": 7}))
finally:
    server.kill()
"""


def test_a_driver_starts_the_tracer_itself_and_nothing_stays(traced, tmp_path):
    needs("strace")
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    done = subprocess.run(
        [*REGATTA, "trace", "os", "--tool", "strace", "--overhead", "0", "--units-from=-:served", "-o", "x.yml", "--",
         sys.executable, "-c", DRIVER, traced, tmp_path, "{tracer}"],
        cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "REGATTA_HOME": str(HOME), "TMPDIR": str(temporary)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    vector = read_vector(tmp_path / "x.yml")
    assert vector.provenance["units"] == "7"
    assert {call for count in vector.counts for call in count.stands_for} >= {"getppid"}
    assert not list(temporary.iterdir())


def test_a_driver_that_does_not_trace_is_an_error():
    done = CliRunner().invoke(
        trace_group, ["os", "--tool", "strace", "--overhead", "0", "-o", "x.yml", "true", "{tracer}"]
    )
    assert isinstance(done.exception, RegattaError)
    assert "expected a complete trace" in str(done.exception)


@pytest.mark.parametrize("slow", ["driver", "bpftrace"])
def test_a_killed_trace_leaves_no_file(slow, traced, tmp_path):
    needs("strace")
    temporary, running = tmp_path / "tmp", tmp_path / "running"
    temporary.mkdir()
    waits = f"#!/bin/sh\n: > {running}\nexec sleep 60\n"
    command = [
        *REGATTA,
        "trace",
        "os",
        "--tool",
        "strace",
        "-o",
        "x.yml",
        "--",
        "sh",
        "-c",
        waits,
        "{tracer}",
    ]
    if slow == "bpftrace":
        needs("bpftrace")
        program = tmp_path / "bpftrace"
        program.write_text(waits)
        program.chmod(0o755)
        command = [
            *REGATTA,
            "trace",
            "os",
            "--tool",
            "bpftrace",
            "-o",
            "x.yml",
            "--overhead",
            "0",
            "--",
            "true",
        ]
    tracing = subprocess.Popen(
        command, cwd=tmp_path, start_new_session=True,
        env={**os.environ, "REGATTA_HOME": str(HOME), "TMPDIR": str(temporary),
             "PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )  # fmt: skip
    wait_for(lambda: running.exists() or tracing.poll() is not None)
    tracing.kill()
    tracing.wait()
    assert running.exists()
    assert not list(temporary.iterdir())


SERVING = """
import os, sys, time
served = 0
while True:
    for _ in range(10):
        os.stat("/")
    served += 1
    with open(sys.argv[1] + ".new", "w") as file:
        file.write('{"served": %d}' % served)
    os.replace(sys.argv[1] + ".new", sys.argv[1])
    time.sleep(0.01)
"""


def test_windows_of_a_server_that_counts_its_work_come_in_turns(tmp_path):
    needs("strace")
    counter = tmp_path / "served.json"
    process = subprocess.Popen([sys.executable, "-c", SERVING, counter])
    try:
        wait_for(counter.exists)
        command = [
            *REGATTA, "trace", "os", "--pid", str(process.pid), "--tool", "strace", "--for", "3", "--overhead", "2",
            f"--units-from={counter}:served", "--per", "request", "-o", tmp_path / "server.yml",
        ]  # fmt: skip
        done = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, "REGATTA_HOME": str(HOME)}
        )
        assert done.returncode == 0, done.stderr
    finally:
        process.kill()
        process.wait()
    vector = read_vector(tmp_path / "server.yml")
    assert "2 pairs of runs" in vector.provenance["overhead"]
    counts = {count.primitive: count.count for count in vector.counts if count.rule in ("", "path-changed")}
    # A window may begin or end in the middle of a request, and calls are counted while the tracer attaches and detaches: of
    # up to 1 % of the requests, or of what is told, which is much on a busy machine.
    told = re.findall(r"([\d.]+)% of the", vector.provenance.get("remarks", ""))
    units = min(map(float, vector.provenance["units"].split()))
    tolerance = 2 / units + max([1.0, *map(float, told)]) / 100
    for primitive, expected in (("stat", 11), ("file_write", 1), ("open_close", 1)):
        assert counts[primitive].n == 2
        assert counts[primitive].value == pytest.approx(expected, rel=tolerance)
