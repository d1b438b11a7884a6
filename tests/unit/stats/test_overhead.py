"""Lower-bound overhead: answers by hand, what cannot be said, and how often its intervals hold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.golden import Golden
from regatta.stats.overhead import LowerBounds, lower_bound_overheads


def bounds(totals: Any, known: Any, seed: int = 1) -> LowerBounds:
    return lower_bound_overheads(totals, known, np.random.default_rng(seed))


def made(n: int, costs: Any, collecting: Any, seed: int, error: float = 0.015) -> tuple[Any, Any]:
    """Totals and identifiable parts with an error common to a round (3 %) and one of each value."""
    rng = np.random.default_rng(seed)
    common = np.exp(0.03 * rng.normal(size=(n, 1)))
    cost = np.asarray(costs) * common * np.exp(error * rng.normal(size=(n, len(costs))))
    known = np.asarray(collecting) * common * np.exp(2 * error * rng.normal(size=(n, len(costs))))
    return cost + known, known


def test_each_total_stands_over_the_smallest_of_total_less_known_cost() -> None:
    # Means: totals 10, 12, 9.5; less 1, 4, 0.5 gives 9, 8, 9: the second's 8 is the distilled cost.
    totals = [[9.8, 11.9, 9.4], [10.2, 12.1, 9.6], [10.0, 12.0, 9.5], [9.9, 11.8, 9.3], [10.1, 12.2, 9.7]]
    known = [[1.0, 4.0, 0.5]] * 5
    found = bounds(totals, known)
    assert found.cheapest == 1
    assert found.distilled.point == pytest.approx(8.0)
    assert [o.point for o in found.overheads] == pytest.approx([1.25, 1.5, 1.1875])
    for overhead in found.overheads:
        assert overhead.low < overhead.point < overhead.high
        assert (overhead.n, overhead.reason) == (5, "")


def test_the_same_seed_gives_the_same_interval() -> None:
    totals, known = made(10, [1, 1.1], [0.1, 0.01], 3)
    assert bounds(totals, known, 7) == bounds(totals, known, 7)


def test_who_does_not_tell_its_known_cost_is_still_set_over_the_distilled_cost_of_others(
    golden: Golden,
) -> None:
    totals, known = made(10, [1, 1.2, 1.3], [0.1, 0.1, 0.1], 4)
    known[:, 0] = np.nan
    found = bounds(totals, known)
    assert found.cheapest == 1
    assert found.overheads[0].point == pytest.approx(1.1 / 1.2, rel=0.03)
    assert found.overheads[0].reason.startswith("below 1,")
    golden("below 1 without its own known cost", found.overheads[0].reason)
    assert math.isfinite(found.overheads[0].low)
    assert found.overheads[1].reason == ""


def test_a_bound_that_chance_puts_below_1_says_so(golden: Golden) -> None:
    # Nothing is identifiable: all have the same cost, and which round is whose cheapest is chance.
    for seed in range(40):
        totals, known = made(6, [1.0] * 6, [0.0] * 6, seed)
        low = [one for one in bounds(totals, known).overheads if one.point < 1.0]
        for one in low:
            golden("below 1 by chance", one.reason)
        if low:
            return
    pytest.fail("no bound below 1 was made up")


def test_a_collector_without_values_has_no_overhead_and_takes_nothing_from_the_others() -> None:
    totals, known = made(10, [1, 1.2], [0.1, 0.1], 5)
    alone = bounds(totals, known)
    empty = np.full((10, 1), np.nan)
    found = bounds(np.hstack([totals, empty]), np.hstack([known, empty]))
    assert found.overheads[2].reason == "no values"
    assert math.isnan(found.overheads[2].point)
    assert found.overheads[:2] == alone.overheads


def test_a_collector_that_mostly_fails_cannot_be_the_cheapest() -> None:
    totals, known = made(10, [1, 1.2], [0.1, 0.1], 6)
    totals[3:, 0] = known[3:, 0] = np.nan
    found = bounds(totals, known)
    assert found.cheapest == 1
    assert found.overheads[0].reason == "fewer than 5 rounds"
    assert found.overheads[0].n == 3


@pytest.mark.parametrize("n", [0, 1, 2, 4])
def test_few_rounds_give_no_interval(n: int) -> None:
    totals, known = made(n, [1, 1.2], [0.1, 0.1], 8)
    for overhead in bounds(totals, known).overheads:
        assert overhead.n == n
        assert math.isnan(overhead.low)
        assert overhead.reason
        assert math.isnan(overhead.point) == (n == 0)


@pytest.mark.parametrize(
    ("totals", "known", "reason"),
    [
        (np.full((6, 2), 5.0), np.full((6, 2), np.nan), "cost of the collector"),
        (np.full((6, 2), np.nan), np.full((6, 2), 1.0), "no values"),
        (np.full((6, 2), 5.0), np.full((6, 2), 5.0), "large as the total"),
        (np.full((6, 2), 5.0), np.full((6, 2), 1.0), "equal"),
        (np.full((6, 2), -5.0), np.full((6, 2), 1.0), "no values"),
    ],
)
def test_what_cannot_be_estimated_says_why(totals: Any, known: Any, reason: str) -> None:
    for overhead in bounds(totals, known).overheads:
        assert reason in overhead.reason
        assert math.isnan(overhead.low)


def test_a_wrong_call_is_told() -> None:
    rng = np.random.default_rng(1)
    with pytest.raises(ValueError, match="shape"):
        lower_bound_overheads([[1.0]], [1.0], rng)
    with pytest.raises(ValueError, match="resamples"):
        lower_bound_overheads([[1.0]], [[0.5]], rng, resamples=100)
    with pytest.raises(ValueError, match="level"):
        lower_bound_overheads([[1.0]], [[0.5]], rng, level=95)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(1e-6, 1e12), st.integers(0, 12))
def test_the_unit_does_not_matter_and_no_data_raises(seed: int, factor: float, n: int) -> None:
    totals, known = made(n, [1, 1.05, 1.2], [0.1, 0.2, 0.01], seed)
    totals[np.random.default_rng(seed).random(totals.shape) < 0.2] = np.nan
    a, b = bounds(totals, known), bounds(totals * factor, known * factor)
    assert a.cheapest == b.cheapest
    for x, y in zip(a.overheads, b.overheads, strict=True):
        assert (x.n, x.reason) == (y.n, y.reason)
        assert np.allclose([x.point, x.low, x.high], [y.point, y.low, y.high], rtol=1e-9, equal_nan=True)
        assert x.reason or x.low <= x.point <= x.high


CLEAR = ([1, 1.05, 1.1, 1.2, 1.3], [0.1, 0.05, 0.08, 0.01, 0.01])
TIED = ([1.0] * 5, CLEAR[1])
MANY_TIED = ([1.0] * 105, CLEAR[1] * 21)


@pytest.mark.parametrize(
    ("costs", "n", "runs", "covers", "holds"),
    [(CLEAR, 10, 250, 0.925, 0.95), (TIED, 10, 250, 0.89, 0.92), (MANY_TIED, 30, 60, 0.80, 0.87)],
)
def test_intervals_hold_though_the_smallest_of_many_is_chosen(
    costs: Any, n: int, runs: int, covers: float, holds: float
) -> None:
    """`holds`: how often the true overhead is at least the lower end, which is what a bound must be."""
    truth = (np.array(costs[0]) + np.array(costs[1])) / min(costs[0])
    inside = above = bias = 0.0
    for seed in range(runs):
        found = bounds(*made(n, *costs, seed), seed).overheads
        low, high, point = (np.array([getattr(o, name) for o in found]) for name in ("low", "high", "point"))
        inside += float(((low <= truth) & (truth <= high)).mean()) / runs
        above += float((low <= truth).mean()) / runs
        bias += float((point / truth - 1).mean()) / runs
    assert inside >= covers
    assert above >= holds
    assert abs(bias) < 0.002
