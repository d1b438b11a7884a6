"""Describe capacity: the highest load of each series that meets the target."""

from __future__ import annotations

import math
from collections.abc import Sequence

from regatta.answers.spine.words import counted, measured
from regatta.answers.topics.capacity.compute import metric_words
from regatta.answers.topics.capacity.result import Capacities, Capacity
from regatta.figures.text import with_unit
from regatta.host.values.experiment import CapacityTarget

#: with more series of one target, the first sentences name only the smallest and the largest capacity
FEW_SERIES = 6


def target_words(target: CapacityTarget) -> str:
    """Return `latency (percentile 99) at most 10 ms`."""
    return f"{metric_words(target)} at most {with_unit(f'{target.at_most:.15g}', target.unit)}"


def load_words(load: float) -> str:
    """Return a measured load with all its digits: `2,000`."""
    return f"{load:,.15g}"


def bound_words(one: Capacity) -> str:
    """Return `at least 8,000`, `below 2,000` or `between 2,000 and 8,000`; "" without a bound."""
    if one.bound is None:
        return ""
    low, high = (None if load is None else load_words(load) for load in (one.bound.low, one.bound.high))
    if low is None:
        return f"below {high}"
    return f"at least {low}" if high is None else f"between {low} and {high}"


def capacity_words(found: Capacities) -> tuple[str, ...]:
    """Return one sentence per series, with the rounds that are excluded."""
    return tuple(map(_sentence, found.found))


def first_words(found: Capacities) -> tuple[str, ...]:
    """Return the first sentences of an answer: one per series, or one per target with many series."""
    by_target: dict[str, list[Capacity]] = {}
    for one in found.found:
        by_target.setdefault(_highest(one.target), []).append(one)
    return tuple(
        words
        for title, many in by_target.items()
        for words in (map(_sentence, many) if len(many) <= FEW_SERIES else [_summary(title, many)])
    )


def notes(one: Capacity) -> list[str]:
    """Return what limits a capacity: excluded rounds, and loads without a value in some rounds."""
    incomplete = counted(one.incomplete_rounds, "round")
    found = [f"{incomplete} excluded (perturbed or incomplete)"] if one.incomplete_rounds else []
    failed = [f"{load_words(point.load)} ({point.failed})" for point in one.points if point.failed]
    return found + ([f"rounds without a value: {', '.join(failed)}"] if failed else [])


def _highest(target: CapacityTarget) -> str:
    return f"highest {target.parameter} with {target_words(target)}"


def _sentence(one: Capacity) -> str:
    bound = bound_words(one)
    value = f"{bound} ({one.estimate.reason})" if bound else measured(one.estimate, "")
    return "; ".join([f"{one.name}: {_highest(one.target)}: {value}", *notes(one)])


def _summary(title: str, many: Sequence[Capacity]) -> str:
    """Return the smallest and largest capacity of one target, and the number of series that have only a bound or nothing."""
    known = sorted(
        (one for one in many if math.isfinite(one.estimate.point)), key=lambda one: one.estimate.point
    )
    parts = []
    if known:
        ends = [known[0], known[-1]] if len(known) > 1 else known
        parts.append(" to ".join(f"{measured(one.estimate, '')} ({one.name})" for one in ends))
    bounds = sum(one.bound is not None for one in many)
    without = len(many) - len(known) - bounds
    parts += [f"only a bound in {bounds}"] if bounds else []
    parts += [f"undefined in {without}"] if without else []
    return f"{title}, {len(many)} series: {'; '.join(parts)}"
