"""kill -9 at seeded points of a real small experiment, then the same command: every planned invocation is there, each once."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest
from small_experiments import HOME, HOST, SmallExperiment

from helpers.runner_plans import end, is_gone, measured_processes, wait_until

#: kills of the runner, and a campaign of them
KILLED_RUNNERS = [6, pytest.param(26, marks=pytest.mark.long)]
SEED = 20070101


def kill(*pids: int) -> None:
    """Kill -9, and wait until they are gone: whoever their parent is now may take its time to ask about them."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for pid in pids:
        wait_until(lambda pid=pid: is_gone(pid), f"the end of {pid}")


@pytest.mark.parametrize("planned_kills", KILLED_RUNNERS)
def test_runners_killed_at_any_point_lose_and_double_nothing(tmp_path: Path, planned_kills: int) -> None:
    small = SmallExperiment(tmp_path, invocations={"fixed": planned_kills + 4}, segment={"rounds": 10})
    # Long enough that some kills hit it.
    small.suite["benchmarks"]["nap"]["command"] = ["sleep", "0.1"]
    small.write()
    small.plan()
    chance = random.Random(SEED)
    kills = orphans = 0
    for number in small.segments():
        arguments = small.segment_arguments(number)
        while not small.receipt(number).exists():
            process = small.start(*arguments)
            if kills < planned_kills * (number + 1) // len(small.segments()):
                if chance.random() < 0.2:
                    time.sleep(chance.uniform(0, 0.25))
                else:
                    small.wait_for_records(small.lines() + chance.randrange(1, 4), process)
                    time.sleep(chance.uniform(0, 0.03))
                kills += process.poll() is None
                end(process)
                orphans += len(measured_processes(small.results_file))
            else:
                _, err = process.communicate(timeout=60)
                assert (process.returncode, err) == (0, "")
    assert kills >= planned_kills
    assert orphans > 0, "some kills must have hit while something was measured"
    small.assert_complete()
    sequences = Counter((r["segment"], r["sequence"]) for r in small.records())
    assert max(sequences.values()) == 1


#: whom to kill, and after how many records at least; segments end at 56, 108 and 124
WORKFLOW_KILLS = [
    ("everything", 0),
    ("runner", 12),
    ("snakemake", 30),
    ("regatta run", 60),
    ("snakemake", 72),
    ("runner", 84),
    ("everything", 94),
]


# One of everything at once; each of the others alone is killed by a test below.
@pytest.mark.parametrize(
    "kills", [[("everything", 30)], pytest.param(WORKFLOW_KILLS, marks=pytest.mark.long)]
)
def test_workflows_killed_at_any_point_lose_and_double_nothing(
    tmp_path: Path, kills: list[tuple[str, int]]
) -> None:
    small = SmallExperiment(tmp_path, invocations={"fixed": 30}, segment={"rounds": 13})
    # On a busy machine a kill could come when all is measured: at so many records a measured process waits for it.
    hold, lines = tmp_path / "hold", f"cat {small.folder.journal / HOST}/[0-9]*.jsonl 2>/dev/null | wc -l"
    small.suite["benchmarks"]["nap"]["command"] = [
        "sh", "-c", f'while n=$(cat {hold} 2>/dev/null) && [ "$({lines})" -ge "$n" ]; do sleep 0.02; done'
    ]  # fmt: skip
    small.write()
    chance = random.Random(SEED)
    for target, least in kills:
        records = least and least + chance.randrange(6)
        hold.write_text(str(max(1, records)))
        process = small.start_run()
        if records:
            small.wait_for_records(records, process)
            time.sleep(chance.uniform(0, 0.1))
            wait_until(small.runners, "a runner", 60)
        else:
            wait_until(small.snakemakes, "Snakemake")
            time.sleep(chance.uniform(0, 1))
        assert process.poll() is None, f"{target}: it has ended before it could be killed"
        snakemakes, runners = small.snakemakes(), small.runners()
        if target == "everything":
            os.killpg(process.pid, signal.SIGKILL)
            kill(*snakemakes, *runners)
            process.communicate()
        elif target == "regatta run":
            end(process)
            kill(*small.snakemakes(), *small.runners())
        else:
            kill(*(snakemakes if target == "snakemake" else runners))
            _, err = process.communicate(timeout=60)
            assert process.returncode == 3, err
            if records > 30:
                # The first of them goes on alone to the end of its segment.
                kill(*small.runners())
        hold.unlink()
    small.run()
    small.assert_complete()


