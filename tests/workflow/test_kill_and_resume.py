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

from helpers.experiments.small_experiments import HOME, SmallExperiment
from helpers.runner_plans import end, is_gone, measured_processes
from helpers.waiting import PATIENCE_S, wait_until

#: kills of the runner of each segment, segments, and a campaign of them
KILLS = 3
KILLED_SEGMENTS = [2, pytest.param(9, marks=pytest.mark.long)]
SEED = 20070101


def kill(*pids: int) -> None:
    """Kill -9, and wait until they are gone: whoever their parent is now may take its time to ask about them."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for pid in pids:
        wait_until(lambda pid=pid: is_gone(pid), f"the end of {pid}")


def give_temporary_folder(small: SmallExperiment) -> tuple[Path, Path]:
    """Return the TMPDIR of all later processes of `small`, and the folder in it of a Snakemake of somebody else.

    The cache of Snakemake is in it, too.
    """
    temporary = small.root / "temporary"
    foreign = temporary / "snakemakeofothers"
    foreign.mkdir(parents=True)
    small.environment.update(TMPDIR=str(temporary), XDG_CACHE_HOME=str(temporary / "cache"))
    return temporary, foreign


def left_by_snakemakes(temporary: Path) -> set[Path]:
    """Return their folders in TMPDIR and in their cache."""
    return {
        *temporary.glob("snakemake*"),
        *temporary.glob("cache/snakemake/snakemake/*/snakemake-runtime-cache/*"),
    }


def start_bare(small: SmallExperiment, profile: str = "local", *options: str) -> subprocess.Popen[str]:
    """Start Snakemake without `regatta run`."""
    command = ["snakemake", "--snakefile", str(HOME / "Snakefile"), "--profile", str(HOME / profile), "--directory", str(small.root),
               *options, "--config", "spec=spec.yml", "results=results"]  # fmt: skip
    return subprocess.Popen(
        command, cwd=small.root, env=small.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )  # fmt: skip


@pytest.mark.parametrize("segments", KILLED_SEGMENTS)
def test_runners_killed_at_any_point_lose_and_double_nothing(tmp_path: Path, segments: int) -> None:
    # Of the 40 invocations of a segment, no kill lets more than 7 end: 3, and those of `quick` until the next nap.
    small = SmallExperiment(tmp_path, invocations={"fixed": 10 * segments - 1}, segment={"rounds": 10})
    small.let_naps_wait(0.05)
    small.plan()
    assert len(small.segments()) == segments
    chance = random.Random(SEED)
    for number in small.segments():
        arguments = small.segment_arguments(number)
        for kills in range(KILLS):
            records = small.lines() + chance.randrange(1, 4)
            small.hold_at(records)
            process = small.start(*arguments)
            if kills > 0 and chance.random() < 0.2:
                time.sleep(chance.uniform(0, 0.25))
            else:
                small.wait_for_records(records, process)
                time.sleep(chance.uniform(0, 0.03))
            if kills == 0:
                wait_until(lambda: naps(small), "a nap")
            assert process.poll() is None
            end(process)
            assert kills > 0 or naps(small), "killed while something was measured, which goes on"
        small.hold.unlink()
        process = small.start(*arguments)
        _, err = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, err) == (0, "")
        assert small.receipt(number).exists()
    small.assert_complete()
    sequences = Counter((r["segment"], r["sequence"]) for r in small.records())
    assert max(sequences.values()) == 1


def naps(small: SmallExperiment) -> list[int]:
    """Measured processes that wait for `hold`, where there are as many records as it says."""
    found = []
    for pid in measured_processes(small.results_file):
        with contextlib.suppress(OSError):
            if str(small.hold).encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


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
    small.let_naps_wait()
    chance = random.Random(SEED)
    for target, least in kills:
        records = least and least + chance.randrange(6)
        small.hold_at(max(1, records))
        process = small.start_run()
        if records:
            small.wait_for_records(records, process)
            time.sleep(chance.uniform(0, 0.1))
            wait_until(small.runners, "a runner")
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
            _, err = process.communicate(timeout=PATIENCE_S)
            assert process.returncode == 3, err
            if records > 30:
                # The first of them goes on alone to the end of its segment.
                kill(*small.runners())
        small.hold.unlink()
    small.run()
    small.assert_complete()


@pytest.mark.smoke
def test_a_killed_runner_is_told_with_its_signal_and_the_same_command_goes_on(tmp_path: Path) -> None:
    small = SmallExperiment(tmp_path, modifiers={})
    small.let_naps_wait()
    small.hold_at(2)
    process = small.start_run()
    small.wait_for_records(2, process)
    kill(*small.runners())
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 3, err
    small.hold.unlink()
    assert "SIGKILL" in err
    assert "measure-local-00000.log" in err
    small.run()
    small.assert_complete()


def test_what_goes_on_without_its_command_is_waited_for_and_never_doubled(tmp_path: Path) -> None:
    small = SmallExperiment(tmp_path, invocations={"fixed": 20}, segment={"rounds": 10})
    small.let_naps_wait()
    small.hold_at(3)
    process = small.start_run()
    small.wait_for_records(3, process)
    end(process)
    assert small.snakemakes(), "Snakemake goes on as an orphan"
    second = small.start_run()
    assert second.stderr is not None
    assert "is already running; waiting" in second.stderr.readline()
    small.hold.unlink()
    _, err = second.communicate(timeout=PATIENCE_S)
    assert second.returncode == 0, err
    assert "measuring" not in err, "the orphan has measured everything"
    small.assert_complete()


@pytest.mark.parametrize("profile", ["local", "ssh", "cluster"])
def test_jobs_have_the_temporary_folder_of_the_user(tmp_path: Path, profile: str) -> None:
    small = SmallExperiment(tmp_path)
    temporary, foreign = give_temporary_folder(small)
    process = start_bare(small, profile, "--dry-run")
    out, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, out
    assert f"tmpdir={temporary}" in out
    assert left_by_snakemakes(temporary) == {foreign}


def test_a_runner_that_goes_on_without_snakemake_is_waited_for(tmp_path: Path) -> None:
    small = SmallExperiment(tmp_path)
    small.let_naps_wait()
    small.hold_at(2)
    temporary, foreign = give_temporary_folder(small)
    process = small.start_run()
    small.wait_for_records(2, process)
    left = left_by_snakemakes(temporary)
    assert len(left) == 3
    looking = start_bare(small, "local", "--dry-run")
    looking.communicate(timeout=PATIENCE_S)
    assert left_by_snakemakes(temporary) == left, "in use"
    kill(small.snakemakes()[0])
    process.communicate(timeout=PATIENCE_S)
    assert left_by_snakemakes(temporary) == left
    (orphan,) = small.runners()
    second = small.start_run()
    wait_until(lambda: len(small.runners()) == 2 or second.poll() is not None, "a second runner")
    assert not is_gone(orphan)
    assert left_by_snakemakes(temporary) & left == {foreign}
    assert f"TMPDIR={temporary}" in Path(f"/proc/{orphan}/environ").read_text().split("\0")
    small.hold.unlink()
    _, err = second.communicate(timeout=PATIENCE_S)
    assert second.returncode == 0, err
    assert is_gone(orphan)
    assert len({r["started_monotonic_ns"] for r in small.records()}) == len(small.records())
    small.assert_complete()
    assert left_by_snakemakes(temporary) == {foreign}


def test_a_run_that_is_told_to_stop_stops_everything_and_goes_on_later(tmp_path: Path) -> None:
    hold = tmp_path / "hold"
    hold.touch()
    small = SmallExperiment(tmp_path, invocations={"fixed": 2})
    small.suite["benchmarks"]["nap"]["command"] = ["sh", "-c", f"while [ -e {hold} ]; do sleep 0.02; done"]
    small.write()
    for number in (signal.SIGINT, signal.SIGTERM):
        process = small.start_run()
        wait_until(lambda: measured_processes(small.results_file), "a measured process")
        process.send_signal(number)
        _, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 130, err
        assert "the same command again" in err
        small.assert_idle()
    hold.unlink()
    small.run()
    small.assert_complete()


def test_a_bare_snakemake_goes_on_after_a_kill(tmp_path: Path) -> None:
    small = SmallExperiment(tmp_path, segment={"rounds": 5})
    small.let_naps_wait()
    small.hold_at(5)
    temporary, foreign = give_temporary_folder(small)
    process = start_bare(small)
    small.wait_for_records(5, process)
    end(process)
    assert len(left_by_snakemakes(temporary)) == 3
    kill(*small.runners())
    small.hold.unlink()
    again = start_bare(small)
    out, _ = again.communicate(timeout=PATIENCE_S)
    assert again.returncode == 0, out
    small.assert_complete()
    third = start_bare(small)
    out, _ = third.communicate(timeout=PATIENCE_S)
    assert third.returncode == 0, out
    assert "Nothing to be done" in out
    assert left_by_snakemakes(temporary) == {foreign}
