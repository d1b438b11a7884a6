"""Which primitive pays most: what an application would save if one cost half, nothing, or what it costs elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from regatta.predict.prediction import Use, check_units, common_level, total_of, uses
from regatta.predict.sums import Sum, positive, ratio
from regatta.spec.vectors import ApplicationVector, SystemVector, Value


@dataclass(frozen=True)
class Saving:
    """What one primitive could save an application on a system; times in ns for one unit of its work."""

    primitive: str
    #: all entries of the primitive together
    time: Value
    #: of the whole predicted time, 0 to 1
    share: float
    #: saved where it costs half, and how many times as fast the application is then
    half: Value
    half_speed: Value
    #: the same where it costs nothing: no optimisation of it gives more
    nothing: Value
    nothing_speed: Value
    #: the system, of those given, on which the application's use of it is cheapest; "" where that is this one, or none was given
    best: str
    #: saved where it costs what it does there, and the speed then
    as_best: Value
    best_speed: Value


def optimise(
    application: ApplicationVector, system: SystemVector, others: Sequence[SystemVector] = ()
) -> tuple[Saving, ...]:
    """Rank the primitives of an application by what they cost it, the dearest first.

    Args:
        application: its vector.
        system: the one to improve.
        others: systems to learn from.

    Returns:
        a row a primitive that the system has; speeds are NaN where it lacks another one.

    Raises:
        RegattaError: as `predict` does.
    """
    common_level(application, system, *others)
    check_units([application], [system, *others])
    found = uses(application, system)
    whole = total_of(found, application.name, system.name)
    elsewhere = [(other, uses(application, other)) for other in others]
    names = dict.fromkeys(use.count.primitive for use in found if use.primitive is not None)
    rows = []
    for name in names:
        time = _time(found, application, system, name)
        best, cheaper = system.name, time
        for other, its_uses in elsewhere:
            there = _time(its_uses, application, other, name)
            if there.value < cheaper.value:
                best, cheaper = other.name, there
        rows.append(_saving(name, whole, time, "" if best == system.name else best, cheaper))
    return tuple(sorted(rows, key=lambda row: -row.time.value))


def _time(found: Sequence[Use], application: ApplicationVector, system: SystemVector, primitive: str) -> Sum:
    """All entries of one primitive; NaN where the system has it not."""
    of_it = [use for use in found if use.count.primitive == primitive]
    return total_of(of_it, application.name, system.name)


def _saving(name: str, whole: Sum, time: Sum, best: str, there: Sum) -> Saving:
    saved = time.minus(there)
    at_best = (
        (best, saved.interval(), ratio(whole, whole.minus(saved)))
        if best
        else ("", Value.exact(0.0), Value.exact(1.0))
    )
    return Saving(
        name,
        positive(time.interval()),
        time.value / whole.value if whole.value else 0.0,
        positive(time.times(0.5).interval()),
        ratio(whole, whole.minus(time.times(0.5))),
        positive(time.interval()),
        ratio(whole, whole.minus(time)),
        *at_best,
    )