@pytest.mark.smoke
def test_a_killed_runner_is_told_with_its_signal_and_the_same_command_goes_on(tmp_path: Path) -> None:
    small = SmallExperiment(tmp_path, modifiers={})
    small.suite["benchmarks"]["nap"]["command"] = ["sleep", "0.2"]
    small.write()
    process = small.start_run()
    small.wait_for_records(2, process)
    kill(*small.runners())
    _, err = process.communicate(timeout=60)
    assert process.returncode == 3
    assert "SIGKILL" in err
    assert "measure-local-00000.log" in err
    small.run()
    small.assert_complete()


def test_what_goes_on_without_its_command_is_waited_for_and_never_doubled(tmp_path: Path) -> None:
    small = SmallExperiment(tmp_path, invocations={"fixed": 20}, segment={"rounds": 10})
    process = small.start_run()
    small.wait_for_records(3, process)
    end(process)
    assert small.snakemakes(), "Snakemake goes on as an orphan"
    second = small.start_run()
    assert second.stderr is not None
    assert "is being run already; waiting" in second.stderr.readline()
    _, err = second.communicate(timeout=120)
    assert second.returncode == 0, err
    assert "measuring" not in err, "the orphan has measured everything"
    small.assert_complete()


def test_a_runner_that_goes_on_without_snakemake_is_waited_for(tmp_path: Path) -> None:
    small = SmallExperiment(tmp_path)
    small.suite["benchmarks"]["nap"]["command"] = ["sleep", "0.2"]
    small.write()
    process = small.start_run()
    small.wait_for_records(2, process)
    kill(small.snakemakes()[0])
    process.communicate(timeout=60)
    (orphan,) = small.runners()
    small.run()
    assert is_gone(orphan)
    assert len({r["started_monotonic_ns"] for r in small.records()}) == len(small.records())
    small.assert_complete()


def test_a_run_that_is_told_to_stop_stops_everything_and_goes_on_later(tmp_path: Path) -> None:
    hold = tmp_path / "hold"
    hold.touch()
    small = SmallExperiment(tmp_path, invocations={"fixed": 2})
    small.suite["benchmarks"]["nap"]["command"] = ["sh", "-c", f"while [ -e {hold} ]; do sleep 0.02; done"]
    small.write()
    for number in (signal.SIGINT, signal.SIGTERM):
        process = small.start_run()
        wait_until(lambda: measured_processes(small.results_file), "a measured process", 60)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 130, err
        assert "the same command goes on" in err
        small.assert_idle()
    hold.unlink()
    small.run()
    small.assert_complete()


def test_a_bare_snakemake_goes_on_after_a_kill(tmp_path: Path) -> None:
    small = SmallExperiment(tmp_path, segment={"rounds": 5})
    command = ["snakemake", "--snakefile", str(HOME / "Snakefile"), "--profile", str(HOME / "local"), "--directory", str(tmp_path),
               "--config", "spec=spec.yml", "results=results"]  # fmt: skip

    def start() -> subprocess.Popen[str]:
        return subprocess.Popen(
            command,
            cwd=tmp_path,
            env=small.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    process = start()
    small.wait_for_records(5, process)
    kill(process.pid)
    process.communicate()
    kill(*small.runners())
    again = start()
    out, _ = again.communicate(timeout=120)
    assert again.returncode == 0, out
    small.assert_complete()
    third = start()
    out, _ = third.communicate(timeout=120)
    assert third.returncode == 0, out
    assert "Nothing to be done" in out
