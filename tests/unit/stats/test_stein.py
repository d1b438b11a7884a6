"""The interval after Stein's two stages: hand-made numbers, invariances, and how often it covers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtrit

from helpers.golden import Golden
from regatta.host.journal.stopping import Rule, rounds_for
from regatta.stats.ratios import paired_log_ratio
from regatta.stats.stein import STEIN, stein_log_ratio

T9 = 2.2621571628
SEED = 20070101
TABLE = [float(t) for t in stdtrit(np.arange(1, 31), 0.975)]


def test_the_mean_of_all_pairs_with_the_spread_of_the_pilot() -> None:
    d = np.array([0.01, 0.03, 0.02, 0.04, 0.10, 0.10])
    found = stein_log_ratio(np.exp(d), np.ones(6), pilot=4)
    # Over the pilot: mean 0.025, squares of deviations 0.0005, s0^2 = 0.0005 / 3. Over all: mean 0.05. t(3) = 3.182446.
    half = 3.182446305 * math.sqrt(0.0005 / 3 / 6)
    interval = found.interval
    assert (interval.n, interval.method, found.df) == (6, STEIN, 3)
    assert interval.point == pytest.approx(math.exp(0.05))
    assert [math.log(interval.low), math.log(interval.high)] == pytest.approx([0.05 - half, 0.05 + half])


def test_with_nothing_but_the_pilot_it_is_the_ordinary_interval() -> None:
    values = np.random.default_rng(SEED).lognormal(size=(2, 10))
    stein, ordinary = stein_log_ratio(*values, pilot=10), paired_log_ratio(*values)
    assert stein.p == pytest.approx(ordinary.p)
    assert stein.interval.low == pytest.approx(ordinary.interval.low)
    assert stein.interval.high == pytest.approx(ordinary.interval.high)


@pytest.mark.parametrize(
    ("case", "a", "b", "pilot"),
    [
        ("no pairs", [], [], 0),
        ("pilot of one pair", [1.0], [2.0], 1),
        ("no pilot", [1.0, 2.0, 3.0], [1.0, 1.0, 1.0], 0),
        ("equal ratios", [2.0, 2.0, 3.0], [1.0, 1.0, 1.0], 2),
        ("negative value", [1.0, -2.0], [1.0, 1.0], 2),
        ("not a number", [1.0, math.nan], [1.0, 1.0], 2),
    ],
)
def test_what_cannot_be_told_is_nan_with_a_reason(
    case: str, a: list[float], b: list[float], pilot: int, golden: Golden
) -> None:
    found = stein_log_ratio(a, b, pilot)
    assert math.isnan(found.interval.low)
    assert math.isnan(found.p)
    golden(case, found.interval.reason)


@pytest.mark.parametrize(("a", "b", "pilot"), [([1.0], [1.0, 2.0], 1), ([1.0], [1.0], 2), ([1.0], [1.0], -1)])
def test_a_wrong_call_is_an_error(a: list[float], b: list[float], pilot: int) -> None:
    with pytest.raises(ValueError, match="expected"):
        stein_log_ratio(a, b, pilot)


@given(
    st.lists(st.floats(0.1, 10), min_size=4, max_size=20),
    st.floats(1e-6, 1e6),
    st.randoms(use_true_random=False),
)
def test_the_unit_and_the_order_after_the_pilot_do_not_matter(
    values: list[float], unit: float, chance: object
) -> None:
    a = np.array(values)
    b = np.linspace(1, 2, a.size)
    later = np.arange(3, a.size)
    chance.shuffle(later)  # type: ignore[attr-defined]
    order = np.concatenate([np.arange(3), later])
    one, other = stein_log_ratio(a, b, 3), stein_log_ratio(unit * a[order], unit * b[order], 3)
    assert other.interval.point == pytest.approx(one.interval.point)
    if not one.interval.reason and not other.interval.reason:
        assert other.interval.low == pytest.approx(one.interval.low, rel=1e-6)


def test_stein_covers_as_often_as_it_says() -> None:
    """10,000 experiments, d normal with sd 2 %, target 1 %: N between 10 and 30, mostly between. Standard error 0.2 %."""
    rule = Rule("stein", 10, 30, 1.0, TABLE)
    draws = np.random.default_rng(SEED).normal(0.0, 0.02, (10_000, 30))
    sd = draws[:, :10].std(axis=1, ddof=1)
    needed = np.array([min(30, max(10, rounds_for(rule, float(s), 9))) for s in sd])
    held = 0
    for d, n in zip(draws, needed, strict=True):
        interval = stein_log_ratio(np.exp(d[:n]), np.ones(n), 10).interval
        held += interval.low <= 1.0 <= interval.high
    assert 0.944 < held / 10_000 < 0.956
    assert 0.4 < (needed < 30).mean() < 1.0


def test_stopping_as_soon_as_it_is_narrow_covers_less_than_it_says() -> None:
    """The paper's rule from 3 rounds on, looked at after each; that is why it is not the default."""
    width = math.log1p(0.01)
    draws = np.random.default_rng(SEED).normal(0.0, 0.015, (20_000, 30))
    counts = np.arange(1, 31)
    means = draws.cumsum(axis=1) / counts
    squares = (draws**2).cumsum(axis=1) - counts * means**2
    half = np.full_like(means, np.inf)
    half[:, 1:] = TABLE[:29] * np.sqrt(squares[:, 1:] / counts[:29] / counts[1:])
    narrow = half <= width
    narrow[:, :2] = False
    narrow[:, -1] = True
    stop = narrow.argmax(axis=1)
    row = np.arange(len(draws))
    covered = float((np.abs(means[row, stop]) <= half[row, stop]).mean())
    assert 0.88 < covered < 0.94
