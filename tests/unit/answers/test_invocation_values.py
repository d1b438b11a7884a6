"""How the iterations of an invocation become its one number, and which invocations give none."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.golden import Golden
from helpers.one_at_a_time import course_of, steady_window
from helpers.synthetic_journal import cell, record, write_experiment
from regatta.answers.report.answer import answer_experiment
from regatta.answers.spine import iterations
from regatta.answers.spine.facts import read_facts
from regatta.answers.spine.result import Answer, CellAnswer
from regatta.answers.spine.samples import load_samples
from regatta.host.journal.invocation_value import invocation_values
from regatta.host.values.experiment import LEAST_JUDGED_ITERATIONS
from regatta.stats.warmup import LEAST_ITERATIONS
from regatta.store.database import open_database

SERIAL, G1 = cell("serial"), cell("g1")
ROUNDS = 6


def _warming(seed: int, count: int = 40) -> list[float]:
    """ns of `count` iterations whose first five are slow."""
    rng = np.random.default_rng(seed)
    x = rng.normal(1e9, 5e6, count)
    x[:5] *= (6.0, 3.0, 2.0, 1.5, 1.2)
    return [float(value) for value in x]


def _answer(directory: Path, records: list[dict[str, Any]], rounds: int = ROUNDS, **facts: Any) -> Answer:
    return answer_experiment(write_experiment(directory, [SERIAL, G1], records, rounds, **facts))


def _of(answer: Answer, collector: str, metric: str = "elapsed") -> CellAnswer:
    (found,) = (c for c in answer.cells if c.place.collector == collector and c.metric == metric)
    return found


def test_the_spec_and_the_statistics_agree_on_what_is_too_short() -> None:
    assert LEAST_JUDGED_ITERATIONS == LEAST_ITERATIONS


def test_blocks_and_invocations_of_several_series_are_in_memory_once(tmp_path: Path) -> None:
    rows = [[0, "elapsed", 1e9, "ns", None, None], [0, "cpu", 2e9, "ns", None, None]]
    records = [record(one, r, rows, position=i) for r in range(ROUNDS) for i, one in enumerate((SERIAL, G1))]
    directory = write_experiment(tmp_path, [SERIAL, G1], records, ROUNDS)
    with open_database(directory) as connection:
        samples = load_samples(connection, read_facts(directory).steady)
    series = [one for many in samples.series.values() for one in many]
    assert [len(one.samples) for one in series] == [ROUNDS] * 4
    assert len({id(key) for one in series for key in one.by_block}) == ROUNDS
    assert len({id(sample.invocation_id) for one in series for sample in one.samples}) == 2 * ROUNDS
    assert not hasattr(series[0].samples[0], "__dict__")


def test_startup_discards_the_round_that_was_planned_for_it(tmp_path: Path, golden: Golden) -> None:
    records = [
        record(one, r, [5e9 if r == 0 else 1e9 + r], position=i)
        for r in range(ROUNDS)
        for i, one in enumerate((SERIAL, G1))
    ]
    answer = _answer(tmp_path, records, discarded_rounds=1)
    found = _of(answer, "g1")
    assert [s.round for s in found.samples] == [1, 2, 3, 4, 5]
    assert [(s.round, s.value) for s in found.discarded] == [(0, 5e9)]
    assert found.estimate.n == 5
    assert answer.comparisons[0].ratio.n == 5
    golden("discarded-round", "\n".join(answer.warnings))


def test_startup_without_such_a_round_keeps_all_and_says_so(tmp_path: Path, golden: Golden) -> None:
    records = [record(one, r, [1e9 + r]) for r in range(3) for one in (SERIAL, G1)]
    answer = _answer(tmp_path, records, 3)
    assert _of(answer, "g1").estimate.n == 3
    assert _of(answer, "g1").discarded == ()
    golden("no-discarded-round", "\n".join(answer.warnings))


def test_a_series_of_which_only_the_discarded_round_is_measured_says_so(
    tmp_path: Path, golden: Golden
) -> None:
    answer = _answer(tmp_path, [record(one, 0, [1e9]) for one in (SERIAL, G1)], discarded_rounds=1)
    assert _of(answer, "g1").estimate.n == 0
    golden("only-a-discarded-round", _of(answer, "g1").estimate.reason)


def test_the_time_of_the_process_is_compared_beside_the_first_iteration(tmp_path: Path) -> None:
    cells = [cell(name, metric="process_elapsed") for name in ("serial", "g1")]
    records = [
        {**record(one, r, [1e6 * (r + 1)]), "elapsed_ns": (i + 1) * 10**9 + r}
        for r in range(4)
        for i, one in enumerate(cells)
    ]
    records[0]["status"] = "perturbed"
    folder = write_experiment(tmp_path, cells, records, 4, discarded_rounds=1)
    answer = answer_experiment(folder)
    found = _of(answer, "g1", "process_elapsed")
    assert [sample.value for sample in found.samples] == [2e9 + r for r in (1, 2, 3)]
    assert [sample.value for sample in found.discarded] == [2e9]
    assert (found.unit, found.better, found.parameters) == ("ns", "lower", {})
    assert [s.value for s in _of(answer, "g1").samples] == [2e6, 3e6, 4e6]
    (compared,) = answer.comparisons
    assert compared.metric == "process_elapsed"
    assert compared.ratio.point == pytest.approx(2.0)


def test_the_time_of_the_process_is_no_series_where_it_is_not_compared(tmp_path: Path) -> None:
    rows = [[0, "elapsed", 1e6, "ns", None, None], [0, "process_elapsed", 7, "ns", None, None]]
    records = [record(one, r, rows) for r in range(3) for one in (SERIAL, G1)]
    answer = _answer(tmp_path, records, 3)
    assert {one.metric for one in answer.cells} == {"elapsed"}


@pytest.mark.parametrize("at_once", [1_000_000, 50])
def test_cov_takes_the_mean_of_the_first_steady_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(iterations, "_AT_ONCE", at_once)
    series = {(r, i): _warming(10 * r + i) for r in range(ROUNDS) for i in range(2)}
    records = [
        record(one, r, series[r, i], position=i) for r in range(ROUNDS) for i, one in enumerate((SERIAL, G1))
    ]
    answer = _answer(tmp_path, records, method="cov", window=5, threshold=0.02)
    for i, name in enumerate(("serial", "g1")):
        expected = [steady_window(series[r, i], 5, 0.02).mean for r in range(ROUNDS)]
        assert [s.value for s in _of(answer, name).samples] == pytest.approx(expected)


def test_changepoints_take_the_mean_after_the_last_change(tmp_path: Path) -> None:
    series = {(r, i): _warming(10 * r + i) for r in range(ROUNDS) for i in range(2)}
    records = [
        record(one, r, series[r, i], position=i) for r in range(ROUNDS) for i, one in enumerate((SERIAL, G1))
    ]
    answer = _answer(tmp_path, records, method="changepoints")
    expected = [course_of(series[r, 1]).mean for r in range(ROUNDS)]
    assert [s.value for s in _of(answer, "g1").samples] == pytest.approx(expected)


def test_an_invocation_that_reaches_no_steady_state_gives_no_number_and_is_counted(
    tmp_path: Path, golden: Golden
) -> None:
    restless = [float(1e9 * (1 + i % 2)) for i in range(40)]
    records = [
        record(one, r, restless if (one is G1 and r < 2) else _warming(r), position=i)
        for r in range(ROUNDS)
        for i, one in enumerate((SERIAL, G1))
    ]
    answer = _answer(tmp_path, records, method="cov")
    assert [s.round for s in _of(answer, "g1").samples] == [2, 3, 4, 5]
    (told,) = (w for w in answer.warnings if "steady state" in w)
    golden("invocations-without-a-steady-state", told)
    assert not any("without a value" in w for w in answer.warnings)


def test_a_cell_that_never_is_steady_has_no_number_but_a_reason(tmp_path: Path, golden: Golden) -> None:
    restless = [float(1e9 * (1 + i % 2)) for i in range(40)]
    records = [record(one, r, restless) for r in range(3) for one in (SERIAL, G1)]
    found = _of(_answer(tmp_path, records, 3, method="cov"), "g1")
    assert math.isnan(found.estimate.point)
    golden("cell-without-a-steady-state", found.estimate.reason)


def test_other_metrics_follow_the_window_of_the_cells_own(tmp_path: Path) -> None:
    x = _warming(1)
    rows = [[i, "elapsed", value, "ns", None, None] for i, value in enumerate(x)]
    rows += [[i, "allocated", float(i * 100), "bytes", None, None] for i in range(len(x))]
    records = [record(one, r, rows) for r in range(3) for one in (SERIAL, G1)]
    answer = _answer(tmp_path, records, 3, method="cov")
    start = steady_window(x).start
    expected = 100 * np.mean(range(start, start + 10))
    assert [s.value for s in _of(answer, "g1", "allocated").samples] == pytest.approx([expected] * 3)


def test_a_program_measured_from_outside_has_one_iteration_and_that_is_its_number(tmp_path: Path) -> None:
    records = [record(one, r, [1e9]) for r in range(3) for one in (SERIAL, G1)]
    assert [s.value for s in _of(_answer(tmp_path, records, 3, method="cov"), "g1").samples] == [1e9] * 3


def test_parameters_are_judged_apart(tmp_path: Path) -> None:
    x, restless = _warming(1, 20), [float(1e9 * (1 + i % 2)) for i in range(20)]
    rows = [[i, "elapsed", value, "ns", None, {"size": 1}] for i, value in enumerate(x)]
    rows += [[i, "elapsed", value, "ns", None, {"size": 2}] for i, value in enumerate(restless)]
    records = [record(one, r, rows) for r in range(3) for one in (SERIAL, G1)]
    answer = _answer(tmp_path, records, 3, method="cov")
    assert [c.parameters for c in answer.cells if c.place.collector == "g1"] == [{"size": 1}]
    assert any("no steady state" in w and "6 of 6 invocations" in w for w in answer.warnings)


STEADY = {"warmup": 3, "window": 2, "threshold": 0.02}


def _rare(iteration: int) -> list[list[Any]]:
    """Six iterations of a metric with two kinds, of which one happened in one iteration alone, and a metric told once."""
    rows = [[i, "elapsed", 1e9, "ns", None, None] for i in range(6)]
    rows += [[i, "paused", 1e6, "ns", None, {"kind": "young"}] for i in range(6)]
    rows += [[iteration, "paused", 5e7, "ns", None, {"kind": "full"}]]
    return [*rows, [0, "max_rss", 9.0, "KiB", None, None]]


@pytest.mark.parametrize(
    ("method", "at", "expected"),
    [
        ("fixed", 0, {"young": 1e6}),
        ("fixed", 4, {"young": 1e6, "full": 5e7}),
        ("startup", 0, {"young": 1e6, "full": 5e7}),
        ("startup", 4, {"young": 1e6}),
    ],
)
def test_what_happened_once_in_warm_up_is_no_number_of_the_steady_state(
    tmp_path: Path, method: str, at: int, expected: dict[str, float]
) -> None:
    records = [record(one, r, _rare(at)) for r in range(3) for one in (SERIAL, G1)]
    answer = _answer(tmp_path, records, 3, **{**STEADY, "method": method})
    found = [c for c in answer.cells if c.metric == "paused" and c.place.collector == "g1"]
    assert {c.parameters["kind"]: c.estimate.point for c in found} == expected
    assert [s.value for s in _of(answer, "g1", "max_rss").samples] == [9.0] * 3


def test_the_host_leaves_out_what_happened_once_in_warm_up_too() -> None:
    fixed = {**STEADY, "method": "fixed"}
    young = ("ns", '{"kind":"young"}')
    assert invocation_values(_rare(0), "paused", fixed) == {young: 1e6}
    assert invocation_values(_rare(4), "paused", fixed) == {young: 1e6, ("ns", '{"kind":"full"}'): 5e7}
    assert invocation_values(_rare(4), "paused", {**STEADY, "method": "startup"}) == {young: 1e6}
    assert invocation_values(_rare(0), "max_rss", fixed) == {("KiB", ""): 9.0}
