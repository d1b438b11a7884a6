"""One process from start to end, and nothing of its tree afterwards."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from helpers.runner_plans import is_gone
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
            "timeout_s": 20.0, "output_bytes": 4096, **other,
        }
    )  # fmt: skip


def script(stop: StopSignals, text: str, **other: Any) -> Outcome:
    return run_process(launch("/bin/sh", "-c", text, **other), stop)


def test_the_end_of_a_process_is_told_as_it_was(stop: StopSignals) -> None:
    before_ns = time.monotonic_ns()
    outcome = script(stop, "echo out; echo err >&2; sleep 0.1; exit 7")
    assert (outcome.exit_code, outcome.signal, outcome.timed_out, outcome.left_behind) == (7, None, False, 0)
    assert (outcome.stdout.kept, outcome.stderr.kept) == (b"out\n", b"err\n")
    assert 0.1e9 <= outcome.elapsed_ns <= time.monotonic_ns() - before_ns
    assert before_ns <= outcome.started_monotonic_ns
    assert abs(outcome.started_utc_ns - time.time_ns()) < 30e9
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
    before = resource.getrlimit(resource.RLIMIT_NOFILE), len(os.listdir("/proc/self/fd"))
    outcome = run_process(launch("/no/such", rlimits=[(resource.RLIMIT_NOFILE, 777)]), stop)
    assert outcome.start_error == "cannot start /no/such: No such file or directory"
    assert outcome.exit_code is outcome.signal is None
    assert (resource.getrlimit(resource.RLIMIT_NOFILE), len(os.listdir("/proc/self/fd"))) == before


def test_no_descriptor_is_left_open(stop: StopSignals) -> None:
    script(stop, "exit 0")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        script(stop, "exit 0")
        script(stop, "sleep 600", timeout_s=0.01)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("end", ["kill -TERM $$", "exit 143"])
def test_a_process_that_is_told_to_stop_with_the_runner_has_not_crashed(stop: StopSignals, end: str) -> None:
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM))
    timer.start()
    with pytest.raises(Interrupted):
        script(stop, f"sleep 0.1; {end}")
    timer.join()


def test_a_process_that_alone_is_told_to_stop_has_crashed(stop: StopSignals) -> None:
    outcome = script(stop, "kill -TERM $$")
    assert (outcome.exit_code, outcome.signal) == (None, signal.SIGTERM)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_runner_ends_the_tree_at_once(
    stop: StopSignals, tmp_path: Path, number: signal.Signals
) -> None:
    told = tmp_path / "pids"
    timer = threading.Timer(0.3, os.kill, (os.getpid(), number))
    timer.start()
    with pytest.raises(Interrupted):
        script(stop, f"setsid sleep 600 & echo $$ $! > {told}; trap '' TERM; sleep 600")
    timer.join()
    assert all(is_gone(int(pid)) for pid in told.read_text().split())


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
