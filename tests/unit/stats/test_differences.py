"""Differences in the unit of the values, and the paper's z, integer degrees of freedom and share of the baseline's mean."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from regatta.stats.differences import paired_difference, welch_difference
from regatta.stats.intervals import mean_interval
from regatta.stats.ratios import georges_ratio, paired_log_ratio, welch_log_ratio

pytestmark = pytest.mark.usefixtures("no_warnings")

R = json.loads((Path(__file__).parents[2] / "reference/intervals.json").read_text())
SAMPLES = {name: np.array(values) for name, values in R["samples"].items()}
A, B, C30 = SAMPLES["a"], SAMPLES["b"], SAMPLES["c30"]

samples = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=12)


@pytest.mark.parametrize("name", ["a", "b", "c30"])
def test_the_mean_agrees_with_r(name: str) -> None:
    expected = R["mean"][name]
    interval = mean_interval(SAMPLES[name], expected["level"])
    assert (interval.point, interval.low, interval.high) == pytest.approx(
        (expected["mean"], expected["low"], expected["high"]), rel=1e-12
    )


def test_the_papers_mean_takes_z_from_30_values_on_and_t_below() -> None:
    z = mean_interval(C30, method="georges2007")
    assert z.method == "z"
    assert (z.low, z.high) == pytest.approx((R["mean_z"]["low"], R["mean_z"]["high"]), rel=1e-12)
    t = mean_interval(C30[:29], method="georges2007")
    assert t.method == "t"
    assert (t.low, t.high) == (mean_interval(C30[:29]).low, mean_interval(C30[:29]).high)


def test_welchs_difference_agrees_with_r() -> None:
    expected = R["welch"]
    found = welch_difference(A, B)
    assert found.interval.method == "welch"
    assert found.interval.n == 43
    assert (found.interval.point, found.interval.low, found.interval.high) == pytest.approx(
        (expected["difference"], expected["low"], expected["high"]), rel=1e-12
    )
    assert (found.df, found.p) == pytest.approx((expected["df"], expected["p"]), rel=1e-10)


@pytest.mark.parametrize(("name", "a", "b"), [("a_b", A, B), ("c30_b", C30, B)])
def test_the_papers_difference_rounds_its_degrees_of_freedom_or_takes_z(name: str, a, b) -> None:
    expected = R["georges"][name]
    found = welch_difference(a, b, method="georges2007")
    assert (found.interval.low, found.interval.high) == pytest.approx(
        (expected["low"], expected["high"]), rel=1e-12
    )
    assert found.p == pytest.approx(expected["p"], rel=1e-9, abs=1e-300)
    assert found.df == (math.inf if expected["df"] == "Inf" else expected["df"])
    ratio = georges_ratio(a, b)
    assert ratio.interval.method == "georges2007"
    assert ratio.interval.low == pytest.approx(1 + expected["low"] / expected["mean_b"], rel=1e-12)
    assert ratio.interval.high == pytest.approx(1 + expected["high"] / expected["mean_b"], rel=1e-12)
    assert ratio.interval.point == pytest.approx(a.mean() / b.mean(), rel=1e-12)
    assert (ratio.p, ratio.df) == (found.p, found.df)


def test_the_paired_difference_agrees_with_r() -> None:
    expected = R["paired"]
    found = paired_difference(SAMPLES["pair_a"], SAMPLES["pair_b"])
    assert found.interval.n == 15
    assert (found.interval.point, found.interval.low, found.interval.high) == pytest.approx(
        (expected["difference"], expected["low"], expected["high"]), rel=1e-11
    )
    assert (found.df, found.p) == pytest.approx((14, expected["p"]), rel=1e-9)


def test_ratios_agree_with_r_and_tell_their_degrees_of_freedom() -> None:
    for found, expected in (
        (welch_log_ratio(A, B), R["welch_log"]),
        (paired_log_ratio(SAMPLES["pair_a"], SAMPLES["pair_b"]), R["paired_log"]),
    ):
        assert math.log(found.interval.low) == pytest.approx(expected["low"], rel=1e-10)
        assert math.log(found.interval.high) == pytest.approx(expected["high"], rel=1e-10)
        assert (found.df, found.p) == pytest.approx((expected["df"], expected["p"]), rel=1e-8)


def test_nist_numacc4_against_itself_moved_keeps_the_digits_of_the_difference() -> None:
    values = np.array([10000000.2] + [10000000.1, 10000000.3] * 500)
    # standard deviation certified as 0.1; the data are only good to 1e-9 in doubles
    half = 1.9611508260994375 * 0.1 * math.sqrt(2 / 1001)  # t(.975; 2000)
    found = welch_difference(values + 0.5, values)
    assert found.df == pytest.approx(2000, abs=1e-3)
    assert found.interval.point == pytest.approx(0.5, abs=1e-8)
    assert found.interval.high - found.interval.point == pytest.approx(half, rel=1e-6)
    paired = paired_difference(values, np.roll(values, 1))
    assert paired.interval.point == pytest.approx(0.0, abs=1e-8)
    assert paired.interval.n == 1001


@given(samples, samples, st.floats(-1e3, 1e3), st.floats(0.01, 100.0))
@settings(deadline=None)
def test_welchs_difference_follows_shift_scale_and_the_exchange_of_sides(
    a: list[float], b: list[float], shift: float, scale: float
) -> None:
    x, y = np.array(a), np.array(b)
    if max(np.ptp(x), np.ptp(y)) < 1.0:
        return
    there, back = welch_difference(x, y), welch_difference(y, x)
    moved = welch_difference((x + shift) * scale, (y + shift) * scale)
    assert (there.interval.low, there.interval.high) == pytest.approx(
        (-back.interval.high, -back.interval.low), rel=1e-9, abs=1e-6
    )
    assert moved.interval.low == pytest.approx(there.interval.low * scale, rel=1e-6, abs=1e-4)
    assert moved.interval.high == pytest.approx(there.interval.high * scale, rel=1e-6, abs=1e-4)
    assert moved.df == pytest.approx(there.df, rel=1e-3)
    shuffled = welch_difference(x[::-1], np.roll(y, 1))
    assert shuffled.interval.low == pytest.approx(there.interval.low, rel=1e-9, abs=1e-6)
    assert min(len(x), len(y)) - 1 - 1e-9 <= there.df <= len(x) + len(y) - 2 + 1e-9


@given(
    st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)), min_size=2, max_size=12),
    st.floats(-1e3, 1e3),
)
@settings(deadline=None)
def test_the_paired_difference_ignores_what_is_common_to_a_pair(
    pairs: list[tuple[float, float]], shift: float
) -> None:
    x, y = np.array(pairs).T
    if np.ptp(x - y) < 1.0:
        return
    plain = paired_difference(x, y)
    drift = np.linspace(0, shift, len(x))
    moved = paired_difference(x + drift, y + drift)
    assert moved.interval.low == pytest.approx(plain.interval.low, rel=1e-6, abs=1e-4)
    assert moved.interval.high == pytest.approx(plain.interval.high, rel=1e-6, abs=1e-4)
    back = paired_difference(y[::-1], x[::-1])
    assert -back.interval.high == pytest.approx(plain.interval.low, rel=1e-9, abs=1e-6)


@given(
    st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=6),
    st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=6),
)
@example([], [sys.float_info.max] * 3)
@settings(deadline=None)
def test_no_data_crashes_or_warns(a: list[float], b: list[float]) -> None:
    n = min(len(a), len(b))
    for found in (
        welch_difference(a, b),
        welch_difference(a, b, method="georges2007"),
        georges_ratio(a, b),
        paired_difference(a[:n], b[:n]),
    ):
        assert bool(found.interval.reason) == math.isnan(found.interval.low) == math.isnan(found.p)


@pytest.mark.parametrize(
    ("a", "b", "point", "reason"),
    [
        ([], [1.0, 2.0], math.nan, "side has no values"),
        ([3.0], [1.0, 2.0], 1.5, "has no variance"),
        ([3.0, 3.0], [1.0, 1.0, 1.0], 2.0, "each side are equal"),
        ([3.0, math.nan], [1.0, 2.0], math.nan, "not a finite number"),
    ],
)
def test_an_undefined_difference_is_nan_with_a_reason(a, b, point: float, reason: str) -> None:
    found = welch_difference(a, b)
    assert found.interval.point == pytest.approx(point, nan_ok=True)
    assert math.isnan(found.interval.low)
    assert math.isnan(found.p)
    assert math.isnan(found.df)
    assert reason in found.interval.reason


@pytest.mark.parametrize(
    ("a", "b", "point", "reason"),
    [
        ([], [], math.nan, "no pairs"),
        ([3.0], [1.0], 2.0, "one pair has"),
        ([3.0, 4.0], [1.0, 2.0], 2.0, "all 2 differences are equal"),
        ([3.0, math.inf], [1.0, 2.0], math.nan, "not a finite number"),
    ],
)
def test_an_undefined_paired_difference_is_nan_with_a_reason(a, b, point: float, reason: str) -> None:
    found = paired_difference(a, b)
    assert found.interval.point == pytest.approx(point, nan_ok=True)
    assert math.isnan(found.interval.low)
    assert reason in found.interval.reason


def test_one_constant_side_still_has_an_interval_with_the_other_sides_degrees_of_freedom() -> None:
    found = welch_difference([5.0, 5.0, 5.0], [1.0, 2.0, 3.0, 4.0])
    assert found.df == pytest.approx(3.0)
    assert math.isfinite(found.p)


def test_a_baseline_whose_mean_is_not_positive_has_no_share() -> None:
    assert "not positive" in georges_ratio([1.0, 2.0], [-1.0, -2.0]).interval.reason


def test_values_near_the_ends_of_the_numbers_are_neither_overflow_nor_zero() -> None:
    plain = welch_difference([1.0, 2.0, 3.0], [2.0, 5.0])
    for scale in (1e307, 1e-300):
        found = welch_difference(np.array([1.0, 2.0, 3.0]) * scale, np.array([2.0, 5.0]) * scale)
        assert found.interval.high / scale == pytest.approx(plain.interval.high)
        pairs = paired_difference(np.array([1.0, 2.0]) * scale, np.array([2.0, 5.0]) * scale)
        assert pairs.interval.point / scale == pytest.approx(-2.0)


def test_a_wrong_call_is_an_error_of_the_caller() -> None:
    with pytest.raises(ValueError, match="method"):
        welch_difference([1.0, 2.0], [1.0, 2.0], method="student")
    with pytest.raises(ValueError, match="pairs"):
        paired_difference([1.0, 2.0], [1.0])
    for function in (welch_difference, paired_difference, georges_ratio):
        with pytest.raises(ValueError, match="confidence level"):
            function([1.0, 2.0], [1.0, 3.0], 95.0)


def coverage(hits: int, runs: int, nominal: float) -> None:
    """Within four standard errors of a binomial proportion."""
    assert abs(hits / runs - nominal) < 4 * math.sqrt(nominal * (1 - nominal) / runs)


def test_welchs_difference_covers_95_percent_with_unequal_spread() -> None:
    rng = np.random.default_rng(11)
    found = [welch_difference(rng.normal(3, 5, 20), rng.normal(1, 1, 10)).interval for _ in range(3000)]
    coverage(sum(i.low <= 2.0 <= i.high for i in found), 3000, 0.95)


def test_the_paired_difference_covers_95_percent_under_drift() -> None:
    rng = np.random.default_rng(12)
    hits = 0
    for _ in range(3000):
        drift = np.linspace(0, 30, 12) + rng.normal(0, 5, 12)
        interval = paired_difference(drift + 2 + rng.normal(0, 1, 12), drift + rng.normal(0, 1, 12)).interval
        hits += interval.low <= 2.0 <= interval.high
    coverage(hits, 3000, 0.95)
