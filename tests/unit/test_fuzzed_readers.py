"""Damaged files of every kind: an answer or an error about the file, within limits of memory and time; see `helpers.fuzzing`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.fuzzing import READERS

TESTS = Path(__file__).parents[1]
#: damaged files per reader in the first tier and in the campaign
FEW, MANY = 3, 500


def failed(reader: str, count: int, seed: int, folder: Path, *special: str) -> list[object]:
    """Run the campaign of a reader in a process of its own, without the threads of this one."""
    words = [sys.executable, "-m", "helpers.fuzzing", reader, str(count), str(seed), str(folder), *special]
    path = os.pathsep.join([str(TESTS), *sys.path])
    done = subprocess.run(
        words, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, text=True, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("reader", READERS)
def test_a_damaged_file_is_answered_or_refused(reader: str, tmp_path: Path) -> None:
    assert failed(reader, FEW, 1, tmp_path) == []


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("reader", READERS)
def test_no_damaged_or_foreign_file_breaks_a_reader(reader: str, tmp_path: Path) -> None:
    assert failed(reader, MANY, 2, tmp_path, "special") == []
