"""Systems in the order of an application's predicted time, and which of them the prediction cannot tell apart.

Two systems are told apart when the interval of the *difference* of their times does not hold 0. Whether their two intervals overlap is another
and worse question: both times are made with the same counts, whose errors move both the same way and so cancel but for the difference of the
costs; and even of independent intervals two may overlap though the difference is clear (half the squares' sum against the sum). Where the
intervals do not overlap the systems are told apart; the other way round does not hold. Each pair says both.

The ratio to the reference is the normalized throughput of the thesis: how many times as fast a system is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from regatta.host.errors import RegattaError
from regatta.predict.prediction import check_units, common_level, predict
from regatta.predict.sums import Sum, positive, ratio
from regatta.predict.times import Quantity, TracedOn, quantity
from regatta.spec.vectors import ApplicationVector, Prediction, SystemVector, Value


@dataclass(frozen=True)
class RankedSystem:
    """A row of a ranking."""

    system: str
    #: 1 is the fastest; 0 where nothing could be predicted
    rank: int
    #: the time by which it is ranked, in ns
    time: Value
    #: time of the reference / time of this system: how many times as fast as the reference it is
    speed: Value
    prediction: Prediction


@dataclass(frozen=True)
class Pair:
    """Two systems; `first` is predicted to be at least as fast."""

    first: str
    second: str
    #: time of the second - time of the first, in ns
    difference: Value
    #: whether the interval of the difference leaves out 0
    told_apart: bool
    #: whether their two intervals have anything in common
    overlap: bool


@dataclass(frozen=True)
class Ranking:
    """Systems by predicted time, the fastest first; those that lack primitives come last."""

    application: str
    per: str
    quantity: Quantity
    level: float
    reference: str
    rows: tuple[RankedSystem, ...]
    #: of all systems that have a time, in the order of the rows
    pairs: tuple[Pair, ...]
    #: systems that follow each other and of which no two can be told apart; a system may be in two groups
    groups: tuple[tuple[str, ...], ...]
    time_unit: str = "ns"

    def pair(self, one: str, other: str) -> Pair | None:
        """The pair of two systems, in either order."""
        return next((pair for pair in self.pairs if {pair.first, pair.second} == {one, other}), None)


def rank(
    application: ApplicationVector,
    systems: Sequence[SystemVector],
    reference: str = "",
    what: Quantity = "time",
    traced_on: TracedOn | None = None,
) -> Ranking:
    """Order systems by the predicted time of an application.

    Args:
        application: its vector.
        systems: one at least, each with a name of its own.
        reference: the system to which speeds are ratios; the first given when "".
        what: the time that is compared: of the primitives, of their part in the kernel, or elapsed with the user time.
        traced_on: with `elapsed`, where the user time was measured.

    Raises:
        RegattaError: no system, two with one name, no such reference, or what `predict` refuses.
    """
    names = [system.name for system in systems]
    _check(names, reference)
    level = common_level(application, *systems)
    check_units([application], systems)
    sums = {system.name: quantity(application, system, what, traced_on) for system in systems}
    base = sums[reference or names[0]]
    order = sorted(systems, key=lambda system: _last_if_unknown(sums[system.name].value))
    known = [system.name for system in order if math.isfinite(sums[system.name].value)]
    rows = tuple(
        RankedSystem(
            system.name,
            known.index(system.name) + 1 if system.name in known else 0,
            positive(sums[system.name].interval()),
            _speed(base, sums[system.name]),
            predict(application, system),
        )
        for system in order
    )
    pairs = _pairs(known, sums)
    groups = _groups(known, {(pair.first, pair.second) for pair in pairs if not pair.told_apart})
    return Ranking(application.name, application.per, what, level, reference or names[0], rows, pairs, groups)


def _check(names: Sequence[str], reference: str) -> None:
    if not names:
        raise RegattaError("ranking", "at least one system", "none", "name a system vector")
    twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
    if twice is not None:
        raise RegattaError("ranking", "every system once", f"two named {twice}", "rename one in its file")
    if reference and reference not in names:
        raise RegattaError("ranking", f"a reference among {', '.join(names)}", reference, f"`{names[0]}`")


def _last_if_unknown(value: float) -> float:
    return value if math.isfinite(value) else math.inf


def _speed(base: Sum, time: Sum) -> Value:
    """Exactly 1 for the reference itself."""
    return Value.exact(1.0) if base is time and math.isfinite(base.value) else ratio(base, time)


def _pairs(names: Sequence[str], sums: dict[str, Sum]) -> tuple[Pair, ...]:
    intervals = {name: sums[name].interval() for name in names}
    found = []
    for at, first in enumerate(names):
        for second in names[at + 1 :]:
            difference = sums[second].minus(sums[first]).interval()
            overlap = not intervals[first].high < intervals[second].low
            found.append(Pair(first, second, difference, difference.low > 0.0, overlap))
    return tuple(found)


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
