"""Rank alternatives by their geometric means over several benchmarks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from regatta.host.values.experiment import Better

T = TypeVar("T")


def ranked(baseline: T, entries: Iterable[tuple[float, T]], better: Better) -> list[tuple[int, T]]:
    """Return the rank of each alternative and of the baseline, best first.

    Args:
        baseline: the label of the baseline; its mean is 1.
        entries: the geometric mean of each other alternative relative to the baseline.
        better: whether a lower or a higher mean is better.
    """
    every = sorted([*entries, (1.0, baseline)], key=lambda entry: entry[0], reverse=better == "higher")
    return [(rank, one) for rank, (_, one) in enumerate(every, 1)]
