"""Perturbed runs alone give marked estimates without conclusions, alike in JSON, CSV, Python, InfluxDB, screen and report."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import regatta
from helpers.golden import Golden
from helpers.synthetic_journal import cell, record, write_experiment
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.documents import document_of, rows_of
from regatta.answers.report.page import write_report
from regatta.answers.spine.result import Answer
from regatta.answers.spine.shortfalls import MEANING
from regatta.cli.first_screen import first_screen, notes_of
from regatta.influx.answers import estimate_points

SERIAL, G1, PARALLEL = cell("serial"), cell("g1"), cell("parallel")
ROUNDS = 8
BUSY = [{"limit": "other_cpu_percent", "allowed": 10, "measured": 44.0, "process": "stress-ng"}]


def made(quiet: dict[str, int]) -> list[dict[str, Any]]:
    """Records of three alternatives with very different times; `quiet`: undisturbed ones of each, 0 by default."""
    records = []
    for position, (one, name, ns) in enumerate(
        ((SERIAL, "serial", 1e9), (G1, "g1", 2e9), (PARALLEL, "parallel", 4e9))
    ):
        for r in range(ROUNDS):
            perturbed = r >= quiet.get(name, 0)
            run = record(one, r, [ns + r * 1e6], position=position, status="perturbed" if perturbed else "ok")
            records.append({**run, "perturbation": BUSY if perturbed else []})
    return records


def answered(path: Path, **quiet: int) -> Answer:
    return answer_experiment(write_experiment(path, [SERIAL, G1, PARALLEL], made(quiet), ROUNDS))


@pytest.fixture
def answer(tmp_path: Path) -> Answer:
    return answered(tmp_path)


def test_estimates_of_perturbed_runs_are_shown_and_marked(answer: Answer, golden: Golden) -> None:
    assert [one.estimate.n for one in answer.cells] == [ROUNDS] * 3
    assert all(one.estimate.is_disturbed and math.isfinite(one.estimate.low) for one in answer.cells)
    assert [one.dispersion.maximum for one in answer.cells] == [1.007e9, 2.007e9, 4.007e9]
    golden("screen", "\n".join([*first_screen(answer), *notes_of(answer)]))


def test_they_are_never_significant_however_large_the_difference(answer: Answer) -> None:
    assert len(answer.comparisons) == 2
    for one in answer.comparisons:
        assert one.ratio.n == ROUNDS
        assert one.ratio.is_disturbed
        assert one.ratio.low > 1.5 or one.ratio.high < 0.7
        assert (one.verdict.significant, one.verdict.practical) == ("no", "disturbed")
        assert math.isnan(one.p)
        assert math.isnan(one.p_holm)
    assert answer.families
    assert all(one.reason and not one.pairs for one in answer.families)


def test_every_export_has_the_mark(answer: Answer, tmp_path: Path) -> None:
    document = document_of(answer)
    assert {one["method"].rpartition(", ")[2] for one in document["cells"]} == {"disturbed"}
    assert {one["practical"] for one in document["comparisons"]} == {"disturbed"}
    rows = [row for row in rows_of(answer) if row["kind"] in ("cell", "comparison")]
    assert len(rows) == 5
    assert {row["method"].rpartition(", ")[2] for row in rows} == {"disturbed"}
    results = regatta.open(tmp_path)
    assert set(results.comparisons["practical"].to_pylist()) == {"disturbed"}
    assert all(text.endswith(", disturbed") for text in results.estimates["method"].to_pylist())
    points = [point for point in estimate_points(answer, 1) if "disturbed" in str(point)]
    assert len(points) == 5
    page = tmp_path / "report.html"
    write_report(answer, page)
    assert page.read_text().count(MEANING) > 1, "the note, and the footnote of the marked values"


def test_two_undisturbed_runs_are_enough_for_an_estimate_of_their_own(tmp_path: Path) -> None:
    answer = answered(tmp_path, serial=2, g1=1, parallel=ROUNDS)
    serial, g1, parallel = answer.cells
    assert (serial.estimate.n, serial.estimate.is_disturbed) == (2, False)
    assert (g1.estimate.n, g1.estimate.is_disturbed) == (ROUNDS, True)
    assert (parallel.estimate.n, parallel.estimate.is_disturbed) == (ROUNDS, False)
    marks = {one.a_name: one.ratio.is_disturbed for one in answer.comparisons}
    assert [marks[name] for name in marks if "g1" in name] == [True]
    assert [marks[name] for name in marks if "parallel" in name] == [False]


def test_an_undisturbed_comparison_is_adjusted_without_the_disturbed_ones(tmp_path: Path) -> None:
    answer = answered(tmp_path, serial=ROUNDS, parallel=ROUNDS)
    (plain,) = (one for one in answer.comparisons if not one.ratio.is_disturbed)
    assert plain.p_holm == plain.p
    assert plain.verdict.significant == "yes"
