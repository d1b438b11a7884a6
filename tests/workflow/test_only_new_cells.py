"""Editing a spec runs only what is new; what is recorded is never measured again, and never mixed with another build."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from helpers.experiments.small_experiments import SmallExperiment

KEPT_ROUNDS = 3
#: one more is run before them, for the first iteration is the number
ROUNDS = KEPT_ROUNDS + 1
Edit = Callable[[SmallExperiment], object]


def add_own_program(small: SmallExperiment) -> None:
    """A benchmark of a program that is built from sources beside the suite."""
    small.suite["builds"] = {
        "own": {
            "directory": "own",
            "command": ["cp", "own.sh", "built.sh"],
            "outputs": {"script": "built.sh"},
        }
    }
    small.suite["benchmarks"]["own"] = {"command": ["sh", "{own.script}"]}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished experiment, to be copied and edited: 2 benchmarks, 2 sets of modifiers, one of them a program of our own."""
    root = tmp_path_factory.mktemp("measured")
    own = root / "own" / "own.sh"
    own.parent.mkdir()
    own.write_text("exit 0\n")
    small = SmallExperiment(root, invocations={"fixed": KEPT_ROUNDS}, segment={"rounds": 2})
    add_own_program(small)
    small.write()
    small.run()
    assert len(small.records()) == 6 * ROUNDS
    return root


@pytest.fixture
def small(measured: Path, tmp_path: Path) -> Iterator[SmallExperiment]:
    shutil.copytree(measured, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".snakemake"))
    copy = SmallExperiment(tmp_path, invocations={"fixed": KEPT_ROUNDS}, segment={"rounds": 2})
    add_own_program(copy)
    copy.write()
    yield copy
    copy.assert_idle()


def new_records(
    small: SmallExperiment,
    edit: Edit,
    go_on: Callable[[SmallExperiment], object] = SmallExperiment.step_by_step,
) -> list[dict[str, Any]]:
    """Edit, go on, and give the records that this made. What was there must be there as it was.

    `go_on` is what measures: job by job where only the plan and the runner matter, `SmallExperiment.run` where it matters
    what the workflow makes anew.
    """
    before = small.records()
    edit(small)
    small.write()
    go_on(small)
    after = small.records()
    old = {(r["invocation_id"], r["attempt"]) for r in before}
    assert [r for r in after if (r["invocation_id"], r["attempt"]) in old] == before
    assert max(Counter(r["invocation_id"] for r in after).values()) == 1
    assert small.verify().returncode == 0
    return [r for r in after if (r["invocation_id"], r["attempt"]) not in old]


def test_another_question_measures_nothing(small: SmallExperiment) -> None:
    assert new_records(small, lambda s: s.spec.update(question="And now?"), SmallExperiment.run) == []
    assert "And now?" in small.folder.report.read_text()


def test_another_modifier_measures_its_cells_alone(small: SmallExperiment) -> None:
    new = new_records(small, lambda s: s.spec["modifiers"].update(quiet={"environment": {"QUIET": "1"}}))
    assert len(new) == 3 * ROUNDS
    labels = {c["cell_id"]: c["modifiers"] for c in small.header()["cells"]}
    assert {labels[r["cell_id"]] for r in new} == {"quiet"}


def test_cells_that_were_taken_out_of_the_spec_are_still_named(small: SmallExperiment) -> None:
    def take_out(s: SmallExperiment) -> None:
        s.spec.pop("modifiers")

    loud = {c["label"] for c in small.header()["cells"] if c["modifiers"] == "loud"}
    assert new_records(small, take_out) == []
    lines = small.regatta("records", small.folder.name, "--json").stdout.splitlines()
    cells = [json.loads(line)["cell"] for line in lines]
    assert {cell["label"] for cell in cells if not cell["planned"]} == loud
    assert len(cells) == 6 * ROUNDS
    answer = json.loads(small.regatta("analyze", small.folder.name, "--json").stdout)
    (warning,) = [one for one in answer["warnings"] if "no longer planned" in one]
    assert all(label in warning for label in loud)
    assert {cell["modifiers"] for cell in answer["cells"]} == {"none"}


def test_another_benchmark_measures_its_cells_alone(small: SmallExperiment) -> None:
    new = new_records(small, lambda s: s.suite["benchmarks"].update(echo={"command": ["echo", "3"]}))
    benchmarks = {c["cell_id"]: c["benchmark"] for c in small.header()["cells"]}
    assert Counter(benchmarks[r["cell_id"]] for r in new) == {"tiny/echo:default": 2 * ROUNDS}


