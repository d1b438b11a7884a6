"""A cell whose first invocations all fail alike is not run any more: real processes, a real journal, real kills."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from helpers.runner_plans import HOST, Runner, end, python, sh, write_plan
from helpers.waiting import wait_until
from regatta.fleet.journal_copy import Acceptance
from regatta.host.journal.decisions import read_decisions
from regatta.host.journal.record import encode_record
from regatta.planner.stopping import t_quantiles

GOOD = sh("good", "true")
STEADY = {"method": "fixed", "iterations": 1, "warmup": 0, "window": 10, "threshold": 0.02}


def failing(path: Path, script: str = "exit 3", name: str = "bad") -> dict[str, Any]:
    """A program that notes that it ran, and fails."""
    return sh(name, f"echo x >> {path}; {script}")


def runs(path: Path) -> int:
    return len(path.read_text().splitlines()) if path.exists() else 0


def outcomes(runner: Runner, name: str = "bad") -> list[str]:
    """Statuses of a cell in the order in which they were recorded."""
    cells = {cell["cell_id"]: cell["label"] for cell in runner.folder.host_header(HOST)["cells"]}
    return [r["status"] for r in runner.records() if cells[r["cell_id"]].startswith(f"hand/{name}:")]


def measure_all(runner: Runner, *options: str) -> None:
    for segment in range(len(runner.folder.host_header(HOST)["segments"])):
        done = runner.run(segment, *options)
        assert (done.returncode, done.stderr) == (0, "")


def test_the_rest_of_a_cell_that_fails_three_times_alike_is_skipped_and_starts_no_process(
    runner: Runner, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    records = runner.measure(failing(ran), GOOD, rounds=6, give_up_after=3)
    assert runs(ran) == 3
    assert outcomes(runner) == ["failed"] * 3 + ["skipped"] * 3
    assert outcomes(runner, "good") == ["ok"] * 6
    skipped = [r for r in records if r["status"] == "skipped"]
    (reason,) = {r["reason"] for r in skipped}
    assert reason.endswith(" 3 x failed")
    assert [r["round"] for r in skipped] == [3, 4, 5]
    receipt = runner.receipt()
    assert receipt["statuses"] == {"failed": 3, "skipped": 3, "ok": 6}
    assert receipt["measured_now"] == 9


def test_a_skipped_record_is_accepted_from_a_host_as_any_other(runner: Runner, tmp_path: Path) -> None:
    measured, *_, skipped = runner.measure(failing(tmp_path / "ran"), rounds=4, give_up_after=3)
    assert list(skipped) == list(measured)
    line = encode_record(skipped).rstrip(b"\n")
    assert Acceptance(runner.folder.host_header(HOST), 0).record(line)["status"] == "skipped"


@pytest.mark.parametrize(
    ("script", "statuses"),
    [
        ("[ $(wc -l < {0}) = 2 ]", ["failed", "ok"] + ["failed"] * 4),
        ("[ $(wc -l < {0}) = 2 ] && kill -9 $$; exit 1", ["failed", "crashed"] + ["failed"] * 4),
    ],
    ids=["one success", "another failure"],
)
def test_a_cell_whose_attempts_end_differently_is_run_to_the_end(
    runner: Runner, tmp_path: Path, script: str, statuses: list[str]
) -> None:
    ran = tmp_path / "ran"
    runner.measure(failing(ran, script.format(ran)), rounds=6, give_up_after=3)
    assert outcomes(runner) == statuses
    assert runs(ran) == 6


def test_null_never_gives_up(runner: Runner, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    runner.measure(failing(ran), rounds=5, give_up_after=None)
    assert outcomes(runner) == ["failed"] * 5


def test_a_later_segment_decides_by_what_the_earlier_ones_recorded(runner: Runner, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    write_plan(runner.folder, [failing(ran), GOOD], rounds=8, rounds_per_segment=2, give_up_after=3)
    measure_all(runner)
    assert runs(ran) == 3
    assert outcomes(runner) == ["failed"] * 3 + ["skipped"] * 5
    assert outcomes(runner, "good") == ["ok"] * 8


def test_a_success_in_any_earlier_segment_counts(runner: Runner, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    # As journals are that were made before cells were given up: three failures, then nothing but successes.
    script = f"[ $(wc -l < {ran}) -gt 3 ]"
    write_plan(runner.folder, [failing(ran, script)], rounds=9, rounds_per_segment=3, give_up_after=None)
    for segment in (0, 1):
        assert runner.run(segment).returncode == 0
    assert outcomes(runner) == ["failed"] * 3 + ["ok"] * 3
    write_plan(runner.folder, [failing(ran, script)], rounds=9, rounds_per_segment=3, give_up_after=3)
    assert runner.run(2).returncode == 0
    assert outcomes(runner) == ["failed"] * 3 + ["ok"] * 6


def test_runners_killed_while_they_measure_give_up_alike(runner: Runner, tmp_path: Path) -> None:
    allowed = tmp_path / "allowed"
    waits = sh(
        "good", f'while [ "$(cat {allowed})" -le "${{REGATTA_INVOCATION##*-r}}" ]; do sleep 0.01; done'
    )
    write_plan(runner.folder, [failing(tmp_path / "ran"), waits], rounds=6, give_up_after=3)
    for round_ in range(4):
        allowed.write_text(f"{round_}\n")
        process = runner.start()
        wait_until(lambda round_=round_: len(outcomes(runner)) == round_ + 1, f"round {round_}")
        end(process)
    allowed.write_text("6\n")
    done = runner.run()
    assert (done.returncode, done.stderr) == (0, "")
    assert outcomes(runner) == ["failed"] * 3 + ["skipped"] * 3
    places = Counter((r["cell_id"], r["round"]) for r in runner.records())
    assert set(places.values()) == {1}


def test_nothing_is_run_or_recorded_twice_when_a_finished_segment_is_run_again(
    runner: Runner, tmp_path: Path
) -> None:
    runner.measure(failing(tmp_path / "ran"), rounds=5, give_up_after=3)
    runner.run()
    assert len(runner.records()) == 5
    assert runner.receipt()["measured_now"] == 0


def test_retrying_runs_a_mended_program_in_every_invocation(runner: Runner, tmp_path: Path) -> None:
    ran, mended = tmp_path / "ran", tmp_path / "mended"
    cell = failing(ran, f"[ -e {mended} ]")
    write_plan(runner.folder, [cell], rounds=6, rounds_per_segment=3, give_up_after=3)
    measure_all(runner)
    mended.touch()
    measure_all(runner, "--retry-failed")
    assert Counter(outcomes(runner)) == {"failed": 3, "skipped": 3, "ok": 6}
    assert {(r["round"], r["attempt"]) for r in runner.records() if r["status"] == "ok"} == {
        (round_, 1) for round_ in range(6)
    }


def test_retrying_a_program_that_still_fails_gives_up_again(runner: Runner, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    runner.measure(failing(ran), rounds=8, give_up_after=3)
    runner.run(0, "--retry-failed")
    assert runs(ran) == 6
    assert outcomes(runner) == ["failed"] * 3 + ["skipped"] * 5 + ["failed"] * 3


@pytest.mark.parametrize(("give_up_after", "expected"), [(None, 6), (5, 5)])
def test_what_was_skipped_is_run_when_the_plan_gives_up_later_or_never(
    runner: Runner, tmp_path: Path, give_up_after: int | None, expected: int
) -> None:
    ran = tmp_path / "ran"
    runner.measure(failing(ran), rounds=6, give_up_after=3)
    write_plan(runner.folder, [failing(ran)], rounds=6, give_up_after=give_up_after)
    measure_all(runner)
    assert runs(ran) == expected


def test_a_cell_without_memory_is_given_up_as_oom(runner: Runner) -> None:
    java = sh("bad", "echo java.lang.OutOfMemoryError: Java heap space >&2; exit 1", kind="java")
    records = runner.measure(java, rounds=5, give_up_after=3)
    assert outcomes(runner) == ["oom"] * 3 + ["skipped"] * 2
    assert records[-1]["reason"].endswith(" 3 x oom")


def test_a_cell_that_is_given_up_does_not_hold_up_how_many_rounds_the_others_need(runner: Runner) -> None:
    report = (
        "import json, os; r = int(os.environ['REGATTA_INVOCATION'].rpartition('-r')[2]); "
        "open(os.environ['REGATTA_RESULTS'], 'w').write(json.dumps({'iteration': 0, 'metric': 'elapsed',"
        " 'value': 1e6 + r % 3, 'unit': 'ns'}) + '\\n')"
    )
    adapter = {"name": "regatta", "options": {}}
    cells = [
        python("a", report, adapter=adapter),
        python("b", report.replace("1e6", "2e6"), adapter=adapter),
        sh("bad", "exit 1", adapter=adapter),
    ]
    stopping = {
        "rule": "stein", "pilot": 5, "maximum": 10, "target_percent": 1.0, "level": 0.95, "t": t_quantiles(0.95, 9),
        "steady": STEADY, "groups": [{"key": "all", "cells": [0, 1, 2], "pairs": [[0, 1], [0, 2], [1, 2]]}],
    }  # fmt: skip
    write_plan(
        runner.folder, cells, rounds=10, rounds_per_segment=5, stopping=stopping, discarded_rounds=0, give_up_after=3
    )  # fmt: skip
    measure_all(runner)
    (decision,) = read_decisions(runner.folder.decisions(HOST)).values()
    assert (decision["needed"], decision["met"]) == (5, True)
    assert outcomes(runner) == ["failed"] * 3 + ["skipped"] * 2
    assert outcomes(runner, "a") == ["ok"] * 5
