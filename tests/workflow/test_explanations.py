"""`regatta explain-difference` on real programs: planted causes, Java, and what cannot be explained."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers.counting import skip_without_perf
from helpers.experiments.small_experiments import HOME, SmallExperiment
from helpers.waiting import wait_until
from regatta.answers.explanation.division import WAITING
from regatta.answers.explanation.work import COLLECTION, COMPILATION, INTERPRETER, PAGE_FAULTS, Work

EXAMPLE = HOME / "docs" / "tutorials" / "difference-example"
#: ten times the page faults of some 30 ms, and a sleep: no busy machine hides them
TURNS = {"first": "15000000 100000 60 5000", "second": "15000000 100000 600 400000"}


@pytest.fixture(autouse=True)
def _perf() -> None:
    skip_without_perf()


def parts(root: Path, turns: dict[str, str], **spec: Any) -> SmallExperiment:
    """The example program with these turns, measured."""
    small = SmallExperiment(root, invocations={"fixed": 4}, **spec)
    shutil.copytree(EXAMPLE, root, dirs_exist_ok=True)
    small.spec["suites"] = ["suite.yml"]
    small.spec["benchmarks"] = [{"suite": "parts", "benchmark": "parts"}]
    small.spec["modifiers"] = {name: {"environment": {"TURNS": text}} for name, text in turns.items()}
    small.spec["modifier_sets"] = [[name] for name in turns]
    (root / "spec.yml").write_text(json.dumps(small.spec))
    small.run()
    return small


def explained(small: SmallExperiment, *arguments: str) -> dict[str, Any]:
    done = small.regatta("explain-difference", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout[done.stdout.index("{\n") :])["explanations"]
    return found


def records_of(folder: Path) -> list[bytes]:
    return [line for path in folder.glob("journal/local/0*.jsonl") for line in path.read_bytes().splitlines()]


def test_planted_causes_are_named_after_a_kill_and_nothing_is_measured_twice(tmp_path: Path) -> None:
    small = parts(tmp_path, TURNS)
    process = small.start("explain-difference", "first", "second", "--rounds", "8")
    wait_until(lambda: any(map(records_of, small.root.glob("results/small-difference-*"))), "a record")
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    (folder,) = small.root.glob("results/small-difference-*")
    before = records_of(folder)
    found = explained(small, "first", "second", "--rounds", "8")
    causes = {part["name"]: part["contribution"]["point"] for part in found["parts"] if part["is_cause"]}
    assert {PAGE_FAULTS, WAITING} <= set(causes)
    # Sleeping adds 395 ms to some 130 ms; eight rounds tell a noisy cost of page faults from chance.
    assert causes[WAITING] > 0.5
    assert found["quantity"] == "elapsed time"
    total = sum(part["contribution"]["point"] for part in found["parts"])
    assert total == pytest.approx(found["profiled"]["point"])
    counters = {one["name"]: one["ratio"]["point"] for one in found["counters"]}
    assert counters["page faults"] > 5.0
    assert "icicle" in (folder / "difference.html").read_text()
    records = records_of(folder)
    # The first round is discarded.
    assert len(records) == 2 * 9
    assert set(before) <= set(records)
    assert explained(small, "first", "second", "--rounds", "8") == found
    assert records_of(folder) == records


def test_without_a_difference_nothing_is_profiled(tmp_path: Path, golden: Callable[[str, str], None]) -> None:
    same = {"first": TURNS["first"], "second": f" {TURNS['first']}"}
    small = parts(tmp_path, same, level=0.9999)
    done = small.regatta("explain-difference", "first", "second")
    assert done.returncode == 5, done.stderr
    golden("no-difference", done.stderr.split("(")[0])
    assert not list(small.root.glob("results/small-difference-*"))


@pytest.mark.skipif(
    shutil.which("mvn") is None or shutil.which("javac") is None,
    reason="NO JDK OR MAVEN: JAVA IS NOT EXPLAINED",
)
def test_java_is_divided_into_methods_compilation_and_collections(tmp_path: Path) -> None:
    small = SmallExperiment(tmp_path, invocations={"fixed": 3})
    small.spec |= {
        "runtimes": ["temurin-21"],
        "collectors": ["parallel"],
        "heap": {"sizes_mib": [64]},
        "benchmarks": [{"suite": "apps", "benchmark": "h2", "size": "tiny"}],
        "iterations": {"method": "fixed", "count": 2, "warmup": 1},
        "modifier_sets": [[], ["interpreter"]],
    }
    del small.spec["suites"], small.spec["modifiers"]
    (tmp_path / "spec.yml").write_text(json.dumps(small.spec))
    small.run()
    found = explained(small, "temurin-21 parallel", "temurin-21 parallel interpreter", "--rounds", "3")
    assert found["per"] == "iteration"
    shares = {part["name"]: part["shares"] for part in found["parts"]}
    # Three rounds need not show it beyond chance.
    assert max(found["parts"], key=lambda part: part["contribution"]["point"])["name"] == INTERPRETER
    assert shares[INTERPRETER][1] > 1.0 > shares[INTERPRETER][0]
    # Without a compiler there are no compiled methods.
    assert shares[COMPILATION][0] > 0.05
    assert shares[COMPILATION][1] == 0.0
    assert any(name.startswith("method ") and one[0] > 0.0 for name, one in shares.items())
    (folder,) = small.root.glob("results/small-difference-*")
    profiles = "".join(path.read_text() for path in folder.glob("journal/local/kept/*/*.json"))
    of_threads = re.findall(r'"(GC Thread;[^"]*)"', profiles)
    work = Work(of_threads)
    assert {work.name(stack) for stack in of_threads} == {COLLECTION}
    assert not list(Path("/tmp").glob("perf-*.map"))
