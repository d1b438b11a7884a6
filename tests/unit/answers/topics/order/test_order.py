from __future__ import annotations

import pytest

from helpers.synthetic_journal import cell, record, write_experiment
from regatta.answers.kit.view import View
from regatta.answers.report.answer import answer_experiment
from regatta.answers.topics.order.topic import ORDER


@pytest.mark.parametrize(
    ("step_s", "unit", "last"), [(1, "seconds", 9), (60, "minutes", 9), (7200, "hours", 18)]
)
def test_the_axis_of_time_has_a_unit_that_fits(tmp_path, step_s: int, unit: str, last: float) -> None:
    cells = [cell("serial"), cell("g1")]
    lines = []
    for number in range(10):
        one = record(cells[number % 2], number // 2, [1e9 + number], position=number % 2)
        lines.append({**one, "started_utc_ns": 10**18 + number * step_s * 10**9})
    answer = answer_experiment(write_experiment(tmp_path, cells, lines, 5))
    section = ORDER.section_of(View(answer))
    assert section is not None
    (figure,) = section.groups[0].figures
    assert figure.layout["xaxis"]["title"]["text"] == f"{unit} since the first invocation"
    times = [x for trace in figure.traces if trace["mode"] == "markers" for x in trace["x"]]
    assert (min(times), max(times)) == (0, pytest.approx(last))
