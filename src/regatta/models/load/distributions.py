"""Distributions of the parts of a request model: fitted from values of a log, drawn from, and judged.

A distribution is a named one if that is close to the values, else the values themselves, as points of their distribution function.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator
from scipy import optimize, stats

from regatta.spec.fields import Strict, refusal
from regatta.stats.estimate import Floats

NotNegative = Annotated[float, Field(ge=0, le=1e18)]
#: A named distribution further from the values than this share (Kolmogorov and Smirnov's distance) is not used.
CLOSE = 0.03
#: A distribution later in `NAMES` must be closer by more than this.
_CLOSER = 0.003
#: shares at which the values are kept: denser in the tails
_SHARES = np.unique(
    np.concatenate(
        [
            [0.0, 0.0001, 0.001, 0.005],
            np.linspace(0.01, 0.99, 50),
            [0.995, 0.999, 0.9995, 0.9999, 0.99999, 1.0],
        ]
    )
)
#: e to a larger power is no number
_LARGEST_MU = 700
#: more values than these are fitted by as many quantiles
_FITTED = 20_000


class Distribution(Strict):
    """A distribution of values >= 0: a named one, or the values as points of their distribution function."""

    distribution: Literal["exponential", "lognormal", "weibull", "lomax", "geometric", "empirical"] = Field(
        description="Name of the distribution. `geometric`: whole numbers from 1.", examples=["lognormal"]
    )
    parameters: dict[str, Annotated[float, Field(ge=-1e3, le=1e18)]] = Field(
        {},
        description="Parameters of a named distribution.",
        max_length=4,
        examples=[{"mu": 1.5, "sigma": 0.8}],
    )
    points: list[Annotated[list[NotNegative], Field(min_length=2, max_length=2)]] = Field(
        [],
        description="For `empirical`: values, each with the share of all values up to it, both ascending.",
        max_length=1000,
        examples=[[[1, 0.5], [3, 1]]],
    )
    whole: bool = Field(False, description="Whether the values are whole numbers from 1.", examples=[True])
    n: int = Field(description="Number of values in the log.", ge=1, le=2**53, examples=[12000])
    mean: NotNegative = Field(description="Mean of the values in the log.", examples=[4.2])
    distance: float = Field(
        description="Largest difference between the two distribution functions, of this and of the log "
        "(Kolmogorov and Smirnov's distance).",
        ge=0,
        le=1,
        examples=[0.012],
    )

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.distribution == "empirical":
            values, shares = zip(*self.points, strict=True) if self.points else ((), ())
            if (
                not shares
                or shares[-1] != 1
                or list(shares) != sorted(shares)
                or list(values) != sorted(values)
            ):
                raise refusal("points in ascending order, the last one with share 1", key="points")
        else:
            expected = NAMES[self.distribution].parameters
            if set(self.parameters) != set(expected):
                raise refusal(f"the parameters {', '.join(expected)}", key="parameters")
            if any(value <= 0 for name, value in self.parameters.items() if name not in ("mu", "sigma")):
                raise refusal("parameters above 0", key="parameters")
            if self.parameters.get("sigma", 0.0) < 0:
                raise refusal("a sigma from 0", key="parameters")
            if self.parameters.get("mu", 0.0) > _LARGEST_MU:
                raise refusal(f"a mu up to {_LARGEST_MU}", key="parameters")
        return self

    def quantile(self, shares: Floats) -> Floats:
        """Return the values below which these shares lie.

        Args:
            shares: any shape, from 0 to below 1.
        """
        if self.distribution != "empirical":
            found = np.asarray(NAMES[self.distribution].of_scipy(self.parameters).ppf(shares))
            # scipy's geometric quantile of 0 is 0, below the least value.
            return np.maximum(found, 1.0) if self.whole or NAMES[self.distribution].whole else found
        values, cumulative = np.array(self.points).T
        if self.whole:
            return np.asarray(
                values[np.searchsorted(cumulative, shares, side="right").clip(0, len(values) - 1)]
            )
        # Sizes and times span decades: on logarithms, but for values below one.
        return np.asarray(np.expm1(np.interp(shares, cumulative, np.log1p(values))))

    def share_to(self, values: Floats) -> Floats:
        """Return the shares of the distribution up to these values."""
        if self.distribution != "empirical":
            return np.asarray(NAMES[self.distribution].of_scipy(self.parameters).cdf(values))
        if self.whole:
            known, cumulative = np.array(self.points).T
            at = np.searchsorted(known, values, side="right")
            return np.where(at > 0, cumulative[np.maximum(at - 1, 0)], 0.0)
        return self._interpolated(values, below=False)

    def share_below(self, values: Floats) -> Floats:
        """Return the shares of the distribution below these values; not of whole numbers."""
        continuous = self.distribution != "empirical"
        return self.share_to(values) if continuous else self._interpolated(values, below=True)

    def _interpolated(self, values: Floats, below: bool) -> Floats:
        points, cumulative = np.array(self.points).T
        known, wanted = np.log1p(points), np.log1p(values)
        between = np.interp(wanted, known, cumulative, left=0.0, right=1.0)
        # Several points with one value are a step: the first one has the share below it, the last one that with it.
        step = np.searchsorted(known, wanted, side="left" if below else "right") - (not below)
        step = step.clip(0, len(known) - 1)
        return np.asarray(np.where(known[step] == wanted, cumulative[step], between))


@dataclass(frozen=True)
class Named:
    """A named distribution: its parameters, its fit to values with weights, and the one of scipy with these parameters."""

    parameters: tuple[str, ...]
    fit: Callable[[Floats, Floats], dict[str, float]]
    of_scipy: Callable[[dict[str, float]], Any]
    whole: bool = False


def _mean(values: Floats, weights: Floats) -> float:
    return float(np.average(values, weights=weights))


def _fit_lognormal(values: Floats, weights: Floats) -> dict[str, float]:
    logs = np.log(values)
    mu = _mean(logs, weights)
    return {"mu": mu, "sigma": math.sqrt(_mean((logs - mu) ** 2, weights))}


def _fit_weibull(values: Floats, weights: Floats) -> dict[str, float]:
    """Solve the likelihood equation of the shape.

    Source: Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions, volume 1 (1994), equation (21.63).
    """
    logs = np.log(values)
    mean_log, top = _mean(logs, weights), float(logs.max())

    def gradient(shape: float) -> float:
        powers = np.exp(shape * (logs - top)) * weights
        return float((powers * logs).sum() / powers.sum()) - 1 / shape - mean_log

    # The gradient rises; values that are almost equal, or span hundreds of decades, have a shape beyond these limits.
    low, high = 1e-2, 1e3
    shape = high if gradient(high) <= 0 else low if gradient(low) >= 0 else float(optimize.brentq(gradient, low, high))  # fmt: skip
    return {
        "shape": shape,
        "scale": math.exp(top) * _mean(np.exp(shape * (logs - top)), weights) ** (1 / shape),
    }


def _fit_lomax(values: Floats, weights: Floats) -> dict[str, float]:
    """Maximise the likelihood of Pareto's distribution of the second kind over its scale; the shape follows from it.

    Source: Arnold, Pareto Distributions (2015), section 5.2: given the scale s, the shape is 1 / mean(log(1 + x / s)).
    """

    def loss(log_scale: float) -> float:
        mean = _mean(np.log1p(values / math.exp(log_scale)), weights)
        return log_scale + math.log(mean) + mean

    middle = math.log(_mean(values, weights))
    found = optimize.minimize_scalar(loss, bounds=(middle - 15, middle + 10), method="bounded")
    scale = math.exp(float(found.x))
    return {"shape": 1 / _mean(np.log1p(values / scale), weights), "scale": scale}


#: name -> distribution, the simpler ones first
NAMES: dict[str, Named] = {
    "exponential": Named(
        ("mean",),
        lambda values, weights: {"mean": _mean(values, weights)},
        lambda p: stats.expon(scale=p["mean"]),
    ),
    "lognormal": Named(
        ("mu", "sigma"),
        _fit_lognormal,
        lambda p: stats.lognorm(max(p["sigma"], 1e-12), scale=math.exp(p["mu"])),
    ),
    "weibull": Named(
        ("shape", "scale"), _fit_weibull, lambda p: stats.weibull_min(p["shape"], scale=p["scale"])
    ),
    "lomax": Named(("shape", "scale"), _fit_lomax, lambda p: stats.lomax(p["shape"], scale=p["scale"])),
    "geometric": Named(
        ("mean",),
        lambda values, weights: {"mean": _mean(values, weights)},
        lambda p: stats.geom(1 / max(p["mean"], 1 + 1e-12)),
        whole=True,
    ),
}


def fit(values: Floats, counts: NDArray[np.int64] | None = None, whole: bool = False) -> Distribution:
    """Return the named distribution closest to values, the simpler one of equally close ones, or else the empirical one.

    Args:
        values: >= 0, at least one.
        counts: how often each value occurs. By default, once.
        whole: whether they are whole numbers >= 1.
    """
    order = np.argsort(values)
    values = np.asarray(values, dtype=float)[order]
    weights = np.ones(len(values)) if counts is None else np.asarray(counts, dtype=float)[order]
    n, mean = int(weights.sum()), float(f"{_mean(values, weights):.6g}")
    values, weights = _thinned(values, weights)
    candidates = [name for name, named in NAMES.items() if named.whole == whole and (whole or values[0] > 0)]
    best: Distribution | None = None
    for name in candidates if values[-1] > values[0] or whole else []:
        parameters = {key: float(f"{value:.6g}") for key, value in NAMES[name].fit(values, weights).items()}
        trial = _judged(name, values, weights, n, mean, parameters=parameters, whole=whole)
        # Weibull's contains the exponential, so it is always a little closer.
        if best is None or trial.distance < best.distance - _CLOSER:
            best = trial
    if best is not None and best.distance <= CLOSE:
        return best
    return _judged("empirical", values, weights, n, mean, points=_points(values, weights, whole), whole=whole)


def _judged(name: str, values: Floats, weights: Floats, n: int, mean: float, **more: Any) -> Distribution:
    trial = Distribution(distribution=name, n=n, mean=mean, distance=0.0, **more)  # type: ignore[arg-type]
    return trial.model_copy(update={"distance": float(f"{_distance(trial, values, weights):.4g}")})


def _thinned(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return values with weights in ascending order, as quantiles if they are many."""
    if len(values) <= _FITTED:
        return values, weights
    cumulative = np.cumsum(weights)
    at = np.searchsorted(cumulative, (np.arange(_FITTED) + 0.5) / _FITTED * cumulative[-1])
    thinned = values[at]
    thinned[-1] = values[-1]
    return thinned, np.full(_FITTED, cumulative[-1] / _FITTED)


