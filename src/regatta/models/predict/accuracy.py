"""How far predictions can be trusted: errors of ratios, explained time, costs beyond their range.

Errors of predicted ratios of pairs of systems are compared with the errors of a benchmark score.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from regatta.models.predict.forecast import Beyond, PairForecast, Verdict
from regatta.models.predict.prediction import uses
from regatta.models.vectors.costs import arguments_of, evaluate, parts_of_count
from regatta.models.vectors.measured import PROCESSOR_SHARE
from regatta.models.vectors.model_error import ModelError
from regatta.models.vectors.sums import ratio, uncertain
from regatta.models.vectors.values import ApplicationVector, PrimitiveCost, SystemVector, TableCost, Value


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
    #: number of pairs whose predicted and measured ratios agree within both errors, and of those with both
    #: intervals
    agree: int
    with_intervals: int


def accuracy_of(pairs: Iterable[PairForecast]) -> Accuracy | None:
    """Return the accuracy of the vectors; None without a pair that was measured."""
    return _accuracy(pairs, lambda pair: pair.comparable, lambda pair: pair.verdict)


def accuracy_of_score(pairs: Iterable[PairForecast]) -> Accuracy | None:
    """Return the accuracy of the score; None without a pair that was measured and has one."""
    return _accuracy(pairs, lambda pair: pair.score, _verdict_of_score)


def score_ratio(a: Mapping[str, Value], b: Mapping[str, Value]) -> Value:
    """Return the ratio a/b of two systems' scores: the geometric mean over the benchmarks that both have.

    A score has no interval: its benchmarks are no sample of anything. `a`, `b`: benchmark -> its time, in one
    unit.
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
    offs = [off for pair in known if not math.isnan((off := agreement(predicted(pair), pair.measured)).low)]
    return Accuracy(
        Counter(map(verdict, known)),
        len(known),
        float(np.median(errors)),
        float(np.quantile(errors, 0.9)),
        sum(map(contains_1, offs)),
        len(offs),
    )


def agreement(predicted: Value, measured: Value) -> Value:
    """Return predicted / measured, with the errors of both in its interval, as `with_model_error` adds them.

    An end of 0 of the measured time, and a missing one of a predicted ratio, leave the interval open above.
    """
    if math.isnan(predicted.low) or math.isnan(measured.low):
        return Value(predicted.value / measured.value, reason=predicted.reason or measured.reason)

    def distance(above: Value, under: Value) -> float:
        return math.hypot(*(_log(*pair) for pair in ((above.high, above.value), (under.value, under.low))))

    value = predicted.value / measured.value
    up, down = distance(predicted, measured), distance(measured, predicted)
    return Value(value, value * math.exp(-down), value * math.exp(up) if up < math.inf else math.nan)


def _log(above: float, under: float) -> float:
    """Return the logarithm of a ratio of at least 1; infinity without a finite one."""
    return math.log(above / under) if above < math.inf and under > 0.0 else math.inf


def contains_1(off: Value) -> bool:
    """Return whether the interval of predicted / measured contains 1, so that they agree."""
    # A ratio without an upper end is unbounded there.
    return off.low <= 1.0 and not off.high < 1.0


#: nominal levels of a calibration, and the least number of values that show anything
LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
_ENOUGH = 10


def calibration(offs: Iterable[tuple[Value, ModelError]], level: float) -> Mapping[float, float]:
    """Return nominal level -> share of the values that are predicted within their interval of that level, 0 to 1.

    Intervals of other levels are the given ones, scaled by Student's quantile of the model's own error, which is their largest part.

    Args:
        offs: predicted / measured, with intervals of `level`, and the model's own error in them. Those without an interval are
            omitted. Fewer than 10 give no shares.
        level: from 0 to 1.
    """
    needed = [(_needed(off), error) for off, error in offs if not math.isnan(off.low)]
    if len(needed) < _ENOUGH:
        return {}

    def share(one: float) -> float:
        return sum(part <= error.quantile(one) / error.quantile(level) for part, error in needed) / len(
            needed
        )

    return {one: share(one) for one in LEVELS}


