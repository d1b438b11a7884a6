"""Errors of predicted ratios of pairs of systems, compared with the errors of a benchmark score."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from regatta.models.predict.forecast import PairForecast, Verdict
from regatta.models.vectors.values import Value


@dataclass(frozen=True)
class Accuracy:
    """Predicted and measured ratios of the times of two systems, over all pairs that have both.

    The error of a pair is |predicted ratio / measured ratio - 1|.
    """

    #: verdict -> number of pairs
    verdicts: Mapping[Verdict, int]
    #: number of pairs with both ratios
    pairs: int
    median_error: float
    #: the 90th percentile of the errors, linear between ranks
    high_error: float
    #: number of pairs whose predicted interval contains the measured ratio, and of those that have an interval
    contained: int
    with_interval: int


def accuracy_of(pairs: Iterable[PairForecast]) -> Accuracy | None:
    """Return the accuracy of the vectors; None without a pair that was measured."""
    return _accuracy(pairs, lambda pair: pair.comparable, lambda pair: pair.verdict)


def accuracy_of_score(pairs: Iterable[PairForecast]) -> Accuracy | None:
    """Return the accuracy of the score; None without a pair that was measured and has one."""
    return _accuracy(pairs, lambda pair: pair.score, _verdict_of_score)


def score_ratio(a: Mapping[str, Value], b: Mapping[str, Value]) -> Value:
    """Return the ratio a/b of the scores of two systems: the geometric mean over the benchmarks that both have.

    A score has no interval: its benchmarks are no sample of anything.

    Args:
        a: benchmark -> its time on the first system.
        b: on the second, in the same unit.
    """
    both = sorted(a.keys() & b.keys())
    if not both:
        return Value(math.nan, reason="no benchmark of the score was measured on both systems")
    logs = [math.log(a[name].value / b[name].value) for name in both]
    return Value(math.exp(math.fsum(logs) / len(logs)), reason="a score has no interval")


def _verdict_of_score(pair: PairForecast) -> Verdict:
    """Return that of a ratio without an interval, which distinguishes all systems."""
    if pair.verdict not in ("right", "wrong", "open"):
        return pair.verdict
    return "right" if (pair.score.value > 1.0) == (pair.measured.value > 1.0) else "wrong"


def _accuracy(
    pairs: Iterable[PairForecast],
    predicted: Callable[[PairForecast], Value],
    verdict: Callable[[PairForecast], Verdict],
) -> Accuracy | None:
    known = [
        pair
        for pair in pairs
        if pair.verdict and pair.measured.value > 0.0 and math.isfinite(predicted(pair).value)
    ]
    if not known:
        return None
    errors = [abs(predicted(pair).value / pair.measured.value - 1.0) for pair in known]
    ranged = [pair for pair in known if not math.isnan(predicted(pair).low)]
    return Accuracy(
        Counter(map(verdict, known)),
        len(known),
        float(np.median(errors)),
        float(np.quantile(errors, 0.9)),
        sum(_contains(predicted(pair), pair.measured.value) for pair in ranged),
        len(ranged),
    )


def _contains(interval: Value, value: float) -> bool:
    # A ratio without an upper end is unbounded there.
    return interval.low <= value and not value > interval.high
