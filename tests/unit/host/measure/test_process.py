"""One process from start to end, and nothing of its tree afterwards."""

from __future__ import annotations

import ctypes
import errno
import gc
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from helpers.runner_plans import is_gone
from helpers.waiting import wait_until
from regatta.host.measure import process
from regatta.host.measure.capture import Capture
from regatta.host.measure.process import (
    Interrupted,
    Launch,
    Outcome,
    StopSignals,
    become_subreaper,
    keep_descriptors,
    reap_descendants,
    run_process,
)

_PR_SET_CHILD_SUBREAPER = 36


@pytest.fixture
def stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StopSignals]:
    """What the runner is: a subreaper with handlers, that may be left in another directory."""
    monkeypatch.chdir(tmp_path)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    become_subreaper()
    # A runner begins without children; those that tests before this one have left to their process are not its programs'.
    reap_descendants()
    keep_descriptors()
    with StopSignals() as stop:
        yield stop
    for number, handler in handlers.items():
        signal.signal(number, handler)
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def launch(*argv: str, **other: Any) -> Launch:
    return Launch(
        **{
            "argv": list(argv), "environment": {"PATH": os.environ["PATH"]}, "directory": os.getcwd(),
            "timeout_s": 300.0, "output_bytes": 4096, **other,
        }
    )  # fmt: skip


def script(stop: StopSignals, text: str, **other: Any) -> Outcome:
    return run_process(launch("/bin/sh", "-c", text, **other), stop)


@contextmanager
def signalled_when(true: Callable[[], Any], number: signal.Signals) -> Iterator[None]:
    """Send this process a signal as soon as a condition holds."""

    def send() -> None:
        wait_until(true, "the moment of the signal")
        os.kill(os.getpid(), number)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def pids_in(told: Path) -> list[int]:
    """The numbers in a line that a script has written; none while it is not complete."""
    text = told.read_text() if told.exists() else ""
    return [int(pid) for pid in text.split()] if text.endswith("\n") else []


def test_the_end_of_a_process_is_told_as_it_was(stop: StopSignals) -> None:
    before_ns, before_utc_ns = time.monotonic_ns(), time.time_ns()
    outcome = script(stop, "echo out; echo err >&2; sleep 0.1; exit 7")
    assert (outcome.exit_code, outcome.signal, outcome.timed_out, outcome.left_behind) == (7, None, False, 0)
    assert (outcome.stdout.kept, outcome.stderr.kept) == (b"out\n", b"err\n")
    assert 0.1e9 <= outcome.elapsed_ns <= time.monotonic_ns() - before_ns
    assert before_ns <= outcome.started_monotonic_ns
    # Half a minute for a clock that is set meanwhile.
    assert before_utc_ns - 30e9 < outcome.started_utc_ns < time.time_ns() + 30e9
    assert script(stop, "kill -KILL $$").signal == signal.SIGKILL


def test_only_the_given_environment_directory_and_an_empty_input_are_there(
    stop: StopSignals, tmp_path: Path
) -> None:
    (tmp_path / "here").mkdir()
    code = "import os; print(sorted(os.environ), os.getcwd(), os.read(0, 1), sorted(map(int, os.listdir('/proc/self/fd'))))"
    held = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(held, True)
    keep_descriptors()
    outcome = run_process(
        launch(
            sys.executable,
            "-I",
            "-S",
            "-c",
            code,
            environment={"ONLY": "this"},
            directory=str(tmp_path / "here"),
        ),
        stop,
    )
    os.close(held)
    words = outcome.stdout.kept.decode()
    assert words.startswith("['LC_CTYPE', 'ONLY']" if "LC_CTYPE" in words else "['ONLY']")
    assert str(tmp_path / "here") in words
    assert words.endswith("b'' [0, 1, 2, 3]\n"), "3 is the listing itself"


def test_it_leads_a_group_of_its_own_and_has_the_signals_of_a_fresh_process(stop: StopSignals) -> None:
    outcome = script(stop, 'cat /proc/$$/stat && grep -E "Sig(Blk|Ign)" /proc/self/status')
    assert outcome.exit_code == 0
    stat, *signals = outcome.stdout.kept.decode().splitlines()
    pid, group = stat.split()[0], stat.rpartition(")")[2].split()[2]
    assert pid == group
    blocked, ignored = (int(line.split()[1], 16) for line in signals)
    assert (blocked, ignored & 0x7FFFFFFF) == (0, 0)


def test_limits_and_cores_are_set_and_taken_back(stop: StopSignals) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE), os.sched_getaffinity(0)
    core = min(os.sched_getaffinity(0))
    outcome = script(
        stop,
        "ulimit -Sn; grep Cpus_allowed_list /proc/self/status",
        rlimits=[(resource.RLIMIT_NOFILE, 777)],
        cores=frozenset([core]),
    )
    assert outcome.stdout.kept == f"777\nCpus_allowed_list:\t{core}\n".encode()
    assert (resource.getrlimit(resource.RLIMIT_NOFILE), os.sched_getaffinity(0)) == before


