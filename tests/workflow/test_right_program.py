"""What is measured is the program that the shell of the user would start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from helpers.experiments.experiment_parts import HOME
from helpers.in_process import PROGRAM

pytestmark = pytest.mark.smoke

SCRIPT = "import pathlib, sys; pathlib.Path({where!r}).open('a').write(sys.executable + chr(10))"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    for name in ("mine", "other"):
        venv.create(tmp_path / name, symlinks=True, with_pip=False)
    path = tmp_path / "who.py"
    path.write_text(SCRIPT.format(where=str(tmp_path / "who")))
    return path


def started(folder: Path, *arguments: str, active: str | None) -> str:
    """Run a command with an active environment; return what it printed."""
    first = [str(folder / active / "bin")] if active else []
    # As with the launcher: the environment of Regatta is not on PATH.
    rest = [part for part in os.environ["PATH"].split(os.pathsep) if part != str(PROGRAM.parent)]
    given = {
        **os.environ, "PATH": os.pathsep.join([*first, *rest]), "REGATTA_HOME": str(HOME),
        "REGATTA_HOST_LOCK": str(folder / "lock"),
    }  # fmt: skip
    (folder / "who").unlink(missing_ok=True)
    done = subprocess.run(
        [PROGRAM, *arguments], cwd=folder, env=given, stdin=subprocess.DEVNULL, text=True, capture_output=True,
        check=False,
    )  # fmt: skip
    # Nothing here depends on the values: on a busy machine, the invocations can be perturbed.
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout + done.stderr


def measured(folder: Path) -> set[str]:
    """Return the interpreters that ran."""
    return set((folder / "who").read_text().split()) if (folder / "who").exists() else set()


def test_time_measures_the_python_of_the_active_environment(script: Path) -> None:
    folder = script.parent
    shown = started(folder, "time", f"python3 {script}", "-r", "2", active="mine")
    assert measured(folder) == {str(folder / "mine/bin/python3")}
    assert f"python3 is {folder / 'mine/bin/python3'}" in shown
    started(folder, "time", f"python3 {script}", "-r", "2", active=None)
    assert not measured(folder) & {str(PROGRAM.with_name("python3")), sys.executable}


def test_the_path_of_the_option_decides_the_program(script: Path) -> None:
    folder = script.parent
    option = f"PATH={folder / 'other/bin'}:/usr/bin:/bin"
    shown = started(
        folder, "time", f"python3 {script}", f"sh -c 'exec python3 {script}'", "-r", "2", "--environment", option,
        active="mine",
    )  # fmt: skip
    assert measured(folder) == {str(folder / "other/bin/python3")}
    assert f"python3 is {folder / 'other/bin/python3'}" in shown


def test_two_environments_of_one_interpreter_are_two_programs(script: Path) -> None:
    folder = script.parent
    pythons = [str(folder / name / "bin/python3") for name in ("mine", "other")]
    started(folder, "time", *(f"{python} {script}" for python in pythons), "-r", "2", active=None)
    assert measured(folder) == set(pythons)


def test_a_new_spec_names_the_interpreter_that_time_measures(script: Path) -> None:
    folder = script.parent
    started(folder, "init", "a", "--command", f"python3 {script}", active="mine")
    (folder / "a.yml").write_text((folder / "a.yml").read_text().replace("fixed: 10", "fixed: 2"))
    started(folder, "run", "a.yml", "--results", "results", active=None)
    assert measured(folder) == {str(folder / "mine/bin/python3")}


def test_a_run_measures_again_in_another_active_environment(script: Path) -> None:
    folder = script.parent
    started(folder, "init", "a", "--command", f"python3 {script}", active="mine")
    suite = folder / "a-suite.yml"
    suite.write_text(suite.read_text().replace(str(folder / "mine/bin/python3"), "python3"))
    (folder / "a.yml").write_text((folder / "a.yml").read_text().replace("fixed: 10", "fixed: 2"))
    for name in ("mine", "other"):
        started(folder, "run", "a.yml", "--results", "results", active=name)
        program = str(folder / name / "bin/python3")
        assert measured(folder) == {program}
        (written,) = (folder / "results").glob("*/plan/*/plan.json")
        assert json.loads(written.read_text())["cells"][0]["argv"][0] == program
        plan = json.loads(started(folder, "plan", "a.yml", "--results", "results", "--json", active=name))
        assert len(plan["cells"]) == 1


def test_a_profile_of_the_user_does_not_change_a_run(script: Path) -> None:
    """Snakemake reads `profiles/default` of the current folder, and its keys win over those of the other profile."""
    folder = script.parent
    started(folder, "init", "a", "--command", f"python3 {script}", active=None)
    (folder / "a.yml").write_text((folder / "a.yml").read_text().replace("fixed: 10", "fixed: 2"))
    (folder / "profiles/default").mkdir(parents=True)
    (folder / "profiles/default/config.yaml").write_text('dry-run: true\ndefault-resources:\n  - way="ssh"\n')
    started(folder, "run", "a.yml", "--results", "results", active=None)
    assert len(measured(folder)) == 1