def _needed(off: Value) -> float:
    """Return the part of the distance to an end, on the logarithmic scale, at which 1 is; 0 without an end."""
    end = off.low if off.value > 1.0 else off.high
    if off.value == 1.0 or not 0.0 < end < math.inf:
        return 0.0
    return math.log(off.value) / math.log(off.value / end) if end != off.value else math.inf


# Explained time


#: a vector that explains less omits most of the time, and causes a warning
LITTLE = 0.5
#: below this share the costs include time of other processes or of a quota
_OWN = 0.9


def shared_processor(system: SystemVector) -> str:
    """Return why the costs of a system do not compare with measured processor time; "" without a reason.

    Costs are elapsed time. Under a quota, or where client and server share a processor, elapsed time exceeds
    processor time.
    """
    try:
        share = float(system.provenance.get(PROCESSOR_SHARE, ""))
    except ValueError:
        return ""
    if not 0.0 < share < _OWN:
        return ""
    available = f"the processor available for {100 * share:.0f} % of the time"
    return f"costs on {system.name} are elapsed times with {available}"


def coverage(predicted: Value, measured: Value) -> tuple[str, str]:
    """Describe which part of the measured kernel time a vector explains, above 1 if it predicts more.

    `predicted`: the part that the vector covers (`Prediction.kernel`); `measured`: the same time, in the same
    unit.

    Returns:
        a sentence; and why the prediction is unreliable, "" if it explains enough.
    """
    share = ratio(uncertain(predicted, "predicted"), uncertain(measured, "measured"))
    if not math.isfinite(share.value):
        reason = predicted.reason or measured.reason or "not measured"
        return f"Explained kernel time: undefined ({reason}).", ""
    percent = f"{100 * share.value:.0f} %"
    interval = (
        "" if math.isnan(share.low + share.high) else f" [{100 * share.low:.0f}, {100 * share.high:.0f}]"
    )
    words = f"Explained: {percent}{interval} of the measured kernel time."
    if share.low > 1.0:
        words += " The prediction exceeds the measurement."
    warning = ""
    if share.value < LITTLE:
        warning = (
            f"The vector explains only {percent} of the measured kernel time. For the rest, rank and ratio "
            "are unknown. Possible causes: calls without a primitive, or costs that rise under load."
        )
    return words, warning


# Extrapolated costs


def measured_ranges(primitive: PrimitiveCost) -> Mapping[str, tuple[float, float]]:
    """Return argument -> its measured range, without arguments of unknown range.

    The range of a table follows from its points.
    """
    cost = primitive.cost
    if not isinstance(cost, TableCost):
        return primitive.measured
    axes = zip(cost.arguments, zip(*(point.at for point in cost.points), strict=True), strict=True)
    return {name: (min(axis), max(axis)) for name, axis in axes}


def beyond(application: ApplicationVector, system: SystemVector) -> tuple[Beyond, ...]:
    """Return the uses of costs outside of the measured range by primitive and argument, the largest time first.

    Of a distribution each part is checked. An argument without a range is unlimited.

    Raises:
        RegattaError: an argument is missing.
    """
    times: dict[tuple[str, str], float] = {}
    used: dict[tuple[str, str], tuple[float, float]] = {}
    known: dict[tuple[str, str], tuple[float, float]] = {}
    for use in uses(application, system):
        if use.primitive is None or use.counts_nothing:
            continue
        ranges = measured_ranges(use.primitive)
        for share, arguments in parts_of_count(use.count):
            for name in arguments_of(use.primitive.cost):
                low, high = ranges.get(name, (arguments[name], arguments[name]))
                if low <= arguments[name] <= high:
                    continue
                at = use.count.primitive, name
                cost = evaluate(use.primitive.cost, arguments).value * use.factor
                times[at] = times.get(at, 0.0) + use.count.count.value * share * cost
                least, largest = used.get(at, (arguments[name], arguments[name]))
                used[at] = min(least, arguments[name]), max(largest, arguments[name])
                known[at] = low, high
    found = (
        Beyond(*at, *known[at], *used[at], time)
        for at, time in sorted(times.items(), key=lambda item: -item[1])
    )
    return tuple(found)
