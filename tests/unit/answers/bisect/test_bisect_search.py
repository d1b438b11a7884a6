"""The search for changes: with perfect comparisons it finds all, and it never blames without a difference."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regatta.answers.bisect.search import (
    Between,
    Compared,
    Relation,
    level_of_step,
    relation,
    search,
    searched_difference,
)
from regatta.stats.estimate import Interval, undefined


def perfect(
    levels: list[int], steps: list[tuple[int, int, int]], broken: frozenset[int] = frozenset()
) -> Callable[[int, int, int], Compared | None]:
    """Compare levels without noise; broken states cannot be measured."""

    def compare(left: int, middle: int, right: int) -> Compared | None:
        steps.append((left, middle, right))
        assert left < middle < right
        if middle in broken:
            return None
        sides: list[Relation] = [
            "same" if levels[middle] == levels[at] else "differs" for at in (left, right)
        ]
        return Compared(*sides)

    return compare


@given(st.sets(st.integers(1, 63), min_size=1, max_size=4), st.integers(64, 80))
def test_every_change_of_a_growing_history_is_found(changes: set[int], states: int) -> None:
    levels = [sum(change <= at for change in changes) for at in range(states)]
    steps: list[tuple[int, int, int]] = []
    found = search(states - 1, perfect(levels, steps))
    assert {one.last for one in found.changes} == changes
    assert all(one.last - one.first == 1 for one in found.changes)
    assert not found.unresolved
    assert not found.possible
    assert len(steps) <= len(changes) * math.ceil(math.log2(states - 1))


@given(st.sets(st.integers(1, 30), max_size=12), st.integers(1, 30))
def test_states_that_cannot_be_measured_are_passed_by(broken: set[int], change: int) -> None:
    levels = [int(at >= change) for at in range(32)]
    found = search(31, perfect(levels, [], frozenset(broken)))
    blamed = [(one.first, one.last) for one in (*found.changes, *found.unresolved)]
    # Only what lies between neighbours that can be measured is known.
    first = max(at for at in range(change) if at not in broken)
    last = min(at for at in range(change, 32) if at not in broken)
    assert blamed == [(first, last)]
    assert bool(found.changes) == (last - first == 1)
    assert set(found.skipped) <= broken


def test_what_is_unknown_is_told() -> None:
    none = search(8, lambda *_: Compared("unknown", "same"))
    assert (none.changes, [(one.first, one.last) for one in none.unresolved]) == ((), [(0, 8)])
    some = search(4, lambda left, middle, right: Compared("unknown", "differs"))
    assert some.changes == (Between(3, 4),)
    assert [(one.first, one.last) for one in some.possible] == [(0, 2), (2, 3)]


def test_neighbours_need_no_step() -> None:
    assert search(1, perfect([0, 1], [])).changes == (Between(0, 1),)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1.03, 1.05, "differs"),
        (0.9, 0.95, "differs"),
        # a difference below half of what is searched is one, if it is relevant and clear
        (1.005, 1.025, "differs"),
        (1.001, 1.009, "same"),
        (0.97, 1.03, "same"),
        (0.97, 1.06, "unknown"),
        (math.nan, math.nan, "unknown"),
        (0.0, 1.0, "unknown"),
    ],
)
def test_relation_of_an_interval(low: float, high: float, expected: str) -> None:
    ratio = Interval(9, 1.0, low, high, 0.95, "paired-log-t")
    assert relation(ratio, math.log(1.01), math.log(1.05)) == expected
    assert relation(ratio.disturbed(), math.log(1.01), math.log(1.05)) == "unknown"
    assert relation(undefined(1, 0.95, "paired-log-t", "one block"), 0.01, 0.05) == "unknown"


def test_half_of_a_difference_is_searched_and_at_least_what_is_relevant() -> None:
    ends = Interval(9, 1.21, 1.1, 1.3, 0.95, "paired-log-t")
    assert searched_difference(ends, 0.01) == pytest.approx(math.log(1.1))
    assert searched_difference(ends.mapped(lambda value: 1.0 / value), 0.01) == pytest.approx(math.log(1.1))
    assert searched_difference(ends, 0.2) == 0.2


@pytest.mark.parametrize("last", [1, 2, 63, 64, 100_000])
def test_the_errors_of_a_search_for_two_changes_add_up_to_the_level(last: int) -> None:
    steps = 1 + 2 * math.ceil(math.log2(max(2, last)))
    assert steps * (1 - level_of_step(0.95, last)) == pytest.approx(0.05)
