"""Systems in the order of an application's predicted time, which of them the prediction cannot tell apart, and whether they are ordered right.

Two systems are told apart when the interval of the *difference* of their times does not hold 0. Whether their two intervals overlap is another
and worse question: both times are made with the same counts, whose errors move both the same way and so cancel but for the difference of the
costs; and even of independent intervals two may overlap though the difference is clear (half the squares' sum against the sum). Where the
intervals do not overlap the systems are told apart; the other way round does not hold.

A pair that differs significantly as measured is ordered `right` or `wrong` where the prediction tells it apart, and is `open` where it cannot.
An open pair is not a right one, whichever way its values happen to lie.

Source: X. Zhang, "Application-Specific Benchmarking", PhD thesis, Harvard University, 2001, section 3.3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from regatta.host.errors import RegattaError
from regatta.predict.forecast import Verdict
from regatta.predict.prediction import check_units, common_level
from regatta.predict.sums import Sum, ratio, uncertain
from regatta.predict.times import Quantity, TracedOn, quantity
from regatta.spec.vectors import ApplicationVector, SystemVector, Value


@dataclass(frozen=True)
class Pair:
    """Two systems; `first` is predicted to be at least as fast."""

    first: str
    second: str
    #: whether the interval of the difference leaves out 0
    told_apart: bool


@dataclass(frozen=True)
class Ranking:
    """Systems by predicted time, the fastest first; those that lack primitives come last."""

    systems: tuple[str, ...]
    #: system -> its predicted time in ns, not finite where primitives are lacking
    times: Mapping[str, Sum]
    #: of all systems that have a time, in their order
    pairs: tuple[Pair, ...]
    #: systems that follow each other and of which no two can be told apart; a system may be in two groups
    groups: tuple[tuple[str, ...], ...]


def rank(
    application: ApplicationVector,
    systems: Sequence[SystemVector],
    what: Quantity = "time",
    traced_on: TracedOn | None = None,
) -> Ranking:
    """Order systems by the predicted time of an application.

    Args:
        application: its vector.
        systems: one at least, each with a name of its own.
        what: the time that is compared: of the primitives, of their part in the kernel, or elapsed with the user time.
        traced_on: with `elapsed`, where the user time was measured.

    Raises:
        RegattaError: no system, two with one name, or what `predict` refuses.
    """
    _check([system.name for system in systems])
    common_level(application, *systems)
    check_units([application], systems)
    times = {system.name: quantity(application, system, what, traced_on) for system in systems}
    order = sorted(times, key=lambda name: _last_if_unknown(times[name].value))
    known = [name for name in order if math.isfinite(times[name].value)]
    pairs = tuple(
        Pair(first, second, times[second].minus(times[first]).interval().low > 0.0)
        for first, second in combinations(known, 2)
    )
    groups = _groups(known, {(pair.first, pair.second) for pair in pairs if not pair.told_apart})
    return Ranking(tuple(order), times, pairs, groups)


def _check(names: Sequence[str]) -> None:
    if not names:
        raise RegattaError("ranking", "at least one system", "none", "name a system vector")
    twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
    if twice is not None:
        raise RegattaError("ranking", "every system once", f"two named {twice}", "rename one in its file")


def _last_if_unknown(value: float) -> float:
    return value if math.isfinite(value) else math.inf


def _groups(names: Sequence[str], alike: set[tuple[str, str]]) -> tuple[tuple[str, ...], ...]:
    """The longest runs in which all are alike, as compact letters mark them."""
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


# Beside what was measured

#: the times that are both predicted and measured
Compared = Literal["kernel", "elapsed"]


@dataclass(frozen=True)
class Comparison:
    """How well an application's systems are ordered."""

    quantity: Compared
    #: system -> its predicted time, in ns
    times: Mapping[str, Sum]
    #: of each two systems that were measured
    verdicts: Mapping[frozenset[str], Verdict]

    @property
    def ranked_right(self) -> bool:
        """Whether every pair that differs significantly is told apart, and ordered right, and there is one."""
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
        application: its vector.
        systems: those that were not measured are left out.
        measured: system -> its time for the same unit of work, in ns.
        what: time in the kernel, or elapsed with the user time.
        differ: of pairs of names, whether their measured times differ significantly, where a better test than that of the intervals was
            made (of blocks); of the others the interval of the ratio says it.
        traced_on: with `elapsed`, where the user time was measured.

    Raises:
        RegattaError: what `rank` refuses.
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
    order = [name for name in ranking.systems if math.isfinite(ranking.times[name].value)]
    verdicts: dict[frozenset[str], Verdict] = {}
    for first, second in combinations(order, 2):
        pair = frozenset((first, second))
        verdicts[pair] = _verdict(
            ratio(ranking.times[second], ranking.times[first]),
            ratio(real[second], real[first]),
            (differ or {}).get(pair),
        )
    return Comparison(what, ranking.times, verdicts)


def _verdict(predicted: Value, measured: Value, differs: bool | None) -> Verdict:
    """Of the ratios of the second system's times to the first's."""
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
