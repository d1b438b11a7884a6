"""The steps before and after the measurements: one process each, and as resumable and as informative as four."""

from __future__ import annotations

import hashlib
import json
import signal
from pathlib import Path

import pytest

from helpers.experiments.small_experiments import SmallExperiment
from regatta.store.events import events_path, read_events

STEPS = ("verify", "ingest", "analyse", "report")
PREPARATION = ("build", "provision", "minheap", "plan")

#: kills a job, lets it fail, or changes a program, when the job opens the log of a step, so between two steps
_BETWEEN_STEPS = """
import os, signal, sys

def look(event, arguments):
    if event != "open" or not {"prepare", "finish"} & set(sys.argv):
        return
    step = os.path.basename(str(arguments[0])).removesuffix(".log")
    if step == os.environ.get("KILL_AT"):
        os.kill(os.getpid(), signal.SIGKILL)
    if step == os.environ.get("FAIL_AT"):
        raise OSError("unreadable")
    if step == os.environ.get("CHANGE_AT"):
        with open(os.environ["CHANGED_PROGRAM"], "a") as program:
            program.write("# of the next version\\n")

sys.addaudithook(look)
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> SmallExperiment:
    root = tmp_path_factory.mktemp("steps")
    small = SmallExperiment(
        root, invocations={"fixed": 2}, benchmarks=[{"suite": "tiny", "benchmark": "quick"}]
    )
    (root / "hook").mkdir()
    (root / "hook" / "sitecustomize.py").write_text(_BETWEEN_STEPS)
    path = [str(root / "hook"), *filter(None, [small.environment.get("PYTHONPATH")])]
    small.environment["PYTHONPATH"] = ":".join(path)
    return small


def _logs(small: SmallExperiment) -> list[str]:
    return [str(small.folder.logs / f"{step}.log") for step in STEPS]


def test_a_run_that_is_killed_before_it_measures_keeps_the_steps_that_ended(
    small: SmallExperiment,
) -> None:
    receipts = small.folder.receipts
    made = [*(receipts / f"{step}.json" for step in PREPARATION[:-1]), small.folder.experiment]
    for at, step in enumerate(PREPARATION):
        small.environment["KILL_AT"] = step
        done = small.regatta("run", "spec.yml")
        assert done.returncode == 3, done.stderr
        # What the steps before have made stays.
        assert [path.exists() for path in made] == [place < at for place in range(len(made))]
    kinds = [event.kind for event in read_events(events_path(small.folder.path))]
    assert kinds.count("provisioned") == len(("minheap", "plan"))


def test_a_run_that_is_killed_between_any_two_steps_continues_with_the_same_command(
    small: SmallExperiment,
) -> None:
    made = [
        small.folder.verdict,
        small.folder.path / "store" / "regatta.duckdb",
        small.folder.answer,
        small.folder.report,
    ]
    for at, step in enumerate(STEPS):
        small.environment["KILL_AT"] = step
        done = small.regatta("run", "spec.yml")
        assert done.returncode == 3, done.stderr
        assert signal.SIGKILL.name in done.stderr or at == 0
        # What the steps before have made stays.
        assert [path.exists() for path in made] == [place < at for place in range(len(made))]
    del small.environment["KILL_AT"]
    done = small.regatta("run", "spec.yml")
    assert done.returncode == 0, done.stderr
    assert [path.exists() for path in made] == [True] * len(made)
    stages = [
        event.fields["text"]
        for event in read_events(events_path(small.folder.path))
        if event.kind == "stage" and event.fields["text"] in STEPS
    ]
    assert stages == ["verify", "verify", "ingest", "verify", "ingest", "analyse", *STEPS]


@pytest.mark.parametrize(("trouble", "steps"), [("KILL_AT", PREPARATION), ("FAIL_AT", PREPARATION[:1])])
def test_a_preparation_that_ends_early_leaves_the_old_plan_until_the_same_command_makes_the_new_one(
    small: SmallExperiment, trouble: str, steps: tuple[str, ...]
) -> None:
    small.run()
    before = small.folder.experiment.read_bytes()
    small.spec["invocations"]["fixed"] += 1
    small.write()
    for step in steps:
        small.environment[trouble] = step
        done = small.regatta("run", "spec.yml")
        assert done.returncode == 3, done.stderr
        assert small.folder.experiment.read_bytes() == before
        assert small.regatta("analyze", "small").returncode == 0
    del small.environment[trouble]
    expected = len(small.records()) + len(small.header()["cells"])
    small.run()
    assert len(small.records()) == expected
    log = small.folder.logs / "provision.log"
    log.unlink()
    small.run()
    assert (len(small.records()), log.exists()) == (expected, False)


def test_the_answer_of_the_workflow_is_that_of_analyze(small: SmallExperiment) -> None:
    assert small.regatta("run", "spec.yml").returncode == 0
    printed = small.regatta("analyze", "small", "--json").stdout
    assert small.folder.answer.read_text() == printed


def test_a_step_that_fails_leaves_its_error_in_its_log_and_ends_the_job(small: SmallExperiment) -> None:
    assert small.regatta("run", "spec.yml").returncode == 0
    whole = hashlib.sha256(small.folder.answer.read_bytes()).hexdigest()
    plan = small.folder.host_plan("local") / "plan.json"
    kept = plan.read_bytes()
    for log in _logs(small):
        Path(log).unlink()
    small.folder.report.unlink()
    small.folder.report.mkdir()
    try:
        done = small.regatta("finish", str(small.folder.path), *_logs(small))
        assert done.returncode == 3
        assert (done.stdout, done.stderr) == ("", "")
        assert "report.html" in Path(_logs(small)[-1]).read_text()
        assert json.loads(small.folder.verdict.read_text())["holds"] is True
        assert hashlib.sha256(small.folder.answer.read_bytes()).hexdigest() == whole
        for log in _logs(small):
            Path(log).unlink()
        plan.write_text("{")
        done = small.regatta("finish", str(small.folder.path), *_logs(small))
        assert done.returncode == 3
        assert [Path(log).exists() for log in _logs(small)] == [True, False, False, False]
        assert "plan.json" in Path(_logs(small)[0]).read_text()
    finally:
        plan.write_bytes(kept)
        small.folder.report.rmdir()


def test_a_program_that_a_step_upgrades_is_planned_as_it_is_then(small: SmallExperiment) -> None:
    # As the package of one runtime can upgrade another one.
    program = small.root / "bin" / "tool"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    small.suite["benchmarks"]["quick"] = {"command": ["tool"]}
    small.write()
    path = f"{program.parent}:{small.environment['PATH']}"
    changes = {"PATH": path, "CHANGE_AT": "minheap", "CHANGED_PROGRAM": str(program)}
    small.environment.update(changes)
    small.run()
    assert "next version" in program.read_text()
    sha256 = hashlib.sha256(program.read_bytes()).hexdigest()
    for cell in small.header()["cells"]:
        assert sha256 in {file["sha256"] for file in cell["files"]}
