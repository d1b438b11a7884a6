"""Adaptive experiments of real programs: what is needed is run, across kills and edits, and everybody counts the same."""

from __future__ import annotations

import json
import math
import random
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from helpers.experiments.small_experiments import HOST, SmallExperiment
from helpers.runner_plans import end
from regatta.answers.report.answer import answer_experiment
from regatta.answers.topics.stopping.topic import STOPPING
from regatta.host.journal.decisions import read_decisions
from regatta.stats.stein import STEIN
from regatta.store.receipts import withdraw_all_receipts

PILOT, MAXIMUM, DISCARDED = 5, 12, 1

#: Reports a number that depends on the round alone: `noise` per cent around a million.
REPORT = """
import json, os, sys
noise = float(sys.argv[1])
cell, _, number = os.environ["REGATTA_INVOCATION"].rpartition("-r")
offsets = [0.3, -1.0, 1.0, 0.4, -0.6, 0.8, -0.9, 0.1, 0.7, -0.2, 0.5, -0.7, 0.2]
loud = 1.1 if os.environ.get("LOUD") else 1.0
shift = noise * offsets[int(number) % len(offsets)] / 100 if os.environ.get("LOUD") else 0.0
with open(os.environ["REGATTA_RESULTS"], "w") as file:
    file.write(json.dumps({"iteration": 0, "metric": "elapsed", "value": 1e6 * loud * (1 + shift), "unit": "ns"}) + "\\n")
"""


def adaptive(root: Path, **adaptive: Any) -> SmallExperiment:
    """`steady` needs its pilot, `noisy` some rounds more, `wild` more than the maximum; two alternatives of each."""
    rule = {"pilot": PILOT, "maximum": MAXIMUM, **adaptive}
    small = SmallExperiment(root, invocations={"adaptive": rule}, segment={"rounds": 4})
    (root / "report.py").write_text(REPORT)
    command = [sys.executable, "-I", "-S", str(root / "report.py")]
    small.suite["benchmarks"] = {
        name: {"command": [*command, noise], "adapter": "regatta"}
        for name, noise in (("steady", "0.1"), ("noisy", "1.2"), ("wild", "9"))
    }
    small.write()
    return small


def rounds_of(small: SmallExperiment) -> dict[str, int]:
    """Benchmark -> rounds recorded, the discarded one among them; each of its cells must have as many."""
    labels = {cell["cell_id"]: cell["benchmark"] for cell in small.header()["cells"]}
    counts = Counter(record["cell_id"] for record in small.records())
    found: dict[str, set[int]] = {}
    for cell_id, count in counts.items():
        found.setdefault(labels[cell_id].split("/")[1].split(":")[0], set()).add(count)
    assert all(len(each) == 1 for each in found.values()), "alternatives of a block stop together"
    return {name: each.pop() for name, each in found.items()}


