"""An exception that no reader expects: one line with the file and the place in the code, and no traceback unless asked for."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.golden import Golden

#: the command line with a fault after the file was read
_PROGRAM = """
import sys
from regatta.answers.compare import compute
from regatta.cli.main import main

def fails(*_):
    raise IndexError("list index out of range")

compute.answer_foreign = fails
sys.argv = ["regatta", *sys.argv[1:]]
main()
"""


def _compare(path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    path.write_text("a,b\n1,x\n2,y\n")
    return subprocess.run(
        [sys.executable, "-c", _PROGRAM, "compare", str(path), "--value", "a", "--by", "b"],
        env={**os.environ, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_fault_names_the_file_and_the_place(tmp_path: Path, golden: Golden) -> None:
    done = _compare(tmp_path / "a.csv")
    assert done.returncode == 3
    assert done.stdout == ""
    plain = re.sub(r":\d+ \(", ":LINE (", done.stderr.replace(str(tmp_path), "DIR"))
    golden("fault", re.sub(r"Regatta [\d.a-z+]+ at", "Regatta VERSION at", plain))


def test_a_fault_is_shown_with_its_traceback_on_request(tmp_path: Path) -> None:
    done = _compare(tmp_path / "a.csv", REGATTA_TRACEBACK="1")
    assert done.stderr.startswith("Traceback")
    assert str(tmp_path / "a.csv") in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("folder", ["", "missing"])
def test_a_fault_in_a_job_reaches_the_command_that_started_the_workflow(folder: str, tmp_path: Path) -> None:
    errors = tmp_path / folder / "errors"
    done = _compare(tmp_path / "a.csv", REGATTA_ERRORS=str(errors))
    assert done.returncode == 3
    if folder:
        assert not errors.exists()
    else:
        assert json.loads(errors.read_text())["exit_code"] == 3