def test_what_cannot_be_started_says_so_and_puts_everything_back(stop: StopSignals) -> None:
    gc.collect()  # Files that other tests have left would be closed in between.
    before = resource.getrlimit(resource.RLIMIT_NOFILE), len(os.listdir("/proc/self/fd"))
    outcome = run_process(launch("/no/such", rlimits=[(resource.RLIMIT_NOFILE, 777)]), stop)
    assert outcome.start_error == f"cannot start /no/such: {os.strerror(errno.ENOENT)}"
    outcome = run_process(launch("/bin/true", directory="/no/such"), stop)
    assert "/bin/true in /no/such: " in (outcome.start_error or "")
    assert (outcome.start_error or "").endswith(os.strerror(errno.ENOENT))
    assert outcome.exit_code is outcome.signal is None
    assert (resource.getrlimit(resource.RLIMIT_NOFILE), len(os.listdir("/proc/self/fd"))) == before


def test_no_descriptor_is_left_open(stop: StopSignals) -> None:
    script(stop, "exit 0")
    gc.collect()  # Files that other tests have left would be closed in between.
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        script(stop, "exit 0")
        script(stop, "sleep 600", timeout_s=0.01)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("end", ["kill -TERM $$", "exit 143"])
def test_a_process_that_is_told_to_stop_with_the_runner_has_not_crashed(
    stop: StopSignals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    told = tmp_path / "pid"
    # The runner is told only after the process has ended; how much later, the machine decides.
    monkeypatch.setattr(process, "_TOGETHER_S", 300.0)
    ended = signalled_when(lambda: [pid for pid in pids_in(told) if is_gone(pid)], signal.SIGTERM)
    with ended, pytest.raises(Interrupted):
        script(stop, f"echo $$ > {told}; {end}")


def test_a_process_that_alone_is_told_to_stop_has_crashed(stop: StopSignals) -> None:
    outcome = script(stop, "kill -TERM $$")
    assert (outcome.exit_code, outcome.signal) == (None, signal.SIGTERM)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_runner_ends_the_tree_at_once(
    stop: StopSignals, tmp_path: Path, number: signal.Signals
) -> None:
    told = tmp_path / "pids"
    with signalled_when(lambda: pids_in(told), number), pytest.raises(Interrupted):
        script(stop, f"trap '' TERM; setsid sleep 600 & echo $$ $! > {told}; sleep 600")
    assert all(is_gone(pid) for pid in pids_in(told))


def test_a_program_that_heeds_sigterm_ends_at_once(
    stop: StopSignals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "GRACE_S", 300.0)
    outcome = run_process(launch("/bin/sleep", "600", timeout_s=0.2), stop)
    assert (outcome.timed_out, outcome.signal) == (True, signal.SIGTERM)


TELLS_WHEN_IT_IS_STOPPED = """
import os, signal, sys, time

def stopped(*_):
    with open(sys.argv[1], "w") as told:
        told.write(str(time.monotonic_ns()))
    os._exit(0)

signal.signal(signal.SIGTERM, stopped)
while True:
    time.sleep(1)
"""


def test_what_follows_a_timeout_is_not_counted_as_the_time_of_the_process(
    stop: StopSignals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "told"
    monkeypatch.setattr(process, "GRACE_S", 300.0)
    # Until the process has its handler before the timeout.
    for timeout_s in (0.5, 5.0, 50.0):
        program = (sys.executable, "-I", "-S", "-c", TELLS_WHEN_IT_IS_STOPPED, str(told))
        outcome = run_process(launch(*program, timeout_s=timeout_s), stop)
        assert outcome.timed_out
        assert outcome.elapsed_ns >= timeout_s * 1e9
        if told.exists():
            break
    assert outcome.started_monotonic_ns + outcome.elapsed_ns <= int(told.read_text())


def test_a_program_that_closes_its_streams_early_is_waited_for(
    stop: StopSignals, monkeypatch: pytest.MonkeyPatch
) -> None:
    drained: list[Capture] = []
    drain = Capture.drain

    def counted(capture: Capture, *arguments: Any) -> bool:
        drained.append(capture)
        return drain(capture, *arguments)

    monkeypatch.setattr(Capture, "drain", counted)
    outcome = script(stop, "exec >&- 2>&-; sleep 0.2")
    assert outcome.exit_code == 0
    assert outcome.elapsed_ns >= 0.2e9
    assert len(drained) <= 4, "each stream at its end and once more, and not round and round"


def test_the_bookkeeping_around_the_start_is_close_around_it_and_always_ends(stop: StopSignals) -> None:
    calls: list[str] = []
    for program in ("/bin/true", "/no/such"):
        run_process(launch(program), stop, lambda: calls.append("before"), lambda: calls.append("after"))
    assert calls == ["before", "after"] * 2


def test_reaping_without_children_ends_at_once(stop: StopSignals) -> None:
    assert reap_descendants() == 0


def test_handlers_can_be_taken_twice_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = signal.getsignal(signal.SIGINT)
    for _ in range(2):
        with StopSignals() as stop:
            assert not stop.received
        assert signal.getsignal(signal.SIGINT) is before, "what was there is back"
