"""Predicted time of an application on a system: the sum of cost x count, with an interval from the errors of both vectors.

All results are in nanoseconds, for any units of the vectors, so that systems can be compared.

The interval is MOVER's. With the time T = sum of n_e w_ek c_k (counts n, weights w by the arguments, coefficients of costs c),
each coefficient moves T by N_k = sum of n_e w_ek, over all entries that use it, and each count by the cost of its entry:
low = T - sqrt(sum of (N_k (c_k - low of c_k))^2 + sum of (C_e (n_e - low of n_e))^2), high likewise.

The formula assumes independent coefficients, which is an approximation. Noise within an invocation gives the two coefficients
of a fitted line opposite errors: this makes the interval too wide. Slow or fast invocations give the coefficients of a line,
and all primitives of one benchmark, common errors: this makes the interval too narrow.

Source: X. Zhang, "Application-Specific Benchmarking", PhD thesis, Harvard University, 2001, section 3.1.1.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from regatta.host.errors import RegattaError
from regatta.models.vectors.costs import (
    Weights,
    check_not_below_zero,
    coefficients,
    combined,
    weights_of_count,
)
from regatta.models.vectors.sums import NS, Sum, positive, spread
from regatta.models.vectors.values import (
    WHOLE,
    ApplicationVector,
    Contribution,
    Count,
    Prediction,
    PrimitiveCost,
    SystemVector,
    Value,
)

#: of the predicted time: maximum part of primitives with an unknown user share; the interval covers all their possible shares
LITTLE = 0.05
_ANY_SHARE = Value(0.5, 0.0, 1.0)

#: part of a time: all of it, the kernel's, or that in user mode
Part = Literal["time", "kernel", "user"]


@dataclass(frozen=True)
class Use:
    """An entry of an application vector with its cost on a system."""

    #: index in the application's counts
    number: int
    count: Count
    #: None: the system has no cost for it
    primitive: PrimitiveCost | None
    coefficients: Sequence[Value] = ()
    weights: Weights = ()
    #: ns in the system's unit of time
    factor: float = 1.0

    @property
    def counts_nothing(self) -> bool:
        """Return whether its count is exactly 0, so that the entry has no effect."""
        return self.count.count.value == 0.0 and self.count.count.is_exact

    @property
    def cost(self) -> float:
        """Return the cost of one operation in ns; NaN without a cost."""
        if self.primitive is None:
            return math.nan
        return sum(self.coefficients[number].value * weight for number, weight in self.weights) * self.factor


def uses(application: ApplicationVector, system: SystemVector) -> list[Use]:
    """Return each entry of the application with its cost on the system.

    Raises:
        RegattaError: a cost needs an argument that the entry lacks, or is below 0 there.
    """
    factor = NS[system.time_unit]
    found = []
    for number, count in enumerate(application.counts):
        primitive = system.primitives.get(count.primitive)
        use = Use(number, count, primitive, factor=factor)
        if primitive is not None and not use.counts_nothing:
            where = f"application {application.name}, primitive {count.primitive} on system {system.name}"
            weights = weights_of_count(primitive.cost, count, where)
            check_not_below_zero(primitive.cost, count, where, factor)
            use = Use(number, count, primitive, coefficients(primitive.cost), weights, factor)
        found.append(use)
    return found


def missing_of(found: Iterable[Use]) -> tuple[str, ...]:
    """Return the primitives with a count but without a cost on the system, each once."""
    without = (use.count.primitive for use in found if use.primitive is None and not use.counts_nothing)
    return tuple(dict.fromkeys(without))


def total(application: ApplicationVector, system: SystemVector, part: Part = "time") -> Sum:
    """Return the predicted time in ns, as a sum with its sources.

    Sources are `(name, primitive, coefficient)` of the system and `(name, entry)` of the application. Differences and ratios of
    such sums share common sources.

    Raises:
        RegattaError: an argument is missing.
    """
    return total_of(uses(application, system), application.name, system.name, part)


def total_of(found: Sequence[Use], application: str, system: str, part: Part = "time") -> Sum:
    """Return the sum of some entries.

    The kernel and user parts are undefined if primitives without a user share take more than `LITTLE` of the time.
    """
    missing = missing_of(found)
    if missing:
        return Sum(math.nan, reason=f"{system} has no cost for {', '.join(missing)}")
    value = whole = unknown = 0.0
    reason = why_unknown = ""
    terms: dict[Hashable, tuple[float, float, float]] = {}
    for use in found:
        if use.counts_nothing or use.primitive is None:
            continue
        if part != "time" and use.primitive.unit == WHOLE:
            # Elapsed time in which the application does not work.
            continue
        name, share = use.count.primitive, use.primitive.user_share
        whose = ("user_share", system, name)
        cost, count = use.cost, use.count.count
        whole += count.value * cost
        if part != "time" and math.isnan(share.value):
            unknown += count.value * cost
            why_unknown = why_unknown or share.reason or f"unknown user share of {name}"
            # One source, so that the interval covers their joint range.
            whose, share = ("user_share", system, ""), _ANY_SHARE
        kept = {"time": 1.0, "kernel": 1.0 - share.value, "user": share.value}[part]
        value += count.value * cost * kept
        _add(terms, spread(count, ("count", application, use.number), cost * kept))
        for number, weight in use.weights:
            coefficient = use.coefficients[number]
            slope = count.value * weight * use.factor * kept
            _add(terms, spread(coefficient, ("cost", system, name, number), slope))
            reason = reason or _why_unknown(coefficient)
        if part != "time":
            slope = count.value * cost * (1.0 if part == "user" else -1.0)
            _add(terms, spread(share, whose, slope))
            reason = reason or _why_unknown(share)
        reason = reason or _why_unknown(count)
    if unknown > LITTLE * whole:
        return Sum(math.nan, reason=why_unknown)
    return Sum(value, terms, reason or ("" if math.isfinite(value) else "a cost is undefined"))


def _why_unknown(number: Value) -> str:
    """Return why a number or its interval is undefined."""
    return "" if math.isfinite(number.low) and math.isfinite(number.high) else number.reason


def _add(
    terms: dict[Hashable, tuple[float, float, float]], more: dict[Hashable, tuple[float, float, float]]
) -> None:
    for at, (slope, below, above) in more.items():
        terms[at] = (terms[at][0] + slope if at in terms else slope, below, above)


def predict(application: ApplicationVector, system: SystemVector) -> Prediction:
    """Predict the time of one unit of an application's work on a system.

    Returns:
        the prediction in ns: time, kernel and user part with intervals at the vectors' level, and a row for each of the
        application's entries, in its order. If the system lacks primitives, the time is NaN and `missing` lists them. An
        entry with a count of exactly 0 needs no cost, takes no time and has no share.

    Raises:
        RegattaError: an argument is missing, a cost is below 0, or the vectors have intervals of different levels.
    """
    found = uses(application, system)
    level = common_level(application, system)
    parts: tuple[Part, ...] = ("time", "kernel", "user")
    sums = (total_of(found, application.name, system.name, part) for part in parts)
    time, kernel, user = (positive(one.interval()) for one in sums)
    rows = tuple(_contribution(use, application.name, system.name, time.value) for use in found)
    names = (application.name, system.name, application.per)
    return Prediction(*names, "ns", level, time, kernel, user, rows, missing_of(found))


def _contribution(use: Use, application: str, system: str, whole: float) -> Contribution:
    count = use.count
    primitive = use.primitive
    if use.counts_nothing:
        cost = Value(math.nan, reason="not used: count 0")
        time, user = Value.exact(0.0), 0.0
    elif primitive is None:
        cost = Value(math.nan, reason=f"no cost on {system}")
        time, user = Value(math.nan, reason=cost.reason), math.nan
    else:
        cost = combined(use.coefficients, use.weights, use.factor)
        time = positive(total_of([use], application, system).interval())
        user = 0.0 if primitive.unit == WHOLE else time.value * primitive.user_share.value
    share = 0.0 if time.value == 0.0 else time.value / whole if whole else math.nan
    what = (count.primitive, primitive.unit if primitive is not None else "", _shown_arguments(count))
    return Contribution(*what, cost, count.count, time, share, user, count.stands_for, count.rule)


def _shown_arguments(count: Count) -> dict[str, float]:
    """Return the arguments of an entry; of a distribution the means."""
    if not count.distribution:
        return dict(count.arguments)
    shares = math.fsum(part.share for part in count.distribution)
    names = dict.fromkeys(name for part in count.distribution for name in part.arguments)
    if not shares:
        return {}
    found = {}
    for name in names:
        parts = (part.share * part.arguments.get(name, math.nan) for part in count.distribution)
        found[name] = math.fsum(parts) / shares
    return found


def check_units(applications: Iterable[ApplicationVector], systems: Iterable[SystemVector]) -> None:
    """Check that the costs of each counted primitive have one unit on all systems.

    Raises:
        RegattaError: a cost has different units, such as per byte on one system and per MiB on another.
    """
    used = {count.primitive for application in applications for count in application.counts}
    first: dict[str, SystemVector] = {}
    for system in systems:
        for name in used & system.primitives.keys():
            other = first.setdefault(name, system)
            units = [one.primitives[name].unit for one in (other, system)]
            if units[0] != units[1]:
                where, expected = f"systems {other.name} and {system.name}", f"one unit of {name} on both"
                fix = "make both vectors with the same table of primitives"
                raise RegattaError(where, expected, " and ".join(units), fix)


def has_intervals(vector: ApplicationVector | SystemVector) -> bool:
    """Return whether any number of a vector is uncertain, so that its level has a meaning."""
    if isinstance(vector, ApplicationVector):
        user = [] if vector.user_time is None else [vector.user_time]
        return any(not number.is_exact for number in (*(count.count for count in vector.counts), *user))
    return any(
        not number.is_exact
        for primitive in vector.primitives.values()
        for number in (*coefficients(primitive.cost), primitive.user_share)
    )


def common_level(*vectors: ApplicationVector | SystemVector) -> float:
    """Return the level of the intervals of vectors that are used together.

    Raises:
        RegattaError: two vectors with intervals have different levels.
    """
    if len({vector.level for vector in vectors}) == 1:
        return vectors[0].level
    first, *others = [vector for vector in vectors if has_intervals(vector)] or vectors[:1]
    for other in others:
        if other.level != first.level:
            where, expected = f"vectors {first.name} and {other.name}", f"one level ({first.level:g})"
            raise RegattaError(where, expected, f"{other.level:g}", "make both vectors with the same level")
    return first.level
