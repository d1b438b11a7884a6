"""Find costs that are used outside of their measured range: there, a line or a table is extrapolated."""

from __future__ import annotations

from collections.abc import Mapping

from regatta.models.predict.forecast import Beyond
from regatta.models.predict.prediction import uses
from regatta.models.vectors.costs import arguments_of, evaluate, parts_of_count
from regatta.models.vectors.values import ApplicationVector, PrimitiveCost, SystemVector, TableCost


def measured_ranges(primitive: PrimitiveCost) -> Mapping[str, tuple[float, float]]:
    """Return argument -> its measured range, without arguments of unknown range.

    The range of a table follows from its points.
    """
    cost = primitive.cost
    if not isinstance(cost, TableCost):
        return primitive.measured
    axes = zip(cost.arguments, zip(*(point.at for point in cost.points), strict=True), strict=True)
    return {name: (min(axis), max(axis)) for name, axis in axes}


def beyond(application: ApplicationVector, system: SystemVector) -> tuple[Beyond, ...]:
    """Return the uses of costs outside of the measured range, one per primitive and argument, the largest time first.

    Args:
        application: its vector; of a distribution each part is checked.
        system: its vector. An argument without a range is unlimited.

    Raises:
        RegattaError: an argument is missing.
    """
    times: dict[tuple[str, str], float] = {}
    used: dict[tuple[str, str], tuple[float, float]] = {}
    known: dict[tuple[str, str], tuple[float, float]] = {}
    for use in uses(application, system):
        if use.primitive is None or use.counts_nothing:
            continue
        ranges = measured_ranges(use.primitive)
        for share, arguments in parts_of_count(use.count):
            for name in arguments_of(use.primitive.cost):
                low, high = ranges.get(name, (arguments[name], arguments[name]))
                if low <= arguments[name] <= high:
                    continue
                at = use.count.primitive, name
                cost = evaluate(use.primitive.cost, arguments).value * use.factor
                times[at] = times.get(at, 0.0) + use.count.count.value * share * cost
                least, largest = used.get(at, (arguments[name], arguments[name]))
                used[at] = min(least, arguments[name]), max(largest, arguments[name])
                known[at] = low, high
    found = (
        Beyond(*at, *known[at], *used[at], time)
        for at, time in sorted(times.items(), key=lambda item: -item[1])
    )
    return tuple(found)
