"""Distributions of load: known parameters are recovered, others keep their values, and wrong ones are refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from regatta.models.load.distributions import CLOSE, NAMES, Distribution, fit
from regatta.models.load.drawing import Uniform

N = 20_000
#: name -> parameters, and the same distribution of scipy
KNOWN: dict[str, tuple[dict[str, float], Any]] = {
    "exponential": ({"mean": 3.5}, stats.expon(scale=3.5)),
    "lognormal": ({"mu": 1.2, "sigma": 0.9}, stats.lognorm(0.9, scale=math.exp(1.2))),
    "weibull": ({"shape": 0.6, "scale": 4.0}, stats.weibull_min(0.6, scale=4.0)),
    "lomax": ({"shape": 1.8, "scale": 5.0}, stats.lomax(1.8, scale=5.0)),
    "geometric": ({"mean": 4.0}, stats.geom(0.25)),
}
Floats = NDArray[np.float64]


def sample(name: str, n: int = N, seed: int = 1) -> Floats:
    return np.asarray(KNOWN[name][1].rvs(n, random_state=np.random.default_rng(seed)), dtype=float)


def of(name: str, **parameters: float) -> Distribution:
    return Distribution(
        distribution=name,  # type: ignore[arg-type]
        parameters=parameters or KNOWN[name][0],
        whole=name == "geometric",
        n=1,
        mean=1.0,
        distance=0.0,
    )


def made(points: list[list[float]], whole: bool = False) -> Distribution:
    return Distribution(distribution="empirical", points=points, whole=whole, n=1, mean=1.0, distance=0.0)


# --- named ones ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KNOWN)
def test_known_parameters_are_recovered(name: str) -> None:
    values = sample(name)
    found = fit(values, whole=name == "geometric")
    # Weibull's with a shape of 1 is the exponential one.
    assert found.distribution in ({name, "weibull"} if name == "exponential" else {name})
    assert NAMES[name].fit(values, np.ones(N)) == pytest.approx(KNOWN[name][0], rel=0.08)
    if found.distribution == name:
        assert found.parameters == pytest.approx(NAMES[name].fit(values, np.ones(N)), rel=1e-4)
    shares = np.array([0.1, 0.5, 0.9])
    assert found.quantile(shares) == pytest.approx(
        KNOWN[name][1].ppf(shares), rel=0.06, abs=1 if found.whole else 0
    )
    assert found.n == N
    assert found.mean == pytest.approx(sample(name).mean(), rel=1e-5)
    # Lilliefors: with parameters from the sample, the distance is below that of Kolmogorov in almost all samples.
    assert found.distance < 1.36 / math.sqrt(N) + 1e-3


@pytest.mark.parametrize("name", KNOWN)
def test_known_parameters_are_recovered_from_values_with_weights(name: str) -> None:
    # Weights that undo a biased choice: of values above the median, a third is kept.
    random = np.random.default_rng(2)
    drawn = np.unique(sample(name)) if name == "geometric" else sample(name)
    if name == "geometric":
        _, counts = np.unique(sample(name), return_counts=True)
    else:
        high = drawn > np.median(drawn)
        kept = ~high | (random.random(N) < 1 / 3)
        drawn, counts = drawn[kept], np.where(high, 3, 1)[kept]
    found = fit(drawn, counts, whole=name == "geometric")
    assert NAMES[name].fit(drawn, counts.astype(float)) == pytest.approx(KNOWN[name][0], rel=0.12)
    shares = np.array([0.1, 0.5, 0.9])
    assert found.quantile(shares) == pytest.approx(
        KNOWN[name][1].ppf(shares), rel=0.08, abs=1 if found.whole else 0
    )
    assert found.n == counts.sum()


@pytest.mark.parametrize("name", KNOWN)
def test_weights_are_repetitions(name: str) -> None:
    random = np.random.default_rng(3)
    values = np.unique(np.ceil(sample(name, 300)))
    counts = random.integers(1, 6, len(values))
    order = random.permutation(len(values))
    whole = name == "geometric"
    weighted, repeated = fit(values[order], counts[order], whole), fit(np.repeat(values, counts), whole=whole)
    assert (weighted.distribution, weighted.n) == (repeated.distribution, repeated.n)
    assert weighted.mean == pytest.approx(repeated.mean, rel=1e-5)
    assert weighted.parameters == pytest.approx(repeated.parameters, rel=1e-3)
    assert weighted.distance == pytest.approx(repeated.distance, abs=1e-4)


@pytest.mark.parametrize("name", KNOWN)
def test_quantiles_and_shares_are_those_of_scipy(name: str) -> None:
    shares = np.linspace(0.001, 0.999, 97)
    theirs = KNOWN[name][1]
    assert of(name).quantile(shares) == pytest.approx(theirs.ppf(shares), rel=1e-9)
    values = np.unique(theirs.ppf(shares))
    assert of(name).share_to(values) == pytest.approx(theirs.cdf(values), rel=1e-9)


@pytest.mark.parametrize("name", [name for name in KNOWN if name != "geometric"])
def test_the_distance_is_that_of_kolmogorov_and_smirnov(name: str) -> None:
    values = sample(name, 2000)
    found = fit(values)
    assert found.distribution != "empirical"
    theirs = stats.ks_1samp(values, found.share_to).statistic
    assert found.distance == pytest.approx(theirs, abs=2e-5)


@pytest.mark.parametrize("name", KNOWN)
def test_drawn_values_have_the_distribution(name: str) -> None:
    found = of(name).quantile(Uniform(4).random(N))
    assert found.min() >= (1 if name == "geometric" else 0)
    assert np.abs(stats.ecdf(found).cdf.evaluate(q := np.unique(found)) - KNOWN[name][1].cdf(q)).max() < 0.015
    assert np.array_equal(found, of(name).quantile(Uniform(4).random(N)))


@pytest.mark.parametrize("name", [name for name in KNOWN if name != "geometric"])
@given(shares=st.lists(st.floats(0.0001, 0.9999), min_size=1, max_size=20))
def test_shares_undo_quantiles(name: str, shares: list[float]) -> None:
    asked = np.array(shares)
    assert of(name).share_to(of(name).quantile(asked)) == pytest.approx(asked, rel=1e-6)


@given(mean=st.floats(1.0, 1e6), shares=st.lists(st.floats(0.0, 0.9999), min_size=1, max_size=20))
def test_a_quantile_of_whole_numbers_is_the_least_with_more_than_the_share(
    mean: float, shares: list[float]
) -> None:
    one = of("geometric", mean=mean)
    values = one.quantile(np.array(shares))
    assert (values == np.floor(values)).all()
    assert (values >= 1).all()
    assert (one.share_to(values) >= np.array(shares) - 1e-9).all()
    assert (one.share_to(values - 1) <= np.array(shares) + 1e-9).all()


# --- values as they are ----------------------------------------------------------------------------------


def test_a_mixture_is_kept_as_values() -> None:
    random = np.random.default_rng(5)
    values = np.concatenate([random.normal(1000, 20, 4000), random.normal(50, 5, 6000)])
    found = fit(values)
    assert (found.distribution, found.parameters) == ("empirical", {})
    assert found.distance < CLOSE
    assert found.quantile(np.array([0.3, 0.8])) == pytest.approx([50, 1000], rel=0.02)
    assert found.quantile(Uniform(5).random(N)).mean() == pytest.approx(values.mean(), rel=0.02)
    assert len(found.points) < 100
    assert found.points[0][0] == pytest.approx(values.min(), rel=1e-5)
    assert found.points[-1] == [pytest.approx(values.max(), rel=1e-5), 1.0]


def test_whole_numbers_of_two_kinds_are_kept_exactly() -> None:
    found = fit(np.array([1.0, 7.0, 30.0]), np.array([50, 30, 20]), whole=True)
    assert found.distribution == "empirical"
    assert found.points == [[1, 0.5], [7, 0.8], [30, 1]]
    assert found.distance == 0
    drawn = found.quantile(Uniform(6).random(N))
    values, counts = np.unique(drawn, return_counts=True)
    assert values.tolist() == [1, 7, 30]
    assert counts / N == pytest.approx([0.5, 0.3, 0.2], abs=0.015)
    assert found.share_to(np.array([0, 1, 6.9, 7, 29, 30, 99])) == pytest.approx(
        [0, 0.5, 0.5, 0.8, 0.8, 1, 1]
    )


@pytest.mark.parametrize("value", [0.0, 1e-6, 1.0, 1234.5, 1e15])
@pytest.mark.parametrize("n", [1, 1000])
def test_equal_values_are_drawn_as_they_are(value: float, n: int) -> None:
    found = fit(np.full(n, value))
    assert (found.distribution, found.n, found.distance) == ("empirical", n, 0)
    assert found.quantile(Uniform(7).random(100)) == pytest.approx(np.full(100, value), rel=1e-9)
    assert found.share_to(np.array([value / 2, value])).tolist() == [1.0 if value == 0 else 0.0, 1.0]


@pytest.mark.parametrize("n", [1, 1000])
def test_only_ones_as_whole_numbers_stay_ones(n: int) -> None:
    found = fit(np.ones(1), np.array([n]), whole=True)
    assert (found.n, found.mean) == (n, 1.0)
    assert (found.quantile(Uniform(8).random(N)) == 1).all()


def test_zeros_keep_their_share() -> None:
    values = np.concatenate([np.zeros(3000), np.random.default_rng(9).lognormal(5, 1, 7000)])
    found = fit(values)
    assert found.distribution == "empirical"
    assert found.share_to(np.zeros(1))[0] == pytest.approx(0.3, abs=0.002)
    assert (found.quantile(Uniform(10).random(N)) < 1e-9).mean() == pytest.approx(0.3, abs=0.015)


@pytest.mark.parametrize(
    "values", [[1000.0, 1000.1], [1000.0, 1001.0] * 10, [1.0, 1e-250], [1e-6, 1e12], [7.0] * 9 + [7.001]]
)
def test_values_that_are_almost_equal_or_far_apart_are_fitted(values: list[float]) -> None:
    found = fit(np.array(values))
    drawn = found.quantile(Uniform(12).random(100))
    assert drawn.min() >= min(values) * 0.9
    assert drawn.max() <= max(values) * 1.1 or found.distribution != "empirical"


@settings(max_examples=30)
@given(
    st.lists(st.floats(0, 1e12), min_size=1, max_size=60),
    st.booleans(),
)
def test_any_values_are_fitted(values: list[float], whole: bool) -> None:
    given_values = np.floor(np.array(values)) + 1 if whole else np.array(values)
    found = fit(given_values, whole=whole)
    assert 0 <= found.distance <= 1
    assert found.n == len(values)
    assert Distribution.model_validate(found.model_dump()) == found
    drawn = found.quantile(Uniform(11).random(50))
    assert np.isfinite(drawn).all()
    assert (drawn >= (1 if whole else 0)).all()
    grid = np.sort(np.concatenate([given_values, drawn]))
    shares = found.share_to(grid)
    assert (np.diff(shares) >= -1e-12).all()
    assert ((shares >= 0) & (shares <= 1)).all()


@given(st.lists(st.tuples(st.floats(1e-3, 1e3), st.floats(1e-3, 1)), min_size=2, max_size=30), st.data())
def test_shares_undo_quantiles_between_points(steps: list[tuple[float, float]], data: st.DataObject) -> None:
    widths, weights = np.array(steps).T
    cumulative = np.cumsum(weights)
    shares = (cumulative - cumulative[0]) / (cumulative[-1] - cumulative[0])
    one = made([[float(value), float(share)] for value, share in zip(np.cumsum(widths), shares, strict=True)])
    asked = np.array([data.draw(st.floats(0.0, 0.999))])
    assert one.share_to(one.quantile(asked)) == pytest.approx(asked, abs=1e-6)


def test_many_values_are_fitted_by_their_quantiles() -> None:
    values = sample("lognormal", 200_000)
    found = fit(values)
    assert (found.distribution, found.n) == ("lognormal", 200_000)
    assert found.parameters == pytest.approx(KNOWN["lognormal"][0], rel=0.02)


# --- wrong ones ------------------------------------------------------------------------------------------


def test_every_name_is_known_here() -> None:
    assert set(KNOWN) == set(NAMES)


@pytest.mark.parametrize(
    "keys",
    [
        {"distribution": "normal"},
        {"distribution": "exponential"},
        {"distribution": "exponential", "parameters": {"mean": 0.0}},
        {"distribution": "exponential", "parameters": {"mean": -1.0}},
        {"distribution": "exponential", "parameters": {"mean": 1.0, "sigma": 1.0}},
        {"distribution": "exponential", "parameters": {"mean": math.inf}},
        {"distribution": "exponential", "parameters": {"mean": "1"}},
        {"distribution": "lognormal", "parameters": {"mu": 1.0}},
        {"distribution": "lognormal", "parameters": {"mu": 1.0, "sigma": -1.0}},
        {"distribution": "lognormal", "parameters": {"mu": math.nan, "sigma": 1.0}},
        {"distribution": "lognormal", "parameters": {"mu": 710.0, "sigma": 1.0}},
        {"distribution": "weibull", "parameters": {"shape": 0.0, "scale": 1.0}},
        {"distribution": "empirical"},
        {"distribution": "empirical", "points": [[1.0, 0.5]]},
        {"distribution": "empirical", "points": [[1.0, 0.5], [2.0, 1.5]]},
        {"distribution": "empirical", "points": [[2.0, 0.5], [1.0, 1.0]]},
        {"distribution": "empirical", "points": [[1.0, 0.6], [2.0, 0.5], [3.0, 1.0]]},
        {"distribution": "empirical", "points": [[1.0, -0.5], [2.0, 1.0]]},
        {"distribution": "empirical", "points": [[1.0], [2.0, 1.0]]},
        {"distribution": "empirical", "points": [[-1.0, 0.5], [2.0, 1.0]]},
        {"distribution": "empirical", "points": [[1.0, 1.0]], "n": 0},
        {"distribution": "empirical", "points": [[1.0, 1.0]], "distance": 2.0},
        {"distribution": "empirical", "points": [[1.0, 1.0]], "colour": 1},
    ],
)  # fmt: skip
def test_wrong_distributions_are_refused(keys: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        Distribution.model_validate({"n": 1, "mean": 1.0, "distance": 0.0} | keys)
