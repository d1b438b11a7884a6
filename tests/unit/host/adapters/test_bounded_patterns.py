"""A pattern of a spec on the output of a program: whatever it takes, measuring goes on."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path

import pytest

from helpers.runner_plans import Runner, cell
from regatta.host.adapters.bounded import LIMIT_S, OverLimit, bounded

SLOW = r"(?P<value>(a+)+)$"


def of_pattern(pattern: str) -> dict[str, object]:
    return {"adapter": {"name": "regex", "options": {"pattern": pattern}}}


@pytest.mark.full
def test_a_pattern_that_takes_for_ever_fails_its_record_and_measuring_goes_on(runner: Runner) -> None:
    slow = cell("slow", ["/bin/echo", "a" * 60 + "!"], **of_pattern(SLOW))
    quick = cell("quick", ["/bin/echo", "12"], **of_pattern("(?P<value>[0-9]+)"))
    records = {record["cell_id"]: record for record in runner.measure(slow, quick)}
    failed, measured = records[slow["cell_id"]], records[quick["cell_id"]]
    assert failed["status"] == "failed"
    assert "(a+)+" in failed["reason"]
    assert f"{LIMIT_S} s" in failed["reason"]
    assert failed["left_behind"] == 0
    assert (measured["status"], measured["iterations"][0][2]) == ("ok", 12.0)


def test_what_takes_too_much_memory_is_ended() -> None:
    with pytest.raises(OverLimit, match="memory"):
        bounded(lambda: len("x" * (4 << 30)))


def test_an_answer_without_end_is_ended() -> None:
    with pytest.raises(OverLimit, match="64 MiB"):
        bounded(lambda: ["x" * (1 << 20)] * 80)


def test_a_fault_in_the_child_is_told_as_what_it_is() -> None:
    with pytest.raises(OverLimit, match="KeyError: 'x'"):
        bounded(lambda: {}["x"])


def test_what_takes_too_long_leaves_no_core_dump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = resource.getrlimit(resource.RLIMIT_CORE)
    if before[1] == 0:
        pytest.skip("no process dumps its core here")
    resource.setrlimit(resource.RLIMIT_CORE, (before[1], before[1]))
    try:
        with pytest.raises(OverLimit, match="1 s"):
            bounded(lambda: [time.process_time() for _ in iter(int, 1)], 1)
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, before)
    assert list(tmp_path.iterdir()) == []


def test_the_child_keeps_no_file_of_the_runner_and_no_process_is_left(tmp_path: object) -> None:
    # Other tests may have children of their own.
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    before = children.read_text().split()
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    try:
        found = bounded(lambda: sorted(int(name) for name in os.listdir("/proc/self/fd")))
        assert writer not in found
        with pytest.raises(OverLimit, match="1 s"):
            bounded(lambda: [time.process_time() for _ in iter(int, 1)], 1)
    finally:
        os.close(reader)
        os.close(writer)
    # What other tests have left may end meanwhile.
    assert set(children.read_text().split()) <= set(before)
