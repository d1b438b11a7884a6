"""What a plan rests on: when any of it changes, the same command plans again, and what cannot be known is an error."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from helpers.experiments.small_experiments import SmallExperiment
from helpers.waiting import PATIENCE_S, wait_until
from regatta.host.processes import process_start

PROGRAM = "#!/bin/sh\nexit 0\n"


PARTS: dict[str, Any] = {"modifiers": {}, "invocations": {"fixed": 2}}


@pytest.fixture
def experiment(tmp_path: Path) -> SmallExperiment:
    return SmallExperiment(tmp_path, **PARTS)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished experiment whose spec is an include, to be copied."""
    small = SmallExperiment(tmp_path_factory.mktemp("measured"), **PARTS)
    (small.root / "base.yml").write_text(json.dumps(small.spec))
    (small.root / "spec.yml").write_text("include: base.yml\n")
    small.run()
    return small.root


@pytest.fixture
def finished(measured: Path, tmp_path: Path) -> SmallExperiment:
    small = SmallExperiment(tmp_path, **PARTS)
    shutil.copytree(measured, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".snakemake"))
    return small


def test_editing_the_suite_alone_measures_what_it_says_now(finished: SmallExperiment) -> None:
    finished.suite["benchmarks"]["quick"]["command"] = ["true", "--version"]
    (finished.root / "suite.yml").write_text(json.dumps(finished.suite))
    finished.run()
    assert len(finished.records()) == 9, "three of the changed benchmark came to the six"


def test_editing_an_include_alone_measures_the_new_rounds(finished: SmallExperiment) -> None:
    finished.spec["invocations"]["fixed"] = 6
    (finished.root / "base.yml").write_text(json.dumps(finished.spec))
    finished.run()
    assert len(finished.records()) == 14


def test_touching_the_spec_does_nothing(finished: SmallExperiment) -> None:
    plan = finished.folder.experiment.stat().st_mtime_ns
    os.utime(finished.root / "spec.yml")
    finished.run()
    assert finished.folder.experiment.stat().st_mtime_ns == plan


def test_a_program_that_was_replaced_in_the_middle_is_another_cell_from_then_on(
    experiment: SmallExperiment,
) -> None:
    program = experiment.root / "bin" / "own-program"
    program.parent.mkdir()
    program.write_text(PROGRAM)
    program.chmod(0o755)
    experiment.spec["environment"] = {"set": {"PATH": f"{program.parent}:/usr/bin:/bin"}}
    experiment.suite["benchmarks"] = {"own": {"command": ["own-program"]}}
    experiment.write()
    experiment.step_by_step()
    program.write_text(PROGRAM + "# another build\n")
    experiment.spec["invocations"]["fixed"] = 3
    experiment.write()
    experiment.step_by_step()
    cells = [record["cell_id"] for record in experiment.records()]
    assert len(set(cells)) == 2
    assert (cells.count(cells[0]), cells.count(cells[-1])) == (3, 4)


def test_a_runtime_that_does_not_arrive_is_an_error_and_is_fetched_again(experiment: SmallExperiment) -> None:
    archive = experiment.root / "jdk.tar"
    where = {os.uname().machine: {"url": archive.as_uri(), "sha256": "0" * 64}}
    experiment.spec["define"] = {"runtimes": {"packed": {"provider": "archive", "archives": where}}}
    experiment.spec |= {
        "runtimes": ["native", "packed"],
        "collectors": ["serial"],
        "heap": {"sizes_mib": [64]},
    }
    experiment.suite["benchmarks"]["java"] = {"kind": "java", "command": ["{runtime}", "-version"]}
    experiment.write()
    for _ in range(2):
        done = experiment.regatta("run", "spec.yml")
        assert done.returncode == 3
        assert "jdk.tar" in done.stderr
    assert experiment.records() == []


