"""Fields of estimates that dashboards draw and select by."""

from __future__ import annotations

from pathlib import Path

from helpers.chat_experiment import CONNECTIONS, write_chat_experiment
from helpers.rich_experiment import write_rich_experiment
from regatta.answers.report.answer import answer_experiment
from regatta.influx.answers import estimate_points
from regatta.influx.points import ESTIMATE, TAGS

BENCHMARK = TAGS[ESTIMATE].index("benchmark")


def test_the_first_number_of_a_label_is_a_field_of_its_estimates(tmp_path: Path) -> None:
    answer = answer_experiment(write_chat_experiment(tmp_path, rounds=2, windows=(" window=9",)))
    numbers = {point.tags[BENCHMARK]: point.fields["number"] for point in estimate_points(answer, 1)}
    assert {label.split()[1]: number for label, number in numbers.items()} == {
        f"connections={number}": number for number in CONNECTIONS
    }


def test_a_metric_without_parameters_has_the_setting_none_and_no_number(tmp_path: Path) -> None:
    answer = answer_experiment(write_rich_experiment(tmp_path, rounds=2))
    points = [point for point in estimate_points(answer, 1) if "elapsed" in point.tags]
    assert {point.fields["setting"] for point in points} == {"none"}
    assert not any("number" in point.fields for point in points)
