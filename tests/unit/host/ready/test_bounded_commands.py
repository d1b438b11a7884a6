"""Builds and package managers: their output is kept with a limit, and nothing of them goes on after a timeout."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

import pytest

from helpers.runner_plans import is_gone
from helpers.waiting import wait_until
from regatta.host.errors import HostError
from regatta.host.ready.commands import KEPT_BYTES, run_command


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REGATTA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_the_start_and_the_end_of_a_huge_output_are_kept() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    script = "echo first; head -c 300000000 /dev/zero | tr '\\0' x; echo; echo last"
    done = run_command(["sh", "-c", script], "a build")
    assert done.returncode == 0
    assert done.cut
    assert done.text.startswith("first\n")
    assert done.text.endswith("\nlast\n")
    assert len(done.text) < KEPT_BYTES + 100
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150_000


def test_a_failure_names_a_log_with_the_whole_output(cache: Path) -> None:
    with pytest.raises(HostError) as caught:
        run_command(["sh", "-c", "seq 100; exit 3"], "a build", fix="repair it").succeeded()
    (problem,) = caught.value.problems
    assert problem.got.splitlines()[-1].strip() == "100"
    (log,) = (cache / "logs").iterdir()
    assert log.read_text().splitlines() == [str(number) for number in range(1, 101)]
    assert problem.fix == f"repair it; see {log}"


def test_a_short_output_needs_no_log(cache: Path) -> None:
    with pytest.raises(HostError) as caught:
        run_command(["sh", "-c", "echo no; exit 3"], "a build", fix="repair it").succeeded()
    assert caught.value.problems[0].fix == "repair it"
    assert not cache.exists()


def test_after_a_timeout_the_children_are_ended_too(tmp_path: Path) -> None:
    script = f"sleep 1000 & echo $! > {tmp_path}/pid; echo building; wait"
    with pytest.raises(HostError) as caught:
        run_command(["sh", "-c", script], "a build", timeout_s=2)
    assert "building" in caught.value.problems[0].got
    wait_until(lambda: is_gone(int((tmp_path / "pid").read_text())), "the end of the process")


def test_a_daemon_that_keeps_the_output_open_holds_up_nothing(tmp_path: Path) -> None:
    daemon = (
        "import os, sys, time; os.setsid(); open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(1000)"
    )
    script = f'{sys.executable} -c "{daemon}" {tmp_path}/pid & while [ ! -s {tmp_path}/pid ]; do sleep 0.05; done; echo built'
    done = run_command(["sh", "-c", script], "a build", timeout_s=100)
    assert (done.returncode, done.text) == (0, "built\n")
    os.kill(int((tmp_path / "pid").read_text()), 9)


def test_an_interrupt_ends_the_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = f"sleep 1000 & echo $! > {tmp_path}/pid; sleep 1; kill -INT {os.getpid()}; wait"
    with pytest.raises(KeyboardInterrupt):
        run_command(["sh", "-c", script], "a build")
    wait_until(lambda: is_gone(int((tmp_path / "pid").read_text())), "the end of the process")


def test_a_program_that_closes_its_output_is_waited_for() -> None:
    done = run_command(["sh", "-c", "echo a; exec >&- 2>&-; sleep 0.3; exit 5"], "a build")
    assert (done.returncode, done.text) == (5, "a\n")
