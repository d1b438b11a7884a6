"""Damaged files of every kind: an answer or an error about the file, within limits of memory and time; see `helpers.fuzzing`."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from helpers.readers import READERS

TESTS = Path(__file__).parents[1]
#: damaged files per reader in the campaign
MANY = 500
Campaign = Callable[..., list[Any]]


@pytest.fixture(scope="session")
def campaign() -> Iterator[Campaign]:
    """Return what runs the campaign of a reader, in one process without the threads of this one; it returns the failures."""
    path = os.pathsep.join([str(TESTS), *sys.path])
    with subprocess.Popen(
        [sys.executable, "-m", "helpers.fuzzing", "--serve"], env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        stdin, stdout = process.stdin, process.stdout
        assert stdin is not None
        assert stdout is not None

        def run(*words: object) -> list[Any]:
            print(shlex.join(map(str, words)), file=stdin, flush=True)
            answer = iter(stdout.readline, "\n")
            *failures, row = [json.loads(line) for line in answer]
            print(row)
            if "unavailable" in row:
                pytest.skip(f"NOT TESTED, {row['reader']}: {row['unavailable']}")
            return failures

        yield run
        stdin.close()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("reader", READERS)
def test_a_damaged_file_is_answered_or_refused(campaign: Campaign, reader: str, tmp_path: Path) -> None:
    assert campaign("--inputs", READERS[reader].few, "--seed", 1, tmp_path, reader) == []


@pytest.mark.long
@pytest.mark.timeout(14_400)
@pytest.mark.parametrize("reader", READERS)
def test_no_damaged_or_foreign_file_breaks_a_reader(campaign: Campaign, reader: str, tmp_path: Path) -> None:
    assert campaign("--inputs", MANY, "--special", tmp_path, reader) == []
