"""Shifts of a series with correlated values: the likelihood against dense matrices, the interval against known cases."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from regatta.stats import level_shifts
from regatta.stats.level_shifts import RHOS, levels_of


def _dense(values: np.ndarray, breaks: tuple[int, ...]) -> float:
    """Return the log of the likelihood with mean, changes and variance integrated out, averaged over the autocorrelation."""
    n = values.size
    x = np.column_stack([np.ones(n), *((np.arange(n) >= at).astype(float) for at in breaks)])
    total = 0.0
    for rho in RHOS:
        r = rho ** np.abs(np.subtract.outer(np.arange(n), np.arange(n))) / (1 - rho**2)
        inverse = np.linalg.inv(r)
        information = x.T @ inverse @ x
        rest = values - x @ np.linalg.solve(information, x.T @ inverse @ values)
        df = n - x.shape[1]
        total += (
            np.linalg.det(r) ** -0.5
            * np.linalg.det(information) ** -0.5
            * float(rest @ inverse @ rest) ** (-df / 2)
        )
    return math.log(total)


@pytest.mark.parametrize("model", [(3,), (7,), (2, 6), (4, 8)])
def test_the_likelihood_is_that_of_dense_matrices(model: tuple[int, ...]) -> None:
    values = np.random.default_rng(1).normal(size=11)
    ready = level_shifts._standardized(values)
    assert ready is not None
    (found,) = level_shifts._likelihoods(ready[np.newaxis], [model])[0]
    assert found == pytest.approx(_dense(ready, model) - _dense(ready, ()), rel=1e-9)


def test_the_interval_lies_between_those_of_the_weakest_and_the_strongest_autocorrelation() -> None:
    rng = np.random.default_rng(2)
    values = np.concatenate([rng.normal(0.0, 0.01, 10), rng.normal(0.2, 0.01, 10)])
    found = levels_of(values)
    assert found.breaks == (10,)
    (change,) = found.changes
    assert change.interval.point == pytest.approx(values[10:].mean() - values[:10].mean())
    pooled = stats.ttest_ind(values[10:], values[:10]).confidence_interval(0.95)
    half = (change.interval.high - change.interval.low) / 2
    # an autocorrelation of 0.6 makes the standard error of ten values at most twice as large
    assert 0.9 < half / ((pooled.high - pooled.low) / 2) < 2.0


def test_a_shift_that_the_caller_does_not_believe_is_dropped() -> None:
    values = np.array([0.0, 0.01, 0.0, 0.01, 1.0, 1.01, 1.0, 1.01])
    assert levels_of(values).breaks == (4,)
    assert levels_of(values, credible=lambda before, at, end: (before, at, end) != (0, 4, 8)).breaks == ()


def test_p_falls_with_the_statistic_and_changes_little_between_neighboring_lengths() -> None:
    for n in (9, 23, 26):
        p = [level_shifts._p_of(one, n, 0) for one in np.linspace(-2.0, 12.0, 30)]
        assert all(a >= b for a, b in pairwise(p))
        assert 0.0 < p[-1] < 1e-3 < 0.9 < p[0]
    at_5 = [level_shifts._p_of(4.0, n, 0) for n in (20, 22, 25)]
    assert min(at_5[0], at_5[2]) <= at_5[1] <= max(at_5[0], at_5[2])
