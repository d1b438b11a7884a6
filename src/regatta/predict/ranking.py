"""Systems in the order of an application's predicted time, and which of them the prediction cannot tell apart.

Two systems are told apart when the interval of the *difference* of their times does not hold 0. Whether their two intervals overlap is another
and worse question: both times are made with the same counts, whose errors move both the same way and so cancel but for the difference of the
costs; and even of independent intervals two may overlap though the difference is clear (half the squares' sum against the sum). Where the
intervals do not overlap the systems are told apart; the other way round does not hold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from regatta.host.errors import RegattaError
from regatta.predict.prediction import check_units, common_level
from regatta.predict.sums import Sum
from regatta.predict.times import Quantity, TracedOn, quantity
from regatta.spec.vectors import ApplicationVector, SystemVector


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
