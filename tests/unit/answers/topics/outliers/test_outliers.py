"""What lies far out is told and kept; whether an answer hangs on it is shown, never decided."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from helpers.synthetic_journal import cell, record, write_experiment
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.page import render
from regatta.answers.topics.outliers.topic import OUTLIERS
from regatta.cli.analyze import analyze

ROUNDS = 12


def write(directory: Path, changes: dict[tuple[str, int], dict[str, Any]]) -> Path:
    """Serial and g1, g1 2 % quicker; `changes` by collector and round: `factor`, `status`."""
    generator = np.random.default_rng(5)
    cells = {name: cell(name) for name in ("serial", "g1")}
    records = []
    for round in range(ROUNDS):
        for position, (name, one) in enumerate(cells.items()):
            change = changes.get((name, round), {})
            value = 1e9 * (0.98 if name == "g1" else 1.0) * (1 + 0.005 * generator.standard_normal())
            records.append(
                record(
                    one,
                    round,
                    [value * change.get("factor", 1.0)],
                    position=position,
                    status=change.get("status", "ok"),
                )
            )
    return write_experiment(directory, list(cells.values()), records, ROUNDS)


def test_a_far_value_is_told_and_stays_in_the_estimate(tmp_path: Path) -> None:
    answer = answer_experiment(write(tmp_path, {("g1", 4): {"factor": 1.5}}))
    (far,) = OUTLIERS.of(answer).far_out
    assert far.invocation_id.endswith("-r4")
    assert far.times_median == pytest.approx(1.5, rel=0.02)
    assert {c.estimate.n for c in answer.cells} == {ROUNDS}
    assert "1 outlier in 1 cell" in answer.findings["outliers"][0]


def test_an_answer_that_hangs_on_one_value_is_said_to(tmp_path: Path) -> None:
    answer = answer_experiment(write(tmp_path, {("g1", 4): {"factor": 1.5}}))
    (comparison,) = OUTLIERS.of(answer).comparisons
    assert comparison.changes
    assert comparison.ratio.low < 1 < comparison.ratio.high
    assert comparison.without_far_out.high < 1
    assert comparison.without_far_out.n == ROUNDS - 1
    assert any("depends on outliers" in sentence for sentence in answer.findings["outliers"])


def test_perturbed_values_are_out_and_shown_as_if_they_were_in(tmp_path: Path) -> None:
    answer = answer_experiment(write(tmp_path, {("serial", 3): {"factor": 0.5, "status": "perturbed"}}))
    assert OUTLIERS.of(answer).far_out == ()
    (comparison,) = OUTLIERS.of(answer).comparisons
    assert comparison.ratio.n == ROUNDS - 1
    assert comparison.with_perturbed.n == ROUNDS
    assert comparison.with_perturbed.high > comparison.ratio.high
    assert comparison.changes


def test_a_comparison_without_an_interval_is_not_called_robust(tmp_path: Path) -> None:
    changes = {("g1", r): {"factor": 1 / 0.98, "status": "perturbed" if r else "ok"} for r in range(ROUNDS)}
    answer = answer_experiment(write(tmp_path, changes))
    (one,) = OUTLIERS.of(answer).comparisons
    assert np.isnan(one.ratio.low)
    assert not one.changes
    assert "outliers" not in answer.findings


def test_a_quiet_experiment_says_nothing_of_outliers(tmp_path: Path) -> None:
    answer = answer_experiment(write(tmp_path, {}))
    assert OUTLIERS.of(answer).far_out == OUTLIERS.of(answer).comparisons == ()
    assert "outliers" not in answer.findings


def test_the_command_shows_the_answer_with_and_without(tmp_path: Path) -> None:
    folder = write(tmp_path, {("g1", 4): {"factor": 1.5}})
    told = CliRunner().invoke(analyze, [str(folder), "--outliers"], catch_exceptions=False).stdout
    assert "Outliers" in told
    assert "without outliers" in told
    assert "value / median" in told
    document = json.loads(CliRunner().invoke(analyze, [str(folder), "--json"]).stdout)
    assert document["outliers"]["comparisons"][0]["changes"] is True


def test_the_report_names_what_lies_far_out(tmp_path: Path) -> None:
    page = render(answer_experiment(write(tmp_path, {("g1", 4): {"factor": 1.5}})))
    section = page[page.index('id="outliers"') :]
    assert "-r4</td>" in section
    assert "without outliers" in section
    quiet = render(answer_experiment(write(tmp_path / "quiet", {})))
    assert 'id="outliers"' not in quiet


def test_the_command_says_that_there_is_nothing(tmp_path: Path) -> None:
    told = CliRunner().invoke(analyze, [str(write(tmp_path, {})), "--outliers"]).stdout
    assert "Outliers: none." in told
