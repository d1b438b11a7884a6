"""Where invocations are steady: classes, both ways side by side, and whether the warm-up is long enough."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.golden import Golden
from helpers.synthetic_journal import cell, native, record, write_experiment
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.documents import document_of
from regatta.answers.spine.result import Answer
from regatta.answers.topics.steady import compute as steady_analysis
from regatta.answers.topics.steady.compute import SeriesSteadiness, Steadiness
from regatta.answers.topics.steady.topic import STEADY

SERIAL, G1, PARALLEL = cell("serial"), cell("g1"), cell("parallel")
CELLS = [SERIAL, G1, PARALLEL]
TOPIC = "steady"
ROUNDS = 6


def _iterations(collector: int, r: int, count: int = 60) -> list[float]:
    """serial is slower for twelve iterations, g1 for two in every other invocation, parallel is flat."""
    x = np.random.default_rng(100 * collector + r).normal(1e9, 5e6, count)
    if collector == 0:
        x[:12] *= 1.3
    if collector == 1 and r % 2:
        x[:2] *= 2.0
    return [float(value) for value in x]


def _records(count: int = 60) -> list[dict[str, Any]]:
    return [
        record(one, r, _iterations(i, r, count), position=i)
        for r in range(ROUNDS)
        for i, one in enumerate(CELLS)
    ]


def _answer(directory: Path, records: list[dict[str, Any]], **facts: Any) -> Answer:
    facts = {"method": "fixed", "warmup": 3, **facts}
    return answer_experiment(write_experiment(directory, CELLS, records, ROUNDS, **facts))


def _steadiness(answer: Answer) -> Steadiness:
    assert STEADY.of(answer) is not None
    return STEADY.of(answer)


def _by_collector(answer: Answer) -> dict[str, SeriesSteadiness]:
    return {one.place.configuration.split()[1]: one for one in _steadiness(answer).series}


def test_cells_have_the_class_that_their_invocations_share(tmp_path: Path) -> None:
    found = _by_collector(_answer(tmp_path, _records()))
    assert (found["serial"].kind, found["serial"].kinds) == ("warmup", {"warmup": 6})
    assert (found["parallel"].kind, found["parallel"].steady_from) == ("flat", 0.0)
    assert (found["g1"].kind, found["g1"].kinds) == ("inconsistent", {"flat": 3, "warmup": 3})
    assert (found["serial"].steady_from, found["serial"].steady_from_latest) == (12.0, 12.0)
    assert {one.invocations for one in found.values()} == {ROUNDS}


def test_a_window_inside_the_warmup_disagrees_with_the_level_at_the_end(tmp_path: Path) -> None:
    found = _by_collector(_answer(tmp_path, _records()))
    serial, parallel = found["serial"], found["parallel"]
    assert (serial.cov_reached, serial.cov_start, serial.agreement) == (ROUNDS, 0.0, "disagree")
    assert serial.cov_over_changepoints.low > 1.28
    assert parallel.agreement == "agree"
    assert parallel.cov_over_changepoints.n == ROUNDS


def test_a_warmup_that_is_too_short_is_told_with_what_it_does_to_the_mean(
    tmp_path: Path, golden: Golden
) -> None:
    answer = _answer(tmp_path, _records())
    serial = _by_collector(answer)["serial"]
    assert serial.after_warmup == ROUNDS
    # 9 of the 57 iterations left are 30 % slower.
    assert serial.bias.point == pytest.approx(1 + 0.3 * 9 / 57, rel=0.005)
    (told,) = (s for s in answer.findings[TOPIC] if "too short" in s)
    golden("warm-up-that-is-too-short", told)
    golden("classes", answer.findings[TOPIC][0])


def test_a_warmup_that_is_long_enough_is_told_too(tmp_path: Path) -> None:
    answer = _answer(tmp_path, _records(), warmup=12)
    assert any("long enough" in s for s in answer.findings[TOPIC])


def test_iterations_that_are_too_few_are_told_and_not_judged(tmp_path: Path, golden: Golden) -> None:
    answer = _answer(tmp_path, _records(6))
    assert _steadiness(answer).series == ()
    golden("too-few-iterations", "\n".join(answer.findings[TOPIC]))


def test_one_iteration_each_has_nothing_to_say(tmp_path: Path) -> None:
    answer = _answer(tmp_path, _records(1), warmup=0)
    assert STEADY.of(answer) is None
    assert TOPIC not in answer.findings
    assert document_of(answer)["steadiness"] is None


def test_nothing_measured_has_nothing_to_say(tmp_path: Path) -> None:
    assert STEADY.of(_answer(tmp_path, [])) is None


def test_curves_are_relative_to_the_steady_level(tmp_path: Path) -> None:
    found = _steadiness(_answer(tmp_path, _records(150)))
    assert [(curve.kind, curve.invocations) for curve in found.curves] == [("flat", 9), ("warmup", 9)]
    serial = found.series[0].curve
    assert serial.iterations[:3] == (0, 1, 2)
    assert serial.iterations[-1] < 150
    assert len(serial.iterations) < 150
    assert serial.middle[5] == pytest.approx(1.3, abs=0.02)
    assert serial.middle[50] == pytest.approx(1.0, abs=0.02)
    assert all(
        low <= middle <= high
        for low, middle, high in zip(serial.low, serial.middle, serial.high, strict=True)
    )


def test_the_document_has_all_but_the_curves(tmp_path: Path) -> None:
    document = document_of(_answer(tmp_path, _records()))["steadiness"]
    assert (document["window"], document["threshold"], document["warmup"]) == (10, 0.02, 3)
    assert "curves" not in document
    assert document["series"][0]["kinds"] == {"warmup": 6}
    assert "curve" not in document["series"][0]


def test_of_very_many_invocations_some_evenly_spread_are_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    monkeypatch.setattr(steady_analysis, "_BUDGET_NS", 1.0)
    monkeypatch.setattr(steady_analysis, "_FEWEST", 3)
    answer = _answer(tmp_path, _records())
    assert {one.invocations for one in _steadiness(answer).series} == {3}
    golden("some-of-very-many-invocations", answer.findings[TOPIC][-1])


def test_a_rate_warms_up_from_below(tmp_path: Path) -> None:
    fast = native("spec/rate:test", metric="throughput", better="higher")
    rows = []
    for r in range(3):
        x = np.random.default_rng(r).normal(100.0, 0.5, 40)
        x[:8] *= 0.5
        rows.append([[i, "throughput", float(v), "ops/s", None, None] for i, v in enumerate(x)])
    records = [record(fast, r, values) for r, values in enumerate(rows)]
    answer = answer_experiment(write_experiment(tmp_path, [fast], records, 3, method="changepoints"))
    (found,) = _steadiness(answer).series
    assert (found.kind, found.steady_from) == ("warmup", 8.0)
    assert not any("too short" in s for s in answer.findings[TOPIC])
