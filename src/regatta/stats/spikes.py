"""Single values far outside of their surroundings in a series, such as an iteration in which a collection fell."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray

from regatta.stats.estimate import Floats

#: iterations around one that are its surroundings
WINDOW = 200
#: How many widths from the 10th to the 90th percentile a value may lie away from the median.
_WIDTHS = 3.0


def without_spikes(table: ArrayLike) -> tuple[Floats, NDArray[np.bool_]]:
    """Put the median of its surroundings in the place of every spike.

    A spike lies further from the median of the 200 iterations around it (of all, where there are fewer) than three times
    the distance of their 10th and 90th percentiles. Values at the very beginning, up to the first that is none, are no
    spikes: that is how a warm-up looks. What takes a tenth of the iterations or more moves the percentiles and is none.

    Args:
        table: shape (p, n), finite, any unit: a series a row, in order of time.

    Returns:
        The series with spikes replaced, and where they are; both of shape (p, n).

    Source: Barrett, Bolz-Tereick, Killick, Mount, Tratt, "Virtual Machine Warmup Blows Hot and Cold" (OOPSLA 2017),
    section 4, after Tukey. They leave spikes out; replacing keeps every iteration at its number. They judge none of the
    first 100 iterations, which here would be all of a short series: hence the rule about the beginning.
    """
    x = np.asarray(table, dtype=np.float64)
    if x.ndim != 2:
        raise ValueError(f"table: expected series x values · got {x.ndim} dimensions")
    p, n = x.shape
    if x.size == 0:
        return x.copy(), np.zeros((p, n), dtype=np.bool_)
    if n > WINDOW and p > 1:
        parts = [without_spikes(row[np.newaxis]) for row in x]
        return np.concatenate([calm for calm, _ in parts]), np.concatenate([far for _, far in parts])
    size = min(WINDOW, n)
    windows = sliding_window_view(x, size, axis=1)
    low, middle, high = np.percentile(windows, (10.0, 50.0, 90.0), axis=2)
    place = np.clip(np.arange(n) - size // 2, 0, n - size)
    middle = middle[:, place]
    far = np.abs(x - middle) > _WIDTHS * (high - low)[:, place]
    # From the first value on that is none.
    far &= np.logical_or.accumulate(~far, axis=1)
    return np.where(far, middle, x), far
