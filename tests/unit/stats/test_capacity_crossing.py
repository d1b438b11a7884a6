"""The load at which a curve crosses a target: known answers, coverage with dense loads, and what is known without an interval."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import stdtrit

from regatta.stats.crossing import crossing

LOADS = [100.0, 200.0, 300.0, 400.0]


def rounds_of(logs: list[float], noise: list[list[float]]) -> list[list[float]]:
    return [[math.exp(log + rest) for log, rest in zip(logs, own, strict=True)] for own in noise]


def test_two_loads_have_the_interval_of_fieller() -> None:
    """With two loads, the log value at x is a + b x in each round; its ratio -a/b has the classic formula."""
    first, second = np.array([-1.0, -1.1, -0.95, -1.02]), np.array([1.0, 1.05, 0.9, 1.1])
    found = crossing([0.0, 1.0], np.exp(np.column_stack([first, second])) * 5.0, 5.0).estimate
    a, b = first, second - first
    t = stdtrit(3, 0.975)
    aa, bb = a.var(ddof=1) / 4, b.var(ddof=1) / 4
    ab = float(np.cov(a, b)[0, 1]) / 4
    roots = np.roots(
        [b.mean() ** 2 - t * t * bb, 2 * (a.mean() * b.mean() - t * t * ab), a.mean() ** 2 - t * t * aa]
    )
    assert found.point == pytest.approx(-a.mean() / b.mean())
    assert (found.low, found.high) == pytest.approx(tuple(sorted(roots.real)))
    assert found.n == 4


def test_a_parabola_on_logarithms_is_found_exactly() -> None:
    logs = [1e-5 * (load**2 - 250.0**2) for load in LOADS]
    found = crossing(LOADS, rounds_of(logs, [[0.0] * 4] * 3), 1.0).estimate
    assert found.point == pytest.approx(250.0)
    assert math.isnan(found.low)
    assert "equal" in found.reason


def test_one_round_gives_a_point_without_an_interval() -> None:
    found = crossing(LOADS, rounds_of([-2.0, -1.0, 1.0, 2.0], [[0.0] * 4]), 1.0).estimate
    assert found.point == pytest.approx(250.0)
    assert math.isnan(found.high)
    assert "one round" in found.reason


def test_what_the_loads_of_a_round_share_widens_the_interval() -> None:
    random = np.random.default_rng(3)
    noise = 0.02 * random.standard_normal((10, 4))
    logs = np.array([-1.5, -0.5, 0.5, 1.5])
    alone = crossing(LOADS, np.exp(logs + noise), 1.0).estimate
    shared = crossing(LOADS, np.exp(logs + noise + 0.1 * random.standard_normal((10, 1))), 1.0).estimate
    assert shared.high - shared.low > 3 * (alone.high - alone.low)


@pytest.mark.parametrize("curve", ["exponential", "queue"])
def test_dense_loads_and_large_noise_do_not_bias_the_crossing(curve: str) -> None:
    """The first load that fails would be some 20 below 500 here, and its interval would almost never contain 500."""
    random = np.random.default_rng(11)
    loads = np.arange(400.0, 610.0, 20.0)
    logs = 0.01 * (loads - 500.0) if curve == "exponential" else -np.log((700.0 - loads) / 200.0)
    found = []
    for _ in range(300):
        noise = 0.3 * random.standard_normal((30, loads.size)) + 0.1 * random.standard_normal((30, 1))
        found.append(crossing(loads, np.exp(logs + noise), 1.0).estimate)
    given = [one for one in found if math.isfinite(one.low)]
    assert len(given) > 200
    assert np.mean([one.low <= 500.0 <= one.high for one in given]) >= 0.92
    assert abs(np.mean([one.point for one in given]) - 500.0) < 2.5


def test_bounds_are_loads_at_which_the_target_is_clearly_met_or_missed() -> None:
    noise = [[0.1, -0.1, 0.05, 0.1], [-0.1, 0.1, -0.05, -0.05], [0.02, 0.05, 0.1, -0.1]]
    above = crossing(LOADS, rounds_of([-3.0, -2.5, -2.0, -0.01], noise), 1.0)
    assert (above.low, above.high) == (300.0, None)
    assert "every load" in above.estimate.reason
    below = crossing(LOADS, rounds_of([1.0, 2.0, 3.0, 4.0], noise), 1.0)
    assert (below.low, below.high) == (None, 100.0)
    assert math.isnan(below.estimate.point)
    open_end = crossing(LOADS, rounds_of([-3.0, -2.0, -1.0, 0.02], noise), 1.0)
    assert (open_end.low, open_end.high) == (300.0, None)
    assert "clearly" in open_end.estimate.reason


def test_a_load_that_fails_in_half_of_the_rounds_ends_the_curve() -> None:
    values = rounds_of([-2.0, -1.0, 1.0, 2.0], [[0.0] * 4, [0.1] * 4])
    values[0][2] = math.nan
    found = crossing(LOADS, values, 1.0)
    assert (found.low, found.high) == (200.0, 300.0)
    first = crossing(LOADS, [[math.nan, 0.1, 0.1, 0.1]] * 2, 1.0)
    assert (first.low, first.high) == (None, 100.0)
    assert first.estimate.reason


def test_a_rare_failure_counts_as_the_largest_value_at_its_load() -> None:
    random = np.random.default_rng(5)
    values = np.exp(np.array([-2.0, -1.0, 1.0, 2.0]) + 0.05 * random.standard_normal((5, 4)))
    failed = values.copy()
    failed[0, 2] = math.nan
    worst = values.copy()
    worst[0, 2] = np.max(values[1:, 2])
    assert crossing(LOADS, failed, 1.0) == crossing(LOADS, worst, 1.0)
    failed[0, 1] = worst[0, 1] = math.nan
    worst[0, 1] = 1.0
    assert crossing(LOADS, failed, 1.0) == crossing(LOADS, worst, 1.0)


def test_values_without_a_logarithm_are_fitted_on_their_own_scale() -> None:
    values = [[0.0, 1.0, 2.0, 3.0], [0.0, 1.1, 2.0, 3.1], [0.0, 0.9, 2.1, 3.0], [0.0, 1.0, 1.9, 2.9]]
    found = crossing(LOADS, values, 1.5).estimate
    assert found.point == pytest.approx(250.0, abs=2.0)
    assert found.low < 250.0 < found.high


def test_the_crossing_does_not_depend_on_the_units() -> None:
    random = np.random.default_rng(7)
    values = np.exp(np.array([-1.0, -0.4, 0.3, 1.2]) + 0.1 * random.standard_normal((8, 4)))
    one = crossing(LOADS, values, 1.0).estimate
    other = crossing(np.array(LOADS) * 1e6, values * 1e9, 1e9).estimate
    assert (other.point, other.low, other.high) == pytest.approx(
        (one.point * 1e6, one.low * 1e6, one.high * 1e6)
    )


def test_a_parabola_that_falls_between_the_loads_gives_only_bounds() -> None:
    found = crossing([900.0, 2000.0, 10000.0], [[1.0, 4.0, 16.0]], 8.0)
    assert (found.low, found.high) == (2000.0, 10000.0)
    assert math.isnan(found.estimate.point)


@pytest.mark.parametrize(
    ("loads", "values", "target"),
    [([2.0, 1.0], [[1.0, 2.0]], 1.0), ([1.0, 2.0], [[1.0]], 1.0), ([1.0, 2.0], [[1.0, 2.0]], 0.0)],
)
def test_wrong_input_is_refused(loads: list[float], values: list[list[float]], target: float) -> None:
    with pytest.raises(ValueError, match="expected"):
        crossing(loads, values, target)
