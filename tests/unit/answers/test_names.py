"""Short names that are still unique, whatever a benchmark's parameters hold."""

from __future__ import annotations

from pathlib import Path

from helpers.synthetic_journal import native, record, write_experiment
from regatta.answers.report.answer import answer_experiment
from regatta.answers.spine.names import Names
from regatta.answers.spine.parts import Place
from regatta.answers.spine.samples import PlannedCell
from regatta.answers.topics.suites.topic import SUITES
from regatta.host.values.experiment import Heap


def planned(benchmark: str) -> PlannedCell:
    return PlannedCell(
        0,
        Place("alpha", "local", benchmark, "native", "", "none", Heap()),
        "c",
        benchmark,
        "elapsed",
        "lower",
        1,
    )


def test_a_program_with_several_parameters_is_called_by_those_that_differ() -> None:
    labels = [f"lm/lat_select:default interval_us=5 parallel={n}" for n in (1, 2)]
    names = Names(map(planned, labels))
    assert [names.benchmark(label) for label in labels] == ["lat_select parallel=1", "lat_select parallel=2"]


def test_a_program_in_two_sizes_or_with_other_parameters_is_called_by_all_of_its_label() -> None:
    for labels in (
        ["lm/lat_select:default parallel=1", "lm/lat_select:quick parallel=2"],
        ["lm/lat_select:default parallel=1", "lm/lat_select:default"],
        ["lm/lat_select:default", "other/lat_select:default"],
    ):
        names = Names(map(planned, labels))
        assert [names.benchmark(label) for label in labels] == labels


def test_a_program_that_is_there_once_has_a_short_name_whatever_its_parameters_hold() -> None:
    label = 'lm/bw_file:default file=/data/a:b note="c d/e"'
    assert Names([planned(label)]).benchmark(label) == "bw_file"


def test_a_place_says_a_parameter_once() -> None:
    cells = [planned(f"lm/lat_select:default parallel={n}") for n in (1, 2)]
    parameters = {"parallel": 2, "files": 10}
    assert Names(cells).place(cells[1], parameters) == "lat_select parallel=2 (files 10)"
    assert Names(cells[1:]).place(cells[1], parameters) == "lat_select (files 10, parallel 2)"


def test_programs_of_one_suite_stay_of_one_suite_whatever_their_parameters_hold(tmp_path: Path) -> None:
    cells, records = [], []
    for block, path in enumerate(("/a/x", "/b/y")):
        sides = [native(f"lm/bw:default file={path}", modifiers=name) for name in ("none", "fast")]
        cells += sides
        for r in range(6):
            for position, (side, factor) in enumerate(zip(sides, (1.0, 0.5), strict=True)):
                values = [factor * (1e9 + 1e6 * ((r * 7 + block) % 5))]
                records.append(record(side, r, values, block=block, position=position))
    write_experiment(tmp_path, cells, records, 6)
    answer = answer_experiment(tmp_path)
    assert [suite.suite for suite in SUITES.of(answer)] == ["lm"]
    assert {c.place.benchmark for c in answer.comparisons} == {
        "lm/bw:default file=/a/x",
        "lm/bw:default file=/b/y",
    }
