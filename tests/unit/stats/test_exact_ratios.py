"""Counts without variance have an exact ratio; times and single values do not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from regatta.stats.all_pairs import paired_pairs, simultaneous, welch_pairs
from regatta.stats.estimate import Contrast
from regatta.stats.multiplicity import benjamini_hochberg, holm
from regatta.stats.ratios import georges_ratio, paired_log_ratio, paired_log_ratios, welch_log_ratio
from regatta.stats.resolution import coarse_step
from regatta.stats.stein import stein_log_ratio

A, B = [1010.0] * 5, [1000.0] * 5
EACH = {
    "paired": lambda a, b, counted: paired_log_ratio(a, b, 0.95, counted),
    "welch": lambda a, b, counted: welch_log_ratio(a, b, 0.95, counted),
    "georges": lambda a, b, counted: georges_ratio(a, b, 0.95, counted),
    "stein": lambda a, b, counted: stein_log_ratio(a, b, min(3, len(a)), 0.95, counted),
}


def numbers(found: Contrast) -> tuple[float, float, float, float]:
    return found.interval.point, found.interval.low, found.interval.high, found.p


@pytest.mark.parametrize("name", EACH)
def test_counts_without_variance_have_an_exact_ratio(name: str) -> None:
    found = EACH[name](A, B, True)
    assert numbers(found) == (1.01, 1.01, 1.01, 0.0)
    assert found.interval.is_exact
    assert found.interval.reason == ""
    assert numbers(EACH[name](B, B, True)) == (1.0, 1.0, 1.0, 1.0)


@pytest.mark.parametrize("name", EACH)
def test_equal_times_stay_undefined(name: str) -> None:
    found = EACH[name](A, B, False)
    assert found.interval.point == pytest.approx(1.01)
    assert math.isnan(found.interval.low)
    assert math.isnan(found.p)
    assert found.interval.reason


@pytest.mark.parametrize("name", EACH)
def test_a_single_count_on_each_side_stays_undefined(name: str) -> None:
    found = EACH[name](A[:1], B[:1], True)
    assert math.isnan(found.interval.low)
    assert found.interval.reason


def test_counts_with_equal_ratios_but_different_values_stay_undefined() -> None:
    b = np.array([1000.0, 2000.0, 3000.0])
    found = paired_log_ratio(2.0 * b, b, 0.95, True)
    assert math.isnan(found.interval.low)


def test_a_batch_has_exact_and_estimated_ratios_side_by_side() -> None:
    noisy = [1000.0, 1004.0, 997.0, 1001.0, 999.0]
    found = paired_log_ratios([A, A, A, noisy], [B, B, noisy, B], 0.95, [True, False, True, True])
    assert [one.interval.is_exact for one in found] == [True, False, False, False]
    assert [math.isnan(one.interval.low) for one in found] == [False, True, False, False]


def test_all_pairs_of_counts_are_exact_and_their_p_values_stay_exact() -> None:
    table = np.array([[1000.0, 1000.0, 1010.0]] * 4)
    of_blocks = paired_pairs([table], counted=[True])[0]
    apart = welch_pairs(list(table.T), counted=True)
    for found in (of_blocks, apart):
        assert [one.ratio.point for one in found] == [1.0, 1000 / 1010, 1000 / 1010]
        assert [one.p for one in found] == [1.0, 0.0, 0.0]
        assert all(one.ratio.low == one.ratio.high == one.ratio.point for one in found)
    assert {one.ratio.method for one in of_blocks} == {"sidak-paired-log-t, no variance"}
    assert all(math.isnan(one.ratio.low) for one in paired_pairs([table])[0])
    p = [one.p for one in of_blocks]
    assert holm(p).tolist() == [1.0, 0.0, 0.0]
    assert benjamini_hochberg(p).tolist() == [1.0, 0.0, 0.0]


def test_a_simultaneous_interval_of_an_exact_ratio_is_exact() -> None:
    found = simultaneous(paired_log_ratio(A, B, 0.95, True), 3)
    assert numbers(found) == (1.01, 1.01, 1.01, 0.0)
    assert found.interval.is_exact


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([4e6, 4e6, 8e6, 4e6], 4e6),
        ([4e6, 4e6, 4e6], 4e6),
        ([50e6, 51e6, 53e6], 1e6),
        # 1 ms of 500 ms: coarse only if the values hardly vary.
        ([500e6, 501e6, 500e6], 1e6),
        ([500e6, 512e6, 483e6], 0.0),
        ([500_123_457.0, 501_000_001.0, 500_400_000.0], 0.0),
        ([4e6, 4.5e6 + 0.5, 4e6], 0.0),
        ([4e6], 0.0),
        ([0.0, 0.0], 0.0),
        ([4e6, math.nan], 0.0),
    ],
)
def test_a_coarse_clock_shows_by_its_step(values: list[float], step: float) -> None:
    assert coarse_step(values) == step


def test_a_fine_clock_is_never_taken_for_a_coarse_one() -> None:
    rng = np.random.default_rng(1)
    for n in (2, 3, 5, 10):
        samples = np.rint(rng.normal(5e6, 5e4, (2000, n)))
        assert sum(coarse_step(row) > 0.0 for row in samples) <= (2 if n == 2 else 0)