def needed_of(small: SmallExperiment) -> list[int]:
    """What was decided, in the order of the plan."""
    decisions = read_decisions(small.folder.decisions(HOST))
    return [decisions[group["key"]]["needed"] for group in small.header()["stopping"]["groups"]]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished adaptive experiment, to be looked at and copied."""
    root = tmp_path_factory.mktemp("adaptive")
    adaptive(root).run()
    return root


@pytest.fixture
def small(measured: Path, tmp_path: Path) -> Iterator[SmallExperiment]:
    shutil.copytree(measured, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".snakemake"))
    copy = adaptive(tmp_path)
    # The programs stay where they were: another path would be another command.
    copy.suite = json.loads((measured / "suite.yml").read_text())
    copy.write()
    yield copy
    copy.assert_idle()


def test_each_block_group_runs_what_it_needs_and_everybody_counts_the_same(small: SmallExperiment) -> None:
    steady, noisy, wild = needed_of(small)
    assert (steady, wild) == (PILOT, MAXIMUM)
    assert PILOT < noisy < MAXIMUM
    expected = {"steady": steady + DISCARDED, "noisy": noisy + DISCARDED, "wild": wild + DISCARDED}
    assert rounds_of(small) == expected
    planned = 2 * sum(expected.values())
    verified = small.regatta("verify", "small", "--json")
    assert verified.returncode == 0, verified.stderr
    verdict = json.loads(verified.stdout)
    assert (verdict["planned"], verdict["recorded"], verdict["undecided"]) == (planned, planned, [])
    told = small.regatta("status", "small").stdout
    assert told.startswith(f"small: complete, {planned} of {planned} invocations recorded\n")
    assert "decided for 3 of 3 " in told
    plan = json.loads(small.regatta("plan", "spec.yml", "--json").stdout)
    assert (plan["invocations"], plan["recorded"], plan["undecided"]) == (planned, planned, 0)
    answer = answer_experiment(small.folder.path)
    assert (answer.planned, answer.recorded) == (planned, planned)
    assert not any("not recorded yet" in warning for warning in answer.warnings)


def test_the_answer_says_what_was_saved_and_where_the_target_was_not_met(small: SmallExperiment) -> None:
    answer = answer_experiment(small.folder.path)
    steady, noisy, wild = STOPPING.of(answer)
    assert [group.met for group in STOPPING.of(answer)] == [True, True, False]
    assert (steady.run, wild.run) == (PILOT, MAXIMUM)
    assert noisy.reached_percent < 1.0 < wild.reached_percent
    assert steady.saved == 2 * (MAXIMUM - PILOT)
    sentences = answer.findings["stopping"]
    saved = steady.saved + noisy.saved
    # The target, the maximum, how many groups needed fewer rounds, and the saving.
    assert sentences[0].startswith("Stein's rule, ")
    assert re.findall(r"\d+", sentences[0]) == ["1", "12", "2", "3", str(saved)]
    assert "fewer than 12 rounds" in sentences[0]
    missed = re.fullmatch(r"wild, this host: (.*): .*half-width (.*) % .* 12 .* 1 .*", sentences[1])
    assert missed is not None
    assert missed[1] == "target not met"
    assert float(missed[2]) == pytest.approx(wild.reached_percent, rel=0.05)
    assert {comparison.ratio.method for comparison in answer.comparisons} == {STEIN}
    assert all(comparison.ratio.n == group.needed for comparison, group in zip(answer.comparisons, STOPPING.of(answer), strict=True))  # fmt: skip
    report = small.folder.report.read_text()
    assert "<h2>Repetitions</h2>" in report


def test_the_same_command_again_measures_nothing(small: SmallExperiment) -> None:
    before, decisions = small.records(), small.folder.decisions(HOST).read_bytes()
    small.run()
    withdraw_all_receipts(small.folder)
    small.step_by_step()
    assert small.records() == before
    assert small.folder.decisions(HOST).read_bytes() == decisions


def test_a_decision_that_is_gone_is_named_and_made_again_the_same(small: SmallExperiment) -> None:
    path = small.folder.decisions(HOST)
    decisions, before = path.read_bytes(), small.records()
    path.unlink()
    verified = small.verify()
    assert verified.returncode == 1
    assert "number of rounds undecided" in verified.stderr
    small.step_by_step()
    assert small.records() == before
    assert json.loads(path.read_bytes()) == json.loads(decisions)
    assert small.verify().returncode == 0


def test_a_decision_that_is_gone_unseen_is_made_again_by_the_next_run(small: SmallExperiment) -> None:
    before = small.records()
    small.folder.decisions(HOST).unlink()
    small.run()
    assert small.records() == before
    assert len(needed_of(small)) == 3


def test_more_rounds_at_most_measure_what_was_cut_short_alone(small: SmallExperiment) -> None:
    before = needed_of(small)
    small.spec["invocations"]["adaptive"]["maximum"] = MAXIMUM + 4
    small.write()
    small.step_by_step()
    assert needed_of(small) == [*before[:2], MAXIMUM + 4]
    assert small.verify().returncode == 0


def test_a_new_alternative_is_measured_beside_the_old_ones_as_far_as_the_maximum(
    small: SmallExperiment,
) -> None:
    """Its pilot ran without them: no block of it holds both sides, so that nothing else could stop the group."""
    small.spec["modifiers"]["quiet"] = {"environment": {"QUIET": "1"}}
    small.write()
    small.step_by_step()
    assert needed_of(small) == [MAXIMUM] * 3
    assert rounds_of(small) == dict.fromkeys(("steady", "noisy", "wild"), MAXIMUM + DISCARDED)
    assert small.verify().returncode == 0


def test_fixed_rounds_afterwards_measure_the_missing_ones_alone(small: SmallExperiment) -> None:
    small.spec["invocations"] = {"fixed": MAXIMUM}
    small.write()
    small.step_by_step()
    assert rounds_of(small) == dict.fromkeys(("steady", "noisy", "wild"), MAXIMUM + DISCARDED)
    assert STOPPING.of(answer_experiment(small.folder.path)) == ()


def test_a_kill_between_the_last_record_and_the_decision_changes_nothing(
    measured: Path, tmp_path: Path
) -> None:
    shutil.copytree(measured, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".snakemake"))
    small = adaptive(tmp_path)
    small.suite = json.loads((measured / "suite.yml").read_text())
    small.write()
    expected = needed_of(small)
    # As after kill -9 there: the pilot is recorded, and neither decision, receipt nor later segment exists.
    small.folder.decisions(HOST).unlink()
    withdraw_all_receipts(small.folder)
    for number in small.segments()[1:]:
        small.journal(number).unlink()
    pilot = small.records()
    small.step_by_step()
    assert needed_of(small) == expected
    assert small.records()[: len(pilot)] == pilot
    assert small.verify().returncode == 0
    assert rounds_of(small)["steady"] == PILOT + DISCARDED


def test_the_time_left_is_the_most_until_it_is_decided(tmp_path: Path) -> None:
    small = adaptive(tmp_path, rule="javastats")
    small.plan()
    told = small.regatta("status", "small").stdout
    state, _, recorded = told.partition(", ")
    assert state == "small: not running"
    assert recorded.startswith(f"0 of at most {6 * (MAXIMUM + DISCARDED)} ")
    assert "decided for 0 of 3 " in told
    assert small.regatta(*small.segment_arguments(0)).returncode == 0
    assert "at most" in small.regatta("status", "small").stdout
    plan = json.loads(small.regatta("plan", "spec.yml", "--json").stdout)
    assert plan["undecided"] >= 1
    proposal = plan["proposal"]
    assert (proposal["target_percent"], len(proposal["comparisons"])) == (1.0, 3)
    assert [one["n"] for one in proposal["comparisons"]] == [PILOT] * 3
    assert proposal["rounds"] > MAXIMUM
    assert proposal["words"].startswith("rounds for intervals within 1 %: ")
    small.step_by_step()
    answer = answer_experiment(small.folder.path)
    assert "reduces their coverage" in answer.findings["stopping"][-1]
    assert {c.ratio.method for c in answer.comparisons} == {"paired-log-t"}


def test_cells_stop_alone_by_the_interval_of_their_own_mean(tmp_path: Path) -> None:
    small = adaptive(tmp_path, rule="javastats-cell")
    small.plan()
    small.step_by_step()
    header = small.header()
    needed = dict(zip((cell["cell_id"] for cell in header["cells"]), needed_of(small), strict=True))
    assert {PILOT, MAXIMUM} <= set(needed.values())
    counts = Counter(record["cell_id"] for record in small.records())
    assert counts == {cell_id: rounds + DISCARDED for cell_id, rounds in needed.items()}
    assert small.verify().returncode == 0
    answer = answer_experiment(small.folder.path)
    groups = STOPPING.of(answer)
    assert sorted(group.needed or 0 for group in groups) == sorted(needed.values())
    # Three alternatives always report the same value, so their intervals are undefined.
    defined = [group for group in groups if not math.isnan(group.reached_percent)]
    assert len(defined) == 3
    assert all(group.met is (group.reached_percent <= 1.0) for group in defined)
    assert len({group.place for group in groups}) == len(groups) == 6
    by_id = {cell.cell_id: cell for cell in answer.cells}
    for one in answer.comparisons:
        assert one.ratio.n == min(by_id[one.a].estimate.n, by_id[one.b].estimate.n)


@pytest.mark.parametrize("kills", [2, pytest.param(6, marks=pytest.mark.long)])
def test_runners_killed_around_their_decision_lose_and_double_nothing(
    measured: Path, tmp_path: Path, kills: int
) -> None:
    shutil.copytree(measured, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".snakemake"))
    small = adaptive(tmp_path)
    small.suite = json.loads((measured / "suite.yml").read_text())
    small.write()
    expected, rounds = needed_of(small), rounds_of(small)
    shutil.rmtree(small.folder.journal)
    withdraw_all_receipts(small.folder)
    chance = random.Random(20070101)
    first, end_row = small.header()["segments"][0]
    for number in small.segments():
        for _ in range(kills):
            before = small.lines()
            process = small.start(*small.segment_arguments(number))
            # The pilot is killed once in its middle, and then at its last record and just after.
            small.wait_for_records(min(before + chance.randrange(20, 30), end_row - first), process)
            time.sleep(chance.uniform(0, 0.02))
            end(process)
        assert small.regatta(*small.segment_arguments(number)).returncode == 0
    assert needed_of(small) == expected
    assert rounds_of(small) == rounds
    assert max(Counter((r["invocation_id"], r["attempt"]) for r in small.records()).values()) == 1
    assert small.verify().returncode == 0
