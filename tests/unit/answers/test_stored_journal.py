"""A journal that was really measured and is kept here: read, verified and answered."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from helpers import in_process

REFERENCE = Path(__file__).parents[2] / "reference" / "stored"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder whose `results/stored` is a copy of it."""
    shutil.copytree(REFERENCE, tmp_path / "results" / "stored")
    return tmp_path


def test_every_planned_invocation_is_there(place: Path) -> None:
    done = in_process.regatta("verify", "stored", "--json", cwd=place)
    assert done.returncode == 0, done.stderr
    verdict = json.loads(done.stdout)
    assert (verdict["planned"], verdict["recorded"]) == (36, 36)


def test_the_answer_is_what_it_was(place: Path) -> None:
    done = in_process.regatta("analyze", "stored", "--json", cwd=place)
    assert done.returncode == 0, done.stderr
    comparisons = json.loads(done.stdout)["comparisons"]
    expected = json.loads((REFERENCE / "comparisons.json").read_text())
    assert len(comparisons) == len(expected)
    for one, before in zip(comparisons, expected, strict=True):
        assert {key: one[key] for key in before} == {
            key: pytest.approx(value, rel=1e-12) if isinstance(value, float) else value
            for key, value in before.items()
        }


def test_its_report_is_written(place: Path) -> None:
    done = in_process.regatta("report", "stored", cwd=place)
    assert done.returncode == 0, done.stderr
    folder = place / "results" / "stored"
    question = json.loads((folder / "plan" / "experiment.json").read_text())["experiment"]["question"]
    assert question
    assert question in (folder / "report.html").read_text()
