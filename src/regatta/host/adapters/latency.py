"""Latency of requests: simple, and metered as if requests arrived evenly during pauses of the program.

A closed loop sends the next request only after a response. A pause therefore delays one request, whereas in production it
delays all that arrive during it. Metered latency counts from the start that a request would have had with even arrivals.
Standard library only, because the runner computes it on the host.

Source: Blackburn et al., Rethinking Java Performance Analysis, ASPLOS 2025 (DaCapo Chopin).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

#: percentile -> minimum number of requests; with fewer, it would equal the longest request
PERCENTILES: tuple[tuple[float, int], ...] = ((50, 1), (90, 10), (99, 100), (99.9, 1000), (100, 1))
#: widths of the smoothing window by name; None: the whole iteration
WINDOWS_NS: tuple[tuple[str, int | None], ...] = (
    ("10 ms", 10_000_000),
    ("100 ms", 100_000_000),
    ("full", None),
)


def smoothed_starts(starts: Sequence[float], window_ns: float | None) -> list[float]:
    """Return the starts of requests, as if they arrived evenly over each window.

    Args:
        starts: shape (n,), ascending, ns.
        window_ns: width of the window, >= 0; None: the whole range.

    Returns:
        shape (n,), ascending. With a window, each start is the mean of 2 h + 1 neighbors, centered on the request. At
        the mean rate of all requests, 2 h + 1 of them fill the window. h is smaller near the ends, where neighbors are
        missing on one side. For None: evenly spaced from the first to the last start. Evenly spaced starts stay unchanged.
    """
    n = len(starts)
    if n < 3:
        return [float(start) for start in starts]
    first, length = starts[0], starts[-1] - starts[0]
    if length <= 0:
        return [float(start) for start in starts]
    if window_ns is None:
        return [first + length * i / (n - 1) for i in range(n)]
    half = int(window_ns * (n - 1) / length / 2)
    sums = [0, *accumulate(start - first for start in starts)]
    smoothed = []
    for i in range(n):
        h = min(half, i, n - 1 - i)
        smoothed.append(first + (sums[i + h + 1] - sums[i - h]) / (2 * h + 1))
    return smoothed


def simple_latencies(starts: Sequence[float], ends: Sequence[float]) -> list[float]:
    """Return `end - start` of each request, ns."""
    return [end - start for start, end in zip(starts, ends)]


def metered_latencies(starts: Sequence[float], ends: Sequence[float], window_ns: float | None) -> list[float]:
    """Return the latency of each request from the earlier of its start and its smoothed start.

    Args:
        starts: shape (n,), ascending, ns.
        ends: shape (n,), of the same requests, ns.
        window_ns: see `smoothed_starts`.

    Returns:
        shape (n,), ns; never below the simple latency.
    """
    smoothed = smoothed_starts(starts, window_ns)
    return [end - min(start, even) for start, even, end in zip(starts, smoothed, ends)]


def percentiles(values: Sequence[float]) -> Iterator[tuple[float, float]]:
    """Yield nearest-rank percentiles as (percent, value), for those of `PERCENTILES` with enough values."""
    ordered = sorted(values)
    n = len(ordered)
    for percent, least in PERCENTILES:
        if n >= least:
            # In tenths of a percent, so that rounding does not turn the 999th of 1000 values (99.9 %) into the 1000th.
            rank = -(-n * round(percent * 10) // 1000)
            yield percent, ordered[max(1, rank) - 1]


def latency_rows(starts: Sequence[int], ends: Sequence[int]) -> Iterator[tuple[int, dict[str, object]]]:
    """Summarize the requests of one iteration in a bounded number of rows: (latency in whole ns, parameters).

    Args:
        starts: shape (n,), ns, in any order.
        ends: shape (n,), of the same requests, ns, none before its start.

    Returns:
        Percentiles of the simple latency, and of the metered latency for each of `WINDOWS_NS`. Percentiles of 0 ns are
        below the clock resolution and are omitted.
    """
    pairs = sorted(zip(starts, ends))
    # Relative to the first start, because a time since boot has more digits than a float.
    origin = pairs[0][0] if pairs else 0
    ordered, ended = [start - origin for start, _ in pairs], [end - origin for _, end in pairs]
    for percent, value in percentiles(simple_latencies(ordered, ended)):
        if round(value) > 0:
            yield round(value), {"kind": "simple", "percentile": percent}
    for name, window_ns in WINDOWS_NS:
        for percent, value in percentiles(metered_latencies(ordered, ended, window_ns)):
            if round(value) > 0:
                yield round(value), {"kind": "metered", "percentile": percent, "window": name}
