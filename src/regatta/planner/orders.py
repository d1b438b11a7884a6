"""The order of invocations, computed in columns instead of one invocation at a time.

The cells of a host are numbered by block group: group g holds the alternatives that are compared. In every round each group is
one block. All randomness is the raw output of PCG64, which is stable across numpy versions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from regatta.host.values.experiment import DUET, Order

#: alternatives from a Williams square; with two alternatives, they swap their positions every round
_SQUARES: Final = ("williams", DUET)

Ints = npt.NDArray[np.int64]

#: Rows per chunk, which limits memory. This is part of the definition of the plan, because it decides when numbers are drawn.
CHUNK_ROWS = 1 << 20


def host_generator(seed: int, host: str) -> np.random.PCG64:
    """Return the random number stream of a host."""
    digest = hashlib.sha256(host.encode()).digest()
    return np.random.PCG64(np.random.SeedSequence([seed, *np.frombuffer(digest, dtype="<u4").tolist()]))


def williams_square(k: int) -> Ints:
    """Return sequences of k alternatives in which each follows each other one equally often.

    Args:
        k: number of alternatives, at least 1.

    Returns:
        Array (k, k) for even k, (2k, k) for odd k: one sequence per row. Each alternative is also at each position equally
        often.

    Source: E. J. Williams, Experimental designs balanced for the estimation of residual effects of treatments, 1949.
    """
    first = np.zeros(k, dtype=np.int64)
    first[1::2] = np.arange(1, (k + 1) // 2 + (1 - k % 2))[: len(first[1::2])]
    first[2::2] = k - np.arange(1, len(first[2::2]) + 1)
    square = (first[None, :] + np.arange(k)[:, None]) % k
    return square if k % 2 == 0 else np.vstack([square, square[:, ::-1]])


def _ranks(keys: npt.NDArray[np.uint64]) -> Ints:
    """Return the rank of each key along the last axis."""
    return np.argsort(np.argsort(keys, axis=-1, kind="stable"), axis=-1, kind="stable")


def _draw(generator: np.random.PCG64, shape: tuple[int, ...]) -> npt.NDArray[np.uint64]:
    size = int(np.prod(shape))
    return np.asarray(generator.random_raw(size), dtype=np.uint64).reshape(shape)


class _Sequences:
    """The alternative at each position, for all groups of one size."""

    def __init__(self, order: Order, groups: Ints, size: int, generator: np.random.PCG64) -> None:
        self.order, self.groups, self.size = order, groups, size
        if order in _SQUARES:
            self.square = williams_square(size)
            # Each group relabels the alternatives and uses the rows of the square in its own order.
            self.labels = np.argsort(_draw(generator, (len(groups), size)), axis=-1, kind="stable")
            self.rows = np.argsort(_draw(generator, (len(groups), len(self.square))), axis=-1, kind="stable")

    def at(self, rounds: Ints, generator: np.random.PCG64) -> Ints:
        """Return an array (rounds, groups, positions) of alternatives."""
        shape = (len(rounds), len(self.groups), self.size)
        if self.order == "randomized-blocks":
            return np.argsort(_draw(generator, shape), axis=-1, kind="stable")
        if self.order in _SQUARES:
            rows = self.rows[:, rounds % len(self.square)].T
            sequences = self.square[rows]
            return np.take_along_axis(np.broadcast_to(self.labels, shape), sequences, axis=-1)
        return np.broadcast_to(np.arange(self.size), shape)


def order_rows(
    group_sizes: list[int], rounds: int, order: Order, generator: np.random.PCG64
) -> Iterator[npt.NDArray[np.int32]]:
    """Yield the rows of the plan of a host in execution order.

    Args:
        group_sizes: number of alternatives of each block group; the cells of group g are numbered after those of g-1.
        rounds: number of runs of every block.
        order: `randomized-blocks` shuffles blocks in a round and alternatives in a block; `williams` shuffles blocks and takes
            alternatives from a Williams square; `duet` does the same with two alternatives; `interleaved` keeps the spec's order in every round; `back-to-back` runs all
            rounds of a cell before the next cell.
        generator: source of all randomness.

    Yields:
        Arrays (n, 4) of int32: round, block, position in the block, cell.
    """
    sizes = np.asarray(group_sizes, dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    cells = int(starts[-1])
    if not cells or not rounds:
        return
    if order == "back-to-back":
        yield from _back_to_back(sizes, starts, rounds)
        return
    sequences = [
        # Not `np.unique`: it imports numpy.ma, a large part of the start of a short experiment.
        _Sequences(order, np.flatnonzero(sizes == size), size, generator)
        for size in sorted(set(sizes.tolist()))
    ]
    step = max(1, CHUNK_ROWS // cells)
    shuffled = order in ("randomized-blocks", *_SQUARES)
    for first in range(0, rounds, step):
        window = np.arange(first, min(first + step, rounds))
        if shuffled:
            block_rank = _ranks(_draw(generator, (len(window), len(sizes))))
        else:
            block_rank = np.broadcast_to(np.arange(len(sizes)), (len(window), len(sizes)))
        parts, keys = [], []
        for sequence in sequences:
            groups = sequence.groups
            alternatives = sequence.at(window, generator)
            part = np.empty((*alternatives.shape, 4), dtype=np.int32)
            part[..., 0] = window[:, None, None]
            part[..., 1] = groups[None, :, None]
            part[..., 2] = np.arange(sequence.size)
            part[..., 3] = starts[groups][None, :, None] + alternatives
            place = (window - first)[:, None] * len(sizes) + block_rank[:, groups]
            keys.append((place[:, :, None] * int(sizes.max()) + np.arange(sequence.size)).ravel())
            parts.append(part.reshape(-1, 4))
        rows = np.concatenate(parts) if len(parts) > 1 else parts[0]
        yield rows[np.argsort(np.concatenate(keys), kind="stable")]


def _back_to_back(sizes: Ints, starts: Ints, rounds: int) -> Iterator[npt.NDArray[np.int32]]:
    groups = np.repeat(np.arange(len(sizes)), sizes)
    positions = np.arange(int(starts[-1])) - starts[groups]
    step = max(1, CHUNK_ROWS // rounds)
    for first in range(0, len(groups), step):
        cells = np.arange(first, min(first + step, len(groups)))
        rows = np.empty((len(cells), rounds, 4), dtype=np.int32)
        rows[..., 0] = np.arange(rounds)
        rows[..., 1] = groups[cells][:, None]
        rows[..., 2] = positions[cells][:, None]
        rows[..., 3] = cells[:, None]
        yield rows.reshape(-1, 4)
