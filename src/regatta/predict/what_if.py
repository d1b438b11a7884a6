"""What-ifs, such as a primitive in half the time: changed system vectors, savings of an application, and the largest savings."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from regatta.host.errors import RegattaError
from regatta.predict.forecast import Effect, Saving
from regatta.predict.prediction import Use, check_units, common_level, total_of, uses
from regatta.predict.sums import NS, Sum, positive
from regatta.predict.times import USER_WORK, TracedOn, own_user_time
from regatta.spec.vectors import (
    ApplicationVector,
    ConstantCost,
    Cost,
    LinearCost,
    PrimitiveCost,
    SystemVector,
    TableCost,
    TimeUnit,
    Value,
)

_TEXT = re.compile(r"([+-]?)(\d+\.?\d*(?:[eE][-+]?\d{1,2})?|\.\d+)\s*(x|%|ns|us|µs|μs|ms|s)")
_EXAMPLES = "a change, for example 0.5x, -10%, +10% or 12us"


@dataclass(frozen=True)
class Change:
    """A changed cost: a factor, or an exact time per operation (or unit)."""

    #: NaN if `time_ns` is set
    factor: float = math.nan
    time_ns: float = math.nan
    #: as the user wrote it
    text: str = ""


def parse_change(text: str, where: str = "change") -> Change:
    """Parse `0.5x` (factor), `-10%` or `+10%` (less, more), `12us` (a time for any arguments).

    Raises:
        RegattaError: the text has another form.
    """
    found = _TEXT.fullmatch(text.strip())
    if found is None:
        raise RegattaError(where, _EXAMPLES, repr(text[:60]), "0.5x")
    sign, number, unit = found[1], float(found[2]), found[3]
    if unit == "%":
        if not sign or (sign == "-" and number > 100.0):
            fix = f"+{found[2]}% or {number / 100:g}x" if not sign else "-100%"
            raise RegattaError(where, "+10% for more, -10% for less, -100% at most", repr(text[:60]), fix)
        return Change(factor=1.0 + (number if sign == "+" else -number) / 100.0, text=text.strip())
    if sign or not math.isfinite(number):
        raise RegattaError(where, _EXAMPLES, repr(text[:60]), f"{found[2]}{unit}")
    if unit == "x":
        return Change(factor=number, text=text.strip())
    spelled: TimeUnit = "us" if unit[-1] == "s" and unit[0] in "uµμ" else unit  # type: ignore[assignment]
    return Change(time_ns=number * NS[spelled], text=text.strip())


def changed(system: SystemVector, changes: Mapping[str, Change], name: str = "") -> SystemVector:
    """Return a system with some costs changed; a cost given as a time is the same for all arguments.

    Args:
        system: as measured.
        changes: primitive to change.
        name: of the new system; the old one with the changes when "".

    Raises:
        RegattaError: no such primitive.
    """
    primitives = dict(system.primitives)
    for primitive, change in changes.items():
        if primitive not in primitives:
            raise _unknown(primitive, system)
        primitives[primitive] = _changed(primitives[primitive], change, NS[system.time_unit])
    told = ", ".join(f"{primitive} {change.text}".rstrip() for primitive, change in changes.items())
    return replace(system, name=name or f"{system.name} with {told}", primitives=primitives)


def _unknown(name: str, system: SystemVector) -> RegattaError:
    known = sorted(system.primitives)
    near = difflib.get_close_matches(name[:80], known, n=3, cutoff=0.5)
    return RegattaError(
        f"what-if {name}", f"a primitive of {system.name}", name, " or ".join(f"`{one}`" for one in near or known[:5])
    )  # fmt: skip


def _changed(primitive: PrimitiveCost, change: Change, factor_ns: float) -> PrimitiveCost:
    if math.isnan(change.factor):
        return replace(primitive, cost=ConstantCost(Value.exact(change.time_ns / factor_ns)), measured={})
    return replace(primitive, cost=scaled(primitive.cost, change.factor))


def scaled(cost: Cost, factor: float) -> Cost:
    """Return a cost times an exact number of at least 0, with its intervals."""

    def times(number: Value) -> Value:
        return replace(
            number, value=number.value * factor, low=number.low * factor, high=number.high * factor
        )

    if isinstance(cost, ConstantCost):
        return ConstantCost(times(cost.cost))
    if isinstance(cost, LinearCost):
        return replace(cost, fixed=times(cost.fixed), per=times(cost.per))
    if isinstance(cost, TableCost):
        return replace(cost, points=tuple(replace(point, cost=times(point.cost)) for point in cost.points))
    return replace(cost, pieces=tuple((times(fixed), times(per)) for fixed, per in cost.pieces))


def effect(
    application: ApplicationVector,
    system: SystemVector,
    changes: Mapping[str, Change],
    traced_on: TracedOn | None = None,
) -> Effect:
    """Compute the effect of changed costs on an application.

    Errors of unchanged costs and of counts are on both sides and affect the difference only; so does that of a cost with a
    factor. A cost given as a time is exact.

    Args:
        application: its vector.
        system: the unchanged system.
        changes: primitive to change.
        traced_on: where the application's user time was measured.

    Raises:
        RegattaError: no such primitive, or a missing argument.
    """
    other = changed(system, changes, system.name)
    found, found_other = uses(application, system), uses(application, other)
    before = whole = total_of(found, application.name, system.name)
    if application.user_time is not None:
        whole = before.plus(own_user_time(application, system, traced_on))
    parts: list[Sum] = []
    for use, use_other in zip(found, found_other, strict=True):
        change = changes.get(use.count.primitive)
        part = total_of([use], application.name, system.name)
        if change is not None:
            part = (
                total_of([use_other], application.name, other.name)
                if math.isnan(change.factor)
                else part.times(change.factor)
            )
        parts.append(part)
    after = _summed(parts)
    used = {count.primitive for count in application.counts}
    if USER_WORK in changes and application.user_time is not None:
        used.add(USER_WORK)
        there = {system.name: (traced_on or {}).get(system.name, system)}
        before = whole
        after = after.plus(own_user_time(application, other, there))
    saved = before.minus(after).interval()
    share = saved.value / whole.value if whole.value else math.nan
    unused = tuple(name for name in changes if name not in used)
    return Effect(positive(before.interval()), positive(after.interval()), saved, share, unused)


def _summed(parts: Sequence[Sum]) -> Sum:
    """Return the total of the parts."""
    found = Sum(0.0)
    for part in parts:
        found = found.plus(part)
    return found


# Largest savings


def optimise(
    application: ApplicationVector, system: SystemVector, whole: float, others: Sequence[SystemVector] = ()
) -> tuple[Saving, ...]:
    """Rank the primitives of an application by their time, the most expensive first.

    Args:
        application: its vector.
        system: the one to improve.
        whole: the whole predicted time there in ns, above 0; savings are shares of it.
        others: systems to compare with.

    Returns:
        one row per primitive that the system has.

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
