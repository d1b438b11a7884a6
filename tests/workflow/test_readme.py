"""What the README shows besides commands, which test_documents.py runs: its spec, its JVM, its links, every verb."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from helpers import in_process
from helpers.documents import steps
from helpers.experiments.experiment_parts import NEVER_PERTURBED_LINE

HOME = Path(__file__).parents[2]
README = (HOME / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def regatta(*arguments: str, cwd: Path = HOME) -> subprocess.CompletedProcess[str]:
    return in_process.regatta(*arguments, cwd=cwd)


@pytest.mark.smoke
def test_the_spec_and_the_question_in_the_readme_are_the_demonstrations() -> None:
    yaml = YAML(typ="safe")
    shown = yaml.load(next(block for block in blocks("yaml") if "question:" in block))
    real = yaml.load(HOME / "configs" / "experiments" / "demo.yml")
    assert {key: real[key] for key in shown} == shown
    assert blocks("text")[0].splitlines()[0] == f"{real['name']}: {real['question']}"


@pytest.mark.smoke
def test_the_jvm_in_the_readme_can_be_added_to_the_registry(tmp_path: Path) -> None:
    (step,) = (step for step in steps("README.md") if step.name == "configs/runtimes.yml")
    (tmp_path / "configs").mkdir()
    (tmp_path / step.name).write_text((HOME / step.name).read_text() + "\n" + step.text)
    done = in_process.regatta(
        "list", "runtimes", "--json", cwd=tmp_path, environment={**os.environ, "REGATTA_HOME": str(tmp_path)}
    )
    assert done.returncode == 0, done.stderr
    (name,) = re.findall(r"^  (\S+):$", step.text, re.MULTILINE)
    assert f'"{name}"' in done.stdout


@pytest.mark.smoke
def test_links_of_the_docs_lead_somewhere() -> None:
    for page in (*HOME.glob("*.md"), *(HOME / "docs").rglob("*.md"), *(HOME / "perf").glob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page}: {target}"


@pytest.mark.smoke
def test_status_works_before_anything_was_run(tmp_path: Path) -> None:
    done = regatta("status", "--results", str(tmp_path))
    assert done.returncode == 0
    assert "no experiment" in done.stdout


@pytest.mark.skipif(
    shutil.which("mvn") is None or shutil.which("javac") is None, reason="NO JDK OR MAVEN: NOT PLANNED"
)
def test_the_shootout_asks_for_the_minheaps_that_nobody_has_measured(tmp_path: Path) -> None:
    done = regatta("plan", "configs/experiments/gc-shootout.yml", "--results", str(tmp_path))
    assert done.returncode == 2, done.stderr
    fix = "`regatta minheap configs/experiments/gc-shootout.yml`"
    assert done.stderr.count(fix) == 9, "3 programs, 3 JVMs"


@pytest.mark.parametrize("verb", ["run", "demo", "plan", "status", "analyze", "report", "plot", "explain", "verify", "records",
                                  "minheap", "build", "provision", "segment", "store", "schema", "ingest", "up", "down", "predict", "primitives", "vector"])  # fmt: skip
def test_every_verb_explains_itself(verb: str) -> None:
    done = regatta(verb, "--help")
    assert done.returncode == 0
    assert verb in done.stdout


def test_a_wrong_verb_or_spec_exits_2_and_makes_nothing(tmp_path: Path) -> None:
    misspelt = regatta("pln")
    assert misspelt.returncode == 2
    assert "Did you mean plan?" in misspelt.stderr
    spec = tmp_path / "wrong.yml"
    spec.write_text("name: wrong\nbenchmark: []\n")
    for verb in ("run", "plan", "minheap", "build", "provision"):
        done = regatta(verb, str(spec))
        assert done.returncode == 2, done.stderr
        assert "wrong.yml:2:" in done.stderr
        assert "benchmarks" in done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["wrong.yml"]


@pytest.mark.skipif(
    shutil.which("uv", path=str(Path(sys.executable).parent)) is None, reason="NO uv: the wheel is not tried"
)
def test_an_installed_wheel_works_without_the_clone(tmp_path: Path) -> None:
    uv = str(Path(sys.executable).parent / "uv")
    build = [
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--python",
        sys.executable,
        "--target",
        str(tmp_path / "site"),
    ]
    constraints = ["--build-constraints", str(HOME / "requirements" / "build.txt")]
    environment = {**os.environ, "UV_SYSTEM_CERTS": "1", "UV_NATIVE_TLS": "1"}
    subprocess.run([uv, *build, *constraints, str(HOME)], check=True, env=environment)
    assert (tmp_path / "site" / "regatta" / "py.typed").exists()
    spec = tmp_path / "spec.yml"
    spec.write_text(
        "name: installed\nplatforms: [local]\nbenchmarks: [{suite: lm, benchmark: lat_syscall, size: quick}]\n"
        f"invocations: {{fixed: 2}}\n{NEVER_PERTURBED_LINE}"
    )
    environment = {k: v for k, v in os.environ.items() if not k.startswith("REGATTA")}
    environment |= {"PYTHONPATH": str(tmp_path / "site"), "REGATTA_HOST_LOCK": str(tmp_path / "lock")}
    run = [sys.executable, "-m", "regatta", "run", "spec.yml"]
    done = subprocess.run(run, cwd=tmp_path, env=environment, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "2 of 2 planned invocations recorded" in done.stdout
    assert (tmp_path / "results" / "installed" / "report.html").exists()
