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


def without_spikes(series: ArrayLike) -> tuple[Floats, NDArray[np.bool_]]:
    """Put the median of its surroundings in the place of every spike.

    A spike lies further from the median of the 200 iterations around it (of all, where there are fewer) than three times
    the distance of their 10th and 90th percentiles. Values at the very beginning, up to the first that is none, are no
    spikes: that is how a warm-up looks. What takes a tenth of the iterations or more moves the percentiles and is none.

    Args:
        series: shape (n,), finite, any unit, in order of time.

    Returns:
        The series with spikes replaced, and where they are; both of shape (n,).

    Source: Barrett, Bolz-Tereick, Killick, Mount, Tratt, "Virtual Machine Warmup Blows Hot and Cold" (OOPSLA 2017),
    section 4, after Tukey. They leave spikes out; replacing keeps every iteration at its number. They judge none of the
    first 100 iterations, which here would be all of a short series: hence the rule about the beginning.
    """
    x = np.asarray(series, dtype=np.float64).ravel()
    n = int(x.size)
    if n == 0:
        return x.copy(), np.zeros(0, dtype=np.bool_)
    size = min(WINDOW, n)
    low, middle, high = np.percentile(sliding_window_view(x, size), (10.0, 50.0, 90.0), axis=1)
    place = np.clip(np.arange(n) - size // 2, 0, n - size)
    width = _WIDTHS * (high - low)[place]
    far = np.abs(x - middle[place]) > width
    if far.all():
        return x.copy(), np.zeros(n, dtype=np.bool_)
    far[: int(far.argmin())] = False
    return np.where(far, middle[place], x), far
