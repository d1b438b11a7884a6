"""Violins relative to the mean: which values, which rows, which marks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.golden import Golden
from helpers.synthetic_journal import cell, record, write_experiment
from regatta.answers.kit.view import View
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.page import render
from regatta.answers.spine.result import Answer
from regatta.answers.topics.spread.topic import SPREAD
from regatta.figures.axes import Group

VALUES = [90.0, 95.0, 100.0, 105.0, 110.0, 160.0, 40.0]


def answered(tmp_path: Path, cells: list[dict[str, Any]], values: list[list[float]], **facts: Any) -> Answer:
    lines = [
        record(c, r, [1e6 * value for value in values[r]], position=i)
        for r in range(len(values))
        for i, c in enumerate(cells)
    ]
    return answer_experiment(write_experiment(tmp_path / "made-up", cells, lines, len(values), **facts))


def groups_of(answer: Answer) -> dict[str, Group]:
    section = SPREAD.section_of(View(answer))
    assert section is not None
    return {group.title: group for group in section.groups if group.title.endswith("/ mean")}


def test_each_configuration_has_a_figure_with_a_row_per_benchmark(tmp_path: Path, golden: Golden) -> None:
    cells = [cell(name, benchmark=f"apps/{program}:small") for program in ("h2", "pmd") for name in ("serial", "g1")]  # fmt: skip
    answer = answered(tmp_path, cells, [[value] for value in VALUES])
    assert not SPREAD.of(answer)
    (group,) = groups_of(answer).values()
    assert group.title == "Invocations / mean"
    golden("titles", "\n".join(figure.title for figure in group.figures))
    labels = [one["text"] for one in group.figures[0].layout["annotations"]]
    assert labels[::2] == ["apps/h2:small", "apps/pmd:small"]
    shape, adjacent, quartiles, median = group.figures[0].traces[:4]
    assert shape["x"] == pytest.approx([value / 100 for value in VALUES])
    assert np.mean(shape["x"]) == pytest.approx(1.0)
    assert quartiles["x"] == pytest.approx([0.925, 1.075])
    # within 1.5 (1.075 - 0.925) of the quartiles: 0.7 to 1.3
    assert adjacent["x"] == pytest.approx([0.9, 1.1])
    assert median["x"] == pytest.approx([1.0])
    assert "Invocations / mean" in render(answer)


def test_with_one_benchmark_configurations_are_the_rows(tmp_path: Path) -> None:
    answer = answered(tmp_path, [cell("serial"), cell("g1")], [[value] for value in VALUES])
    (group,) = groups_of(answer).values()
    (figure,) = group.figures
    assert [one["text"] for one in figure.layout["annotations"]][::2] == ["jdk-21 serial", "jdk-21 g1"]


def test_iterations_after_warm_up_are_relative_to_the_mean_of_all(tmp_path: Path) -> None:
    values = [[900.0, 90.0 + r, 110.0 - r] for r in range(5)]
    answer = answered(tmp_path, [cell("serial"), cell("g1")], values, method="fixed", warmup=1)
    first, second = SPREAD.of(answer)
    assert (first.invocations, second.invocations) == (5, 5)
    assert first.values == pytest.approx([x / 100 for r in range(5) for x in (90.0 + r, 110.0 - r)])
    # The mean of each invocation is the same, so only iterations have a density.
    assert list(groups_of(answer)) == ["Iterations / mean"]


def test_too_few_or_equal_values_have_no_violin(tmp_path: Path) -> None:
    few = answered(tmp_path / "few", [cell()], [[value] for value in VALUES[:4]])
    assert groups_of(few) == {}
    equal = answered(tmp_path / "equal", [cell()], [[1.0]] * 8)
    assert groups_of(equal) == {}


def test_of_many_iterations_quantiles_are_kept(tmp_path: Path) -> None:
    values = [[float(1 + i) for i in range(100)] for _ in range(40)]
    answer = answered(tmp_path, [cell()], values, method="fixed")
    (found,) = SPREAD.of(answer)
    assert found.invocations == 30
    assert len(found.values) == 600
    assert found.values[0] * 50.5 == pytest.approx(1.0)
    assert found.values[-1] * 50.5 == pytest.approx(100.0)
    assert np.median(found.values) == pytest.approx(1.0, abs=1e-3)
