"""Series side by side: rows are the blocks that hold at least two of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from regatta.analysis.samples import BlockKey, Series
from regatta.stats.estimate import Floats

#: fewer shared blocks than this leave no error to judge by
LEAST_BLOCKS = 2


def block_table(series: Sequence[Series]) -> Floats:
    """Shape (blocks, series): blocks that hold at least two of them, in order of time; NaN where one is missing."""
    held: dict[BlockKey, list[float]] = {}
    for column, one in enumerate(series):
        for key, value in one.by_block.items():
            held.setdefault(key, [math.nan] * len(series))[column] = value
    rows = [row for row in held.values() if sum(not math.isnan(value) for value in row) >= 2]
    return np.array(rows, dtype=np.float64).reshape(-1, len(series))
