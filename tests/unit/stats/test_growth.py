"""The kinds of growth are recognised from values with noise, and worked examples have their known answers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regatta.stats.growth import GROWTHS, growth

SIZES = (20, 50, 100, 200, 400, 800)


def samples(
    kind: str, base: float, factor: float, noise: float, seed: int = 1
) -> list[tuple[float, list[float]]]:
    random = np.random.default_rng(seed)
    curve = GROWTHS[kind]
    return [
        (
            size,
            [
                float((base + factor * curve(np.array([float(size)]))[0]) * math.exp(random.normal(0, noise)))
                for _ in range(8)
            ],
        )
        for size in SIZES
    ]


@pytest.mark.parametrize("kind", GROWTHS)
@pytest.mark.parametrize("base", [0.0, 50.0])
def test_each_kind_is_recognised_with_its_base_and_factor(kind: str, base: float) -> None:
    base = base or (3.0 if kind == "constant" else 0.0)
    found = growth(samples(kind, base, 0.5, 0.01))
    best = found.best
    assert best.kind == kind
    assert math.isclose(best.base, base, abs_tol=1.0)
    if kind != "constant":
        assert math.isclose(best.factor, 0.5, rel_tol=0.05)
    assert best.worst < 0.03
    assert math.isclose(sum(fit.weight for fit in found.fits), 1.0)


def test_what_the_values_do_not_distinguish_stays_open() -> None:
    found = growth(samples("linear", 10, 0.5, 0.5)[1:5])
    assert len(found.plausible) > 1
    assert "linear" in found.plausible


def test_a_growth_of_another_kind_misses_the_means() -> None:
    cubic = [(size, [size**3.0]) for size in SIZES]
    assert growth(cubic).best.worst > 0.5
    falling = [(size, [1.0 / size]) for size in SIZES]
    assert growth(falling).best.worst > 0.5


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
    assert all(fit.base >= 0 and fit.factor >= 0 for fit in found.fits)
    assert math.isclose(found.exponent.point, scaled.exponent.point, rel_tol=1e-6, abs_tol=1e-6)
    for fit in found.fits:
        other = next(one for one in scaled.fits if one.kind == fit.kind)
        assert math.isclose(fit.at(3.0) * unit, other.at(3.0), rel_tol=1e-5)
