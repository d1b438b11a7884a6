"""The first screen: every command in its group, and names completed by the shell."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from regatta.cli.main import GROUPS, VERBS, cli

REGATTA = Path(sys.executable).with_name("regatta")


def test_help_has_every_command_but_the_plumbing_once_on_one_line() -> None:
    shown = CliRunner().invoke(cli, ["--help"]).output
    lines = shown.splitlines()
    for group, verbs in GROUPS.items():
        assert (f"{group}:" in lines) == bool(group)
        width = max(map(len, verbs))
        for name, line in verbs.items():
            assert lines.count(f"  {name:<{width}}  {line}") == bool(group), name
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("name", sorted(VERBS))
def test_every_command_is_where_the_table_says_and_has_help(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert command.name == name
    assert command.help


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_is_one_that_its_shell_takes(shell: str) -> None:
    done = CliRunner().invoke(cli, ["completion", shell])
    assert done.exit_code == 0
    assert "_REGATTA_COMPLETE" in done.output
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=done.output, text=True, check=True)


def completed(words: str, count: int, folder: Path | None = None) -> set[str]:
    asked = {"_REGATTA_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(count)}
    done = subprocess.run(
        [REGATTA], env={**os.environ, **asked}, cwd=folder, capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_experiments_and_kinds_are_completed(tmp_path: Path) -> None:
    for name in ("sieve", "serial", "demo"):
        (tmp_path / "results" / name / "plan").mkdir(parents=True)
    (tmp_path / "results" / "_minheap").mkdir()
    (tmp_path / "elsewhere" / "other" / "plan").mkdir(parents=True)
    elsewhere = ["regatta", "watch", "--results", "elsewhere", "o"]
    assert completed("regatta analyze s", 2, tmp_path) == {"plain,sieve", "plain,serial"}
    assert completed("regatta verify ", 2, tmp_path) == {"plain,sieve", "plain,serial", "plain,demo"}
    assert completed(" ".join(elsewhere), 4, tmp_path) == {"plain,other"}
    assert completed("regatta report results/s", 2, tmp_path) == {"dir,results/s"}
    assert completed("regatta history demo s", 3, tmp_path) == {"plain,sieve", "plain,serial"}
    assert completed("regatta list ru", 2, tmp_path) == {"plain,runtimes"}


def test_commands_and_options_are_completed() -> None:
    assert completed("regatta an", 1) == {"plain,analyze"}
    assert completed("regatta seg", 1) == set()
    assert "plain,--method" in completed("regatta analyze --me", 2)