def test_three_lines_of_a_runtime_measure_its_cells_alone(small: SmallExperiment) -> None:
    """A runtime that answers as a JVM does, and costs no second."""
    java = small.root / "fake-java"
    settings = "    java.home = /nonexistent\\nopenjdk 21"
    java.write_text(f'#!/bin/sh\ncase "$*" in *-version*) printf "{settings}\\n" >&2;; esac\n')
    java.chmod(0o755)
    twin = small.root / "twin-java"
    twin.write_text(java.read_text() + "# another build\n")
    twin.chmod(0o755)
    small.suite["benchmarks"]["jvm"] = {"kind": "java", "command": ["{runtime}", "Main"]}

    def one(s: SmallExperiment) -> None:
        s.spec["define"] = {"runtimes": {"mine": {"provider": "path", "path": str(java)}}}
        s.spec["runtimes"] = ["mine"]
        s.spec["heap"] = {"sizes_mib": [16]}

    def another(s: SmallExperiment) -> None:
        s.spec["define"]["runtimes"]["other"] = {"provider": "path", "path": str(twin)}
        s.spec["runtimes"].append("other")

    assert len(new_records(small, one)) == 2 * ROUNDS
    new = new_records(small, another)
    runtimes = {c["cell_id"]: c["runtime"] for c in small.header()["cells"]}
    assert Counter(runtimes[r["cell_id"]] for r in new) == {"other": 2 * ROUNDS}


def test_more_invocations_measure_the_new_rounds_alone(small: SmallExperiment) -> None:
    new = new_records(small, lambda s: s.spec.update(invocations={"fixed": KEPT_ROUNDS + 2}))
    assert Counter(r["round"] for r in new) == {ROUNDS: 6, ROUNDS + 1: 6}


def test_fewer_cells_measure_nothing_and_lose_nothing(small: SmallExperiment) -> None:
    assert new_records(small, lambda s: s.spec.update(modifiers={})) == []
    assert "no longer planned (kept): 12" in small.verify().stdout


def test_another_build_of_a_program_is_measured_anew_and_not_mixed(small: SmallExperiment) -> None:
    def rebuild(s: SmallExperiment) -> None:
        (s.root / "own" / "own.sh").write_text("# faster\nexit 0\n")

    before = {r["cell_id"] for r in small.records()}
    new = new_records(small, rebuild, SmallExperiment.run)
    assert len(new) == 2 * ROUNDS
    assert not {r["cell_id"] for r in new} & before
    benchmarks = {c["cell_id"]: c["benchmark"] for c in small.header()["cells"]}
    assert {benchmarks[r["cell_id"]] for r in new} == {"tiny/own:default"}


def test_failures_are_told_by_name_and_run_again_only_when_asked(small: SmallExperiment) -> None:
    broken = small.root / "broken"
    broken.touch()
    small.suite["benchmarks"]["own"] = {"command": ["sh", "-c", f"! [ -e {broken} ]"]}
    small.write()
    failed = small.regatta("run", "spec.yml")
    assert failed.returncode == 1
    assert "tiny/own:default" in failed.stderr
    assert re.search(r"3 failed \(.* 1\); given up, 1 skipped", failed.stderr)
    count = len(small.records())
    again = small.regatta("run", "spec.yml")
    assert again.returncode == 1
    assert len(small.records()) == count, "a failure is a result"
    broken.unlink()
    retried = small.regatta("run", "spec.yml", "--retry-failed")
    assert retried.returncode == 0, retried.stderr
    new = small.records()
    assert Counter((r["status"], r["attempt"]) for r in new if r["attempt"]) == {("ok", 1): 2 * ROUNDS}
    assert len(new) == count + 2 * ROUNDS
    assert small.verify().returncode == 0


def test_a_cell_that_always_fails_is_given_up_until_the_spec_or_the_user_brings_it_back(
    small: SmallExperiment,
) -> None:
    broken = small.root / "broken"
    broken.touch()
    small.suite["benchmarks"]["own"] = {"command": ["sh", "-c", f"! [ -e {broken} ]"]}
    small.spec["give_up_after"] = 2
    small.write()
    before = len(small.records())
    small.step_by_step()
    failed = small.verify()
    assert failed.returncode == 1
    assert failed.stderr.count("given up, 2 skipped") == 2
    new = small.records()[before:]
    assert Counter(r["status"] for r in small.records()) == {"ok": before, "failed": 4, "skipped": 4}
    assert "cells given up: 2" in small.regatta("status", "small").stdout
    small.spec["give_up_after"] = None
    small.write()
    assert small.regatta("run", "spec.yml").returncode == 1
    assert Counter(r["status"] for r in small.records()) == {"ok": before, "failed": 8, "skipped": 4}
    assert len(small.records()) == before + len(new) + 4, "only what was skipped is run"
    broken.unlink()
    small.step_by_step("--retry-failed")
    assert small.verify().returncode == 0
