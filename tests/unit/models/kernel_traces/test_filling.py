"""Values carried forward in arrays equal those of plain loops, wherever the rows are cut into batches."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from regatta.models.kernel_traces.filling import Filled, Nesting

NONE, DEFAULT = -1, -7
#: as in `filling`: interrupts beyond this depth share a place
LEVELS = 4
Row = tuple[int, str, int]


def rows(words: str) -> st.SearchStrategy[list[Row]]:
    """Group, word and value, ordered by group."""
    one = st.tuples(st.integers(0, 3), st.sampled_from(words), st.integers(0, 9))
    return st.lists(one, max_size=60).map(lambda found: sorted(found, key=lambda row: row[0]))


cuts = st.lists(st.integers(1, 60), max_size=10)


def batches(found: Sequence[Row], places: Sequence[int]) -> list[tuple[np.ndarray[Any, Any], ...]]:
    """The rows in batches, each with its groups' first rows, words and values."""
    groups = np.array([row[0] for row in found], np.int64)
    first = np.diff(groups, prepend=NONE) != 0
    words, values = np.array([row[1] for row in found]), np.array([row[2] for row in found], np.int64)
    edges = sorted({0, len(found), *(place for place in places if place < len(found))})
    return [
        (first[begin:end], words[begin:end], values[begin:end]) for begin, end in itertools.pairwise(edges)
    ]


@given(rows("k."), cuts)
def test_filled_is_the_last_known_value_of_its_group(found: list[Row], places: list[int]) -> None:
    expected, last, before = [], DEFAULT, NONE
    for group, word, value in found:
        last = value if word == "k" else DEFAULT if group != before else last
        before = group
        expected.append(last)
    filled = Filled(DEFAULT)
    pieces = [filled(values, words == "k", first) for first, words, values in batches(found, places)]
    assert [int(value) for piece in pieces for value in piece] == expected


def innermost(found: Sequence[Row]) -> list[int]:
    """The innermost interrupt after each row: a stack, of which all places beyond `LEVELS` are one."""
    expected: list[int] = []
    stack: list[int] = []
    before = NONE
    for group, word, value in found:
        if group != before or word == "r":
            stack = []
        before = group
        if word == "b":
            stack.append(value)
            for deep in range(LEVELS - 1, len(stack)):
                stack[deep] = value
        elif word == "e" and stack:
            stack.pop()
        expected.append(stack[-1] if stack else NONE)
    return expected


@given(rows("bbeer."), cuts)
def test_nesting_is_a_stack_per_group(found: list[Row], places: list[int]) -> None:
    nesting = Nesting(NONE)
    pieces = [
        nesting(words == "b", words == "e", words == "r", values, first)
        for first, words, values in batches(found, places)
    ]
    assert [int(value) for piece in pieces for value in piece] == innermost(found)


def test_ends_without_a_begin_are_ignored() -> None:
    found = [(0, word, at) for at, word in enumerate("eebeebbe")]
    for places in ([], list(range(8)), [3, 5]):
        nesting = Nesting(NONE)
        pieces = [nesting(w == "b", w == "e", w == "r", v, f) for f, w, v in batches(found, places)]
        assert [int(value) for piece in pieces for value in piece] == [-1, -1, 2, -1, -1, 5, 6, 5]


def test_interrupts_nest_four_deep() -> None:
    found = [(0, word, at) for at, word in enumerate("bbbbeeee")]
    nesting = Nesting(NONE)
    ((first, words, values),) = batches(found, [])
    inner = nesting(words == "b", words == "e", words == "r", values, first)
    assert inner.tolist() == [0, 1, 2, 3, 2, 1, 0, -1]
