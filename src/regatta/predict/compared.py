"""Predicted beside measured, at the thesis's three levels: rank, ratio, time.

Rank is judged of pairs that differ significantly as measured: `right` and `wrong` where the prediction tells them apart, `open` where it cannot.
An open pair is not a right one, whichever way its values happen to lie.

Source: X. Zhang, "Application-Specific Benchmarking", PhD thesis, Harvard University, 2001, section 3.3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from regatta.host.errors import RegattaError
from regatta.predict.ranking import rank
from regatta.predict.sums import NS, Sum, ratio, uncertain
from regatta.predict.times import TracedOn, quantity
from regatta.spec.vectors import ApplicationVector, Measured, SystemVector, Value

#: the times that are both predicted and measured
Compared = Literal["kernel", "elapsed"]
#: of a pair: `same` where the measured times do not differ significantly, so that there is no order to be right about
Verdict = Literal["right", "wrong", "open", "same", "unknown"]


@dataclass(frozen=True)
class ComparedTime:
    """The third level: one system's time, in ns for one unit of work."""

    system: str
    predicted: Value
    measured: Value
    #: predicted / measured - 1
    error: Value


@dataclass(frozen=True)
class ComparedPair:
    """The first and second level; `first` is predicted to be at least as fast."""

    first: str
    second: str
    #: time of the second / time of the first
    predicted: Value
    measured: Value
    #: predicted ratio / measured ratio - 1
    error: float
    verdict: Verdict


@dataclass(frozen=True)
class Comparison:
    """How well an application's times on some systems were predicted."""

    application: str
    quantity: Compared
    times: tuple[ComparedTime, ...]
    pairs: tuple[ComparedPair, ...]
    #: verdict -> pairs
    counts: Mapping[Verdict, int]
    #: every pair that differs significantly is told apart, and ordered right
    ranked_right: bool
    #: the largest error of a ratio and of a time, without sign; NaN where there is none
    worst_ratio: float
    worst_time: float


def compared(
    application: ApplicationVector,
    systems: Sequence[SystemVector],
    measured: Sequence[Measured],
    what: Compared = "kernel",
    differ: Mapping[frozenset[str], bool] | None = None,
    traced_on: TracedOn | None = None,
) -> Comparison:
    """Compare predictions with measurements.

    Args:
        application: its vector.
        systems: two or more; those that were not measured are left out.
        measured: times of the same unit of work, by the systems' names.
        what: time in the kernel, or elapsed with the user time.
        differ: of pairs of names, whether their measured times differ significantly, where a better test than that of the intervals was
            made (of blocks); of the others the interval of the ratio says it.
        traced_on: with `elapsed`, where the user time was measured.

    Raises:
        RegattaError: a measurement is there twice, or what `rank` refuses.
    """
    real = _measured(measured, what)
    known = [system for system in systems if system.name in real]
    if not known:
        return Comparison(application.name, what, (), (), {}, False, math.nan, math.nan)
    order = [row.system for row in rank(application, known, what=what, traced_on=traced_on).rows if row.rank]
    sums = {system.name: quantity(application, system, what, traced_on) for system in known}
    times = tuple(_time(name, sums[name], real[name]) for name in order)
    pairs = tuple(
        _pair(first, second, sums, real, (differ or {}).get(frozenset((first, second))))
        for at, first in enumerate(order)
        for second in order[at + 1 :]
    )
    counts: dict[Verdict, int] = {}
    for pair in pairs:
        counts[pair.verdict] = counts.get(pair.verdict, 0) + 1
    judged = counts.get("right", 0) + counts.get("wrong", 0) + counts.get("open", 0)
    return Comparison(
        application.name, what, times, pairs, counts, 0 < judged == counts.get("right", 0),
        _worst([pair.error for pair in pairs]), _worst([time.error.value for time in times]),
    )  # fmt: skip


def _measured(measured: Sequence[Measured], what: Compared) -> dict[str, Sum]:
    found: dict[str, Sum] = {}
    for one in measured:
        if one.system in found:
            raise RegattaError("measured", "every system once", f"{one.system} twice", "leave one out")
        value = uncertain(one.kernel if what == "kernel" else one.elapsed, ("measured", one.system))
        if math.isfinite(value.value) and value.value > 0.0:
            found[one.system] = value.times(NS[one.time_unit])
    return found


def _time(system: str, predicted: Sum, measured: Sum) -> ComparedTime:
    found = ratio(predicted, measured)
    error = Value(found.value - 1.0, found.low - 1.0, found.high - 1.0, reason=found.reason)
    return ComparedTime(system, predicted.interval(), measured.interval(), error)


def _pair(
    first: str, second: str, sums: Mapping[str, Sum], real: Mapping[str, Sum], differs: bool | None
) -> ComparedPair:
    predicted, measured = ratio(sums[second], sums[first]), ratio(real[second], real[first])
    error = predicted.value / measured.value - 1.0 if measured.value else math.nan
    return ComparedPair(first, second, predicted, measured, error, _verdict(predicted, measured, differs))


def _verdict(predicted: Value, measured: Value, differs: bool | None) -> Verdict:
    if differs is None:
        if math.isnan(measured.low):
            return "unknown"
        differs = measured.low > 1.0 or measured.high < 1.0
    if not differs:
        return "same"
    if math.isnan(predicted.value):
        return "unknown"
    if not predicted.low > 1.0:
        return "open"
    return "right" if measured.value > 1.0 else "wrong"


def _worst(errors: Sequence[float]) -> float:
    known = [abs(error) for error in errors if math.isfinite(error)]
    return max(known, default=math.nan)
