"""The commands of perf/run and the scripts of accuracy print rows: one of each for each change, all with `--long`.

Whether their goals hold is not judged here: other tests share the machine.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.full,
    pytest.mark.timeout(1800),
]  # each command measures for seconds, or for minutes on a busy machine

ROOT = Path(__file__).parents[2]
#: those that need no other machines, and no Slurm or Docker
COMMANDS = (
    "overhead", "time", "plan", "analysis", "lm", "java", "micro", "fleet", "ingest", "boards", "trace", "events", "requests",
    "collections",
)  # fmt: skip
KEYS = {"what", "unit", "ours", "peer", "peer_name", "ratio", "goal", "limit", "holds", "details"}


def rows_of(command: str, tmp_path: Path) -> list[dict[str, Any]]:
    done = subprocess.run(
        [ROOT / "perf" / "run", command, "--quick", "--json"],
        env={**os.environ, "VIRTUAL_ENV": sys.prefix},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=1500,
    )
    assert done.returncode in (0, 1), done.stderr
    rows: list[dict[str, Any]] = json.loads(done.stdout)["rows"]
    assert done.returncode == any(row["holds"] is False for row in rows)
    for row in rows:
        assert set(row) == KEYS
        assert isinstance(row["ours"], (int, float))
        # A cost that is a difference of two times may be below 0.
        assert math.isfinite(row["ours"])
        assert (row["goal"] is None) == (row["holds"] is None)
        if row["peer"] is None:
            assert "NOT " in row["peer_name"]
            assert f"{row['what']}: {row['peer_name']}" in done.stderr
    assert list(tmp_path.iterdir()) == []
    return rows


def test_plan_prints_time_and_memory_beside_peers(tmp_path: Path) -> None:
    rows = rows_of("plan", tmp_path)
    assert {row["unit"] for row in rows} == {"s", "MiB"}
    assert all(row["peer"] is not None for row in rows)


@pytest.mark.long
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_prints_rows(command: str, tmp_path: Path) -> None:
    assert rows_of(command, tmp_path)


def test_another_name_is_refused() -> None:
    done = subprocess.run([ROOT / "perf" / "run", "tme"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert "tme" in done.stderr


def test_a_folder_in_memory_is_refused_because_syncing_costs_nothing_there() -> None:
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        pytest.skip("NOT TESTED: no /dev/shm here")
    done = subprocess.run(
        [ROOT / "perf" / "run", "plan", "--quick", "--directory", memory],
        env={**os.environ, "VIRTUAL_ENV": sys.prefix},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 3
    assert "got /dev/shm" in done.stderr


ACCURACY = sorted(path.name for path in (ROOT / "perf" / "accuracy").glob("*.py") if path.name != "frame.py")


def test_the_scripts_of_accuracy_are_listed() -> None:
    listed = (ROOT / "perf" / "README.md").read_text()
    assert [script for script in ACCURACY if f"| `{script}` |" not in listed] == []


@pytest.mark.parametrize(
    "script", ["growth.py", *(pytest.param(s, marks=pytest.mark.long) for s in ACCURACY if s != "growth.py")]
)
def test_a_script_of_accuracy_prints_a_row_per_case(script: str) -> None:
    """Whether goals hold is not judged here: with few replications, some are missed by chance."""
    done = subprocess.run(
        [sys.executable, ROOT / "perf" / "accuracy" / script, "--quick", "--replications", "20"],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode in (0, 1), done.stderr
    assert len(done.stdout.splitlines()) > 5
    assert "nan" not in done.stdout.lower()
