"""The costs of a collector, from suite `gc`: least squares with costs of at least 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from regatta.host.errors import RegattaError
from regatta.models.gc.work import Knots, Work, features
from regatta.stats.estimate import Floats


@dataclass(frozen=True)
class Observation:
    """One measured collection of a microbenchmark."""

    work: Work
    ns: float
    #: the case, for the plot of residuals
    label: str


@dataclass(frozen=True)
class Residual:
    """The relative error of the fit at one case, mean over invocations."""

    label: str
    measured_ns: float
    fitted_ns: float

    @property
    def error(self) -> float:
        """Return (fitted - measured) / measured."""
        return self.fitted_ns / self.measured_ns - 1.0


@dataclass(frozen=True)
class Costs:
    """Costs of one kind of collection, in ns."""

    knots: Knots
    #: shape (invocations, features): the costs by `knots.names`, from each invocation apart
    per: Floats
    residuals: tuple[Residual, ...] = ()

    def of(self, works: Sequence[Work]) -> Floats:
        """Return the time of collections.

        Returns:
            Shape (invocations, collections), ns. NaN where the costs give no time above 0. This can happen to an application with
            fewer classes or less machine code than suite gc: they count below 0, and their fitted costs can be too large.
        """
        if not works:
            return np.zeros((self.per.shape[0], 0))
        counts = np.stack([features(work, self.knots) for work in works])
        found: Floats = self.per @ counts.T
        return np.where(found > 0.0, found, np.nan)

    def named(self) -> Mapping[str, Floats]:
        """Return name of the feature -> its cost in each invocation, without those that cost nothing."""
        return {name: self.per[:, at] for at, name in enumerate(self.knots.names) if self.per[:, at].any()}


def fit_costs(invocations: Sequence[Sequence[Observation]], where: str) -> Costs:
    """Fit the costs to the observations of each invocation.

    Each relative error has the same weight. No cost is below 0: without this bound, the costs of features
    that occur together would compensate each other, and other mixtures would have absurd times.

    Args:
        invocations: at least one; the same cases in each.
        where: for errors.

    Raises:
        RegattaError: no observations, or a time that is not above 0.

    Source: thesis, section 5.3.2; Lawson and Hanson, "Solving Least Squares Problems" (1974), chapter 23.
    """
    if not invocations or not all(invocations):
        raise RegattaError(where, "measured collections of suite gc", "none", "measure its benchmarks")
    for each in (one for several in invocations for one in several):
        if not (np.isfinite(each.ns) and each.ns > 0.0):
            raise RegattaError(f"{where}: {each.label}", "a time above 0", f"{each.ns} ns")
    knots = Knots.of([one.work for one in invocations[0]])
    heap = knots.names.index("heap")
    rows = []
    fitted: dict[str, list[tuple[float, float]]] = {}
    for several in invocations:
        counts = np.stack([features(one.work, knots) for one in several])
        ns = np.array([one.ns for one in several])
        if np.ptp(counts[:, heap]) == 0.0:
            # In one heap size, the cost of its MiB cannot be told from the fixed cost.
            counts[:, heap] = 0.0
        scaled = counts / ns[:, None]
        # Columns of one scale: counts of objects and of MiB differ by many powers of ten.
        size = np.maximum(np.abs(scaled).max(axis=0), 1e-300)
        found, _ = nnls(scaled / size, np.ones(ns.size), maxiter=50 * counts.shape[1])
        rows.append(found / size)
        for one, value in zip(several, counts @ rows[-1], strict=True):
            fitted.setdefault(one.label, []).append((one.ns, float(value)))
    residuals = tuple(
        Residual(
            label, float(np.mean([ns for ns, _ in pairs])), float(np.mean([value for _, value in pairs]))
        )
        for label, pairs in fitted.items()
    )
    return Costs(knots, np.stack(rows), residuals)
