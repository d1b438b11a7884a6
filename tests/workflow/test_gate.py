"""`regatta gate` on real programs: the example of the tutorial, planted changes, and what spoils a verdict."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from helpers.experiments.small_experiments import HOME, HOST, SmallExperiment
from helpers.git_repositories import commit
from regatta.answers.gate.compute import judge_gate
from regatta.host.errors import StoreError
from regatta.store.folder import Folder

EXAMPLE = HOME / "docs" / "tutorials" / "gate-example"
#: Reports a number that depends on the round and on SHIFT alone, and more for the cells that `shifted` lists.
REPORT = """
import json, math, os, sys
folder, name = sys.argv[1:3]
shift = float(os.environ.get("SHIFT", "0")) if name == "changed" else 0.0
cell, _, number = os.environ["REGATTA_INVOCATION"].rpartition("-r")
# Never the same in two cells, and never a difference on average.
noise = 0.02 * math.sin(1.7 * int(number) + int(cell, 16) % 100_003)
if os.path.exists(folder + "/shifted") and cell in open(folder + "/shifted").read():
    shift += 20.0
if os.path.exists(folder + "/broken") and shift:
    sys.exit(3)
with open(os.environ["REGATTA_RESULTS"], "w") as file:
    file.write(json.dumps({"iteration": 0, "metric": "elapsed", "value": 1e6 * (1 + (shift + noise) / 100), "unit": "ns"}) + "\\n")