def _distance(trial: Distribution, values: Floats, weights: Floats) -> float:
    """Return the distance of Kolmogorov and Smirnov: at steps of the values, from below and from above."""
    # As points are rounded.
    distinct, at = np.unique(np.array([float(f"{value:.6g}") for value in values]), return_index=True)
    sums = np.add.reduceat(weights, at)
    upper = np.cumsum(sums) / sums.sum()
    lower = np.concatenate([[0.0], upper[:-1]])
    there = trial.share_to(distinct)
    if trial.whole:
        return float(np.abs(there - upper).max())
    before = trial.share_below(distinct)
    return float(max(np.abs(there - upper).max(), np.abs(before - lower).max()))


def _points(values: Floats, weights: Floats, whole: bool) -> list[list[float]]:
    """Return values and the shares up to them. If they are few, each one is a step: two points with the same value."""
    distinct, at = np.unique(values, return_index=True)
    upper = np.cumsum(np.add.reduceat(weights, at)) / weights.sum()
    upper[-1] = 1.0
    steps = not whole
    if len(distinct) > len(_SHARES):
        chosen = np.unique(np.searchsorted(upper, _SHARES).clip(0, len(distinct) - 1))
        distinct, upper, steps = distinct[chosen], upper[chosen], False
    if steps:
        distinct, upper = np.repeat(distinct, 2), np.column_stack([[0.0, *upper[:-1]], upper]).ravel()
    elif not whole and upper[0] > 0:
        # A share of equal values at the begin is a step, not a slope.
        distinct, upper = np.concatenate([distinct[:1], distinct]), np.concatenate([[0.0], upper])
    return [
        [float(f"{value:.6g}"), float(f"{share:.6g}")] for value, share in zip(distinct, upper, strict=True)
    ]
