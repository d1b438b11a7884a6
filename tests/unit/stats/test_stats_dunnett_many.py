"""Dunnett's comparisons of many families at once are those of each alone."""

from __future__ import annotations

import math

import numpy as np
import pytest

from helpers.one_at_a_time import dunnett
from regatta.stats.anova import block_anova, one_way
from regatta.stats.dunnett import dunnett_many, upper_tail


def test_many_families_give_what_each_gives_alone() -> None:
    rng = np.random.default_rng(2)
    fits = [block_anova(rng.normal(0, 1, (8, 4))) for _ in range(100)]
    holes = rng.normal(0, 1, (8, 4))
    holes[0, 1] = holes[3, 0] = math.nan
    fits += [block_anova(holes), one_way([[1.0, 2.0, 4.0], [2.0], []]), one_way([[1.0], [1.0]])]
    many = dunnett_many(fits, 0, 0.9)
    for fit, together in zip(fits, many, strict=True):
        for one, alone in zip(together, dunnett(fit, 0, 0.9), strict=True):
            assert (one.first, one.second, one.difference.n) == (
                alone.first,
                alone.second,
                alone.difference.n,
            )
            assert (one.difference.method, one.difference.reason) == (
                alone.difference.method,
                alone.difference.reason,
            )
            np.testing.assert_allclose(
                [one.difference.point, one.difference.low, one.difference.high, one.p],
                [alone.difference.point, alone.difference.low, alone.difference.high, alone.p],
                rtol=1e-9,
                atol=1e-12,
            )
    assert dunnett_many([], 0) == []


@pytest.mark.parametrize("loading", [0.0, math.sqrt(0.5), 0.95])
@pytest.mark.parametrize("k", [1, 4, 30])
@pytest.mark.parametrize("df", [1.0, 3.0, 29.0, 1000.0])
def test_many_values_are_interpolated_to_rounding(loading: float, k: int, df: float) -> None:
    t = np.concatenate([np.linspace(0.0, 12.0, 290), [20.0, 1e3, 1e8, math.inf, math.nan]])
    together = upper_tail(t, (loading,) * k, df)
    one_by_one = np.array([upper_tail(value, (loading,) * k, df)[0] for value in t[::29]])
    np.testing.assert_allclose(together[::29], one_by_one, atol=1e-12)
    assert together[0] == 1.0
    assert together[-2] == pytest.approx(0.0, abs=1e-12)
    assert math.isnan(together[-1])
