"""From what became of a process to the status of its record."""

from __future__ import annotations

import os
import resource
from collections.abc import Container
from typing import Any

import pytest

from helpers.runner_plans import cell
from helpers.waiting import PATIENCE_S
from regatta.host.adapters.result import Reported
from regatta.host.measure.capture import Capture
from regatta.host.measure.process import Outcome
from regatta.host.measure.verdict import judge

USAGE = resource.struct_rusage((0.0, 0.0) + (0,) * 14)
GOOD = Reported(iterations=[[0, "elapsed", 1, "ns", None, None]])
A, B = "ab" * 32, "cd" * 32


def capture(text: bytes) -> Capture:
    reading, writing = os.pipe()
    os.write(writing, text)
    os.close(writing)
    captured = Capture(reading, 4096, hashed=True)
    captured.drain()
    os.close(reading)
    return captured


def outcome(
    exit_code: int | None = 0,
    signal: int | None = None,
    stdout: bytes = b"",
    stderr: bytes = b"",
    timed_out: bool = False,
    start_error: str = "",
) -> Outcome:
    return Outcome(
        1,
        1,
        1,
        exit_code,
        signal,
        timed_out,
        USAGE,
        0,
        capture(stdout),
        capture(stderr),
        start_error=start_error,
    )


def status(
    what: Outcome, reported: Reported = GOOD, oom_kills: int = 0, **planned: Any
) -> tuple[str, str | None]:
    return judge(cell("x", ["/bin/true"], **planned), what, reported, oom_kills)


def test_a_good_one_is_ok_without_a_reason() -> None:
    assert status(outcome()) == ("ok", None)


@pytest.mark.parametrize(
    ("what", "reported", "expected", "words"),
    [
        (outcome(None, None, start_error="cannot start x: No"), GOOD, "failed", "cannot start x: No"),
        (outcome(None, 9, timed_out=True), GOOD, "timeout", f"timed out after {PATIENCE_S:g} s"),
        (outcome(0, timed_out=True), GOOD, "timeout", f"timed out after {PATIENCE_S:g} s"),
        (outcome(None, 11), GOOD, "crashed", "killed by signal 11 (Seg"),
        (outcome(None, 9), GOOD, "crashed", "killed by signal 9 (Killed)"),
        (outcome(None, 64), GOOD, "crashed", "killed by signal 64"),
        (outcome(3), GOOD, "failed", "exit code 3"),
        (outcome(3, stderr=b"a\n\nlast\n\n"), GOOD, "failed", "exit code 3: last"),
        (outcome(3), Reported(error="no result: none"), "failed", "exit code 3"),
        (outcome(3), Reported(error="line 1: x"), "failed", "line 1: x"),
        (outcome(0), Reported(error="no result: none"), "failed", "no result: none"),
        (outcome(0), Reported(error="the workload reports: no"), "failed", "the workload reports: no"),
    ],
)
def test_each_end_has_its_status(what: Outcome, reported: Reported, expected: str, words: str) -> None:
    found, reason = status(what, reported)
    assert found == expected
    assert reason is not None
    assert reason.startswith(words)


@pytest.mark.parametrize(
    "text",
    [
        b'Exception in thread "main" java.lang.OutOfMemoryError: Java heap space',
        b"Terminating due to java.lang.OutOfMemoryError: Java heap space",
        b"Error occurred during initialization of VM\nToo small maximum heap",
        b"# There is insufficient memory for the Java Runtime Environment to continue.",
    ],
)
def test_what_a_jvm_says_of_its_heap_is_oom_and_only_of_a_jvm(text: bytes) -> None:
    assert status(outcome(1, stderr=text), kind="java")[0] == "oom"
    assert status(outcome(None, 6, stdout=text), kind="java")[0] == "oom"
    assert status(outcome(1, stderr=text), kind="native")[0] == "failed"
    assert status(outcome(0, stderr=text), kind="java")[0] == "ok", "it went on, and ended well"
    assert status(outcome(None, 9, stderr=text, timed_out=True), kind="java")[0] == "timeout"


