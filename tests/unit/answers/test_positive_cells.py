"""The mean of a time is never shown with an interval below zero, and every table says how it was made."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from helpers.synthetic_journal import cell, record, write_experiment
from regatta.answers.kit.view import View
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.cell_table import tables_of
from regatta.answers.report.documents import document_of
from regatta.answers.spine.words import measured
from regatta.cli.main import cli
from regatta.stats.intervals import mean_interval

VALUES = {"g1": [1e6, 2e6, 57e6], "z": [0.0, 2e6, 57e6], "serial": [10e6, 11e6, 12e6]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    cells = {name: cell(name) for name in VALUES}
    records = [
        record(cells[name], r, [value], position=i)
        for i, (name, values) in enumerate(VALUES.items())
        for r, value in enumerate(values)
    ]
    return write_experiment(tmp_path / "made-up", list(cells.values()), records, 3)


def test_each_answer_names_the_method_of_such_an_interval(folder: Path) -> None:
    answer = answer_experiment(folder)
    found = {c.place.collector: c.estimate for c in answer.cells if c.metric == "elapsed"}
    assert {name: e.method for name, e in found.items()} == {
        "g1": "t, log scale",
        "z": "t, cut at 0",
        "serial": "t",
    }
    assert found["g1"].low > 0.0 == found["z"].low
    told = CliRunner().invoke(cli, ["analyze", "made-up", "--all", "--results", str(folder.parent)])
    assert told.exit_code == 0, told.output
    assert "log scale" in told.output
    assert "cut at 0" in told.output


def test_the_table_of_the_report_says_it_in_a_footnote(folder: Path) -> None:
    answer = answer_experiment(folder)
    tables = tables_of(View(answer))
    footnotes = [note for table in tables for note in table.footnotes]
    assert any("t, log scale" in note for note in footnotes)
    assert any("t, cut at 0" in note for note in footnotes)


def test_the_document_and_its_rows_have_the_method(folder: Path) -> None:
    answer = answer_experiment(folder)
    methods = {cell["method"] for cell in document_of(answer)["cells"]}
    assert {"t, log scale", "t, cut at 0"} <= methods


def test_a_sentence_names_the_method_and_shows_that_the_lower_end_is_above_zero() -> None:
    told = measured(mean_interval([1.0, 1.0, 60.0], positive=True), "s")
    assert told == "21 s [0.34, 1,240] (log scale)"
