"""Experiments under the rule `decide`, of real programs: each comparison ends with its answer, across kills and edits."""

from __future__ import annotations

import json
import random
import shutil
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from helpers.experiments.small_experiments import HOST, SmallExperiment
from helpers.runner_plans import end
from regatta.answers.report.answer import answer_experiment
from regatta.answers.topics.hosts.topic import HOSTS
from regatta.answers.topics.stopping.topic import STOPPING
from regatta.host.journal.decisions import read_decisions
from regatta.stats.looks import LOOKS
from regatta.store.receipts import withdraw_all_receipts

MAXIMUM = 16

#: Reports a number that depends on the round and on SHIFT alone: a noise of per cents around a million.
REPORT = """
import json, os, sys
noise, shift = float(sys.argv[1]), float(os.environ.get("SHIFT", "0"))
number = int(os.environ["REGATTA_INVOCATION"].rpartition("-r")[2])
offsets = [0.3, -1.0, 1.0, 0.4, -0.6, 0.8, -0.9, 0.1, 0.7, -0.2, 0.5, -0.7, 0.2]
# The noise of the host `two` is the opposite of that of `one`.
sign = -1 if "/two/" in os.environ["REGATTA_RESULTS"] else 1
varied = sign * noise * offsets[number % len(offsets)] / 100 if shift else 0.0
with open(os.environ["REGATTA_RESULTS"], "w") as file:
    file.write(json.dumps({"iteration": 0, "metric": "elapsed", "value": 1e6 * (1 + shift / 100 + varied), "unit": "ns"}) + "\\n")
"""
#: of the alternatives against the first, in per cent
SHIFTS = {"loud": "10", "near": "0.1"}


def deciding(root: Path, wild: str = "20", **decide: Any) -> SmallExperiment:
    """Three alternatives of a quiet program and of one that varies too much; the rounds are two segments."""
    rule = {"maximum": MAXIMUM, "relevance_percent": 2, **decide}
    small = SmallExperiment(root, invocations={"decide": rule}, segment={"rounds": 8})
    (root / "report.py").write_text(REPORT)
    command = [sys.executable, "-I", "-S", str(root / "report.py")]
    small.suite["benchmarks"] = {
        name: {"command": [*command, noise], "adapter": "regatta"}
        for name, noise in (("quiet", "0.2"), ("wild", wild))
    }
    small.spec["modifiers"] = {name: {"environment": {"SHIFT": shift}} for name, shift in SHIFTS.items()}
    small.spec["modifier_sets"] = [[], *([name] for name in SHIFTS)]
    small.spec["baseline"] = {"modifiers": []}
    small.write()
    return small


def rounds_of(small: SmallExperiment, host: str = HOST) -> dict[tuple[str, str], int]:
    """Benchmark and modifiers -> rounds recorded on a host, without the discarded one."""
    header = small.folder.host_header(host)
    cells = {cell["cell_id"]: cell for cell in header["cells"]}
    counts = Counter(
        record["cell_id"]
        for record in small.records()
        if record["round"] >= header["discarded_rounds"] and record["host"] == host
    )
    return {
        (cells[cell_id]["benchmark"].split("/")[1].split(":")[0], cells[cell_id]["modifiers"]): count
        for cell_id, count in counts.items()
    }


def outcomes_of(small: SmallExperiment, host: str = HOST) -> list[str]:
    groups = read_decisions(small.folder.decisions(host)).values()
    return sorted(pair["outcome"] for group in groups for pair in group["pairs"])


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> SmallExperiment:
    """A finished experiment."""
    small = deciding(tmp_path_factory.mktemp("deciding"))
    small.run()
    return small


def test_each_alternative_runs_until_its_answer_and_everybody_counts_the_same(
    measured: SmallExperiment,
) -> None:
    counted = rounds_of(measured)
    assert counted["quiet", "loud"] == 3
    assert counted["quiet", "near"] == counted["quiet", "none"] < MAXIMUM
    assert outcomes_of(measured) == ["equivalent", "greater", "undecided", "undecided"]
    planned = len(measured.records())
    verdict = json.loads(measured.regatta("verify", "small", "--json").stdout)
    assert (verdict["planned"], verdict["recorded"], verdict["undecided"]) == (planned, planned, [])
    assert measured.regatta("status", "small").stdout.startswith(f"small: complete, {planned} of {planned} ")
    plan = json.loads(measured.regatta("plan", "spec.yml", "--json").stdout)
    assert (plan["invocations"], plan["recorded"], plan["undecided"]) == (planned, planned, 0)
    # What is clear after three rounds needs no more of them.
    proposal = plan["proposal"]
    loud = [
        one for one in proposal["comparisons"] if "loud" in f"{one['a']} {one['b']}" and "quiet" in one["a"]
    ]
    assert [one["rounds"] for one in loud] == [3]
    assert proposal["rounds"] > MAXIMUM
    assert proposal["words"].startswith("rounds for an answer, ")


