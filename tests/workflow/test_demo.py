"""The demonstration from its spec to its answer, on less data, fewer rounds and iterations: real JVMs, real collectors, real minheaps."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from helpers import in_process
from helpers.experiments.experiment_parts import NEVER_PERTURBED_LINE

HOME = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(
    shutil.which("mvn") is None or shutil.which("javac") is None,
    reason="NO JDK OR MAVEN: THE DEMONSTRATION IS NOT RUN",
)

SPEC = f"""\
include: {HOME}/configs/experiments/demo.yml
benchmarks: [{{suite: vm, benchmark: compress, size: s1}}]
invocations: {{fixed: 2}}
iterations: {{count: 2, warmup: 1}}
minheap: {{source: measured, passes: 1}}
{NEVER_PERTURBED_LINE}"""


def regatta(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "REGATTA_HOST_LOCK": str(folder / "lock"), "REGATTA_HOME": str(HOME)}
    return in_process.regatta(*arguments, cwd=folder, environment=environment)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    folder = tmp_path_factory.mktemp("demo")
    (folder / "quick.yml").write_text(SPEC)
    return folder, regatta(folder, "run", "quick.yml")


Demo = tuple[Path, subprocess.CompletedProcess[str]]


def test_it_ends_well_and_says_which_collector_wins_where(demo: Demo) -> None:
    _, done = demo
    assert done.returncode == 0, done.stderr
    assert "24 of 24 planned invocations recorded" in done.stdout
    headlines = [line for line in done.stdout.splitlines() if line.startswith("•")]
    # Each other collector over all places; then two JVMs at two heaps.
    over_all, of_places = headlines[:2], headlines[2:]
    assert all(" of 4 places" in line for line in over_all)
    assert len(of_places) == 4
    assert all("1.5x" in line or "4x" in line for line in of_places)


def test_the_heaps_are_multiples_of_what_was_measured(demo: Demo) -> None:
    folder, _ = demo
    minheaps = {
        (m["benchmark"], m["runtime"]): m["heap_mib"]
        for m in json.loads((folder / "results/demo/receipts/minheap.json").read_text())["minheaps"]
    }
    plan = json.loads(regatta(folder, "plan", "quick.yml", "--json").stdout)
    assert len(plan["cells"]) == 12
    for cell in plan["cells"]:
        least = minheaps[cell["benchmark"], cell["runtime"]]
        assert least * cell["heap_factor"] <= cell["heap_mib"] < least * cell["heap_factor"] + 1


def test_both_jvms_and_all_collectors_ran_what_the_plan_says(demo: Demo) -> None:
    folder, _ = demo
    lines = regatta(folder, "records", "demo", "--json").stdout.splitlines()
    records = [json.loads(line) for line in lines]
    assert len(records) == 24
    assert {r["status"] for r in records} == {"ok"}
    for record in records:
        metrics = {row[1] for row in record["iterations"]}
        assert {"elapsed", "cpu", "gc_time"} <= metrics
        assert sum(row[1] == "elapsed" for row in record["iterations"]) == 2


def test_another_baseline_turns_the_ratios_round(demo: Demo) -> None:
    folder, _ = demo
    serial = json.loads(regatta(folder, "analyze", "demo", "--json").stdout)["comparisons"]
    g1 = json.loads(regatta(folder, "analyze", "demo", "--baseline", "collector=g1", "--json").stdout)[
        "comparisons"
    ]
    ratios = {(c["a"], c["b"]): c["ratio"] for c in serial}
    turned = [(c["ratio"], ratios[c["b"], c["a"]]) for c in g1 if (c["b"], c["a"]) in ratios]
    assert turned
    assert all(a == pytest.approx(1 / b) for a, b in turned)


def test_two_invocations_are_too_few_to_audit_and_that_is_said(demo: Demo) -> None:
    folder, _ = demo
    done = regatta(folder, "audit", "demo")
    assert done.returncode == 0, done.stderr
    assert "Nothing to audit" in done.stdout
    assert re.search(r"12 cells .* 3 valid invocations", done.stderr)
    assert (folder / "results/demo/audit.html").is_file()


def test_explain_names_each_cell_of_a_collector(demo: Demo) -> None:
    folder, _ = demo
    done = regatta(folder, "explain", "g1")
    assert done.stdout.count("run by hand:") == 4
    assert done.stdout.count("-XX:+UseG1GC") == 4


def test_running_it_again_measures_nothing(demo: Demo) -> None:
    folder, _ = demo
    journal = sorted((folder / "results/demo/journal").rglob("*.jsonl"))
    before = [path.read_bytes() for path in journal]
    assert regatta(folder, "run", "quick.yml").returncode == 0
    assert [path.read_bytes() for path in journal] == before
