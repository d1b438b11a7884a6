"""Rank systems by an application's predicted time, with groups that cannot be distinguished, and check the order.

Two systems are distinguished if the interval of the *ratio* of their times excludes 1. Overlap of their two intervals is
a different and weaker criterion. Both times use the same counts, whose errors move both in the same direction and so cancel,
except for the difference of the costs. Even independent intervals may overlap though the difference is clear (square root of
the sum of squares against the sum). The interval of a ratio contains the model's own error (`model_error`).

A pair with a significant measured difference is ordered `right` or `wrong` if the prediction distinguishes it, else it is
`open`. An open pair never counts as right, regardless of the order of its values.

Source: X. Zhang, "Application-Specific Benchmarking", PhD thesis, Harvard University, 2001, section 3.3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal

from regatta.host.errors import RegattaError
from regatta.models.predict.forecast import PairForecast, Verdict
from regatta.models.predict.model_error import ModelErrors, errors_of, ratio_with_model_error
from regatta.models.predict.prediction import check_units, common_level
from regatta.models.predict.times import Quantity, TracedOn, quantity
from regatta.models.vectors.sums import Sum, ratio, uncertain
from regatta.models.vectors.values import ApplicationVector, SystemVector, Value


@dataclass(frozen=True)
class Ranking:
    """Systems by predicted time, the fastest first; those that lack primitives come last."""

    systems: tuple[str, ...]
    #: system -> its predicted time in ns, not finite if primitives are missing
    times: Mapping[str, Sum]
    #: all systems with a time, in their order, without measurements
    pairs: tuple[PairForecast, ...]
    #: consecutive systems that cannot be distinguished pairwise; a system may be in two groups
    groups: tuple[tuple[str, ...], ...]


def rank(
    application: ApplicationVector,
    systems: Sequence[SystemVector],
    what: Quantity = "time",
    traced_on: TracedOn | None = None,
) -> Ranking:
    """Rank systems by the predicted time of an application.

    Args:
        application, systems: at least one system; names are unique.
        what: the compared time: of the primitives, of their part in the kernel, or elapsed with the user time.
        traced_on: with `elapsed`, where the user time was measured.

    Raises:
        RegattaError: no system, a duplicate name, or an error of `predict`.
    """
    _check([system.name for system in systems])
    level = common_level(application, *systems)
    check_units([application], systems)
    times = {system.name: quantity(application, system, what, traced_on) for system in systems}
    order = sorted(times, key=lambda name: _last_if_unknown(times[name].value))
    known = [name for name in order if math.isfinite(times[name].value)]
    errors = errors_of(application, systems)
    pairs = tuple(_pair(faster, slower, times, errors, level) for faster, slower in combinations(known, 2))
    groups = _groups(known, {(pair.faster, pair.slower) for pair in pairs if not pair.told_apart})
    return Ranking(tuple(order), times, pairs, groups)


def _pair(
    faster: str, slower: str, times: Mapping[str, Sum], errors: ModelErrors, level: float
) -> PairForecast:
    found = predicted_ratio(times[slower], times[faster], errors, level)
    # A time of 0 has no ratio.
    differs = found.low > 1.0 or (times[faster].value == 0.0 and times[slower].interval().low > 0.0)
    return PairForecast(faster, slower, found, differs)


def predicted_ratio(slower: Sum, faster: Sum, errors: ModelErrors, level: float) -> Value:
    """Return the ratio of an application's times on two systems, with all errors in its interval."""
    return ratio_with_model_error(ratio(slower, faster), errors, level)


def _check(names: Sequence[str]) -> None:
    if not names:
        raise RegattaError("ranking", "at least one system", "none", "name a system vector")
    twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
    if twice is not None:
        raise RegattaError(
            "ranking", "unique names of systems", f"two systems named {twice}", "rename one in its file"
        )


def _last_if_unknown(value: float) -> float:
    return value if math.isfinite(value) else math.inf


def _groups(names: Sequence[str], alike: set[tuple[str, str]]) -> tuple[tuple[str, ...], ...]:
    """Return the longest runs in which all are alike, as a compact letter display marks them."""
    found: list[tuple[str, ...]] = []
    covered = 0
    for start in range(len(names)):
        end = start + 1
        while end < len(names) and all((one, names[end]) in alike for one in names[start:end]):
            end += 1
        if end - start > 1 and end > covered:
            found.append(tuple(names[start:end]))
            covered = end
    return tuple(found)


# Comparison with measurements

#: the times that are both predicted and measured
Compared = Literal["kernel", "elapsed"]


@dataclass(frozen=True)
class Comparison:
    """Quality of the order of an application's systems."""

    quantity: Compared
    #: system -> its predicted time, in ns
    times: Mapping[str, Sum]
    #: for each pair of measured systems
    verdicts: Mapping[frozenset[str], Verdict]
    #: (a, b) -> measured time on a / that on b
    ratios: Mapping[tuple[str, str], Value] = field(default_factory=dict)

    @property
    def ranked_right(self) -> bool:
        """Return whether at least one pair differs significantly, and all such pairs are distinguished and ordered right."""
        judged = [verdict for verdict in self.verdicts.values() if verdict in ("right", "wrong", "open")]
        return bool(judged) and set(judged) == {"right"}


def compared(
    application: ApplicationVector,
    systems: Sequence[SystemVector],
    measured: Mapping[str, Value],
    what: Compared = "kernel",
    differ: Mapping[frozenset[str], bool] | None = None,
    traced_on: TracedOn | None = None,
) -> Comparison:
    """Compare predictions with measurements.

    Args:
        application, systems: systems without a measurement are omitted.
        measured: system -> its time for the same unit of work, in ns.
        what: time in the kernel, or elapsed with the user time.
        differ: pair of names -> whether their measured times differ significantly, from a better test than the intervals (of
            blocks). For other pairs the interval of the ratio decides.
        traced_on: with `elapsed`, where the user time was measured.

    Raises:
        RegattaError: an error of `rank`.
    """
    real = {
        name: uncertain(time, ("measured", name))
        for name, time in measured.items()
        if math.isfinite(time.value) and time.value > 0.0
    }
    known = [system for system in systems if system.name in real]
    if not known:
        return Comparison(what, {}, {})
    ranking = rank(application, known, what, traced_on)
    verdicts: dict[frozenset[str], Verdict] = {}
    for pair in ranking.pairs:
        names = frozenset((pair.faster, pair.slower))
        real_ratio = ratio(real[pair.slower], real[pair.faster])
        verdicts[names] = _verdict(pair.ratio, real_ratio, (differ or {}).get(names))
    return Comparison(what, ranking.times, verdicts)


def _verdict(predicted: Value, measured: Value, differs: bool | None) -> Verdict:
    """Return the verdict on the ratios of the second system's time to the first's."""
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
