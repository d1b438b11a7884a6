"""The test of Shapiro and Wilk, against a published example; dispersion by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from helpers.golden import Golden
from regatta.stats.dispersion import Dispersion, dispersion
from regatta.stats.normality import shapiro_wilk

#: Shapiro and Wilk (Biometrika 52, 1965), section 4: weights of eleven men in pounds; W = 0.79
WEIGHTS = [148, 154, 158, 160, 161, 162, 166, 170, 182, 195, 236]


def test_the_example_of_the_authors() -> None:
    found = shapiro_wilk(WEIGHTS)
    assert found.n == 11
    assert found.w == pytest.approx(0.79, abs=0.005)
    assert found.p == pytest.approx(0.0067, abs=0.0001)


@pytest.mark.parametrize("n", [3, 4, 11, 12, 30, 999, 5000])
def test_scipy_gives_the_same_by_its_public_function(n: int) -> None:
    values = np.random.default_rng(n).gamma(2.0, size=n)
    found, public = shapiro_wilk(values), stats.shapiro(values)
    assert (found.w, found.p) == (pytest.approx(public.statistic, 1e-12), pytest.approx(public.pvalue, 1e-9))


def test_it_does_not_depend_on_order_or_unit() -> None:
    first = shapiro_wilk(WEIGHTS)
    other = shapiro_wilk([weight * 1e300 for weight in reversed(WEIGHTS)])
    assert (other.w, other.p) == (pytest.approx(first.w), pytest.approx(first.p))


@pytest.mark.parametrize(
    ("case", "values"),
    [
        ("two values", [1.0, 2.0]),
        ("5001 values", np.arange(5001.0)),
        ("equal values", [2.0] * 9),
        ("infinite value", [1.0, 2.0, math.inf]),
    ],
)
def test_without_a_meaning_it_is_undefined_with_its_reason(
    case: str, values: list[float], golden: Golden
) -> None:
    found = shapiro_wilk(values)
    assert math.isnan(found.w)
    assert math.isnan(found.p)
    golden(case, found.reason)


def test_normal_values_are_rejected_as_often_as_the_level_says() -> None:
    rng = np.random.default_rng(65)
    rejected = sum(shapiro_wilk(rng.standard_normal(30)).p < 0.05 for _ in range(2000))
    # binomial(2000, 0.05): mean 100, standard deviation 9.7
    assert 70 < rejected < 130


def test_dispersion_by_hand() -> None:
    found = dispersion([9.0, 10.0, 11.0])
    assert found == Dispersion(pytest.approx(10.0), 9.0, 11.0)
    assert dispersion([1e308, 1.2e308]).cv_percent == pytest.approx(100 * math.sqrt(0.02) / 1.1)


@pytest.mark.parametrize("values", [[5.0], [-1.0, 1.0], [-3.0, -2.0], [0.0, 0.0]])
def test_a_coefficient_without_a_meaning_is_undefined(values: list[float]) -> None:
    found = dispersion(values)
    assert math.isnan(found.cv_percent)
    assert (found.minimum, found.maximum) == (min(values), max(values))


def test_no_value_has_no_dispersion() -> None:
    found = dispersion([])
    assert all(math.isnan(one) for one in (found.cv_percent, found.minimum, found.maximum))