def test_an_experiment_of_nothing_but_disturbed_runs_does_not_pass(experiment: SmallExperiment) -> None:
    # Every measurement is beyond a limit below zero swapped pages: none can be, so the limit is put where all are.
    experiment.spec["perturbation"] = {"swapped_pages": 0, "retries": 0}
    experiment.write()
    experiment.plan()
    header = json.loads((experiment.folder.host_plan("local") / "plan.json").read_text())
    header["limits"]["swapped_pages"] = -1
    (experiment.folder.host_plan("local") / "plan.json").write_text(json.dumps(header))
    for number in experiment.segments():
        assert experiment.regatta(*experiment.segment_arguments(number)).returncode == 0
    assert {record["status"] for record in experiment.records()} == {"perturbed"}
    done = experiment.verify()
    assert done.returncode == 1
    assert "perturbation.retries" in done.stderr


def test_the_same_command_repeats_what_was_perturbed_until_the_limits_allow_it(
    experiment: SmallExperiment,
) -> None:
    experiment.suite["benchmarks"] = {"nap": {"command": ["sleep", "0.3"]}}
    none = experiment.spec["perturbation"]
    experiment.spec["perturbation"] = {**none, "other_cpu_percent": 0}
    experiment.write()
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        counts = []
        for _ in range(2):
            done = experiment.regatta("run", "spec.yml")
            assert done.returncode == 1, done.stderr
            assert "disturbed" in done.stdout
            counts.append(len(experiment.records()))
    finally:
        busy.kill()
        busy.wait()
    planned = len({record["invocation_id"] for record in experiment.records()})
    assert counts == [2 * planned, 3 * planned]
    assert {record["status"] for record in experiment.records()} == {"perturbed"}
    experiment.spec["perturbation"] = none
    experiment.write()
    experiment.run()
    assert len(experiment.records()) == counts[-1]


def test_the_terminal_it_is_started_from_is_no_part_of_what_is_measured(experiment: SmallExperiment) -> None:
    experiment.suite["benchmarks"] = {"env": {"command": ["env"]}}
    experiment.write()
    experiment.environment |= {"LANG": "tr_TR.UTF-8", "SECRET": "token"}
    experiment.step_by_step()
    before = {record["cell_id"] for record in experiment.records()}
    experiment.environment |= {"LANG": "C", "PATH": experiment.environment["PATH"] + ":/elsewhere"}
    experiment.step_by_step()
    assert {record["cell_id"] for record in experiment.records()} == before
    environment = experiment.header()["environment"]["set"]
    assert "SECRET" not in environment
    assert "LANG" not in environment
    assert environment["PATH"].startswith("/usr/local/sbin")


@pytest.mark.skipif(
    shutil.which("java") is None, reason="NO JAVA ON PATH: a killed minheap search is not tried"
)
def test_a_killed_minheap_search_leaves_nothing_to_measure_beside(experiment: SmallExperiment) -> None:
    mark = experiment.root / "started"
    launcher = experiment.root / "slow-java"
    launcher.write_text(
        f'#!/bin/sh\ncase "$*" in *-version*) exec {shutil.which("java")} "$@";; esac\necho $$ >> {mark}\nexec sleep 300\n'
    )
    launcher.chmod(0o755)
    experiment.spec["define"] = {"runtimes": {"slow": {"provider": "path", "path": str(launcher)}}}
    experiment.spec |= {"runtimes": ["slow"], "collectors": ["serial"], "heap": {"factors": [2]}}
    experiment.suite["benchmarks"] = {"java": {"kind": "java", "command": ["{runtime}", "Main"]}}
    experiment.write()
    first = experiment.start("minheap", "spec.yml")
    wait_until(lambda: mark.exists() and mark.read_text().endswith("\n"), "the first JVM")
    orphan = int(mark.read_text().split()[0])
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    assert process_start(orphan) is not None
    second = experiment.start("minheap", "spec.yml")
    try:
        wait_until(lambda: len(mark.read_text().split()) == 2, "the second JVM")
        # A container's first process may reap nobody: a zombie is as good as gone.
        assert process_start(orphan) is None
    finally:
        second.send_signal(signal.SIGTERM)
        second.communicate(timeout=PATIENCE_S)
    assert process_start(int(mark.read_text().split()[1])) is None
