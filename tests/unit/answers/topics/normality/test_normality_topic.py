"""Normality in an answer, and the dispersion of each cell: values, JSON, tables; no estimate changes."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from scipy.stats import shapiro

from helpers.golden import Golden
from helpers.synthetic_journal import cell, record, write_experiment
from regatta.answers.kit.view import View
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.cell_table import tables_of, texts_of
from regatta.answers.report.documents import document_of
from regatta.answers.report.page import render
from regatta.answers.spine.result import Answer
from regatta.answers.topics.normality.topic import NORMALITY, CellNormality, normality_words
from regatta.stats.normality import Normality

CALM = [1.00, 1.01, 0.99, 1.02, 0.98, 1.005, 0.995, 1.015, 0.985, 1.0]
TORN = [1.00, 1.001, 0.999, 1.002, 0.998, 1.0, 1.001, 0.999, 1.0, 1.9]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    cells = [cell("serial"), cell("g1")]
    lines = [
        record(c, r, [1e9 * values[r]], position=i)
        for r in range(10)
        for i, (c, values) in enumerate(zip(cells, (CALM, TORN), strict=True))
    ]
    return write_experiment(tmp_path / "made-up", cells, lines, 10)


@pytest.fixture
def answer(folder: Path) -> Answer:
    return answer_experiment(folder)


def test_an_answer_without_this_topic_has_all_others(folder: Path, answer: Answer) -> None:
    without = answer_experiment(folder, slow=False)
    assert NORMALITY.of(without) == ()
    documents = [document_of(one) for one in (answer, without)]
    for document in documents:
        del document["normality"], document["findings"]
    assert documents[0] == documents[1]
    assert without.findings == {key: found for key, found in answer.findings.items() if key != "normality"}


def test_each_cell_is_tested_and_none_is_changed(answer: Answer) -> None:
    calm, torn = NORMALITY.of(answer)
    assert (calm.rejected, torn.rejected) == (False, True)
    assert torn.test.p == pytest.approx(shapiro([1e9 * value for value in TORN]).pvalue, abs=1e-6)
    assert [one.estimate.n for one in answer.cells] == [10, 10]
    assert answer.cells[1].estimate.point == pytest.approx(1e8 * sum(TORN))
    (entry, other) = json.loads(json.dumps(document_of(answer), allow_nan=False))["normality"]
    assert (entry["metric"], entry["rejected"], entry["n"]) == ("elapsed", False, 10)
    assert other["w"] == pytest.approx(torn.test.w)
    assert "<h2>Normality</h2>" in render(answer)
    (table,) = NORMALITY.tables_of(View(answer))
    assert [row[-1] for row in table.rows] == ["", "rejected"]


def test_each_cell_has_its_dispersion(answer: Answer) -> None:
    entry = document_of(answer)["cells"][0]
    # squares of the deviations in %: 2 (1 + 4 + 0.25 + 2.25) = 15, over 9
    assert entry["cv_percent"] == pytest.approx(math.sqrt(15 / 9))
    assert (entry["minimum"], entry["maximum"]) == (pytest.approx(0.98e9), pytest.approx(1.02e9))
    table = texts_of(tables_of(View(answer)), 0.95)
    at = table.columns.index("CV")
    assert table.columns[at : at + 2] == ("CV", "range")
    first = dict(zip(table.columns, table.rows[0], strict=True))
    assert (first["CV"], first["range"]) == ("1.3 %", "0.98 to 1.02")


def test_a_cell_with_one_value_has_neither(tmp_path: Path, golden: Golden) -> None:
    answer = answer_experiment(write_experiment(tmp_path / "one", [cell()], [record(cell(), 0, [1e9])], 1))
    (found,) = NORMALITY.of(answer)
    assert not found.rejected
    golden("one-value", found.test.reason)
    assert "normality" not in answer.findings
    entry = document_of(answer)["cells"][0]
    assert (entry["cv_percent"], entry["minimum"], entry["maximum"]) == (None, 1e9, 1e9)
    assert "CV" not in texts_of(tables_of(View(answer)), 0.95).columns


def one(p: float, place: str = "h2, g1") -> CellNormality:
    return CellNormality("alpha", "c", place, "elapsed", {}, Normality(10, 0.9, p), p < 0.05)


def test_one_cell_of_many_is_what_chance_does(golden: Golden) -> None:
    (sentence,) = normality_words([one(0.01), *[one(0.5)] * 19], 0.95)
    golden("one-of-20-cells", sentence)


def test_many_cells_are_told_with_the_worst(golden: Golden) -> None:
    first, second = normality_words([one(0.01), one(1e-6, "pmd, z"), *[one(0.001)] * 8], 0.95)
    golden("10-of-10-cells", f"{first}\n{second}")
