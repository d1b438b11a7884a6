"""Journals that were really measured and are kept here: read, verified and answered."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from helpers import in_process

REFERENCE = Path(__file__).parents[2] / "reference"
#: native programs by an old version; two Java programs with three collectors, whose numbers version 0.1.0 gave, too, where a
#: method has not changed since
NATIVE, JAVA = "stored", "stored-java"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder whose `results` has copies of them."""
    for name in (NATIVE, JAVA):
        shutil.copytree(REFERENCE / name, tmp_path / "results" / name)
    return tmp_path


@pytest.mark.parametrize("name", [NATIVE, JAVA])
def test_every_planned_invocation_is_there(place: Path, name: str) -> None:
    done = in_process.regatta("verify", name, "--json", cwd=place)
    assert done.returncode == 0, done.stderr
    verdict = json.loads(done.stdout)
    assert (verdict["planned"], verdict["recorded"]) == (36, 36)


def test_the_answer_is_what_it_was(place: Path) -> None:
    done = in_process.regatta("analyze", NATIVE, "--json", cwd=place)
    assert done.returncode == 0, done.stderr
    comparisons = json.loads(done.stdout)["comparisons"]
    expected = json.loads((REFERENCE / NATIVE / "comparisons.json").read_text())
    assert len(comparisons) == len(expected)
    for one, before in zip(comparisons, expected, strict=True):
        assert {key: one[key] for key in before} == {
            key: pytest.approx(value, rel=1e-12) if isinstance(value, float) else value
            for key, value in before.items()
        }


def test_its_report_is_written(place: Path) -> None:
    done = in_process.regatta("report", NATIVE, cwd=place)
    assert done.returncode == 0, done.stderr
    folder = place / "results" / NATIVE
    question = json.loads((folder / "plan" / "experiment.json").read_text())["experiment"]["question"]
    assert question
    assert question in (folder / "report.html").read_text()


@pytest.mark.parametrize("method", ["regatta", "georges2007"])
def test_the_numbers_of_java_programs_are_what_they_were(place: Path, method: str) -> None:
    done = in_process.regatta("analyze", JAVA, "--json", "--method", method, cwd=place)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    expected = json.loads((REFERENCE / JAVA / "answers.json").read_text())[method]
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
