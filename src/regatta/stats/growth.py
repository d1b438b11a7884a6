"""How a quantity grows or falls with a size: the exponent of a power law, and the kinds of growth that the values do not reject."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc, stdtrit

from regatta.stats.estimate import Floats, Interval, undefined
from regatta.stats.intervals import t_two_sided_p

_Curve = Callable[[NDArray[np.float64]], NDArray[np.float64]]

CONSTANT, POWER = "constant", "power law"
#: kind -> its function g of the size in `base + factor * g(n)`, with a factor >= 0. A power law has its own exponent and no base.
GROWTHS: dict[str, _Curve] = {
    CONSTANT: np.zeros_like,
    "1/n": lambda n: 1.0 / n,
    "1/sqrt n": lambda n: 1.0 / np.sqrt(n),
    "-log n": lambda n: -np.log(n),
    "log n": np.log,
    "sqrt n": np.sqrt,
    "linear": lambda n: n,
    "n log n": lambda n: n * np.log(n),
    "n^1.5": lambda n: n**1.5,
    "quadratic": lambda n: n**2,
    "cubic": lambda n: n**3,
}
KINDS = (*GROWTHS, POWER)
#: a logarithm has no zero that is special, so that its base can be negative
_ANY_BASE = {"log n", "-log n"}
#: fewer sizes do not distinguish the kinds
LEAST_SIZES = 4
#: AICc of a fit with base, factor and variance is not defined for fewer, so that the constant would always be chosen
LEAST_VALUES = 5
#: A kind is rejected if its lack of fit has a smaller p. With 0.05, lognormal noise of 30 % would reject the truth in up to 8 %.
REJECTED = 0.025
#: A kind that misses no mean by more is not rejected: counters have so little noise that any real program deviates significantly.
NEGLIGIBLE = 0.01
#: a quantity is called constant only if the interval of its exponent is within ± this: 7 % per doubling
FLAT = 0.1
#: without replicates, kinds with this share of the weight of the best are plausible
_LEAST_WEIGHT = 0.1
_STEPS = 30
#: its square does not overflow
_LARGEST_MISS = 1e100
_METHOD = "least squares of log means on log sizes"


@dataclass(frozen=True)
class Fit:
    """A fit `base + factor * g(n)`, or `factor * n^power` for a power law (else `power` is NaN).

    `weight`: Akaike weight among the kinds, from 0 to 1. `p`: of the lack of fit; NaN without replicates.
    """

    kind: str
    base: float
    factor: float
    power: float
    weight: float
    p: float
    #: largest relative difference between the fit and the mean at a size
    worst: float

    def at(self, size: float) -> float:
        """Return the value of the fit at a size."""
        return float(self.curve(np.array([float(size)]))[0])

    def curve(self, sizes: Floats) -> Floats:
        """Return the values of the fit at sizes, shape (k,)."""
        grown = sizes**self.power if self.kind == POWER else GROWTHS[self.kind](sizes)
        values: Floats = self.base + self.factor * grown
        return values


@dataclass(frozen=True)
class Growth:
    """The exponent b of the power law n^b with its interval, and the fits, largest weight first."""

    exponent: Interval
    fits: tuple[Fit, ...]
    #: kinds that are not rejected: the constant first, then by weight, the power law last; empty if none fits
    plausible: tuple[str, ...]

    @property
    def best(self) -> Fit:
        """Return the fit of the first plausible kind; that with the largest weight if none fits."""
        wanted = self.plausible[0] if self.plausible else self.fits[0].kind
        return next(fit for fit in self.fits if fit.kind == wanted)

    @property
    def p(self) -> float:
        """Return the largest p of a lack of fit; NaN without replicates. Below `REJECTED`, none of the kinds fits."""
        return max((fit.p for fit in self.fits), default=math.nan)

    @property
    def flat(self) -> bool:
        """Return whether a constant is plausible, and the interval of the exponent excludes all but slow growth."""
        return CONSTANT in self.plausible and max(abs(self.exponent.low), abs(self.exponent.high)) <= FLAT


def growth(samples: Sequence[tuple[float, Sequence[float]]], level: float = 0.95) -> Growth:
    """Estimate the exponent of growth, fit each kind of growth, and test which kinds fit.

    Args:
        samples: (size > 0, values >= 0 of independent invocations) for at least 4 sizes, each with a positive mean;
            at least 5 values.
        level: of the interval of the exponent.

    Returns:
        The exponent is the slope of the logarithm of the means on the logarithm of the sizes; a base makes it smaller.
        Fits with base >= 0 (any for logarithms) and factor >= 0, by least squares of the residuals relative to the mean at each
        size, so that small sizes count as much as large ones. Their weights are exp(-d/2) normalized to 1, where d is the
        difference of AICc to the best fit. Each has an F test of its lack of fit: the distance of the means from the curve
        against the variation at each size. For the constant, p is twice the smaller p of this test and of that for a trend with
        the logarithm of the size; a kind with the factor 0 has the same p. Kinds with p >= 0.025, or within 1 % of each mean, are plausible. Without replicates there is
        no test: then kinds with at least a tenth of the best kind's weight are plausible.

    Raises:
        ValueError: fewer sizes or values, or a mean that is not positive.

    Source: Draper and Smith, Applied Regression Analysis (1998), section 2.1, for the lack of fit. Burnham and Anderson, Model
    Selection and Multimodel Inference (2002), sections 2.4 and 2.9. Goldsmith, Aiken and Wilkerson, Measuring Empirical
    Computational Complexity (FSE 2007), for the exponent.
    """
    if len({size for size, _ in samples}) < LEAST_SIZES:
        raise ValueError(f"fewer than {LEAST_SIZES} sizes")
    if sum(len(own) for _, own in samples) < LEAST_VALUES:
        raise ValueError(f"fewer than {LEAST_VALUES} values")
    sizes = np.array([size for size, _ in samples], float)
    counts = np.array([len(own) for _, own in samples], float)
    means = np.array([math.fsum(own) / len(own) for _, own in samples])
    if means.min() <= 0.0 or sizes.min() <= 0.0:
        raise ValueError("a mean or a size is not positive")
    inner = math.fsum(
        ((value - mean) / mean) ** 2 for (_, own), mean in zip(samples, means, strict=True) for value in own
    )
    found = [_fitted(kind, sizes, means, counts, inner) for kind in KINDS]
    best = min(score for _, score in found)
    weights = [math.exp(-(score - best) / 2) for _, score in found]
    total = math.fsum(weights)
    flat = next(fit for fit, _ in found if fit.kind == CONSTANT)
    fits = [
        # Without a factor, a kind is the constant.
        replace(fit, weight=weight / total, p=fit.p if fit.factor else flat.p)
        for (fit, _), weight in zip(found, weights, strict=True)
    ]
    fits.sort(key=lambda fit: -fit.weight)
    return Growth(_exponent(sizes, means, level), tuple(fits), _plausible(fits))


def _plausible(fits: Sequence[Fit]) -> tuple[str, ...]:
    """Return the kinds that are not rejected. The power law, whose exponent is known anyway, is last: it includes others."""
    kept = [
        fit.kind
        for fit in fits
        if fit.worst <= NEGLIGIBLE
        or (fit.weight >= _LEAST_WEIGHT * fits[0].weight if math.isnan(fit.p) else fit.p >= REJECTED)
    ]
    return tuple(sorted(kept, key=lambda kind: (kind != CONSTANT, kind == POWER)))


def _fitted(kind: str, sizes: Floats, means: Floats, counts: Floats, inner: float) -> tuple[Fit, float]:
    """Return the fit of a kind, without its weight, and its AICc. `inner`: sum of the squares within sizes, relative to means."""
    base, factor, power, parameters = (
        _power_law(sizes, means, counts) if kind == POWER else _line(kind, sizes, means, counts)
    )
    fit = Fit(kind, base, factor, power, 0.0, math.nan, 0.0)
    misses = fit.curve(sizes) / means - 1.0
    outer = float(np.sum(counts * misses**2))
    total, replicates = int(counts.sum()), int(counts.sum()) - sizes.size
    p = math.nan
    if replicates:
        p = _p_of(outer, sizes.size - parameters, inner, replicates)
        if kind == CONSTANT:
            p = min(1.0, 2.0 * min(p, _p_of_trend(sizes, means, counts, inner, replicates)))
    nominal = 1 if kind == CONSTANT else 2
    return replace(fit, p=p, worst=float(np.max(np.abs(misses)))), _aicc(
        (outer + inner) / total, total, nominal
    )


def _line(kind: str, sizes: Floats, means: Floats, counts: Floats) -> tuple[float, float, float, int]:
    """Return base, factor, NaN and the number of parameters that are not at a bound."""
    # Its import takes longer than most answers.
    from scipy.optimize import nnls

    columns = [np.ones_like(sizes)]
    if kind != CONSTANT:
        columns.append(GROWTHS[kind](sizes))
    if kind in _ANY_BASE:
        columns.append(-np.ones_like(sizes))
    weights = np.sqrt(counts)
    design = np.column_stack(columns) * (weights / means)[:, None]
    largest = np.abs(design).max(axis=0)
    solution, _ = nnls(design / largest, weights)
    base, factor, less = ([*(solution / largest), 0.0, 0.0])[:3]
    return float(base - less), float(factor), math.nan, int(np.count_nonzero(solution))


def _power_law(sizes: Floats, means: Floats, counts: Floats) -> tuple[float, float, float, int]:
    """Return 0, factor and power of the power law with the least relative squares, by the method of Gauss and Newton."""
    x, y = np.log(sizes), np.log(means)
    slope, start = np.polyfit(x, y, 1)
    found = np.array([start, slope])
    design, weights = np.column_stack([np.ones_like(x), x]), np.sqrt(counts)

    def misses(at: Floats) -> Floats:
        with np.errstate(over="ignore"):
            relative: Floats = np.minimum(np.expm1(design @ at - y), _LARGEST_MISS)
        return weights * relative

    least = float(np.sum(misses(found) ** 2))
    for _ in range(_STEPS):
        own = misses(found)
        step, *_ = np.linalg.lstsq((own + weights)[:, None] * design, -own, rcond=None)
        squares = float(np.sum(misses(found + step) ** 2))
        if not squares < least:
            break
        found, least = found + step, squares
    return 0.0, math.exp(found[0]), float(found[1]), 2


def _p_of(outer: float, freedom: int, inner: float, replicates: int) -> float:
    """Return the p of an F test of sums of squares; differences below the resolution of doubles say nothing."""
    if outer <= np.finfo(float).eps * 100:
        return 1.0
    return float(fdtrc(freedom, replicates, outer / freedom / (inner / replicates))) if inner > 0.0 else 0.0


def _p_of_trend(sizes: Floats, means: Floats, counts: Floats, inner: float, replicates: int) -> float:
    """Return the p of a trend of the logarithm of the means with that of the sizes, against the variation within sizes."""
    x = np.log(sizes)
    x = x - np.average(x, weights=counts)
    spread = float(np.sum(counts * x**2))
    slope = float(np.sum(counts * x * np.log(means))) / spread
    if inner <= 0.0:
        return 1.0 if abs(slope) <= np.finfo(float).eps * 100 else 0.0
    return t_two_sided_p(slope / math.sqrt(inner / replicates / spread), replicates)


def _aicc(mean_square: float, n: int, columns: int) -> float:
    """Return Akaike's criterion of a least-squares fit, corrected for few values; the variance is a parameter, too."""
    parameters = columns + 1
    # A perfect fit has no finite criterion; differences below the resolution of doubles say nothing.
    correction = 2 * parameters * (parameters + 1) / (n - parameters - 1)
    return n * math.log(max(mean_square, np.finfo(float).eps ** 2)) + 2 * parameters + correction


def _exponent(sizes: Floats, means: Floats, level: float) -> Interval:
    x, y = np.log(sizes), np.log(means)
    n = len(x)
    spread = float(np.sum((x - x.mean()) ** 2))
    slope = float(np.sum((x - x.mean()) * (y - y.mean()))) / spread
    rest = y - y.mean() - slope * (x - x.mean())
    error = math.sqrt(float(np.sum(rest**2)) / (n - 2) / spread)
    half = float(stdtrit(n - 2, (1 + level) / 2)) * error
    if not math.isfinite(half):
        return undefined(n, level, _METHOD, "too few sizes")
    return Interval(n, slope, slope - half, slope + half, level, _METHOD)
