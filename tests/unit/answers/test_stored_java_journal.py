"""A measured journal of three collectors on two Java programs: its answers keep their numbers.

`answers.json` holds the numbers of both methods. Where a method did not change since, version 0.1.0 gave the same ones.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from helpers import in_process

REFERENCE = Path(__file__).parents[2] / "reference" / "stored-java"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a folder whose `results/stored-java` is a copy of the journal and its plan."""
    shutil.copytree(REFERENCE, tmp_path / "results" / "stored-java")
    return tmp_path


def test_every_planned_invocation_of_the_java_journal_is_there(place: Path) -> None:
    done = in_process.regatta("verify", "stored-java", "--json", cwd=place)
    assert done.returncode == 0, done.stderr
    verdict = json.loads(done.stdout)
    assert (verdict["planned"], verdict["recorded"]) == (36, 36)


@pytest.mark.parametrize("method", ["regatta", "georges2007"])
def test_the_numbers_of_the_java_journal_are_what_they_were(place: Path, method: str) -> None:
    done = in_process.regatta("analyze", "stored-java", "--json", "--method", method, cwd=place)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    expected = json.loads((REFERENCE / "answers.json").read_text())[method]
    assert _differences(answer, expected, "") == []


def _differences(value: Any, expected: Any, path: str) -> list[str]:
    """Return where a value is not the expected one. New keys are no difference; the order of entries is one."""
    if isinstance(expected, dict) and isinstance(value, dict):
        missing = [f"{path}.{key}: missing" for key in expected if key not in value]
        both = [key for key in expected if key in value]
        return missing + [
            one for key in both for one in _differences(value[key], expected[key], f"{path}.{key}")
        ]
    if isinstance(expected, list) and isinstance(value, list) and len(expected) == len(value):
        pairs = enumerate(zip(value, expected, strict=True))
        return [one for i, (own, other) in pairs for one in _differences(own, other, f"{path}[{i}]")]
    if isinstance(expected, float) and isinstance(value, int | float):
        same = value == pytest.approx(expected, rel=1e-9, abs=0)
    else:
        same = value == expected
    return [] if same else [f"{path}: expected {expected!r}, got {value!r}"]
