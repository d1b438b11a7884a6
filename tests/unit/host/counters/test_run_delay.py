"""The time for which threads wait for a processor, from files that a test writes and from real programs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from helpers.runner_plans import Runner, python
from regatta.host.counters import delay
from regatta.host.counters.delay import Delays
from regatta.host.values.counters import INFO, RUN_DELAY

ASKED: dict[str, Any] = {"names": [RUN_DELAY], "raw": {}}
#: three children that never sleep, on one processor with their parent, and an iteration of half a second
CROWD = """
import os, signal, time
ask, answer = (os.environ["REGATTA_COUNTERS"] + end for end in (".ask", ".answer"))
def border(which):
    with open(ask, "w") as out:
        out.write(which + " 0\\n")
    with open(answer, "rb", buffering=0) as back:
        back.read(1)
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
children = []
for _ in range(3):
    child = os.fork()
    if child == 0:
        while True:
            pass
    children.append(child)
border("begin")
until = time.monotonic() + 0.5
while time.monotonic() < until:
    pass
MORE
border("end")
for child in children:
    os.kill(child, signal.SIGKILL)
"""


def schedstat(proc: Path, thread: int, waited_ns: int) -> None:
    """Write the file of a thread of process 7."""
    folder = proc / "7" / "task" / str(thread)
    folder.mkdir(parents=True)
    (folder / "schedstat").write_text(f"1 {waited_ns} 3\n")


def test_new_threads_count_from_their_start(tmp_path: Path) -> None:
    schedstat(tmp_path, 7, 100)
    before = delay.delays_of(7, tmp_path)
    (tmp_path / "7" / "task" / "7" / "schedstat").write_text("2 150 4\n")
    schedstat(tmp_path, 8, 30)
    after = delay.delays_of(7, tmp_path)
    assert before.by_thread == {7: 100}
    assert after.by_thread == {7: 150, 8: 30}
    read = Delays(before.by_thread, 0, 2), Delays(after.by_thread, 100, 102)
    assert delay.waiting_between(*read, 98e-9) == (0.8, "")


def test_a_thread_that_ended_takes_its_delay_with_it() -> None:
    waited, why = delay.waiting_between(Delays({7: 100, 8: 5}), Delays({7: 200}, 100, 110), 1.0)
    assert waited is None
    assert why.startswith("1 threads ended")


def test_a_reading_that_takes_too_long_gives_no_value() -> None:
    before, after = Delays({7: 100}, 0, 10**8), Delays({7: 200}, 11 * 10**8, 13 * 10**8)
    assert delay.waiting_between(before, after, 1.0)[0] is None
    assert delay.waiting_between(before, after, 1.6)[0] is not None


def test_a_kernel_without_the_file_says_so(tmp_path: Path) -> None:
    assert "CONFIG_SCHED_INFO" in delay.why_not(tmp_path)


@pytest.mark.skipif(bool(delay.why_not()), reason=delay.why_not() or "-")
class TestOfRealPrograms:
    """With the kernel of this machine."""

    def test_four_busy_processes_on_one_processor_wait_three_quarters_of_their_time(
        self, runner: Runner
    ) -> None:
        record = runner.one(python("crowd", CROWD.replace("MORE", ""), counters=ASKED))
        assert record["status"] == "ok", record["reason"]
        found = {row[1]: row[2] for row in record["iterations"]}
        # All four are ready all the time, and at most one runs.
        assert found["counter_iteration_run_delay"] >= 3 * 0.45e9
        assert found["counter_iteration_run_queue"] >= 2.7
        assert record["info"][INFO]["missing"] == {}

    def test_an_iteration_in_which_a_thread_ended_has_no_value(self, runner: Runner) -> None:
        more = "os.kill(children[0], signal.SIGKILL); os.wait()"
        record = runner.one(python("ended", CROWD.replace("MORE", more), counters=ASKED))
        assert not [row for row in record["iterations"] if "run_delay" in row[1]]
        assert "1 threads ended" in record["info"][INFO]["missing"][RUN_DELAY]

    def test_a_program_without_iterations_has_no_value(self, runner: Runner) -> None:
        record = runner.one(python("plain", "pass", counters=ASKED))
        assert "iterations" in record["info"][INFO]["missing"][RUN_DELAY]

    def test_this_process_has_a_delay(self) -> None:
        assert os.getpid() in delay.delays_of(os.getpid()).by_thread
