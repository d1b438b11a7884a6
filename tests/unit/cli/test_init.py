"""`regatta init`: files that are valid, and commands that do what was asked."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from helpers.golden import Golden
from helpers.in_process import regatta
from regatta.cli.init import _either, init
from regatta.host.errors import SpecError
from regatta.spec.home import find_home
from regatta.spec.load import load_spec


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REGATTA_HOME", str(find_home()))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.jar").write_bytes(b"PK")
    for name in ("old.sh", "new.sh"):
        (tmp_path / name).write_text(f'#!/bin/sh\necho {name} "$@"\n')
        (tmp_path / name).chmod(0o755)
    return tmp_path


def started(*arguments: str, **more: str) -> Result:
    return CliRunner().invoke(init, arguments, standalone_mode=False, **more)


def test_a_command_becomes_a_benchmark_and_its_files_belong_to_it(folder: Path, golden: Golden) -> None:
    done = started("mine", "--command", "./old.sh {x} ./app.jar /etc/hostname")
    assert done.exception is None, done.output
    golden("outside", done.stderr)
    (benchmark,) = load_spec(folder / "mine.yml", find_home()).benchmarks
    assert benchmark.command == ("{file.file1}", "{{x}}", "{file.file2}", "/etc/hostname")
    assert {name: file.name for name, file in benchmark.files.items()} == {
        "file1": "old.sh",
        "file2": "app.jar",
    }
    assert done.stdout.endswith("next: regatta run mine.yml\n")


def test_a_jar_runs_under_three_collectors(folder: Path) -> None:
    assert started("mine", "--jar", "app.jar --fast").exception is None
    experiment = load_spec(folder / "mine.yml", find_home())
    assert [one.name for one in experiment.collectors] == ["serial", "parallel", "g1"]
    assert experiment.benchmarks[0].command == ("{runtime}", "-jar", "{file.file1}", "--fast")


def test_two_commands_are_two_alternatives_of_one_block(folder: Path) -> None:
    assert started("mine", "--compare", "./old.sh 1", "./new.sh 1 2").exception is None
    planned = regatta("plan", "mine.yml", "--json", cwd=folder, environment=dict(os.environ))
    assert planned.returncode == 0, planned.stderr
    assert [cell["modifiers"] for cell in json.loads(planned.stdout)["cells"]] == ["a", "b"]


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (["--command", "./old.sh"], None),
        (["--compare", "./old.sh", "./new.sh"], "decide"),
        (["--jar", "app.jar"], "decide"),
    ],
)
def test_comparisons_are_measured_until_they_are_clear(
    folder: Path, arguments: list[str], rule: str | None
) -> None:
    assert started("mine", *arguments).exception is None
    stopping = load_spec(folder / "mine.yml", find_home()).stopping
    assert (stopping.rule if stopping else None) == rule


@pytest.mark.parametrize(("variant", "said"), [("a", "one  two\n"), ("b", "three\n")])
def test_the_variable_chooses_the_command(variant: str, said: str) -> None:
    argv = [
        word.replace("{{", "{").replace("}}", "}")
        for word in _either(["echo", "one  two"], ["echo", "three"])
    ]
    done = subprocess.run(
        argv, env={**os.environ, "VARIANT": variant}, capture_output=True, text=True, check=True
    )
    assert done.stdout == said


def test_what_is_not_given_is_asked_for(folder: Path, golden: Golden) -> None:
    done = started(input="mine\ncompare\n./old.sh\n./new.sh\n")
    assert done.exception is None, done.output
    golden("question", load_spec(folder / "mine.yml", find_home()).question)


def test_nothing_is_overwritten_and_nothing_invalid_is_left(folder: Path) -> None:
    assert started("mine", "--command", "true").exception is None
    before = (folder / "mine.yml").read_text()
    assert isinstance(started("mine", "--command", "false").exception, SpecError)
    assert (folder / "mine.yml").read_text() == before
    assert isinstance(started("local", "--command", "x\0y").exception, SpecError)
    assert not (folder / "local.yml").exists()
    assert not (folder / "local-suite.yml").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["../mine", "--command", "x"],
        ["a", "--command", "x", "--jar", "app.jar"],
        ["a", "--command", "'x"],
        ["a", "--command", " "],
    ],
)
def test_a_wrong_command_line_is_refused(arguments: list[str]) -> None:
    done = CliRunner().invoke(init, arguments)
    assert done.exit_code == 2
    assert "rror" in done.output
    assert not list(Path.cwd().glob("*.yml"))
