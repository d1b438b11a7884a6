"""`method: replay`: two numbers an invocation, the first iteration and those after warm-up, each a series of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers.synthetic_journal import cell, record, write_experiment
from regatta.answers.report.answer import answer_experiment
from regatta.answers.spine.facts import read_facts
from regatta.answers.spine.samples import Samples, load_samples
from regatta.host.journal.invocation_value import invocation_values
from regatta.store.database import open_database


def samples_of(folder: Path) -> Samples:
    with open_database(folder) as connection:
        return load_samples(connection, read_facts(folder).steady)


def experiment(folder: Path, values: Any, warmup: int = 1) -> Path:
    """Two collectors; `values(collector, round)` are rows of a record."""
    cells = [cell("serial"), cell("g1")]
    records = [record(one, r, values(i, r), position=i) for r in range(4) for i, one in enumerate(cells)]
    return write_experiment(folder, cells, records, 4, method="replay", warmup=warmup)


def test_mix_is_the_first_iteration_and_stable_the_mean_of_those_after_warm_up(tmp_path: Path) -> None:
    samples = samples_of(experiment(tmp_path, lambda i, r: [100.0 + r, 7.0, 20.0 + i, 22.0 + i], warmup=2))
    (serial, g1) = samples.cells
    for number, add in ((serial.number, 0), (g1.number, 1)):
        mix, stable = samples.series[number]
        assert (mix.parameters, stable.parameters) == ({"phase": "mix"}, {"phase": "stable"})
        assert mix.values.tolist() == [100.0, 101.0, 102.0, 103.0]
        assert stable.values.tolist() == [21.0 + add] * 4


def test_parameters_stay_and_series_of_one_iteration_have_no_phase(tmp_path: Path) -> None:
    def rows(i: int, r: int) -> list[list[Any]]:
        timed = [[k, "elapsed", 5.0 + k + r, "ns", None, {"op": "put"}] for k in range(2)]
        return [*timed, [0, "max_rss", 9.0, "KiB", None, None]]

    samples = samples_of(experiment(tmp_path, rows))
    found = {(s.metric, tuple(s.parameters.items())) for s in samples.series[samples.cells[0].number]}
    assert found == {
        ("elapsed", (("op", "put"), ("phase", "mix"))),
        ("elapsed", (("op", "put"), ("phase", "stable"))),
        ("max_rss", ()),
    }


def test_every_answer_is_given_for_both_phases(tmp_path: Path) -> None:
    answer = answer_experiment(
        experiment(tmp_path, lambda i, r: [100.0 + r, 20.0 + 5 * i + 0.1 * r * (1 + i)])
    )
    phases = [{"phase": "mix"}, {"phase": "stable"}]
    assert [c.parameters for c in answer.comparisons] == phases
    assert [f.parameters for f in answer.families] == phases
    assert "phase stable" in answer.families[1].words


def test_an_invocation_that_ends_after_one_iteration_gives_one_number(tmp_path: Path) -> None:
    samples = samples_of(experiment(tmp_path, lambda i, r: [100.0 + r]))
    assert [s.parameters for s in samples.series[samples.cells[0].number]] == [{}]


@pytest.mark.parametrize("parameters", [None, {"op": "put"}])
def test_the_host_decides_by_the_same_two_numbers(parameters: dict[str, str] | None) -> None:
    rows = [[i, "elapsed", float(10 + i), "ns", None, parameters] for i in range(4)]
    steady = {"method": "replay", "warmup": 2, "window": 10, "threshold": 0.02}
    found = invocation_values(rows, "elapsed", steady)
    assert sorted(found.values()) == [10.0, 12.5]
    assert all('"phase"' in text for _, text in found)
    assert list(invocation_values(rows[:1], "elapsed", steady).values()) == [10.0]
