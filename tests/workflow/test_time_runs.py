"""Options of `regatta time` that concern each run: its exit code, its streams, and commands before and after it."""

from __future__ import annotations

import itertools
import json
import shlex
import shutil
import sys
from collections import Counter
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


def test_a_command_runs_after_each_run_with_the_parameters(tmp_path: Path) -> None:
    conclude = "sh -c 'echo {n} >> concluded'"
    time(tmp_path, "sleep 0.0{n}", "-L", "n", "1,2", "--conclude", conclude, "--runs", "2")
    concluded = Counter((tmp_path / "concluded").read_text().split())
    assert concluded.keys() == {"1", "2"}
    assert min(concluded.values()) >= 3, "perturbed runs are repeated"


@pytest.mark.parametrize("option", ["--prepare", "--conclude"])
def test_a_failing_command_before_or_after_a_run_stops_all(
    tmp_path: Path, golden: Golden, option: str
) -> None:
    failing = "sh -c 'echo . >> count; for n in 1 2 3 4 5 6; do echo line $n >&2; done; exit 7'"
    done = time(tmp_path, "true", "sleep 0", "--runs", "20", option, failing, code=1)
    assert len((tmp_path / "count").read_text().split()) == 1
    assert done.stdout == ""
    golden(option, done.stderr.replace(str(shutil.which("sh")), "sh"))


def test_commands_read_a_file_and_write_another_one(tmp_path: Path) -> None:
    (tmp_path / "{data}").write_text("b\na\n")
    (tmp_path / "sorted").write_text("much longer than what the commands write\n")
    streams = ("--input", "{data}", "--output", "sorted")
    done = time(tmp_path, "sort", "sort --stable", *streams, "--runs", "2", "--export", "json")
    assert (tmp_path / "sorted").read_text() == "a\nb\n"
    assert len(json.loads(done.stdout)["commands"]) == 2
    is_null = "import os, sys; sys.exit(not os.path.samestat(os.fstat(1), os.stat(os.devnull)))"
    null = shlex.join([sys.executable, "-I", "-S", "-c", is_null])
    time(tmp_path, null, "--output", "null", "--input", "null", "--runs", "2")
    time(tmp_path, null, "--output", "pipe", "--runs", "2", code=1)


def test_the_output_of_each_run_is_shown_with_its_name(tmp_path: Path) -> None:
    loud = "sh -c 'echo {n}; echo \"\\033[2J\" >&2; [ {n} = 1 ]'"
    done = time(
        tmp_path, loud, "true", "-L", "n", "1,2", "-n", "loud", "-n", "true",
        "--runs", "2", "--show-output", "--export", "json", code=1,
    )  # fmt: skip
    assert len(json.loads(done.stdout)["commands"]) == 4
    lines = done.stderr.splitlines()
    for n, run in itertools.product("12", ("discarded run 1", "run 1", "run 2")):
        place = lines.index(f"loud n={n}, {run}, stdout:")
        assert lines[place : place + 4] == [
            f"loud n={n}, {run}, stdout:", f"  {n}", f"loud n={n}, {run}, stderr:", "  \\x1b[2J"
        ]  # fmt: skip
    assert not [line for line in lines if line.startswith("true")], "it wrote nothing"


@pytest.mark.parametrize(
    "arguments",
    [
        ("true", "--ignore-failure=256"),
        ("true", "--input", "missing"),
        ("true", "--input", "."),
        ("true", "--output", "missing/file"),
        ("true", "--output", "."),
        ("true", "--output", "inherit"),
        ("true", "--output", "null", "--show-output"),
        ("true", "-i=one"),
        ("{a} 0", "-L", "a", "true,sleep", "--conclude", "touch {a}"),
    ],
)
def test_what_is_not_possible_is_told(tmp_path: Path, arguments: tuple[str, ...], golden: Golden) -> None:
    shown = time(tmp_path, *arguments, code=2).stderr
    golden(shlex.join(arguments), shown.splitlines()[-1])
