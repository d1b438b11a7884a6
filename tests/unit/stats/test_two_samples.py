"""The distance of two samples of clusters: Kolmogorov and Smirnov's, with a chance that knows of the clusters."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from regatta.stats.two_samples import clustered_distance

Sample = tuple[NDArray[np.float64], NDArray[np.int64]]


def alone(values: list[float]) -> Sample:
    """Each value is a cluster."""
    return np.array(values, dtype=float), np.arange(len(values))


def clustered(
    random: np.random.Generator, clusters: int, each: float, shift: float = 0.0, between: float = 1.0
) -> Sample:
    """Values that differ more between clusters than within them."""
    sizes = 1 + random.poisson(each - 1, clusters)
    numbers = np.repeat(np.arange(clusters), sizes)
    levels = random.normal(shift, between, clusters)
    return levels[numbers] + random.normal(0, 0.2, len(numbers)), numbers


@settings(max_examples=25)
@given(
    st.lists(st.integers(0, 12).map(float), min_size=2, max_size=40),
    st.lists(st.integers(0, 12).map(float), min_size=2, max_size=40),
)
def test_the_distance_is_that_of_kolmogorov_and_smirnov(first: list[float], second: list[float]) -> None:
    found = clustered_distance(alone(first), alone(second), np.random.default_rng(1))
    assert found.distance == pytest.approx(stats.ks_2samp(first, second, method="asymp").statistic, abs=1e-9)
    assert 0 < found.p <= 1
    assert 0 <= found.chance <= 1


@given(st.integers(0, 10**6), st.integers(2, 120), st.integers(2, 120))
@settings(max_examples=10)
def test_the_distance_of_few_values_is_exact(seed: int, one: int, other: int) -> None:
    random = np.random.default_rng(seed)
    first, second = random.lognormal(0, 2, one), random.lognormal(0.5, 1, other)
    found = clustered_distance(alone(list(first)), alone(list(second)), random)
    assert found.distance == pytest.approx(stats.ks_2samp(first, second, method="asymp").statistic, abs=1e-9)


def test_the_distance_of_many_values_is_close() -> None:
    random = np.random.default_rng(2)
    first, second = random.normal(0, 1, 50_000), random.normal(0.1, 1, 30_000)
    found = clustered_distance(alone(list(first)), alone(list(second)), random)
    assert found.distance == pytest.approx(stats.ks_2samp(first, second, method="asymp").statistic, abs=0.005)
    assert found.shown


def test_without_a_difference_few_are_shown_even_if_clusters_are_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("regatta.stats.two_samples._PERMUTATIONS", 199)
    random = np.random.default_rng(3)
    shown, naive, ps = 0, 0, []
    for _ in range(200):
        first, second = clustered(random, 24, 12), clustered(random, 16, 8)
        found = clustered_distance(first, second, random)
        shown += found.shown
        ps.append(found.p)
        naive += stats.ks_2samp(first[0], second[0], method="asymp").pvalue < 0.05
    # 5 %, with three deviations of a binomial share; the naive test has no such level.
    assert shown <= 20
    assert naive > 100
    assert stats.kstest(ps, "uniform").pvalue > 0.001


def test_with_representatives_of_many_clusters_few_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regatta.stats.two_samples._MOST_CLUSTERS", 30)
    monkeypatch.setattr("regatta.stats.two_samples._PERMUTATIONS", 199)
    random = np.random.default_rng(4)
    shown = sum(
        clustered_distance(clustered(random, 120, 5), clustered(random, 90, 5), random).shown
        for _ in range(60)
    )
    assert shown <= 10


def test_a_real_difference_is_shown() -> None:
    random = np.random.default_rng(5)
    shown = sum(
        clustered_distance(clustered(random, 60, 10), clustered(random, 60, 10, shift=1.0), random).shown
        for _ in range(10)
    )
    assert shown >= 9


def test_a_difference_of_few_values_in_all_clusters_is_shown() -> None:
    random = np.random.default_rng(6)
    first, second = (clustered(random, 50, 20, between=0.01, shift=shift) for shift in (0.0, 0.1))
    found = clustered_distance(first, second, random)
    assert found.shown
    assert found.p == pytest.approx(1 / 1000)


@pytest.mark.parametrize("clusters", [[0] * 5, [7] * 5])
def test_a_single_cluster_has_a_distance_but_no_chance(clusters: list[int]) -> None:
    one = (np.arange(5.0), np.array(clusters))
    for pair in ((one, alone([1, 2, 3])), (alone([1, 2, 3]), one)):
        found = clustered_distance(pair[0], pair[1], np.random.default_rng(7))
        assert math.isnan(found.chance)
        assert math.isnan(found.p)
        assert not found.shown
        assert found.distance > 0


@settings(max_examples=10)
@given(st.integers(0, 10**6))
def test_the_order_of_the_samples_changes_little(seed: int) -> None:
    random = np.random.default_rng(seed)
    first, second = clustered(random, 12, 6), clustered(random, 20, 3, shift=0.5)
    one = clustered_distance(first, second, np.random.default_rng(8))
    other = clustered_distance(second, first, np.random.default_rng(9))
    assert one.distance == pytest.approx(other.distance, abs=1e-12)
    # 999 divisions: a few standard errors.
    assert one.chance == pytest.approx(other.chance, abs=0.08)
    assert one.p == pytest.approx(other.p, abs=0.1)


@settings(max_examples=10)
@given(st.integers(0, 10**6))
def test_only_the_order_of_values_matters_and_not_the_numbers_of_clusters(seed: int) -> None:
    random = np.random.default_rng(seed)
    first, second = clustered(random, 12, 6), clustered(random, 20, 3)
    one = clustered_distance(first, second, np.random.default_rng(10))
    moved = [(np.exp(values), numbers * 1000 + 5) for values, numbers in (first, second)]
    other = clustered_distance(moved[0], moved[1], np.random.default_rng(10))
    assert (one.distance, one.chance, one.p) == pytest.approx((other.distance, other.chance, other.p))


def test_equal_samples_have_no_distance() -> None:
    one = clustered(np.random.default_rng(11), 10, 4)
    found = clustered_distance(one, one, np.random.default_rng(12))
    assert (found.distance, found.p, found.shown) == (0, 1, False)


def test_samples_of_one_value_have_no_distance() -> None:
    found = clustered_distance(alone([3] * 9), alone([3] * 4), np.random.default_rng(13))
    assert (found.distance, found.chance, found.p) == (0, 0, 1)
