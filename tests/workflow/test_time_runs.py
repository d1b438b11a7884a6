"""Options of `regatta time` that concern each run: its exit code."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from helpers.golden import Golden
from helpers.time_command import time

pytestmark = pytest.mark.smoke


@pytest.mark.parametrize("option", ["-i", "--ignore-failure", "-i=3", "--ignore-failure=1,3"])
def test_expected_failures_are_measured(tmp_path: Path, option: str) -> None:
    done = time(tmp_path, option, "sh -c 'exit 3'", "true", "--runs", "2", "--export", "json")
    runs = [run for one in json.loads(done.stdout)["commands"] for run in one["runs"]]
    assert sorted((run["status"], run["exit_code"]) for run in runs) == [("ok", 0)] * 2 + [("ok", 3)] * 2


def test_other_failures_stay_failures_and_name_the_option(tmp_path: Path) -> None:
    done = time(tmp_path, "--ignore-failure=1,3", "sh -c 'exit 2'", "--runs", "2", code=1)
    assert "exit code 2" in done.stdout
    assert "--ignore-failure=2" in done.stderr
    killed = time(tmp_path, "-i", shlex.join(["sh", "-c", "kill -9 $$"]), "--runs", "2", code=1)
    assert "signal 9" in killed.stdout


@pytest.mark.parametrize("arguments", [("true", "--ignore-failure=256"), ("true", "-i=one")])
def test_what_is_not_possible_is_told(tmp_path: Path, arguments: tuple[str, ...], golden: Golden) -> None:
    shown = time(tmp_path, *arguments, code=2).stderr
    golden(shlex.join(arguments), shown.splitlines()[-1])
