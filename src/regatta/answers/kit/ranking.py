"""Rank alternatives by their geometric means over several benchmarks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from regatta.answers.spine.parts import FamilyPair, Place
from regatta.host.values.experiment import Better, Scalar

T = TypeVar("T")


@dataclass(frozen=True)
class Standings:
    """The alternatives of one place, or over several benchmarks, best first, with all their pairs."""

    #: what the alternatives are: `platform` (or hosts of one), `suite`
    kind: str
    #: name of the baseline, if a place has a ranking for each baseline; else ""
    baseline: str
    metric: str
    better: Better
    parameters: Mapping[str, Scalar]
    #: name -> place of the alternative, best first
    places: Mapping[str, Place]
    #: simultaneous intervals, and p adjusted over the pairs
    pairs: tuple[FamilyPair, ...]
    #: the best, and those that do not differ significantly from it; empty without intervals
    leaders: tuple[str, ...]


def ranked(baseline: T, entries: Iterable[tuple[float, T]], better: Better) -> list[tuple[int, T]]:
    """Return the rank of each alternative and of the baseline, best first.

    Args:
        baseline: the label of the baseline; its mean is 1.
        entries: the geometric mean of each other alternative relative to the baseline.
        better: whether a lower or a higher mean is better.
    """
    every = sorted([*entries, (1.0, baseline)], key=lambda entry: entry[0], reverse=better == "higher")
    return [(rank, one) for rank, (_, one) in enumerate(every, 1)]
