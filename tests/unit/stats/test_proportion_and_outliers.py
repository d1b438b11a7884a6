"""Proportions against published intervals; values far out by hand, and never dropped by chance."""

from __future__ import annotations

import math

import numpy as np
import pytest

from regatta.stats.outliers import far_out
from regatta.stats.proportion import proportion_interval, too_often_p


def test_clopper_and_pearson_as_published() -> None:
    # Agresti and Coull, The American Statistician 52 (1998): 0 of 10 gives (0, 0.308); R's binom.test(3, 20): 0.03207 to 0.37893.
    none = proportion_interval(0, 10)
    assert (none.low, none.high) == (0.0, pytest.approx(0.3084971, abs=1e-7))
    some = proportion_interval(3, 20)
    assert (some.point, some.low, some.high) == (
        0.15,
        pytest.approx(0.03207094, abs=1e-8),
        pytest.approx(0.37892683, abs=1e-8),
    )
    assert proportion_interval(20, 20).high == 1.0


def test_no_trials_give_no_proportion() -> None:
    nothing = proportion_interval(0, 0)
    assert math.isnan(nothing.point)
    assert nothing.reason == "no trials"


@pytest.mark.parametrize(("hits", "n"), [(-1, 3), (4, 3)])
def test_impossible_counts_are_refused(hits: int, n: int) -> None:
    with pytest.raises(ValueError, match="hits"):
        proportion_interval(hits, n)


def test_too_often_is_the_binomials_upper_tail() -> None:
    # 1 - 0.95^20 - 20 * 0.05 * 0.95^19 - 190 * 0.05^2 * 0.95^18
    by_hand = 1 - sum(math.comb(20, k) * 0.05**k * 0.95 ** (20 - k) for k in range(3))
    assert too_often_p(3, 20, 0.05) == pytest.approx(by_hand, rel=1e-12)
    assert too_often_p(0, 20, 0.05) == 1.0


def test_a_value_beyond_the_outer_fence_is_far_out() -> None:
    # Quartiles of 1..9 are 3 and 7: fences at -9 and 19. A negative value keeps the scale as it is.
    assert far_out([-9.5, 2, 3, 4, 5, 6, 7, 8, 9]).tolist() == [True] + [False] * 8
    assert far_out([-3.0, 2, 3, 4, 5, 6, 7, 8, 9]).tolist() == [False] * 9


def test_positive_values_are_judged_on_logarithms() -> None:
    values = [1.0, 1.01, 1.02, 1.03, 1.04, 1.05, 1.06, 2.0, 0.5]
    assert np.flatnonzero(far_out(values)).tolist() == [7, 8]


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0, 900.0], [5.0] * 20, [1.0] * 19 + [1e9]])
def test_few_or_equal_values_are_never_far_out(values: list[float]) -> None:
    assert not far_out(values).any()


def test_what_is_no_number_is_far_out() -> None:
    assert far_out([1.0, math.nan, math.inf, 1.1]).tolist() == [False, True, True, False]