"""


#: Reports the number that it is given, with such a noise, as the example reports what it hashed.
PROGRAM = r"""
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    char *round = strrchr(getenv("REGATTA_INVOCATION"), 'r');
    double noise = 0.0002 * sin(1.7 * atoi(round + 1) + strtoul(getenv("REGATTA_INVOCATION"), NULL, 16) % 100003);
    FILE *results = fopen(getenv("REGATTA_RESULTS"), "w");
    fprintf(results, "{\"iteration\": 0, \"metric\": \"elapsed\", \"value\": %.3f, \"unit\": \"ns\"}\n", atof(argv[1]) * (FACTOR + noise));
    return argc < 2 || fclose(results);
}
"""


def gated(root: Path, shift: str = "5") -> SmallExperiment:
    """A program that changes by that percentage, and one that does not."""
    small = SmallExperiment(root, invocations={"decide": {"maximum": 12}})
    (root / "report.py").write_text(REPORT)
    command = [sys.executable, "-I", "-S", str(root / "report.py"), str(root)]
    small.suite["benchmarks"] = {
        name: {"command": [*command, name], "adapter": "regatta"} for name in ("changed", "same")
    }
    small.spec["modifiers"] = {"new": {"environment": {"SHIFT": shift}}}
    small.spec["modifier_sets"] = [[], ["new"]]
    small.spec["baseline"] = {"modifiers": []}
    small.write()
    return small


def judged(small: SmallExperiment) -> dict[str, Any]:
    path = max(
        (small.root / "results").glob("small-gate-*/gate.json"), key=lambda one: one.stat().st_mtime_ns
    )
    found = json.loads(path.read_text())
    return {row["benchmark"].split("/")[1].split(":")[0]: row["verdict"] for row in found["rows"]} | {
        "": found
    }


def records_of(folder: Path) -> int:
    return sum(
        path.read_text().count('"cell_id"')
        for path in (folder / "journal" / HOST).glob("*.jsonl")
        if path.name != "cells.jsonl"
    )


@pytest.mark.parametrize(
    ("shift", "verdict", "code"),
    [("5", "worse", 4), ("0", "equivalent", 0)],
)
def test_planted_changes_have_their_verdict_and_exit_code(
    tmp_path: Path, shift: str, verdict: str, code: int
) -> None:
    small = gated(tmp_path, shift)
    if shift == "0":
        small.spec["modifiers"]["new"]["environment"]["OTHER"] = "1"
        small.write()
    done = small.regatta("gate", "spec.yml", "--output", "out")
    assert done.returncode == code, done.stderr
    found = judged(small)
    assert found["changed"] == verdict == found[""]["verdict"]
    assert found["same"] == "equivalent"
    assert found[""]["false_alarms"]["copies"] == 2
    assert found[""]["false_alarms"]["alarms"] == 0
    assert (tmp_path / "out" / "gate.md").read_text().splitlines()[0].lower().startswith(f"**{verdict}")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["gate.json", "gate.md", "gate.xml"]


def test_a_gate_needs_no_canary(tmp_path: Path) -> None:
    small = gated(tmp_path, "0")
    small.spec["modifiers"]["new"]["environment"]["OTHER"] = "1"
    small.suite["benchmarks"]["bird"] = {"command": ["false"]}
    small.spec["benchmarks"] = [{"suite": "tiny", "benchmark": ["changed", "same"]}]
    small.spec["canary"] = {"suite": "tiny", "benchmark": "bird"}
    small.write()
    done = small.regatta("gate", "spec.yml")
    assert done.returncode == 0, done.stderr
    assert sorted(set(judged(small)) - {""}) == ["changed", "same"]


def test_a_copy_that_differs_undecides_its_blocks_only(tmp_path: Path) -> None:
    small = gated(tmp_path)
    assert small.regatta("gate", "spec.yml").returncode == 4
    (folder,) = (tmp_path / "results").glob("small-gate-*")
    header = Folder(folder).host_header(HOST)
    copies = [
        cell["cell_id"] for cell in header["cells"] if cell["twin_of"] and "/changed:" in cell["benchmark"]
    ]
    assert len(copies) == 1
    (tmp_path / "shifted").write_text("\n".join(copies))
    shutil.rmtree(tmp_path / "results")
    done = small.regatta("gate", "spec.yml")
    assert done.returncode == 5, done.stderr
    found = judged(small)
    assert (found["changed"], found["same"]) == ("undecided", "equivalent")
    assert found[""]["false_alarms"]["alarms"] == 1
    row = next(row for row in found[""]["rows"] if "/changed:" in row["benchmark"])
    assert "own copy" in row["reason"]
    assert row["ratio"]["low"] > 1.03
    # Without the copy there is nothing to spoil it, and a third less to measure.
    assert small.regatta("gate", "spec.yml", "--no-aa").returncode == 4
    assert judged(small)[""]["false_alarms"] | {"rate": 0, "p": 0} == {
        "copies": 0, "alarms": 0, "gates": 0, "gates_with_alarm": 0, "rate": 0, "p": 0,
    }  # fmt: skip


def test_a_candidate_that_fails_is_no_verdict_on_its_speed(tmp_path: Path) -> None:
    small = gated(tmp_path)
    (tmp_path / "broken").touch()
    done = small.regatta("gate", "spec.yml")
    assert done.returncode == 1
    found = judged(small)
    assert (found["changed"], found["same"], found[""]["verdict"]) == ("failed", "equivalent", "failed")
    (tmp_path / "broken").unlink()
    assert small.regatta("gate", "spec.yml", "--retry-failed").returncode == 4
    assert judged(small)["changed"] == "worse"


def test_what_was_not_measured_or_not_compared_is_undecided(tmp_path: Path) -> None:
    small = gated(tmp_path, "0")
    small.spec["modifiers"]["new"]["environment"]["OTHER"] = "1"
    small.spec["exclude"] = [{"modifiers": [], "benchmark": "same"}]
    small.write()
    done = small.regatta("gate", "spec.yml", "--output", "out")
    assert done.returncode == 5, done.stderr
    found = judged(small)
    assert found["changed"] == "equivalent"
    assert [one for one in found[""]["problems"] if "same" in one]
    # An earlier verdict does not stay where none follows.
    (tmp_path / "suite.yml").write_text("suite: [")
    assert small.regatta("gate", "spec.yml", "--output", "out").returncode == 2
    small.write()
    assert small.regatta("gate", "spec.yml", "--output", "/proc/nowhere").returncode == 3


def test_other_experiments_are_not_judged(tmp_path: Path) -> None:
    small = SmallExperiment(tmp_path)
    small.plan()
    with pytest.raises(StoreError, match="regatta gate"):
        judge_gate(small.folder)


def test_the_example_of_the_tutorial_finds_a_slower_revision(tmp_path: Path) -> None:
    project = tmp_path / "example"
    files = {
        str(path.relative_to(EXAMPLE)): path.read_text() for path in EXAMPLE.rglob("*") if path.is_file()
    }
    assert ".github/workflows/gate.yml" in files
    # Not the time of a program on a busy machine, but a number that it reports. It is built and measured as the example is.
    files["Makefile"] = (
        files["Makefile"].replace("hash.c\n", "hash.c -lm\n").replace("hash: hash.c -lm", "hash: hash.c")
    )
    assert "-o hash hash.c -lm" in files["Makefile"]
    files["bench/suite.yml"] = files["bench/suite.yml"].replace('"]}', '"], adapter: regatta}')
    files["bench/gate.yml"] += "metric: elapsed\n"
    commit(project, {**files, "hash.c": PROGRAM.replace("FACTOR", "1.0")})
    commit(project, {"hash.c": PROGRAM.replace("FACTOR", "1.5")})
    small = SmallExperiment(tmp_path)
    # A loaded machine perturbs invocations; this is not what the test is about.
    spec = json.loads((tmp_path / "spec.yml").read_text())
    limits = json.dumps({"perturbation": spec["perturbation"]})
    (project / "bench" / "limits.yml").write_text(limits)
    gate = project / "bench" / "gate.yml"
    gate.write_text(gate.read_text() + "include: limits.yml\n")
    arguments = ("gate", "example/bench/gate.yml", "--baseline", "HEAD~1", "--rounds", "12")
    done = small.regatta(*arguments)
    assert done.returncode == 4, done.stdout + done.stderr
    (folder,) = (tmp_path / "results").glob("hash-gate-*")
    found = json.loads((folder / "gate.json").read_text())
    assert {row["verdict"] for row in found["rows"]} == {"worse"}
    assert all(row["ratio"]["point"] == pytest.approx(1.5, rel=0.01) for row in found["rows"])
    # The same command measures nothing again, and a gate against the other side counts beside it.
    before = records_of(folder)
    assert small.regatta(*arguments).returncode == 4
    assert records_of(folder) == before
    back = small.regatta(*arguments[:2], "--baseline", str(folder), "--candidate", "HEAD~1", "--rounds", "12")
    assert back.returncode == 0, back.stdout + back.stderr
    (other,) = set((tmp_path / "results").glob("hash-gate-*")) - {folder}
    found = json.loads((other / "gate.json").read_text())
    assert found["verdict"] == "better"
    assert found["false_alarms"]["gates"] == 2


def test_wrong_options_say_what_to_do(tmp_path: Path) -> None:
    small = gated(tmp_path)
    for options, told in (
        (["--threshold", "5"], "alarms by chance"),
        (["--rounds", "1"], "a single run"),
        (["--budget", "soon"], "90s"),
    ):
        done: subprocess.CompletedProcess[str] = small.regatta("gate", "spec.yml", *options)
        assert done.returncode == 2
        assert told in done.stderr
    assert not (tmp_path / "results").exists()
