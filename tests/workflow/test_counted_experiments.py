"""Counters from a spec to the report: a whole experiment on this machine."""

from __future__ import annotations

import json
from pathlib import Path

from helpers.counting import skip_without_counters
from helpers.experiments.small_experiments import SmallExperiment
from regatta.host.journal.decisions import read_decisions
from regatta.host.values.counters import INFO, NAMES


def test_an_experiment_counts_what_this_machine_has_and_names_the_rest(tmp_path: Path) -> None:
    skip_without_counters()
    small = SmallExperiment(tmp_path, counters=list(NAMES), invocations={"fixed": 3}, modifiers={})
    small.answered()
    small.assert_complete()
    answer = json.loads((small.folder.path / "answer.json").read_text())
    cells = {cell["place"]["benchmark"]: cell["counts"] for cell in answer["counters"]["cells"]}
    assert set(cells) == {"tiny/quick:default", "tiny/nap:default"}
    for counts in cells.values():
        clock = next(one["estimate"] for one in counts if one["metric"] == "counter_task_clock")
        assert clock["n"] >= 2
        assert clock["point"] > 0
    counted = {one["metric"] for counts in cells.values() for one in counts}
    missing = {name.split(" ")[0] for one in answer["counters"]["missing"] for name in one["counters"]}
    assert {name for name in NAMES if f"counter_{name.replace('-', '_')}" not in counted} <= missing
    page = (small.folder.path / "report.html").read_text()
    assert "Counters per invocation" in page
    assert "context switches" in page
    # A second run measures nothing, and other counters are other cells.
    first = len(small.records())
    small.step_by_step()
    assert len(small.records()) == first
    small.spec["counters"] = ["page-faults"]
    small.write()
    small.step_by_step()
    assert len(small.records()) == 2 * first
    assert small.verify().returncode == 0


def test_a_host_measures_as_many_rounds_as_its_groups_of_counters_need(tmp_path: Path) -> None:
    skip_without_counters()
    rounds = {"fixed": 3, "each_counter": 2}
    small = SmallExperiment(
        tmp_path, counters=["task-clock", "cycles", "branches"], invocations=rounds, modifiers={}
    )
    small.run()
    assert json.loads((small.folder.path / "verify.json").read_text())["holds"]
    groups = max(record["info"][INFO].get("groups", 0) for record in small.records())
    needed = max(3, 2 * groups)
    (host,) = small.folder.planned_hosts()
    header = small.folder.host_header(host)
    assert {group["needed"] for group in read_decisions(small.folder.decisions(host)).values()} == {needed}
    assert {record["round"] for record in small.records()} == set(range(header["discarded_rounds"] + needed))
    (sentence, *_) = json.loads((small.folder.path / "answer.json").read_text())["findings"]["Counters"]
    assert f"{host}: {needed} rounds" in sentence
