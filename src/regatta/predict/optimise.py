"""Which primitive pays most: what an application would save if one cost nothing, or what it costs elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from regatta.predict.forecast import Saving
from regatta.predict.prediction import Use, check_units, common_level, total_of, uses
from regatta.predict.sums import Sum, positive
from regatta.spec.vectors import ApplicationVector, SystemVector


def optimise(
    application: ApplicationVector, system: SystemVector, whole: float, others: Sequence[SystemVector] = ()
) -> tuple[Saving, ...]:
    """Rank the primitives of an application by what they cost it, the dearest first.

    Args:
        application: its vector.
        system: the one to improve.
        whole: the predicted time there of which savings are shares, in ns, above 0.
        others: systems to learn from.

    Returns:
        a row a primitive that the system has.

    Raises:
        RegattaError: as `predict` does.
    """
    common_level(application, system, *others)
    check_units([application], [system, *others])
    found = uses(application, system)
    elsewhere = [(other, uses(application, other)) for other in others]
    names = dict.fromkeys(use.count.primitive for use in found if use.primitive is not None)
    rows = []
    for name in names:
        time = _time(found, application, system, name)
        best, cheapest = "", time
        for other, its_uses in elsewhere:
            there = _time(its_uses, application, other, name)
            if there.value < cheapest.value:
                best, cheapest = other.name, there
        row = Saving(name, positive(time.interval()), time.value / whole)
        if best:
            saved = time.minus(cheapest).interval()
            row = replace(row, best=best, as_best=saved, as_best_share=saved.value / whole)
        rows.append(row)
    return tuple(sorted(rows, key=lambda row: -row.time.value))


def _time(found: Sequence[Use], application: ApplicationVector, system: SystemVector, primitive: str) -> Sum:
    """All entries of one primitive; NaN where the system has it not."""
    of_it = [use for use in found if use.count.primitive == primitive]
    return total_of(of_it, application.name, system.name)
