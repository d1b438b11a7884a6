"""The kinds of growth are recognised from values with noise, and worked examples have their known answers."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import f as f_distribution

from regatta.stats.growth import CONSTANT, GROWTHS, POWER, growth

SIZES = (20, 50, 100, 200, 400, 800)


def samples(
    curve: Callable[[float], float], noise: float, seed: int = 1, values: int = 8
) -> list[tuple[float, list[float]]]:
    random = np.random.default_rng(seed)
    return [
        (size, [curve(size) * math.exp(random.normal(0, noise)) for _ in range(values)]) for size in SIZES
    ]


def of_kind(kind: str, base: float, factor: float) -> Callable[[float], float]:
    return lambda size: base + factor * float(GROWTHS[kind](np.array([float(size)]))[0])


@pytest.mark.parametrize("kind", [kind for kind in GROWTHS if kind != CONSTANT])
@pytest.mark.parametrize("relative", [0.5, 1.0])
def test_each_kind_is_recognised_with_its_base_and_factor(kind: str, relative: float) -> None:
    """A base as large as the mean of the growing part, or half of it; a falling logarithm stays positive."""
    grown = np.abs(GROWTHS[kind](np.array(SIZES, float)))
    base = float(relative * grown.mean()) + (float(grown.max()) if kind == "-log n" else 0.0)
    found = growth(samples(of_kind(kind, base, 0.5), 0.002))
    fit = next(fit for fit in found.fits if fit.kind == kind)
    assert kind in found.plausible
    assert math.isclose(fit.base, base, rel_tol=0.05)
    assert math.isclose(fit.factor, 0.5, rel_tol=0.05)
    assert fit.p >= 0.05
    assert math.isclose(sum(fit.weight for fit in found.fits), 1.0)


@pytest.mark.parametrize("kind", GROWTHS)
def test_each_kind_without_a_base_is_first(kind: str) -> None:
    base = {CONSTANT: 3.0, "-log n": 10.0}.get(kind, 0.0)
    found = growth(samples(of_kind(kind, base, 0.5), 0.001))
    assert found.best.kind == kind
    assert found.flat == (kind == CONSTANT)
    assert found.best.worst < 0.01


def test_a_quantity_that_falls_by_a_tenth_per_doubling_is_a_power_law_and_not_constant() -> None:
    falling = math.log2(0.9)
    found = growth(samples(lambda size: 100.0 * size**falling, 0.01))
    assert POWER in found.plausible
    assert CONSTANT not in found.plausible
    assert not found.flat
    assert found.exponent.high < 0.0
    power = next(fit for fit in found.fits if fit.kind == POWER)
    assert math.isclose(power.power, falling, abs_tol=0.01)
    assert math.isclose(power.at(100.0), 100.0 * 100.0**falling, rel_tol=0.02)


def test_a_step_fits_no_kind() -> None:
    found = growth(samples(lambda size: 1.0 if size < 150 else 3.0, 0.02))
    assert found.plausible == ()
    assert found.p < 1e-6
    assert found.best == found.fits[0]


def test_a_kind_that_would_have_to_fall_is_rejected_with_the_constant() -> None:
    found = growth(samples(lambda size: 100.0 * size**-0.15, 0.1))
    assert CONSTANT not in found.plausible
    rising = [fit for fit in found.fits if fit.kind in ("log n", "sqrt n", "linear", "quadratic", "cubic")]
    assert not {fit.kind for fit in rising} & set(found.plausible)


def test_counters_that_miss_by_less_than_one_percent_still_fit() -> None:
    found = growth(samples(lambda size: size**2 * (1.0 + 0.004 * math.sin(size)), 1e-5))
    quadratic = next(fit for fit in found.fits if fit.kind == "quadratic")
    assert quadratic.p < 0.001
    assert "quadratic" in found.plausible


def test_what_the_values_do_not_distinguish_stays_open() -> None:
    found = growth(samples(of_kind("linear", 10, 0.5), 0.5)[1:5])
    assert {"linear", "n log n"} < set(found.plausible)
    weak = growth(samples(lambda size: size**-0.05, 0.5, values=3))
    assert CONSTANT in weak.plausible
    assert not weak.flat


def test_without_replicates_the_fit_is_not_tested() -> None:
    found = growth([(size, [size**3.0]) for size in SIZES])
    assert math.isnan(found.p)
    assert found.best.kind == "cubic"


def test_the_lack_of_fit_is_that_of_an_anova_for_the_constant_and_equal_means_of_squares() -> None:
    """For a constant, p is twice the smaller of the F test by hand and of the trend."""
    data = [(1.0, [9.0, 11.0]), (2.0, [10.0, 10.4]), (4.0, [10.5, 9.5]), (8.0, [9.7, 10.1])]
    means = np.array([np.mean(own) for _, own in data])
    inner = sum(
        ((value - mean) / mean) ** 2 for (_, own), mean in zip(data, means, strict=True) for value in own
    )
    base = float(np.sum(1 / means) / np.sum(1 / means**2))
    outer = float(np.sum(2 * (base / means - 1) ** 2))
    expected = f_distribution.sf(outer / 3 / (inner / 4), 3, 4)
    fit = next(fit for fit in growth(data).fits if fit.kind == CONSTANT)
    assert math.isclose(fit.base, base)
    assert fit.p <= min(1.0, 2 * expected) + 1e-12
    linear = next(fit for fit in growth(data).fits if fit.kind == "log n")
    assert 0.0 < linear.p <= 1.0


def test_the_exponent_is_the_slope_on_logarithms() -> None:
    exact = growth([(size, [7.0 * size**1.5]) for size in SIZES]).exponent
    assert math.isclose(exact.point, 1.5)
    assert math.isclose(exact.low, 1.5)
    # Slope and standard error of four points by hand: x = 0, 1, 2, 3 and y = 0, 1, 1, 2 in powers of e.
    four = growth([(math.e**x, [math.e**y] * 2) for x, y in ((0, 0), (1, 1), (2, 1), (3, 2))]).exponent
    assert math.isclose(four.point, 0.6)
    assert math.isclose(four.high - four.point, 4.302652729911275 * math.sqrt(0.2 / 2 / 5))
    assert four.n == 4


@pytest.mark.parametrize(
    "wrong",
    [[(1, [1.0]), (2, [1.0]), (3, [1.0])], [(n, [0.0]) for n in SIZES], [(n, [1.0]) for n in (0, 1, 2, 3)]],
)
def test_too_few_sizes_and_means_of_zero_are_refused(wrong: list[tuple[float, list[float]]]) -> None:
    with pytest.raises(ValueError, match=r"fewer|positive"):
        growth(wrong)


@given(
    st.lists(st.lists(st.floats(1e-6, 1e9), min_size=2, max_size=5), min_size=4, max_size=8),
    st.floats(1e-3, 1e3),
)
def test_a_fit_does_not_depend_on_the_unit(values: list[list[float]], unit: float) -> None:
    given_samples = [(2.0**at, own) for at, own in enumerate(values, 1)]
    found = growth(given_samples)
    scaled = growth([(size, [value * unit for value in own]) for size, own in given_samples])
    assert all(fit.factor >= 0 for fit in found.fits)
    assert all(fit.base >= 0 for fit in found.fits if fit.kind not in ("log n", "-log n"))
    assert math.isclose(found.exponent.point, scaled.exponent.point, rel_tol=1e-6, abs_tol=1e-6)
    for fit in found.fits:
        other = next(one for one in scaled.fits if one.kind == fit.kind)
        assert math.isclose(fit.at(3.0) * unit, other.at(3.0), rel_tol=1e-5)
