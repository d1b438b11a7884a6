"""Every command that the README and its examples show is tried: here as it stands, or where it takes long, by the test that is named."""

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
from helpers.experiments.experiment_parts import NEVER_PERTURBED_LINE

HOME = Path(__file__).parents[2]
README = (HOME / "README.md").read_text(encoding="utf-8")
EXAMPLES = (HOME / "docs" / "examples.md").read_text(encoding="utf-8")

#: command -> how it is tried. A command that they gain must be entered here.
TRIED = {
    "./regatta demo": "test_demo.py runs it on fewer rounds",
    "./regatta test": "this run",
    './regatta time "./old 5" "./new 5"': "test_time.py",
    './regatta init mine --compare "./old 5" "./new 5"': "unit/cli/test_init.py",
    "./regatta run mine.yml": "test_foreign_program.py",
    "./regatta watch mine": "test_progress.py",
    "./regatta analyze mine --all": "unit/cli/test_answer_commands.py",
    "./regatta run configs/experiments/gc-shootout.yml": "takes a night; its plan is made below",
    "./regatta plan configs/experiments/gc-shootout.yml": "below, up to the minheaps that it asks for",
    "./regatta run configs/experiments/system-vector.yml": "test_native_experiments.py runs a part of it",
    "./regatta run configs/experiments/scaling.yml": "test_native_experiments.py runs a part of it",
    "./regatta run configs/experiments/lm-network.yml": "test_native_experiments.py runs a part of it",
    "./regatta run configs/experiments/web-network.yml": "test_native_experiments.py runs a part of it",
    "./regatta run configs/experiments/speclike.yml": "test_native_experiments.py runs a part of it",
    "./regatta run configs/experiments/georges2007-quick.yml": "test_java_experiments.py runs a part of it",
    "./regatta run configs/experiments/chat.yml": "test_java_experiments.py runs a part of it",
    "./regatta run configs/experiments/volano.yml": "test_java_experiments.py runs a part of it",
    "./regatta run configs/experiments/matrix.yml": "workloads/test_java_matrix.py runs a part of it, and with --long all of it",
    "./regatta minheap configs/experiments/minheap.yml --keep": "test_minheap_keeping.py, on a made-up JVM",
    "./regatta vector system hbench-os": "unit/predict/test_predict_command.py, on made-up records",
    "./regatta predict apache-static --on hbench-os": "unit/predict/test_predict_command.py, on made-up records",
    "./regatta primitives apache-static apache-cgi --on emulated-aarch64": "unit/predict/test_primitives_command.py",
    "./regatta import running-ng shootout.yml": "test_import.py",
    "./regatta status": "below",
    "./regatta analyze demo --baseline collector=g1": "test_demo.py",
    "./regatta analyze demo --method georges2007": "unit/cli/test_answer_commands.py, on made-up records",
    "./regatta check-host": "unit/fleet/test_host_checks.py",
    "./regatta explain g1": "test_demo.py",
    "./regatta audit demo": "test_demo.py",
    "./regatta reference results/mine --name this-machine": "unit/answers/topics/scores/test_scores.py, on made-up records",
    "./regatta plot demo --figure 'heap-*'": "test_plot_in_chromium.py",
    "./regatta history results/demo other/demo": "unit/answers/history/test_history.py compares folders",
    ". .venv/bin/activate && snakemake --profile local --config spec=configs/experiments/demo.yml": "test_kill_and_resume.py",
    "./regatta hosts": "fleet/test_ssh_runs.py",
    "./regatta quiesce x86": "unit/fleet/test_quiet_playbooks.py runs its playbooks",
    "./regatta run SPEC --profile ssh": "fleet/test_ssh_runs.py",
    ". .venv/bin/activate && snakemake --profile cluster": "fleet/test_slurm_workflow.py",
    "./regatta demo --influx": "test_services.py runs a short one",
    "./regatta up": "test_services.py",
    "./regatta ingest demo --verify": "test_influx_workflow.py, on experiments of its own",
    "./regatta analyze demo --from influx": "unit/influx/test_influx_reading.py, on experiments of its own",
    "./regatta backup influx.gz": "unit/influx/test_backup.py",
}  # fmt: skip


def blocks(language: str, page: str = README) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    lines = [
        line.split("  #")[0].strip()
        for block in blocks("sh", README + EXAMPLES)
        for line in block.splitlines()
    ]
    return [line for line in lines if line]


def regatta(*arguments: str, cwd: Path = HOME) -> subprocess.CompletedProcess[str]:
    return in_process.regatta(*arguments, cwd=cwd)


@pytest.mark.smoke
def test_every_command_of_the_readme_is_tried_somewhere() -> None:
    assert sorted(commands()) == sorted(TRIED)


@pytest.mark.smoke
def test_the_tests_named_above_exist() -> None:
    tests = HOME / "tests"
    for name in re.findall(r"[\w/]+\.py", " ".join(TRIED.values())):
        assert (tests / name).exists() or (tests / "workflow" / name).exists(), name


@pytest.mark.smoke
def test_the_spec_in_the_readme_is_the_demonstrations() -> None:
    yaml = YAML(typ="safe")
    shown = yaml.load(next(block for block in blocks("yaml") if "question:" in block))
    real = yaml.load(HOME / "configs" / "experiments" / "demo.yml")
    assert {key: real[key] for key in shown} == shown


@pytest.mark.smoke
def test_the_jvm_in_the_readme_is_in_the_registry() -> None:
    yaml = YAML(typ="safe")
    shown = yaml.load(next(block for block in blocks("yaml") if "provider:" in block))
    registry = yaml.load(HOME / "configs" / "runtimes.yml")["runtimes"]
    assert {name: registry[name] for name in shown} == shown


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
                                  "minheap", "build", "provision", "segment", "store", "schema", "ingest", "up", "down", "backup", "predict", "primitives", "vector"])  # fmt: skip
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
