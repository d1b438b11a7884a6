"""Latency of requests: simple, and metered as if requests had kept arriving while the program stood still.

A closed loop sends its next request when the last one is answered, so that a pause delays one request where in
life it would have delayed all that arrive meanwhile. Metered latency gives each request the start it would have had,
had requests arrived evenly. Standard library only, because the runner computes it on the host.

Source: Blackburn et al., Rethinking Java Performance Analysis, ASPLOS 2025 (DaCapo Chopin).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

#: percentile -> how many requests it needs: with fewer it would be the longest request under another name
PERCENTILES: tuple[tuple[float, int], ...] = ((50, 1), (90, 10), (99, 100), (99.9, 1000), (100, 1))
#: widths of the window over which starts are smoothed, by name; None: all of the iteration
WINDOWS_NS: tuple[tuple[str, int | None], ...] = (
    ("10 ms", 10_000_000),
    ("100 ms", 100_000_000),
    ("full", None),
)


def smoothed_starts(starts: Sequence[float], window_ns: float | None) -> list[float]:
    """When requests would have started, had they arrived evenly over each window.

    Args:
        starts: shape (n,), ascending, ns.
        window_ns: width of the window, >= 0; None: as wide as all of them.

    Returns:
        shape (n,), ascending. For a window: each request's start is the mean of 2 h + 1 neighbours' (itself in the
        middle), with h such that at the mean rate of all requests they fill the window, and less towards the ends, where
        there are no more neighbours on one side. For None: evenly spaced from the first to the last start. Starts
        that are evenly spaced already stay as they are.
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
    """`end - start` of each request, ns."""
    return [end - start for start, end in zip(starts, ends)]


def metered_latencies(starts: Sequence[float], ends: Sequence[float], window_ns: float | None) -> list[float]:
    """Latency of each request from the earlier of its start and its smoothed start.

    Args:
        starts: shape (n,), ascending, ns.
        ends: shape (n,), of the same requests, ns.
        window_ns: see `smoothed_starts`.

    Returns:
        shape (n,), ns; none is below its simple latency.
    """
    smoothed = smoothed_starts(starts, window_ns)
    return [end - min(start, even) for start, even, end in zip(starts, smoothed, ends)]


def percentiles(values: Sequence[float]) -> Iterator[tuple[float, float]]:
    """Nearest-rank percentiles of those of `PERCENTILES` for which there are values enough, as (percent, value)."""
    ordered = sorted(values)
    n = len(ordered)
    for percent, least in PERCENTILES:
        if n >= least:
            # In tenths of a per cent, so that 99.9 of 1000 is the 999th and not, by rounding, the 1000th.
            rank = -(-n * round(percent * 10) // 1000)
            yield percent, ordered[max(1, rank) - 1]


def latency_rows(starts: Sequence[int], ends: Sequence[int]) -> Iterator[tuple[int, dict[str, object]]]:
    """The bounded summary of one iteration's requests, as (latency in whole ns, parameters).

    Args:
        starts: shape (n,), ns, in any order.
        ends: shape (n,), of the same requests, ns, none before its start.

    Returns:
        Percentiles of the simple latency, and of the metered one for each of `WINDOWS_NS`. A percentile of 0 ns lies
        below what the clock can tell and is left out.
    """
    pairs = sorted(zip(starts, ends))
    # From the first start on, because a time since a machine's start has more digits than a float.
    origin = pairs[0][0] if pairs else 0
    ordered, ended = [start - origin for start, _ in pairs], [end - origin for _, end in pairs]
    for percent, value in percentiles(simple_latencies(ordered, ended)):
        if round(value) > 0:
            yield round(value), {"kind": "simple", "percentile": percent}
    for name, window_ns in WINDOWS_NS:
        for percent, value in percentiles(metered_latencies(ordered, ended, window_ns)):
            if round(value) > 0:
                yield round(value), {"kind": "metered", "percentile": percent, "window": name}