def test_expected_exit_codes_are_ok_and_a_signal_never_is() -> None:
    one_or_three = {"expect": {"exit_codes": [1, 3]}}
    assert status(outcome(3), **one_or_three) == ("ok", None)
    found, reason = status(outcome(0), **one_or_three)
    assert found == "failed"
    assert str(reason).startswith("exit code 0, ")
    assert str(status(outcome(2, stderr=b"why"), **one_or_three)[1]).endswith(" 1 or 3: why")
    anything = {"expect": {"exit_codes": []}}
    assert status(outcome(255), **anything) == ("ok", None)
    assert status(outcome(None, 11), **anything)[0] == "crashed"
    assert status(outcome(3, stderr=b"Too small maximum heap"), kind="java", **anything)[0] == "oom"
    assert status(outcome(3), Reported(error="no result: none"), **anything)[0] == "failed"


def test_a_jvm_that_crashes_is_crashed() -> None:
    assert status(outcome(None, 6, stdout=b"# SIGSEGV (0xb) at pc=0x0"), kind="java")[0] == "crashed"


def test_a_kill_by_the_kernel_is_oom_only_with_its_word() -> None:
    assert status(outcome(None, 9), oom_kills=1)[0] == "oom"
    assert status(outcome(None, 9))[0] == "crashed"
    assert status(outcome(None, 15), oom_kills=1)[0] == "crashed"


def test_digests_are_compared_with_what_is_expected_and_with_each_other() -> None:
    expected = {"expect": {"digest": A}}
    assert status(outcome(), Reported(GOOD.iterations, [A, A]), **expected)[0] == "ok"
    assert status(outcome(), Reported(GOOD.iterations, [A, B]), **expected)[0] == "failed"
    found, reason = status(outcome(), GOOD, **expected)
    assert found == "failed"
    assert str(reason).startswith("wrong output: no digest ")
    assert str(reason).endswith(f" {A[:16]}")
    assert status(outcome(), Reported(GOOD.iterations, [A, A]))[0] == "ok"
    assert status(outcome(), Reported(GOOD.iterations, [A, B]))[0] == "failed"


def test_standard_output_is_compared_by_its_hash() -> None:
    right = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"  # sha256 of "foo"
    assert status(outcome(stdout=b"foo"), expect={"stdout_sha256": right})[0] == "ok"
    found, reason = status(outcome(stdout=b"foo\n"), expect={"stdout_sha256": right})
    assert (found, str(reason)[:13]) == ("failed", "wrong output:")


def test_a_limit_in_place_of_a_number_is_an_iteration_too() -> None:
    """An operation that is hardly slower than its loop has a number in some iterations only."""

    def reported(limits: Container[int], count: int = 4) -> Reported:
        names = ["latency_at_most" if i in limits else "latency" for i in range(count)]
        return Reported(iterations=[[i, name, 1, "ns", None, {"kind": 1}] for i, name in enumerate(names)])

    for limits in ({0, 2}, {3}, range(4)):
        assert status(outcome(), reported(limits), iterations=4, metric="latency") == ("ok", None)
    assert status(outcome(), reported({0}, 3), iterations=4, metric="latency")[0] == "failed"


def test_a_workload_that_reports_fewer_iterations_than_it_was_told_is_wrong() -> None:
    def reported(count: int) -> Reported:
        return Reported(iterations=[[i, "elapsed", 1, "ns", None, None] for i in range(count)])

    assert status(outcome(), reported(4), iterations=4, metric="elapsed") == ("ok", None)
    found, reason = status(outcome(), reported(1), iterations=4, metric="elapsed")
    assert found == "failed"
    assert " 4 iterations " in str(reason)
    assert str(reason).endswith(" elapsed, got 1")
    assert status(outcome(), reported(3), iterations=None, metric="elapsed") == ("ok", None)
    other = Reported(iterations=[[0, "latency", 1, "ns", None, {"size": 1}]])
    assert status(outcome(), other, iterations=4, metric="elapsed")[0] == "failed"


def test_the_time_of_a_process_that_did_less_than_it_was_told_is_wrong() -> None:
    def reported(count: int) -> Reported:
        return Reported(iterations=[[i, "elapsed", 1, "ns", None, None] for i in range(count)])

    assert status(outcome(), reported(4), iterations=4, metric="process_elapsed") == ("ok", None)
    found, reason = status(outcome(), reported(3), iterations=4, metric="process_elapsed")
    assert found == "failed"
    assert " 4 iterations " in str(reason)
    assert str(reason).endswith(" process_elapsed, got 3")
