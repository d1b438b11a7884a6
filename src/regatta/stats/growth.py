"""How a quantity grows with a size: constant, linear, n log n or quadratic."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from regatta.stats.estimate import Interval, undefined

_Curve = Callable[[NDArray[np.float64]], NDArray[np.float64]]

#: kind of growth -> its function of the size, in ascending order
GROWTHS: dict[str, _Curve] = {
    "constant": np.zeros_like,
    "linear": lambda n: n,
    "n log n": lambda n: n * np.log(n),
    "quadratic": lambda n: n**2,
}
#: fewer sizes do not distinguish the kinds
LEAST_SIZES = 4
#: AICc of a fit with base, factor and variance is not defined for fewer, so that the constant would always be chosen
LEAST_VALUES = 5
_METHOD = "least squares of log means on log sizes"


@dataclass(frozen=True)
class Fit:
    """A fit `base + factor * g(n)`. `weight`: Akaike weight among the kinds of growth, from 0 to 1."""

    kind: str
    base: float
    factor: float
    weight: float
    #: largest relative difference between the fit and the mean at a size
    worst: float

    def at(self, size: float) -> float:
        """Return the value of the fit at a size."""
        grown: NDArray[np.float64] = GROWTHS[self.kind](np.array([float(size)]))
        return self.base + self.factor * float(grown[0])


@dataclass(frozen=True)
class Growth:
    """The fits, most plausible first, and the exponent b of the power law n^b with its interval."""

    fits: tuple[Fit, ...]
    exponent: Interval

    @property
    def best(self) -> Fit:
        """Return the fit with the largest weight, or the constant if the values do not reject it (AICc at most 2 larger).

        Each kind of growth includes the constant, as the factor 0, so its weight is never small for a constant quantity.
        """
        constant = next(fit for fit in self.fits if fit.kind == "constant")
        return constant if constant.weight >= self.fits[0].weight * math.exp(-1) else self.fits[0]

    @property
    def plausible(self) -> tuple[str, ...]:
        """Return the kinds with at least a tenth of the best kind's weight, best first; only `constant` if that is best."""
        if self.best.kind == "constant":
            return ("constant",)
        return tuple(fit.kind for fit in self.fits if fit.weight >= self.best.weight / 10)


def growth(samples: Sequence[tuple[float, Sequence[float]]], level: float = 0.95) -> Growth:
    """Fit each kind of growth to values at several sizes, and weigh the fits.

    Args:
        samples: (size > 0, values >= 0 of independent invocations) for at least 4 sizes, each with a positive mean;
            at least 5 values.
        level: of the interval of the exponent.

    Returns:
        Fits with base and factor >= 0, by least squares of the residuals relative to the mean at each size, so that small sizes
        count as much as large ones. Their weights are exp(-d/2) normalized to 1, where d is the difference of AICc to the best
        fit. The exponent is the slope of the logarithm of the means on the logarithm of the sizes; a base makes it smaller.

    Raises:
        ValueError: fewer sizes or values, or a mean that is not positive.

    Source: Burnham and Anderson, Model Selection and Multimodel Inference (2002), sections 2.4 and 2.9. Goldsmith, Aiken and
    Wilkerson, Measuring Empirical Computational Complexity (FSE 2007), for the exponent.
    """
    if len({size for size, _ in samples}) < LEAST_SIZES:
        raise ValueError(f"fewer than {LEAST_SIZES} sizes")
    if sum(len(own) for _, own in samples) < LEAST_VALUES:
        raise ValueError(f"fewer than {LEAST_VALUES} values")
    sizes = np.array([size for size, values in samples for _ in values], float)
    values = np.array([value for _, own in samples for value in own], float)
    means = {size: math.fsum(own) / len(own) for size, own in samples}
    if min(means.values()) <= 0.0 or min(means) <= 0.0:
        raise ValueError("a mean or a size is not positive")
    # Its import takes longer than most answers.
    from scipy.optimize import nnls

    scale = np.array([means[size] for size in sizes])
    found = []
    for kind, curve in GROWTHS.items():
        columns = [np.ones_like(sizes)] if kind == "constant" else [np.ones_like(sizes), curve(sizes)]
        design = np.column_stack(columns) / scale[:, None]
        largest = design.max(axis=0)
        solution, _ = nnls(design / largest, values / scale)
        base, factor = ([*(solution / largest), 0.0])[:2]
        residuals = (values - base - factor * curve(sizes)) / scale
        found.append((kind, float(base), float(factor), _aicc(residuals, len(columns))))
    best = min(score for *_, score in found)
    weights = [math.exp(-(score - best) / 2) for *_, score in found]
    fits = []
    for (kind, base, factor, _), weight in zip(found, weights, strict=True):
        fit = Fit(kind, base, factor, weight / math.fsum(weights), 0.0)
        worst = max(abs(fit.at(size) / mean - 1.0) for size, mean in means.items())
        fits.append(Fit(kind, base, factor, fit.weight, worst))
    fits.sort(key=lambda fit: -fit.weight)
    return Growth(tuple(fits), _exponent(means, level))


def _aicc(residuals: NDArray[np.float64], columns: int) -> float:
    """Return Akaike's criterion of a least-squares fit, corrected for few values; the variance is a parameter, too."""
    n, parameters = len(residuals), columns + 1
    # A perfect fit has no finite criterion; differences below the resolution of doubles say nothing.
    mean_square = max(float(np.mean(residuals**2)), np.finfo(float).eps ** 2)
    correction = 2 * parameters * (parameters + 1) / (n - parameters - 1)
    return n * math.log(mean_square) + 2 * parameters + correction


def _exponent(means: dict[float, float], level: float) -> Interval:
    x = np.log(np.array(list(means)))
    y = np.log(np.array(list(means.values())))
    n = len(x)
    spread = float(np.sum((x - x.mean()) ** 2))
    slope = float(np.sum((x - x.mean()) * (y - y.mean()))) / spread
    rest = y - y.mean() - slope * (x - x.mean())
    error = math.sqrt(float(np.sum(rest**2)) / (n - 2) / spread)
    half = float(stdtrit(n - 2, (1 + level) / 2)) * error
    if not math.isfinite(half):
        return undefined(n, level, _METHOD, "too few sizes")
    return Interval(n, slope, slope - half, slope + half, level, _METHOD)
