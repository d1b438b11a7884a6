"""Replay compilation on a real JVM: logged runs, plans of them, and runs under these plans."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from helpers.experiments import jobs
from helpers.experiments.experiment_parts import NEVER_PERTURBED, regatta
from regatta.answers.spine.replay_plans import compilers_of
from regatta.store.folder import Folder

SMALL: dict[str, Any] = {
    "runtimes": ["temurin-21"],
    "heap": {"sizes_mib": [64], "factors": None},
    "benchmarks": [{"suite": "vm", "benchmark": "compress", "size": "s1"}],
    "perturbation": NEVER_PERTURBED,
}
HOME = Path(__file__).resolve().parents[2]


def run(file: str, directory: Path, name: str, **spec: Any) -> None:
    YAML().dump({"name": name, **spec}, directory / f"{file}.yml")
    folder = Folder(directory / "results" / name)
    jobs.measure(partial(regatta, cwd=directory), folder, f"{file}.yml")


def logs(directory: Path, name: str) -> list[Path]:
    return sorted((directory / "results" / name / "journal").glob("*/kept/*/compilation.log"))


def test_a_plan_of_logged_runs_fixes_the_compiler_of_every_method(tmp_path: Path) -> None:
    included = [str(HOME / "configs/experiments/compilation-log.yml")]
    run("log", tmp_path, "compilation-log", include=included, invocations={"fixed": 3}, **SMALL)
    # The first round is discarded.
    assert len(logs(tmp_path, "compilation-log")) == 4
    made = {}
    for choice in ("best", "majority"):
        words = ("jit-plan", "compilation-log", "--choose", choice, "--runs", "3", "--json")
        done = regatta(*words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        (made[choice],) = json.loads(done.stdout)["plans"]
        assert (made[choice]["benchmark"], made[choice]["runs"]) == ("vm/compress:s1", 3)
        assert min(made[choice]["c1"], made[choice]["c2"]) > 0
    again = regatta("jit-plan", "compilation-log", cwd=tmp_path)
    assert again.returncode == 2
    assert "--replace" in again.stderr
    assert regatta("jit-plan", "compilation-log", "--runs", "9", "--replace", cwd=tmp_path).returncode == 3

    (chosen,) = (
        path for path in logs(tmp_path, "compilation-log") if made["best"]["invocation_id"] in str(path)
    )
    plan = compilers_of(chosen.read_bytes().splitlines())
    run(
        "replay", tmp_path, "replay", include=["plans/compilation-log-best/modifier.yml"], platforms=["local"],
        collectors=["serial", "parallel"], modifier_sets=[["replay-best", "compilation-log"]], invocations={"fixed": 2},
        iterations={"method": "replay", "count": 4, "warmup": 2}, **SMALL | {"heap": {"sizes_mib": [64]}},
    )  # fmt: skip
    assert len(logs(tmp_path, "replay")) == 2 * (2 + 1)
    for path in logs(tmp_path, "replay"):
        replayed = compilers_of(path.read_bytes().splitlines())
        # How many are compiled before the end is up to the compilers' threads.
        assert replayed.keys() & plan.keys()
        assert {method for method, compiler in replayed.items() if plan.get(method, "") < compiler} == set()


def test_a_benchmark_without_a_plan_is_not_possible(tmp_path: Path) -> None:
    (tmp_path / "plans").mkdir()
    modifier = {
        "plans": "plans",
        "flags": ["-XX:+UnlockDiagnosticVMOptions", "-XX:CompilerDirectivesFile={plan}"],
    }
    spec = {
        "name": "none", "modifiers": {"replay": modifier}, "modifier_sets": [[], ["replay"]], "collectors": ["serial"],
        "invocations": {"fixed": 1}, **SMALL, "heap": {"sizes_mib": [64]},
    }  # fmt: skip
    YAML().dump(spec, tmp_path / "none.yml")
    done = regatta("plan", "none.yml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    # Lines break where the path of the test's folder makes them too long.
    words = " ".join((done.stdout + done.stderr).split())
    assert "no compilation plan in" in words
    assert "jit-plan" in words
