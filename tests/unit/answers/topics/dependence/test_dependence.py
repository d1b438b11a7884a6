"""Dependence between invocations in an answer: which values, which words."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

from helpers.golden import Golden
from helpers.synthetic_journal import cell, record, write_experiment
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.documents import document_of
from regatta.answers.topics.dependence.topic import DEPENDENCE, Dependence, dependence_words
from regatta.stats.dependence import Autocorrelation


def one(r: float = 0.1, place: str = "h2, g1") -> Dependence:
    return Dependence("alpha", "c", place, "elapsed", {}, Autocorrelation(10, r, -0.6, 0.4))


def test_a_drift_is_seen_in_the_order_of_time(tmp_path: Path) -> None:
    cells = [cell("serial"), cell("g1")]
    bounce = (3, 1, 4, 1, 5, 9, 2, 6, 5, 3)
    lines = [
        record(c, r, [1e9 * (1 + (r if i == 0 else bounce[r]) / 100)], position=i)
        for r in range(10)
        for i, c in enumerate(cells)
    ]
    answer = answer_experiment(write_experiment(tmp_path / "made-up", cells, lines, 10))
    drifting, bouncing = DEPENDENCE.of(answer)
    assert (drifting.lag_1.n, drifting.lag_1.beyond, bouncing.lag_1.beyond) == (10, True, False)
    assert drifting.lag_1.autocorrelation == 0.7
    assert drifting.place.split(", ") == ["apps/h2:small", "2x minheap", "jdk-21 serial"]
    document = json.loads(json.dumps(document_of(answer), allow_nan=False))
    assert document["dependences"][0]["autocorrelation"] == 0.7
    assert answer.findings["dependence"]


def test_a_cell_is_judged_once_however_many_metrics_it_has(tmp_path: Path) -> None:
    g1 = cell("g1")
    lines = [
        record(g1, r, [[0, "elapsed", 1e9 + r % 3, "ns", None, None], [0, "pauses", r, "count", None, None]])
        for r in range(8)
    ]
    answer = answer_experiment(write_experiment(tmp_path / "made-up", [g1], lines, 8))
    assert [d.metric for d in DEPENDENCE.of(answer)] == ["elapsed"]


def test_cells_without_values_have_none_and_a_reason(tmp_path: Path) -> None:
    g1 = cell("g1")
    lines = [record(g1, r, status="failed", reason="no") for r in range(3)]
    answer = answer_experiment(write_experiment(tmp_path / "made-up", [g1], lines, 3))
    assert all(math.isnan(d.lag_1.autocorrelation) and d.lag_1.reason for d in DEPENDENCE.of(answer))
    assert "dependence" not in answer.findings


def test_one_cell_of_many_beyond_the_limits_is_what_chance_does(golden: Golden) -> None:
    (sentence,) = dependence_words([one(0.7), *[one()] * 19], 0.95)
    golden("one-of-20-cells", sentence)


def test_many_cells_beyond_the_limits_are_told_with_the_worst(golden: Golden) -> None:
    worst = one(0.91, "lzw, 2x minheap, temurin-21 g1")
    told = dependence_words([worst, *[one(0.7)] * 7, *[one()] * 12], 0.95)
    golden("8-of-20-cells", "\n".join(told))


def test_values_that_alternate_make_intervals_wide_and_not_narrow() -> None:
    told = dependence_words([one(0.7), *[one(-0.8)] * 7, *[one()] * 12], 0.95)
    assert "; 1 above, 7 below); strongest -0.80" in told[0]
    assert "too wide" in told[1]


def test_undefined_cells_are_not_counted() -> None:
    assert dependence_words([], 0.95) == ()
    gone = replace(one(), lag_1=Autocorrelation(10, math.nan, math.nan, math.nan, "no spread"))
    assert dependence_words([gone], 0.95) == ()
    assert "in 0 of 1 cell," in dependence_words([gone, one()], 0.95)[0]
