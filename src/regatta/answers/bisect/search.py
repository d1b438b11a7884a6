"""Find the changes between two states that differ, by comparing states between them with both. Pure.

Unlike `git bisect`, a comparison has three results, and several changes are found: a state that differs from both sides has
changes on both of its sides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from regatta.stats.estimate import Interval

#: `same`: they differ by less than what is searched for
Relation = Literal["differs", "same", "unknown"]


@dataclass(frozen=True)
class Compared:
    """A state compared with the states on its left and right."""

    to_left: Relation
    to_right: Relation


@dataclass(frozen=True)
class Between:
    """Something between two states, after `first` and up to `last`, by their places. `reason`: why it is not one change."""

    first: int
    last: int
    reason: str = ""


@dataclass(frozen=True)
class Found:
    """The changes, each between two neighbours, and what is not known.

    `unresolved`: ranges with a change that was not found. `possible`: ranges that may have a further one. `skipped`: what could
    not be measured.
    """

    changes: tuple[Between, ...] = ()
    unresolved: tuple[Between, ...] = ()
    possible: tuple[Between, ...] = ()
    skipped: tuple[int, ...] = ()


#: compares a state with the states on its left and right (left, middle, right); None: the middle cannot be measured
Compare = Callable[[int, int, int], Compared | None]


def search(last: int, compare: Compare) -> Found:
    """Find the changes between state 0 and state `last` >= 1, which are known to differ.

    Each range whose ends differ is halved. A middle that cannot be measured is replaced by the nearest one that can.
    """
    changes: list[Between] = []
    unresolved: list[Between] = []
    possible: list[Between] = []
    skipped: set[int] = set()
    pending = [(0, last)]
    while pending:
        left, right = pending.pop()
        if right - left == 1:
            changes.append(Between(left, right))
            continue
        found, middle = None, left
        for middle in _nearest(left, right):
            found = None if middle in skipped else compare(left, middle, right)
            if found is not None:
                break
            skipped.add(middle)
        if found is None:
            unresolved.append(Between(left, right, "nothing between them can be measured"))
            continue
        halves = {(left, middle): found.to_left, (middle, right): found.to_right}
        if "differs" not in halves.values():
            unresolved.append(Between(left, right, "the middle does not clearly differ from either end"))
            continue
        possible += [Between(*half) for half, relation in halves.items() if relation == "unknown"]
        # The left half is searched first.
        pending += reversed([half for half, relation in halves.items() if relation == "differs"])
    return Found(
        tuple(sorted(changes, key=_first)),
        tuple(sorted(unresolved, key=_first)),
        tuple(sorted(possible, key=_first)),
        tuple(sorted(skipped)),
    )


def _first(one: Between) -> int:
    return one.first


def _nearest(left: int, right: int) -> list[int]:
    """Return the places between two others, those in the middle first."""
    return sorted(range(left + 1, right), key=lambda place: (abs(2 * place - left - right), place))


def relation(ratio: Interval, smallest: float, searched: float) -> Relation:
    """Return the relation of two states by their ratio.

    Args:
        ratio: with its interval, which holds for both comparisons of the middle together.
        smallest: largest irrelevant difference of logarithms, > 0.
        searched: difference of logarithms, >= `smallest`, below which they count as the same.
    """
    if not (ratio.low > 0.0 and math.isfinite(ratio.high)) or ratio.is_disturbed:
        return "unknown"
    low, high = math.log(ratio.low), math.log(ratio.high)
    if -smallest < low and high < smallest:
        return "same"
    if low > 0.0 or high < 0.0:
        return "differs"
    return "same" if -searched < low and high < searched else "unknown"


def searched_difference(ends: Interval, smallest: float) -> float:
    """Return what is searched for between two states: half of their difference on logarithms, at least `smallest`."""
    return max(smallest, abs(math.log(ends.point)) / 2.0)


def level_of_step(level: float, last: int) -> float:
    """Return the level of each comparison, so that a search for up to two changes has `level` in all (Bonferroni).

    Args:
        level: between 0 and 1.
        last: place of the last state, >= 1.
    """
    return 1.0 - (1.0 - level) / (1 + 2 * math.ceil(math.log2(max(2, last))))
