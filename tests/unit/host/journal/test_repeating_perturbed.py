"""Perturbed invocations are repeated by every start, and judged by the present limits: real processes, journals and kills."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from helpers.runner_plans import HOST, NO_LIMITS, Runner, end, sh, write_plan
from helpers.synthetic_journal import cell, record
from helpers.waiting import wait_until
from regatta.answers.spine.verification import verify_experiment
from regatta.host.journal.attempts import History
from regatta.host.journal.round_values import read_rounds
from regatta.store.database import open_database
from regatta.store.receipts import withdraw_receipts_of_perturbed_segments

#: No invocation swaps fewer pages than none, so this limit disturbs all of them.
DISTURBED = {**NO_LIMITS, "swapped_pages": -1}
QUIET = {**NO_LIMITS, "swapped_pages": 0}
ROUNDS = 3
STEADY = {"method": "fixed", "iterations": 1, "warmup": 0, "window": 10, "threshold": 0.02}


def planned(runner: Runner, limits: dict[str, Any], retries: int = 1, script: str = "true") -> None:
    cells = [sh("one", script), sh("two", script)]
    write_plan(runner.folder, cells, rounds=ROUNDS, limits={**limits, "retries": retries})


def measured(runner: Runner) -> int:
    """Run the segment; return how many processes it measured."""
    done = runner.run()
    assert (done.returncode, done.stderr) == (0, "")
    return int(runner.receipt()["measured_now"])


def attempts(runner: Runner) -> set[int]:
    """Return the numbers of attempts of an invocation."""
    counts = Counter(record["invocation_id"] for record in runner.records())
    assert len(counts) == 2 * ROUNDS
    return set(counts.values())


@pytest.mark.parametrize("retries", [0, 1, 2])
def test_each_start_repeats_perturbed_invocations_at_most_as_often_as_planned(
    runner: Runner, retries: int
) -> None:
    planned(runner, DISTURBED, retries)
    assert measured(runner) == 2 * ROUNDS * (1 + retries)
    assert measured(runner) == 2 * ROUNDS * retries
    assert attempts(runner) == {1 + 2 * retries}
    assert runner.receipt()["statuses"] == {"perturbed": 2 * ROUNDS}


def test_a_start_on_a_quiet_machine_repeats_them_in_plan_order_and_the_next_one_nothing(
    runner: Runner, tmp_path: Path
) -> None:
    planned(runner, DISTURBED, retries=1)
    measured(runner)
    before = len(runner.records())
    # Present limits that these records exceed, but new ones do not.
    journal = runner.folder.journal / HOST / "00000.jsonl"
    planned(runner, QUIET, retries=1)
    changed = _with_measured(runner, 9)
    journal.write_bytes(changed)
    assert measured(runner) == 2 * ROUNDS
    again = runner.records()[before:]
    assert [(r["round"], r["position"]) for r in again] == [(r, p) for r in range(ROUNDS) for p in (0, 1)]
    assert {r["status"] for r in again} == {"ok"}
    assert measured(runner) == 0


def _with_measured(runner: Runner, pages: int) -> bytes:
    """Return the journal as a machine that swapped would have written it."""
    from regatta.host.journal.record import encode_record

    lines = []
    for measured_one in runner.records():
        body = {key: value for key, value in measured_one.items() if key != "crc32"}
        body["perturbation"] = [{**one, "measured": pages} for one in measured_one["perturbation"]]
        lines.append(encode_record(body))
    return b"".join(lines)


def test_records_within_present_limits_count_and_are_not_repeated(runner: Runner) -> None:
    planned(runner, DISTURBED)
    measured(runner)
    assert verify_experiment(runner.folder).problems
    for limits in (QUIET, NO_LIMITS):
        planned(runner, limits)
        assert measured(runner) == 0
        assert runner.receipt()["statuses"] == {"ok": 2 * ROUNDS}
        verdict = verify_experiment(runner.folder)
        assert (verdict.problems, verdict.statuses) == ([], {"ok": 2 * ROUNDS})
        with open_database(runner.folder.path) as connection:
            rows = connection.execute("select status, count(*) from last_attempts group by all").fetchall()
        assert rows == [("ok", 2 * ROUNDS)]
        cells = {cell["cell_id"]: cell for cell in runner.folder.host_header(HOST)["cells"]}
        found = read_rounds(runner.folder.journal / HOST, cells, range(ROUNDS), STEADY, limits)
        assert [len(series) for one in found.values() for series in one.values.values()] == [ROUNDS, ROUNDS]
    assert {record["status"] for record in runner.records()} == {"perturbed"}, "the journal is never edited"


def test_starts_that_are_killed_double_no_attempt_and_repeat_the_same(runner: Runner) -> None:
    planned(runner, DISTURBED, script="sleep 0.05")
    measured(runner)
    for _ in range(2):
        before = len(runner.records())
        process = runner.start()
        wait_until(partial(_is_longer, runner, before), "a repeated invocation")
        end(process)
    before = len(runner.records())
    assert measured(runner) == 2 * ROUNDS
    assert len(runner.records()) == before + 2 * ROUNDS
    assert verify_experiment(runner.folder).doubled == []
    runner.assert_nothing_left()


def _is_longer(runner: Runner, before: int) -> bool:
    return len(runner.records()) > before


@pytest.mark.parametrize(("retries", "stays"), [(0, True), (1, False)])
def test_a_receipt_with_perturbed_invocations_is_withdrawn_if_they_may_be_repeated(
    runner: Runner, retries: int, stays: bool
) -> None:
    planned(runner, DISTURBED, retries)
    measured(runner)
    withdraw_receipts_of_perturbed_segments(runner.folder)
    assert runner.receipt_path().exists() == stays


def test_a_receipt_without_perturbed_invocations_stays(runner: Runner) -> None:
    planned(runner, NO_LIMITS)
    measured(runner)
    withdraw_receipts_of_perturbed_segments(runner.folder)
    assert runner.receipt_path().exists()


def test_records_of_earlier_starts_that_are_read_later_are_no_tries_of_this_one() -> None:
    limits = {**DISTURBED, "retries": 1}
    one = cell("g1")
    exceeded = [{"limit": "other_cpu_percent", "allowed": 10, "measured": 50}]
    limits["other_cpu_percent"] = 10
    old, again = (
        {**record(one, 0, [1.0], attempt=attempt, status="perturbed"), "perturbation": exceeded}
        for attempt in (0, 1)
    )
    name = old["invocation_id"]
    history = History([], limits, retry_failed=False)
    for _ in range(3):
        history.add(old)
    assert history.disturbed(name)
    history.add_measured(again)
    assert not history.disturbed(name)
    assert History([old, again], limits, retry_failed=False).disturbed(name)
