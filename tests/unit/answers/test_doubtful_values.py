"""Warnings about rare slow runs and coarse clocks, and exact comparisons of counts, from records to the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from helpers.golden import Golden
from helpers.synthetic_journal import cell, record, write_experiment
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.documents import document_of
from regatta.answers.spine.result import Answer

ROUNDS = 10


def answer(
    path: Path,
    values: Mapping[str, Sequence[float]],
    unit: str = "ns",
    metric: str = "elapsed",
    better: str = "lower",
) -> Answer:
    """Answer an experiment with one value for each collector and round."""
    cells = {name: cell(name, metric=metric, better=better) for name in values}
    records = [
        record(cells[name], r, [[0, metric, float(own[r]), unit, None, None]], position=i)
        for i, (name, own) in enumerate(values.items())
        for r in range(len(own))
    ]
    return answer_experiment(write_experiment(path, list(cells.values()), records, ROUNDS))


def calm(seed: int, level: float = 1e9) -> list[float]:
    rng = np.random.default_rng(seed)
    return [float(level * (1 + 0.01 * noise)) for noise in rng.standard_normal(ROUNDS)]


def test_rare_slow_runs_name_the_alternative_and_the_distance(tmp_path: Path, golden: Golden) -> None:
    slow = calm(2)
    slow[3], slow[7] = 1.18e9, 1.22e9
    found = answer(tmp_path, {"serial": calm(1), "g1": slow})
    doubts = [one for one in found.warnings if "slower" in one]
    assert len(doubts) == 1
    golden("two-slow-runs", doubts[0])
    assert doubts[0] in document_of(found)["warnings"]


def test_slow_runs_of_a_throughput_are_its_low_values(tmp_path: Path, golden: Golden) -> None:
    slow = calm(2)
    slow[3] = 0.8e9
    found = answer(tmp_path, {"serial": calm(1), "g1": slow}, "ops/s", "score", "higher")
    golden("a-slow-run-of-a-throughput", "\n".join(doubts_of(found)))


def doubts_of(found: Answer) -> list[str]:
    return [one for one in found.warnings if "slow" in one or "clock" in one]


def test_calm_values_have_no_warning(tmp_path: Path) -> None:
    assert doubts_of(answer(tmp_path, {"serial": calm(1), "g1": calm(2)})) == []


def test_times_on_the_grid_of_a_clock_have_a_note_and_no_false_certainty(
    tmp_path: Path, golden: Golden
) -> None:
    grid = [4.0, 4.0, 8.0, 4.0, 4.0, 4.0, 8.0, 4.0, 4.0, 4.0]
    found = answer(tmp_path / "one", {"serial": [4.0] * ROUNDS, "g1": grid}, "ms")
    text = "\n".join(doubts_of(found))
    golden("multiples-of-4-ms", text)
    assert "slower" not in text
    equal = answer(tmp_path / "two", {"serial": [4.0] * ROUNDS, "g1": [8.0] * ROUNDS}, "ms")
    ratio = equal.comparisons[0].ratio
    assert np.isnan(ratio.low)
    assert ratio.reason
    golden("all-equal", "\n".join(doubts_of(equal)))


@pytest.mark.parametrize("unit", ["count", "bytes"])
def test_counts_without_variance_are_compared_exactly(tmp_path: Path, unit: str) -> None:
    values = {"serial": [1000.0] * ROUNDS, "g1": [1020.0] * ROUNDS, "z": [1000.0] * ROUNDS}
    found = answer(tmp_path, values, unit, "instructions")
    assert doubts_of(found) == []
    by_name = {one.a_name: one for one in found.comparisons}
    g1, z = by_name["jdk-21 g1"], by_name["jdk-21 z"]
    assert (g1.ratio.low, g1.ratio.high, g1.p, g1.p_holm, g1.verdict.practical) == (
        1.02,
        1.02,
        0.0,
        0.0,
        "yes",
    )
    assert (z.ratio.low, z.ratio.high, z.p, z.p_holm, z.verdict.practical) == (1.0, 1.0, 1.0, 1.0, "no")
    assert "exactly 2 % higher instructions" in g1.words
    assert "exactly equal" in z.words
    family = found.families[0]
    assert family.p_pairs == 0.0
    assert family.q == 0.0
    assert "exactly 2 % higher instructions" in family.words
    assert "(exactly equal)" in family.words


def test_one_invocation_of_a_count_stays_undefined(tmp_path: Path) -> None:
    found = answer(tmp_path, {"serial": [1000.0], "g1": [1010.0]}, "count", "instructions")
    assert np.isnan(found.comparisons[0].ratio.low)
    assert found.comparisons[0].ratio.reason
