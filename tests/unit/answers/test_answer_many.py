"""Comparisons among many: what matters, what holds up, what holds together, and the paper's own way."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from helpers.golden import Golden
from helpers.synthetic_journal import cell, record, write_experiment
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.documents import document_of, rows_of
from regatta.answers.spine.result import Answer, Comparison
from regatta.answers.spine.verdicts import Verdict, judge
from regatta.answers.topics.effects.topic import EFFECTS
from regatta.answers.topics.suites.topic import SUITES
from regatta.host.errors import SpecError
from regatta.stats.estimate import Interval
from regatta.stats.intervals import mean_interval
from regatta.stats.multiplicity import holm
from regatta.stats.ratios import georges_ratio

NAMES = ("serial", "g1", "parallel", "z")
ROUNDS = 12


def table(factors: list[float], noise: float = 0.01, rounds: int = ROUNDS, seed: int = 4) -> np.ndarray:
    """Shape (rounds, alternatives) in ns, with a drift that a block shares."""
    rng = np.random.default_rng(seed)
    drift = np.exp(rng.normal(0, 0.05, (rounds, 1)))
    return 1e9 * np.array(factors) * drift * np.exp(rng.normal(0, noise, (rounds, len(factors))))


def answered(directory: Path, values: np.ndarray, failing: tuple[str, ...] = (), **options: Any) -> Answer:
    cells = [cell(name) for name in NAMES[: values.shape[1]]]
    records = [
        record(one, r, status="failed", reason="exit 1", position=i)
        if one["collector"] in failing
        else record(one, r, [float(values[r, i])], position=i)
        for r in range(len(values))
        for i, one in enumerate(cells)
    ]
    return answer_experiment(write_experiment(directory, cells, records, len(values)), **options)


def ratio(low: float, high: float) -> Interval:
    return Interval(9, (low + high) / 2, low, high, 0.95, "paired-log-t")


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1.011, 1.02, "yes"),
        (0.9, 0.989, "yes"),
        (0.995, 1.004, "no"),
        (1.002, 1.009, "no"),
        (0.99, 1.01, "no"),
        (1.005, 1.02, "open"),
        (0.9, 1.2, "open"),
        (math.nan, math.nan, ""),
    ],
)
def test_what_matters_lies_wholly_beyond_theta(low: float, high: float, expected: str) -> None:
    assert judge(ratio(low, high), 1.0).practical == expected


def test_a_difference_that_is_shown_and_does_not_matter_is_said_so(tmp_path: Path) -> None:
    found = answered(tmp_path, table([1.0, 0.995], noise=0.001)).comparisons[0]
    assert found.verdict.practical == "no"
    assert found.words.endswith("; not practically significant (within ±1 %)")


def test_p_is_adjusted_over_all_comparisons_of_the_answer(tmp_path: Path) -> None:
    answer = answered(tmp_path, table([1.0, 0.995, 1.004, 1.1]))
    alone = [c.p for c in answer.comparisons]
    assert [c.p_holm for c in answer.comparisons] == pytest.approx(holm(alone).tolist())
    assert all(c.p_holm >= c.p for c in answer.comparisons)


def test_what_does_not_hold_up_among_many_is_said_so(tmp_path: Path, golden: Golden) -> None:
    values = table([1.0, 1.0, 1.0, 1.0], noise=0.01)
    # Just significant by itself: the mean of the log ratios is 2.4 of their standard errors.
    d = np.log(values[:, 1] / values[:, 0])
    values[:, 1] *= math.exp(2.4 * d.std(ddof=1) / math.sqrt(ROUNDS) - d.mean())
    found = answered(tmp_path, values).comparisons[0]
    assert 0.0167 < found.p < 0.05 < found.p_holm
    golden("not-significant-after-adjustment", found.words)


def test_alternatives_of_one_baseline_have_simultaneous_intervals_with_their_own_variances(
    tmp_path: Path,
) -> None:
    values = table([1.0, 0.95, 1.1])
    values[:, 2] *= np.exp(np.random.default_rng(5).normal(0, 0.1, ROUNDS))
    answer = answered(tmp_path, values)
    for column, found in enumerate(answer.comparisons, 1):
        assert found.simultaneous is not None
        single = stats.ttest_rel(np.log(values[:, column]), np.log(values[:, 0]))
        ends = np.exp(single.confidence_interval(math.sqrt(0.95)))
        assert (found.simultaneous.low, found.simultaneous.high) == pytest.approx(tuple(ends))
        assert found.simultaneous.level == 0.95
        assert found.p_simultaneous == pytest.approx(1 - (1 - single.pvalue) ** 2)
    rows = [row for row in rows_of(answer) if row["kind"] == "simultaneous"]
    assert [row["method"] for row in rows] == ["sidak-paired-log-t"] * 2


def test_one_alternative_alone_has_nothing_to_hold_together_with(tmp_path: Path) -> None:
    (found,) = answered(tmp_path, table([1.0, 0.95])).comparisons
    assert found.simultaneous is None
    assert math.isnan(found.p_simultaneous)
    assert found.p_holm == found.p


def test_an_alternative_that_failed_is_no_comparison_among_the_others(tmp_path: Path) -> None:
    answer = answered(tmp_path, table([1.0, 0.95, 1.1, 1.0]), failing=("parallel",))
    by_name: dict[str, Comparison] = {c.a_name: c for c in answer.comparisons}
    gone = by_name["jdk-21 parallel"]
    assert gone.verdict == Verdict()
    assert math.isnan(gone.p_holm)
    assert gone.simultaneous is None
    known = [c.p for c in answer.comparisons if not math.isnan(c.p)]
    assert by_name["jdk-21 g1"].p_holm == pytest.approx(float(holm(known)[0]))
    assert by_name["jdk-21 g1"].simultaneous is not None
    json.dumps(document_of(answer), allow_nan=False)


def test_all_failed_leaves_no_number(tmp_path: Path) -> None:
    answer = answered(tmp_path, table([1.0, 0.95, 1.1]), failing=NAMES)
    assert all(math.isnan(c.p_holm) and c.simultaneous is None for c in answer.comparisons)
    assert SUITES.of(answer) == ()
    assert EFFECTS.of(answer).tables == ()


def test_the_papers_way_compares_means_without_pairing(tmp_path: Path) -> None:
    values = table([1.0, 0.9, 1.2])
    answer = answered(tmp_path, values, method="georges2007")
    assert answer.method == "georges2007"
    expected = georges_ratio(values[:, 1], values[:, 0])
    found = answer.comparisons[0]
    assert (found.ratio.low, found.ratio.high) == pytest.approx(
        (expected.interval.low, expected.interval.high)
    )
    assert found.p == pytest.approx(expected.p)
    assert "(n = 24 invocations)" in found.words
    assert math.isnan(found.p_holm)
    assert found.simultaneous is None
    mean = mean_interval(values[:, 1], method="georges2007")
    assert answer.cells[1].estimate.low == pytest.approx(mean.low)


def test_the_papers_way_takes_the_normal_distribution_from_30_on(tmp_path: Path) -> None:
    answer = answered(tmp_path, table([1.0, 0.9], rounds=30), method="georges2007")
    assert {c.estimate.method for c in answer.cells} == {"z"}


def test_an_answer_by_the_papers_way_says_so_and_how_it_differs(tmp_path: Path) -> None:
    values = table([1.0, 0.99, 1.0], noise=0.005)
    told = answered(tmp_path, values, method="georges2007").findings["method"]
    assert "georges2007" in told[0]
    assert told[1].endswith(": 1 of 2")
    assert "method" not in answered(tmp_path, values).findings


def test_an_unknown_method_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="fix: georges2007"):
        answered(tmp_path, table([1.0, 0.9]), method="george2007")


def test_the_papers_way_turns_a_difference_and_not_a_ratio(tmp_path: Path) -> None:
    values = table([1.0, 1.03, 1.6], noise=0.03)
    answer = answered(tmp_path, values, method="georges2007")
    (family,) = answer.families
    pair = next(p for p in family.pairs if (p.a_name, p.b_name) == ("serial", "parallel"))
    assert pair.ratio.method == "georges2007-tukey"
    means = values.mean(axis=0)
    half = (pair.ratio.high - pair.ratio.low) / 2 * means[2]
    behind = means[2] / means[0] - 1.0
    low, high = 100 * (behind - half / means[0]), 100 * (behind + half / means[0])
    assert f"parallel is {100 * behind:.1f} % [{low:.1f}, {high:.1f}] slower than serial" in family.words


def test_a_metric_that_is_no_speed_is_had(tmp_path: Path) -> None:
    cells = [cell(name, metric="max_rss") for name in NAMES[:3]]
    values = table([1.0, 1.001, 1.5])
    records = [
        record(one, r, [[0, "max_rss", float(values[r, i]), "bytes", None, None]], position=i)
        for r in range(ROUNDS)
        for i, one in enumerate(cells)
    ]
    answer = answer_experiment(write_experiment(tmp_path, cells, records, ROUNDS))
    assert "; parallel has 5" in answer.families[0].words or "; parallel has 4" in answer.families[0].words
    assert "higher max_rss than" in answer.families[0].words