def test_the_answer_names_what_is_decided_and_its_intervals_count_all_looks(
    measured: SmallExperiment,
) -> None:
    answer = answer_experiment(measured.folder.path)
    first, *_ = answer.findings["stopping"]
    for part in ("4 comparisons", "1 different", "1 equivalent", "2 undecided", "saved"):
        assert part in first
    assert {one.ratio.method.rpartition(", ")[2] for one in answer.comparisons} == {LOOKS}
    assert {group.met for group in STOPPING.of(answer)} == {True, False}
    verdicts = {
        (one.place.benchmark.split("/")[1].split(":")[0], one.a_name.split()[-1]): one.verdict
        for one in answer.comparisons
    }
    # The relevance of the rule is that of the answer.
    assert (verdicts["quiet", "loud"].significant, verdicts["quiet", "loud"].practical) == ("yes", "yes")
    assert verdicts["quiet", "near"].practical == "no"
    report = measured.folder.report.read_text()
    assert "<h2>Repetitions</h2>" in report
    assert "smaller" in report or "larger" in report


def test_the_same_command_again_measures_nothing(measured: SmallExperiment) -> None:
    before, decisions = measured.records(), measured.folder.decisions(HOST).read_bytes()
    measured.run()
    assert measured.records() == before
    assert measured.folder.decisions(HOST).read_bytes() == decisions


@pytest.mark.parametrize("kills", [2, pytest.param(8, marks=pytest.mark.long)])
def test_runners_killed_between_looks_decide_the_same(
    measured: SmallExperiment, tmp_path: Path, kills: int
) -> None:
    shutil.copytree(measured.root, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".snakemake"))
    small = deciding(tmp_path)
    # The program stays where it was: another path would be another command.
    small.suite = json.loads((measured.root / "suite.yml").read_text())
    small.write()
    expected = rounds_of(measured), outcomes_of(measured)
    shutil.rmtree(small.folder.journal)
    withdraw_all_receipts(small.folder)
    chance = random.Random(44)
    for number in small.segments():
        for _ in range(kills):
            process = small.start(*small.segment_arguments(number))
            small.wait_for_records(small.lines() + chance.randrange(1, 12), process)
            time.sleep(chance.uniform(0, 0.02))
            end(process)
        assert small.regatta(*small.segment_arguments(number)).returncode == 0
    assert (rounds_of(small), outcomes_of(small)) == expected
    assert max(Counter((r["invocation_id"], r["attempt"]) for r in small.records()).values()) == 1
    assert small.verify().returncode == 0


def test_a_budget_ends_what_has_no_answer(tmp_path: Path) -> None:
    small = deciding(tmp_path, budget="1s", maximum=200)
    small.plan()
    small.step_by_step()
    entries = list(read_decisions(small.folder.decisions(HOST)).values())
    assert all(entry["needed"] < 200 for entry in entries)
    assert any("budget" in pair["reason"] for entry in entries for pair in entry["pairs"])
    assert small.verify().returncode == 0


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> SmallExperiment:
    """A finished experiment of two hosts, whose noise cancels. Both are this machine, which measures one after the other."""
    root = tmp_path_factory.mktemp("together")
    small = deciding(root, wild="12", hosts="together")
    del small.spec["segment"]
    small.spec["platforms"] = ["bench"]
    small.write()
    hosts = {name: {"ansible_connection": "local"} for name in ("one", "two")}
    (root / "hosts.json").write_text(json.dumps({"all": {"children": {"bench": {"hosts": hosts}}}}))
    small.environment["REGATTA_INVENTORY"] = str(root / "hosts.json")
    small.run()
    return small


def test_hosts_that_decide_together_need_fewer_rounds_than_each_would(together: SmallExperiment) -> None:
    one, two = (rounds_of(together, host) for host in ("one", "two"))
    assert one == two
    assert (one["wild", "loud"], one["wild", "near"], one["wild", "none"]) == (3, 8, 8)
    assert outcomes_of(together, "one") == outcomes_of(together, "two")
    assert Counter(outcomes_of(together, "one")) == {"greater": 2, "equivalent": 2}
    assert together.verify().returncode == 0
    answer = answer_experiment(together.folder.path)
    for part in ("4 comparisons", "2 different", "2 equivalent"):
        assert part in answer.findings["stopping"][0]
    over = {
        (found.place.benchmark.split("/")[1].split(":")[0], found.a_name.split()[-1]): found
        for found in HOSTS.of(answer).comparisons
    }
    assert over["wild", "near"].ratio.n == 8
    assert over["wild", "near"].verdict.practical == "no"
    assert over["wild", "near"].ratio.method.endswith(LOOKS)
    assert "(n = 8 rounds)" in over["wild", "near"].words
    plan = json.loads(together.regatta("plan", "spec.yml", "--json").stdout)
    assert plan["undecided"] == 0
    assert {comparison["host"] for comparison in plan["proposal"]["comparisons"]} == {"one, two"}


def test_hosts_that_decided_together_decide_the_same_again(together: SmallExperiment) -> None:
    before, decisions = together.records(), together.folder.decisions("one").read_bytes()
    receipts = sorted(together.folder.receipts.glob("decided-*.json"))
    assert len(receipts) == 4
    together.run()
    assert (together.records(), together.folder.decisions("one").read_bytes()) == (before, decisions)
    withdraw_all_receipts(together.folder)
    assert not any(receipt.exists() for receipt in receipts)
    together.folder.decisions("two").unlink()
    together.run()
    assert together.records() == before
    assert read_decisions(together.folder.decisions("two")).keys() == json.loads(decisions)["groups"].keys()
    assert sorted(together.folder.receipts.glob("decided-*.json")) == receipts
