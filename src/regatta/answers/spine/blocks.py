"""Align series by block: rows are the blocks that contain at least two series."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from regatta.answers.spine.samples import BlockKey, Series
from regatta.stats.estimate import Floats

#: fewer shared blocks leave no degrees of freedom for the error
LEAST_BLOCKS = 2


def block_table(series: Sequence[Series]) -> Floats:
    """Return shape (blocks, series): blocks with at least two series, in time order; NaN where one is missing."""
    keys = [list(one.by_block) for one in series]
    if len(series) >= 2 and all(own == keys[0] for own in keys[1:]):
        return np.array([list(one.by_block.values()) for one in series], dtype=np.float64).T
    held: dict[BlockKey, list[float]] = {}
    for column, one in enumerate(series):
        for key, value in one.by_block.items():
            held.setdefault(key, [math.nan] * len(series))[column] = value
    rows = [row for row in held.values() if sum(not math.isnan(value) for value in row) >= 2]
    return np.array(rows, dtype=np.float64).reshape(-1, len(series))
