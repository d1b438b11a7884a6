"""Orders of invocations: what every plan must be, whatever the sizes and the seed."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regatta.host.values.experiment import Order
from regatta.planner import orders
from regatta.planner.orders import host_generator, order_rows, williams_square

sizes = st.lists(st.integers(1, 6), min_size=1, max_size=7)
seeds = st.integers(0, 2**63 - 1)
ORDERS: tuple[Order, ...] = get_args(Order)
every_order = pytest.mark.parametrize("order", ORDERS)


def rows_of(
    group_sizes: list[int], rounds: int, order: Order, seed: int = 1, host: str = "local"
) -> np.ndarray:
    parts = list(order_rows(group_sizes, rounds, order, host_generator(seed, host)))
    return np.concatenate(parts) if parts else np.empty((0, 4), np.int32)


@every_order
@given(group_sizes=sizes, rounds=st.integers(1, 9), seed=seeds)
@settings(deadline=None, max_examples=60)
def test_every_cell_runs_once_in_every_round(
    order: Order, group_sizes: list[int], rounds: int, seed: int
) -> None:
    rows = rows_of(group_sizes, rounds, order, seed)
    cells = sum(group_sizes)
    assert len(rows) == cells * rounds
    assert len(np.unique(rows[:, 0].astype(np.int64) * cells + rows[:, 3])) == cells * rounds


@pytest.mark.parametrize("order", [o for o in ORDERS if o != "back-to-back"])
@given(group_sizes=sizes, rounds=st.integers(1, 9), seed=seeds)
@settings(deadline=None, max_examples=60)
def test_a_block_is_whole_before_the_next_begins(
    order: Order, group_sizes: list[int], rounds: int, seed: int
) -> None:
    rows = rows_of(group_sizes, rounds, order, seed)
    assert np.all(np.diff(rows[:, 0]) >= 0)
    starts = np.cumsum([0, *group_sizes])
    keys = rows[:, :2]
    changes = np.flatnonzero(np.any(np.diff(keys, axis=0) != 0, axis=1)) + 1
    blocks = np.split(rows, changes)
    assert len(blocks) == rounds * len(group_sizes)
    for block in blocks:
        group = block[0, 1]
        assert block[:, 2].tolist() == list(range(group_sizes[group]))
        assert sorted(block[:, 3]) == list(range(starts[group], starts[group + 1]))


@every_order
@given(group_sizes=sizes, rounds=st.integers(1, 6), seed=seeds)
@settings(deadline=None, max_examples=30)
def test_the_same_seed_gives_the_same_plan(
    order: Order, group_sizes: list[int], rounds: int, seed: int
) -> None:
    assert np.array_equal(
        rows_of(group_sizes, rounds, order, seed), rows_of(group_sizes, rounds, order, seed)
    )


def test_seeds_and_hosts_have_orders_of_their_own() -> None:
    plan = rows_of([5] * 6, 10, "randomized-blocks", 1)
    assert not np.array_equal(plan, rows_of([5] * 6, 10, "randomized-blocks", 2))
    assert not np.array_equal(plan, rows_of([5] * 6, 10, "randomized-blocks", 1, "other"))


@given(group_sizes=sizes, rounds=st.integers(1, 6), more=st.integers(1, 6), seed=seeds)
@settings(deadline=None, max_examples=30)
def test_more_rounds_leave_the_first_ones_as_they_were(
    group_sizes: list[int], rounds: int, more: int, seed: int
) -> None:
    short = rows_of(group_sizes, rounds, "interleaved", seed)
    assert np.array_equal(rows_of(group_sizes, rounds + more, "interleaved", seed)[: len(short)], short)


@pytest.mark.parametrize("k", range(1, 12))
def test_a_williams_square_is_balanced_for_position_and_for_what_came_before(k: int) -> None:
    square = williams_square(k)
    assert len(square) == (k if k % 2 == 0 else 2 * k)
    for position in range(k):
        assert set(Counter(square[:, position]).values()) == {len(square) // k}
    follows = Counter((a, b) for row in square for a, b in pairwise(row))
    assert len(follows) == k * (k - 1)
    assert len(set(follows.values())) <= 1


@pytest.mark.parametrize("k", range(2, 8))
def test_a_williams_plan_is_balanced_over_as_many_rounds_as_the_square_has_rows(k: int) -> None:
    rounds = len(williams_square(k))
    rows = rows_of([k], rounds, "williams", 3)
    follows: Counter[tuple[int, int]] = Counter()
    for round_ in range(rounds):
        sequence = rows[rows[:, 0] == round_][:, 3].tolist()
        follows.update(pairwise(sequence))
    assert set(follows.values()) == {rounds // k}
    assert len(follows) == k * (k - 1)


def test_interleaved_keeps_the_order_of_the_spec_in_every_round() -> None:
    assert rows_of([2, 3], 3, "interleaved")[:, 3].tolist() == [0, 1, 2, 3, 4] * 3


def test_back_to_back_runs_all_rounds_of_a_cell_before_the_next() -> None:
    rows = rows_of([2, 1], 3, "back-to-back")
    assert rows[:, 3].tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert rows[:, 0].tolist() == [0, 1, 2] * 3


def test_randomized_blocks_put_every_alternative_at_every_position_about_equally_often() -> None:
    rows = rows_of([4], 4000, "randomized-blocks", 11)
    counts = np.zeros((4, 4))
    np.add.at(counts, (rows[:, 2], rows[:, 3]), 1)
    # Each count is binomial(4000, 1/4) with SD 27; five of them is beyond chance for a fixed seed that was not chosen.
    assert np.all(np.abs(counts - 1000) < 5 * 27.4)


@every_order
def test_chunks_do_not_show_in_the_plan(order: Order, monkeypatch: pytest.MonkeyPatch) -> None:
    # One chunk of rounds or many: rows are complete, in order of rounds, and blocks stay whole.
    monkeypatch.setattr(orders, "CHUNK_ROWS", 7)
    rows = rows_of([2, 3], 8, order)
    assert len(rows) == 40
    assert len({(r, c) for r, _, _, c in rows.tolist()}) == 40


@every_order
def test_nothing_to_run_is_an_empty_plan(order: Order) -> None:
    assert len(rows_of([], 5, order)) == 0
