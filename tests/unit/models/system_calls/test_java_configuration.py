"""The JVM that is traced is the one that the configuration names, and a cell runs as it was planned."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from helpers.golden import Golden
from regatta.host.errors import Problem, RegattaError, StoreError
from regatta.models.cli.planned_java import planned_java
from regatta.models.system_calls.java_configuration import check_flags, check_release, flags_of, named_jvm
from regatta.models.system_calls.planned_command import PlannedCommand
from regatta.spec.registries import read_registries

HOME = Path(__file__).parents[4]
PROBLEMS: list[Problem] = []
REGISTRIES = read_registries(HOME, PROBLEMS)
PARALLEL = named_jvm("temurin-17 parallel", REGISTRIES)
VM = "OpenJDK 64-Bit Server VM"


def test_the_registries_say_what_the_jvm_of_a_configuration_is() -> None:
    assert PROBLEMS == []
    assert (PARALLEL.release, PARALLEL.flags) == ("17.0.9", ("-XX:+UseParallelGC",))
    assert {"-XX:+UseG1GC", "-Xint", "-XX:TieredStopAtLevel=1"} <= PARALLEL.other_flags
    zero = named_jvm("openjdk-17-zero serial interpreter", REGISTRIES)
    assert (zero.release, zero.flags) == ("17", ("-zero", "-XX:+UseSerialGC", "-Xint"))
    assert named_jvm("of-mine", REGISTRIES).release == ""


@pytest.mark.parametrize("java", [f"{VM} 17.0.9+9", f"{VM} 17.0.9+9-LTS"])
def test_a_jvm_of_that_release_is_accepted(java: str) -> None:
    assert check_release(java, "temurin-17 parallel", PARALLEL) == ""


@pytest.mark.parametrize("java", [f"{VM} 21.0.8+9-LTS", f"{VM} 17.0.21.1+2-1-deb12u1-Debian", f"{VM} 17+35"])
def test_a_jvm_of_another_release_is_refused(java: str) -> None:
    with pytest.raises(RegattaError, match=r"release 17\.0\.9 · got OpenJDK"):
        check_release(java, "temurin-17 parallel", PARALLEL)


@pytest.mark.parametrize(
    ("java", "configuration"), [("Eclipse OpenJ9 VM openj9-0.41", "temurin-17"), (f"{VM} 17.0.9+9", "mine")]
)
def test_a_release_that_is_unknown_is_reported(java: str, configuration: str, golden: Golden) -> None:
    told = check_release(java, configuration, named_jvm(configuration, REGISTRIES))
    golden(f"release that is unknown: {configuration}", told)


def test_flags_are_the_options_before_the_program() -> None:
    command = ["java", "-Xmx1g", "-cp", "-a.jar", "-XX:+UseParallelGC", "-jar", "a.jar", "-Xint"]
    assert flags_of(command, {}) == ["-Xmx1g", "-XX:+UseParallelGC"]
    assert flags_of(["java", "Main"], {"JAVA_TOOL_OPTIONS": "-Xint -Xmx1g"}) == ["-Xint", "-Xmx1g"]


def test_flags_of_the_configuration_are_required_and_those_of_others_refused() -> None:
    check_flags(["-Xmx1g", "-XX:+UseParallelGC"], "temurin-17 parallel", PARALLEL)
    for flags in (["-Xmx1g"], ["-XX:+UseParallelGC", "-Xint"], ["-XX:+UseG1GC"], []):
        with pytest.raises(RegattaError, match=r"command with -XX:\+UseParallelGC"):
            check_flags(flags, "temurin-17 parallel", PARALLEL)


# ---- cells ----


def cell(runtime: str, program: Path, **more: Any) -> dict[str, Any]:
    return {
        "cell_id": runtime, "label": f"apps/scanner:small {runtime}", "benchmark": "apps/scanner:small", "kind": "java",
        "runtime": runtime, "collector": "parallel", "modifiers": "none", "heap_factor": None, "heap_mib": 1024,
        "argv": [str(program), "-XX:+UseParallelGC", "-jar", "apps.jar", "scanner"], "environment": {"B": "2"},
        "arrange": {"in.txt": str(program)},
        "files": [{"path": str(program), "sha256": hashlib.sha256(program.read_bytes()).hexdigest()}], **more,
    }  # fmt: skip


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """An experiment with two JVMs, and a compiled benchmark."""
    program = tmp_path / "java"
    program.write_text("#!/bin/sh\n")
    plan = tmp_path / "results" / "hb" / "plan"
    (plan / "local").mkdir(parents=True)
    steady = {
        "method": "fixed", "iterations": 6, "warmup": 3, "window": 5, "threshold": 0.02, "measured_iterations": 1,
    }  # fmt: skip
    experiment = {"experiment": {"name": "hb", "seed": 7, "order": "randomized-blocks", "steady": steady}}
    (plan / "experiment.json").write_text(json.dumps(experiment))
    cells = [cell("temurin-17", program), cell("temurin-21", program)]
    cells.append({**cell("native", program), "kind": "native"})
    environment = {"set": {"A": "1", "PATH": "/usr/bin:/bin"}}
    header = {"seed": 7, "environment": environment, "rounds": 1, "segments": [[0, 3]], "cells": cells}
    (plan / "local" / "plan.json").write_text(json.dumps(header))
    return tmp_path / "results"


def test_a_cell_has_the_command_heap_and_warmup_of_the_experiment(results: Path) -> None:
    found = planned_java("apps/scanner", "temurin-21 parallel", "hb", results)
    assert found.command[1:] == ("-XX:+UseParallelGC", "-jar", "apps.jar", "scanner")
    assert found.configuration == "temurin-21 parallel"
    told = dict(found.options)
    planned = told.pop("cell")
    assert told == {"name": "scanner", "benchmark": "apps/scanner", "warmup": 3}
    assert isinstance(planned, PlannedCommand)
    assert (planned.experiment, planned.heap) == ("hb", "1024MiB")
    assert planned.environment.items() >= {"A": "1", "B": "2", "REGATTA_SEED": "7"}.items()


@pytest.mark.parametrize(
    ("case", "benchmark", "configuration"),
    [
        ("no configuration", "apps/scanner", ""),
        ("unknown configuration", "apps/scanner", "temurin-11 parallel"),
        ("unknown benchmark", "apps/crawler", ""),
    ],
)
def test_a_cell_that_is_not_one_is_refused(
    results: Path, case: str, benchmark: str, configuration: str, golden: Golden
) -> None:
    with pytest.raises(StoreError) as caught:
        planned_java(benchmark, configuration, "hb", results)
    golden(case, str(caught.value).replace(str(results.parent), "TMP"))


@pytest.mark.parametrize("more", [{"input": "/f"}, {"isolation": {"kind": "docker", "image": "i"}}])
def test_a_cell_with_an_input_or_in_a_container_is_refused(
    results: Path, tmp_path: Path, more: dict[str, Any]
) -> None:
    plan = results / "hb" / "plan" / "local" / "plan.json"
    header = json.loads(plan.read_text())
    header["cells"] = [cell("temurin-17", tmp_path / "java", **more)]
    plan.write_text(json.dumps(header))
    with pytest.raises(StoreError, match=r"cell (without|outside)"):
        planned_java("apps/scanner", "temurin-17 parallel", "hb", results)


def test_a_cell_runs_in_an_empty_folder_with_its_variables_alone(results: Path, tmp_path: Path) -> None:
    planned = planned_java("apps/scanner", "temurin-17 parallel", "hb", results).options["cell"]
    assert isinstance(planned, PlannedCommand)
    words = planned.words(tmp_path, tmp_path / "results.jsonl")
    done = subprocess.run(
        [*words, "sh", "-c", 'ls; echo "$A$B $HOME $REGATTA_RESULTS"'],
        capture_output=True, text=True, check=True, env={"LEFT": "over"},
    )  # fmt: skip
    assert done.stdout == f"in.txt\n12 {tmp_path}/work {tmp_path}/results.jsonl\n"


def test_a_runtime_that_has_changed_since_the_plan_is_refused(results: Path, golden: Golden) -> None:
    planned = planned_java("apps/scanner", "temurin-17 parallel", "hb", results).options["cell"]
    assert isinstance(planned, PlannedCommand)
    planned.check_files()
    program = results.parent / "java"
    program.write_text("#!/bin/sh\nexit\n")
    with pytest.raises(RegattaError) as caught:
        planned.check_files()
    golden("changed runtime", str(caught.value).replace(str(results.parent), "TMP"))
    program.unlink()
    with pytest.raises(RegattaError, match="got No such file"):
        planned.check_files()
