"""What-ifs, such as a primitive in half the time: changed costs and counts, and the largest savings.

Source: X. Zhang, "Application-Specific Benchmarking", PhD thesis, Harvard University, 2001, section 3.1.1.1:
"modifying the appropriate system and application vector entries".
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from regatta.host.errors import RegattaError
from regatta.models.predict.forecast import Effect, Saving
from regatta.models.predict.prediction import Use, check_units, common_level, total_of, uses
from regatta.models.predict.times import USER_WORK, TracedOn, own_user_time
from regatta.models.vectors.sums import NS, Sum, positive, summed
from regatta.models.vectors.values import (
    ApplicationVector,
    ConstantCost,
    Cost,
    LinearCost,
    PrimitiveCost,
    SystemVector,
    TableCost,
    Value,
)

_NUMBER = r"([+-]?)(\d+\.?\d*(?:[eE][-+]?\d{1,2})?|\.\d+)\s*"
_COST = re.compile(_NUMBER + r"(x|%|ns|us|µs|μs|ms|s)"), "a change, for example 0.5x, -10%, +10% or 12us"
_COUNT = re.compile(_NUMBER + r"(x|%|)"), "a change of a count, for example 0.5x, -10%, +10% or 12"
#: unit of an exact number -> its factor
_FACTORS: dict[str, float] = {str(unit): factor for unit, factor in NS.items()}
_FACTORS |= {"µs": NS["us"], "μs": NS["us"], "": 1.0}
#: before the name of a primitive: its count in the application changes, not its cost
COUNT = "count:"


@dataclass(frozen=True)
class Change:
    """A changed cost or count: a factor, or an exact number."""

    #: NaN if `number` is set
    factor: float = math.nan
    #: of a cost: ns per operation (or unit); of a count: per unit of work, the sum over all entries of the
    #: primitive
    number: float = math.nan
    #: as the user wrote it
    text: str = ""


def parse_change(text: str, where: str = "change", of: Literal["cost", "count"] = "cost") -> Change:
    """Parse `0.5x` (factor), `-10%` or `+10%` (less, more), `12us` (a cost for any arguments), `12` (a count).

    Raises:
        RegattaError: the text has another form.
    """
    number, unit = _number(*(_COST if of == "cost" else _COUNT), text, where)
    if unit == "x":
        return Change(factor=number, text=text.strip())
    return Change(number=number * _FACTORS[unit], text=text.strip())


def _number(form: re.Pattern[str], examples: str, text: str, where: str) -> tuple[float, str]:
    """Return a number and its unit; a percentage as a factor, with `x`."""
    found = form.fullmatch(text.strip())
    if found is None:
        raise RegattaError(where, examples, repr(text[:60]), "0.5x")
    sign, number, unit = found[1], float(found[2]), found[3]
    if unit == "%":
        if not sign or (sign == "-" and number > 100.0):
            fix = f"+{found[2]}% or {number / 100:g}x" if not sign else "-100%"
            raise RegattaError(where, "+10% for more, -10% for less, -100% at most", repr(text[:60]), fix)
        return 1.0 + (number if sign == "+" else -number) / 100.0, "x"
    if sign or not math.isfinite(number):
        raise RegattaError(where, examples, repr(text[:60]), f"{found[2]}{unit}")
    return number, unit


def changed(system: SystemVector, changes: Mapping[str, Change], name: str = "") -> SystemVector:
    """Return a system with some costs changed; a cost given as a time is the same for all arguments.

    `name`: of the new system; the old one with the changes when "".

    Raises:
        RegattaError: no such primitive.
    """
    primitives = dict(system.primitives)
    for primitive, change in changes.items():
        if primitive not in primitives:
            raise _unknown(primitive, f"a primitive of {system.name}", system.primitives)
        primitives[primitive] = _changed(primitives[primitive], change, NS[system.time_unit])
    told = ", ".join(f"{primitive} {change.text}".rstrip() for primitive, change in changes.items())
    return replace(system, name=name or f"{system.name} with {told}", primitives=primitives)


def _unknown(name: str, expected: str, known: Iterable[str], kind: str = "") -> RegattaError:
    near = difflib.get_close_matches(name[:80], names := sorted(known), n=3, cutoff=0.5)
    fix = " or ".join(f"`{kind}{one}`" for one in near or names[:5])
    return RegattaError(f"--what-if {kind}{name}", expected, name, fix)


def check_counted(applications: Sequence[ApplicationVector], changes: Iterable[str]) -> None:
    """Check that at least one application counts each primitive whose count is to change.

    Raises:
        RegattaError: none does.
    """
    known = {count.primitive for one in applications for count in one.counts}
    for primitive in changes:
        if primitive not in known:
            names = " or ".join(dict.fromkeys(one.name for one in applications))
            raise _unknown(primitive, f"a primitive that {names} counts", known, COUNT)


def recounted(application: ApplicationVector, changes: Mapping[str, Change]) -> ApplicationVector:
    """Return an application with some counts changed, with the same time in its own code.

    A factor also scales the interval. A number is exact; if the primitive has several entries, such as for
    several arguments, they keep their proportions. Primitives that the application does not count have no
    effect.
    """
    if not changes:
        return application
    totals = _totals(application)
    counts = tuple(
        replace(one, count=_recounted(one.count, changes[one.primitive], *totals[one.primitive]))
        if one.primitive in changes
        else one
        for one in application.counts
    )
    return replace(application, counts=counts, traced_counts=application.traced_counts or application.counts)


def _totals(application: ApplicationVector) -> dict[str, tuple[float, int]]:
    """Return primitive -> the sum of its counts, and the number of its entries."""
    found: dict[str, tuple[float, int]] = {}
    for one in application.counts:
        total, entries = found.get(one.primitive, (0.0, 0))
        found[one.primitive] = (total + one.count.value, entries + 1)
    return found


def _recounted(count: Value, change: Change, total: float, entries: int) -> Value:
    if math.isnan(change.factor):
        return Value.exact(change.number * (count.value / total if total else 1.0 / entries))
    return count.times(change.factor)


def as_factors(application: ApplicationVector, changes: Mapping[str, Change]) -> dict[str, Change]:
    """Return changes of an application's counts as factors, for the parts of a mix.

    Counts of 0 have no factor and stay 0.
    """
    totals = _totals(application)
    found = {}
    for primitive, change in changes.items():
        total = totals.get(primitive, (0.0, 0))[0]
        if not math.isnan(change.factor):
            found[primitive] = change
        elif total:
            found[primitive] = Change(factor=change.number / total, text=change.text)
    return found


def _changed(primitive: PrimitiveCost, change: Change, factor_ns: float) -> PrimitiveCost:
    if math.isnan(change.factor):
        return replace(primitive, cost=ConstantCost(Value.exact(change.number / factor_ns)), measured={})
    return replace(primitive, cost=scaled(primitive.cost, change.factor))


def scaled(cost: Cost, factor: float) -> Cost:
    """Return a cost times an exact number of at least 0, with its intervals."""
    if isinstance(cost, ConstantCost):
        return ConstantCost(cost.cost.times(factor))
    if isinstance(cost, LinearCost):
        return replace(cost, fixed=cost.fixed.times(factor), per=cost.per.times(factor))
    if isinstance(cost, TableCost):
        points = tuple(replace(point, cost=point.cost.times(factor)) for point in cost.points)
        return replace(cost, points=points)
    pieces = tuple((fixed.times(factor), per.times(factor)) for fixed, per in cost.pieces)
    return replace(cost, pieces=pieces)


def effect(
    application: ApplicationVector,
    system: SystemVector,
    changes: Mapping[str, Change],
    traced_on: TracedOn | None = None,
    counts: Mapping[str, Change] | None = None,
) -> Effect:
    """Compute the effect of changed costs and counts on an application.

    Errors of unchanged costs and counts are on both sides and affect the difference only; so do those of a
    cost or count with a factor. A cost given as a time, and a count given as a number, are exact.

    Args:
        application, system: both unchanged.
        changes: primitive -> change of its cost.
        traced_on: where the application's user time was measured.
        counts: primitive -> change of its count.

    Raises:
        RegattaError: no such primitive, or a missing argument.
    """
    other, counts = changed(system, changes, system.name), counts or {}
    found, found_other = uses(application, system), uses(recounted(application, counts), other)
    before = whole = total_of(found, application.name, system.name)
    if application.user_time is not None:
        whole = before.plus(own_user_time(application, system, traced_on))
    parts: list[Sum] = []
    for use, use_other in zip(found, found_other, strict=True):
        name = use.count.primitive
        factors = [change.factor for change in (changes.get(name), counts.get(name)) if change is not None]
        # An entry that is no longer used needs no cost.
        if use_other.counts_nothing or any(map(math.isnan, factors)):
            parts.append(total_of([use_other], application.name, other.name))
        else:
            parts.append(total_of([use], application.name, system.name).times(math.prod(factors)))
    after = summed(parts)
    used = {count.primitive for count in application.counts}
    if USER_WORK in changes and application.user_time is not None:
        used.add(USER_WORK)
        there = {system.name: (traced_on or {}).get(system.name, system)}
        before = whole
        after = after.plus(own_user_time(application, other, there))
    saved = before.minus(after).interval()
    share = saved.value / whole.value if whole.value else math.nan
    unused = tuple(name for name in dict.fromkeys((*changes, *counts)) if name not in used)
    return Effect(positive(before.interval()), positive(after.interval()), saved, share, unused)


# Largest savings


def optimise(
    application: ApplicationVector, system: SystemVector, whole: float, others: Sequence[SystemVector] = ()
) -> tuple[Saving, ...]:
    """Rank the primitives of an application that a system has by their time, the most expensive first.

    Args:
        application, system: the system is the one to improve.
        whole: the whole predicted time there in ns, above 0; savings are shares of it.
        others: systems to compare with.

    Raises:
        RegattaError: an error of `predict`.
    """
    common_level(application, system, *others)
    check_units([application], [system, *others])
    found = uses(application, system)
    elsewhere = [(other, uses(application, other)) for other in others]
    names = dict.fromkeys(use.count.primitive for use in found if use.primitive is not None)
    rows = []
    for name in names:
        time = _time_of(found, application, system, name)
        best, cheapest = "", time
        for other, its_uses in elsewhere:
            there = _time_of(its_uses, application, other, name)
            if there.value < cheapest.value:
                best, cheapest = other.name, there
        row = Saving(name, positive(time.interval()), time.value / whole)
        if best:
            saved = time.minus(cheapest).interval()
            row = replace(row, best=best, as_best=saved, as_best_share=saved.value / whole)
        rows.append(row)
    return tuple(sorted(rows, key=lambda row: -row.time.value))


def _time_of(
    found: Sequence[Use], application: ApplicationVector, system: SystemVector, primitive: str
) -> Sum:
    """Return the time of all entries of one primitive; NaN if the system lacks it."""
    of_it = [use for use in found if use.count.primitive == primitive]
    return total_of(of_it, application.name, system.name)
