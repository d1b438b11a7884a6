"""`order: duet` by `regatta run`, of real programs: one answer, no values of single alternatives, kills, another order afterwards."""

from __future__ import annotations

import json
import math
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from helpers.experiments.small_experiments import SmallExperiment
from helpers.runner_plans import end, has_halves
from regatta.answers.report.answer import answer_experiment
from regatta.answers.topics.duet.topic import DUETS

pytestmark = pytest.mark.skipif(not has_halves(), reason="needs two cores")

#: Reports a number that depends on its round and SHIFT alone; 20 % more on half 1, and a noise that both have.
REPORT = """
import json, os, time
number = int(os.environ["REGATTA_INVOCATION"].rpartition("-r")[2])
common = [1.0, 3.0, 2.0, 1.5, 4.0, 1.2, 2.5, 1.1][number % 8]
own = [0.1, -0.2, 0.15, 0.0, -0.1, 0.2][number % 6] if "SHIFT" in os.environ else 0.0
half = 1.2 if "half-1" in os.environ["REGATTA_RESULTS"] else 1.0
value = 1e6 * common * half * (1 + (float(os.environ.get("SHIFT", "0")) + own) / 100)
time.sleep(0.05)
with open(os.environ["REGATTA_RESULTS"], "w") as file:
    file.write(json.dumps({"iteration": 0, "metric": "elapsed", "value": value, "unit": "ns"}) + "\\n")
"""
ROUNDS = 12


def paired(root: Path) -> SmallExperiment:
    small = SmallExperiment(
        root, invocations={"fixed": ROUNDS, "discarded": 0}, segment={"rounds": 4}, order="duet"
    )
    (root / "report.py").write_text(REPORT)
    command = [sys.executable, "-I", "-S", str(root / "report.py")]
    small.suite["benchmarks"] = {"quiet": {"command": command, "adapter": "regatta"}}
    small.spec["modifiers"] = {"loud": {"environment": {"SHIFT": "50"}}}
    small.spec["modifier_sets"] = [[], ["loud"]]
    small.spec["baseline"] = {"modifiers": []}
    small.write()
    return small


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> SmallExperiment:
    small = paired(tmp_path_factory.mktemp("paired"))
    small.run()
    return small


def test_the_ratio_is_the_only_answer(measured: SmallExperiment) -> None:
    measured.assert_complete()
    answer = answer_experiment(measured.folder.path)
    (one,) = answer.comparisons
    # The difference between the halves is removed.
    assert one.ratio.n == ROUNDS
    assert one.ratio.point == pytest.approx(1.5, rel=1e-3)
    assert one.ratio.high / one.ratio.low < 1.01
    assert all(math.isnan(cell.estimate.point) for cell in answer.cells)
    assert [test.trial.refused for test in DUETS.of(answer).tests] == ["", ""]
    assert "<h2>Alternatives at once</h2>" in measured.folder.report.read_text()
    starts: dict[int, list[int]] = defaultdict(list)
    for record in measured.records():
        starts[record["round"]].append(record["started_monotonic_ns"])
    assert {len(both) for both in starts.values()} == {2}


def test_a_history_has_no_number_of_a_single_alternative(measured: SmallExperiment) -> None:
    folder = str(measured.folder.path)
    done = measured.regatta("history", folder, folder, "--json")
    assert (done.returncode, json.loads(done.stdout)["series"]) == (0, [])


def test_the_same_command_again_measures_nothing(measured: SmallExperiment) -> None:
    before = measured.records()
    measured.run()
    assert measured.records() == before


def test_a_killed_run_goes_on_with_whole_pairs(tmp_path: Path) -> None:
    small = paired(tmp_path)
    process = small.start_run()
    small.wait_for_records(3, process)
    end(process)
    small.run()
    records = small.records()
    pairs: dict[int, Counter[int]] = defaultdict(Counter)
    for record in records:
        pairs[record["round"]][record["attempt"]] += 1
    # The last attempt of each round is whole.
    assert [both[max(both)] for both in pairs.values()] == [2] * ROUNDS
    assert {record["status"] for record in records} == {"ok"}
    verified = small.verify()
    assert (verified.returncode, verified.stderr) == (0, "")
    small.assert_idle()


def test_another_order_measures_other_cells(tmp_path: Path) -> None:
    small = paired(tmp_path)
    small.step_by_step()
    before = {record["cell_id"] for record in small.records()}
    small.spec["order"] = "randomized-blocks"
    small.write()
    small.step_by_step()
    after = {record["cell_id"] for record in small.records() if record["order"] != "duet"}
    assert len(after) == 2
    assert not before & after
    plan = json.loads(small.regatta("plan", "spec.yml", "--json").stdout)
    assert plan["recorded"] == plan["invocations"] == 2 * ROUNDS
