"""A canary in real runs: measured in each round beside what is compared, and a cause for shifts between runs."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from helpers.experiments.small_experiments import HOST, SmallExperiment
from regatta.answers.history.compute import history_of
from regatta.answers.report.answer import answer_experiment
from regatta.store.folder import Folder

#: Reports a number that depends on its round, on the speed in a file, and on the work that it is given.
REPORT = """
import json, math, os, sys
folder, name, work = sys.argv[1:4]
cell, _, number = os.environ["REGATTA_INVOCATION"].rpartition("-r")
speed = float(open(folder + "/speed").read())
noise = 0.001 * math.sin(1.7 * int(number) + len(name) + float(work))
value = 1e6 * float(work) / speed * (1 + noise)
with open(os.environ["REGATTA_RESULTS"], "w") as file:
    file.write(json.dumps({"iteration": 0, "metric": "elapsed", "value": value, "unit": "ns"}) + "\\n")
"""
ROUNDS = 6


def one_day(root: Path, name: str, speed: float, work: float) -> tuple[SmallExperiment, Folder]:
    small = SmallExperiment(root, invocations={"fixed": ROUNDS}, labels={"day": name})
    (root / "report.py").write_text(REPORT)
    (root / "speed").write_text(str(speed))
    command = [sys.executable, "-I", "-S", str(root / "report.py"), str(root)]
    small.suite["benchmarks"] = {
        "program": {"command": [*command, "program", str(work)], "adapter": "regatta"},
        "bird": {"command": [*command, "bird", "1"], "adapter": "regatta"},
    }
    small.spec |= {
        "name": name,
        "benchmarks": [{"suite": "tiny", "benchmark": "program"}],
        "canary": {"suite": "tiny", "benchmark": "bird"},
        "iterations": {"method": "fixed"},
        "modifier_sets": [[], ["loud"]],
        "baseline": {"modifiers": []},
    }
    small.write()
    small.folder = Folder(root / "results" / name)
    done = small.regatta("run", "spec.yml")
    assert done.returncode == 0, done.stderr
    return small, small.folder


def test_runs_of_two_days_blame_the_host_or_the_program(tmp_path: Path) -> None:
    small, first = one_day(tmp_path, "first", 1.0, 3.0)
    document = json.loads(first.experiment.read_text())
    assert document["experiment"]["canary"] == "tiny/bird:default"
    assert list(document["experiment"]["canary_programs"]) == [HOST]
    ids = {cell["cell_id"]: cell["benchmark"] for cell in first.host_header(HOST)["cells"]}
    assert Counter(ids[record["cell_id"]] for record in small.records()) == {
        "tiny/program:default": 2 * ROUNDS,
        "tiny/bird:default": ROUNDS,
    }
    # The modifiers are compared, and the canary with nothing.
    answer = answer_experiment(first.path)
    assert len(answer.comparisons) == 1
    _, slower_host = one_day(tmp_path, "slower-host", 0.95, 3.0)
    _, slower_program = one_day(tmp_path, "slower-program", 1.0, 3.15)
    causes = {}
    for folder in (slower_host, slower_program):
        found = history_of([first.path, folder.path])
        programs = [one for one in found.series if not one.is_canary]
        assert len(programs) == 2
        causes[folder.path.name] = {shift.cause for one in programs for shift in one.shifts}
        assert all(len(one.shifts) == 1 for one in programs)
    assert causes == {"slower-host": {"host"}, "slower-program": {"program"}}
    done = small.regatta("history", "first", "slower-host", "--output", "history.html")
    assert done.returncode == 0, done.stderr
    assert "2 of 2 series of programs" in done.stdout


def test_a_rule_that_stops_early_stops_the_canary_too(tmp_path: Path) -> None:
    small = SmallExperiment(tmp_path, invocations={"decide": {"maximum": 30}})
    (tmp_path / "report.py").write_text(REPORT)
    (tmp_path / "speed").write_text("1")
    command = [sys.executable, "-I", "-S", str(tmp_path / "report.py"), str(tmp_path)]
    small.suite["benchmarks"] = {
        "program": {
            "command": [*command, "program", "{work}"],
            "adapter": "regatta",
            "sizes": {"default": {"parameters": {"work": 1}}},
        },
        "bird": {"command": [*command, "bird", "1"], "adapter": "regatta"},
    }
    small.spec |= {
        "benchmarks": [{"suite": "tiny", "benchmark": "program", "parameters": {"work": [1, 2]}}],
        "compare": ["parameters.work"],
        "iterations": {"method": "fixed"},
        "modifiers": {},
        "canary": {"suite": "tiny", "benchmark": "bird"},
    }
    small.write()
    done = small.regatta("run", "spec.yml")
    assert done.returncode == 0, done.stderr
    rounds = {record["round"] for record in small.records()}
    assert len(small.records()) == 3 * len(rounds)
    assert len(rounds) < 30
