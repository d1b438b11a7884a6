"""Describe capacity: the highest load of each series that meets the target."""

from __future__ import annotations

import math
from collections.abc import Sequence

from regatta.answers.topics.capacity.compute import metric_words
from regatta.answers.topics.capacity.result import Capacities, Capacity
from regatta.answers.words import counted, measured
from regatta.figures.text import show_number, with_unit
from regatta.host.values.experiment import CapacityTarget

#: with more series of one target, the first sentences name only the smallest and the largest capacity
FEW_SERIES = 6
_LOAD_DIGITS = 4


def target_words(target: CapacityTarget) -> str:
    """Return `latency (percentile 99) at most 10 ms`."""
    return f"{metric_words(target)} at most {with_unit(f'{target.at_most:.15g}', target.unit)}"


def load_words(load: float) -> str:
    """Return a measured load with all its digits: `2,000`."""
    return f"{load:,.15g}"


def bound_words(one: Capacity) -> str:
    """Return `at least 8,000` or `below 2,000`; "" without a bound."""
    if one.bound is None:
        return ""
    whole = one.bound.load == round(one.bound.load)
    load = load_words(one.bound.load) if whole else show_number(one.bound.load, _LOAD_DIGITS)
    return f"{'at least' if one.bound.kind == 'above' else 'below'} {load}"


def capacity_words(found: Capacities) -> tuple[str, ...]:
    """Return one sentence per series, with the rounds that are excluded or not interpolated."""
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
    """Return what limits a capacity: excluded rounds, rounds without interpolation, loads that meet the target again."""
    lower = sum(each.kind == "lower" for each in one.rounds)
    return [
        words
        for count, words in (
            (one.incomplete_rounds, f"{_rounds(one.incomplete_rounds)} excluded (perturbed or incomplete)"),
            (lower, f"{_rounds(lower)} without interpolation"),
            (one.nonmonotone_rounds, f"a higher load meets the target in {_rounds(one.nonmonotone_rounds)}"),
        )
        if count
    ]


def _rounds(count: int) -> str:
    return counted(count, "round")


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
