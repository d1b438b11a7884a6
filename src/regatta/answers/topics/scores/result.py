"""Scores of a suite's programs against a named reference machine, as SPEC defines them. Frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from regatta.stats.estimate import Interval


@dataclass(frozen=True)
class BenchmarkScore:
    """One benchmark: copies x reference time / mean elapsed time."""

    #: its whole label
    benchmark: str
    name: str
    reference_s: float
    elapsed_s: Interval
    score: Interval


@dataclass(frozen=True)
class SuiteScore:
    """One host, configuration, size and number of copies: the scores of its benchmarks and their geometric mean."""

    host: str
    suite: str
    size: str
    machine: str
    #: `speed`: one copy; `rate`: several at a time
    kind: Literal["speed", "rate"]
    copies: int
    #: what else was chosen and leaves the work what it is, such as the placement of copies
    parameters: Mapping[str, str]
    #: with its heap, where it has one
    configuration: str
    members: tuple[BenchmarkScore, ...]
    #: benchmark and why it is in no mean
    left_out: tuple[tuple[str, str], ...]
    #: geometric mean of the members' scores, with an interval for these very benchmarks
    overall: Interval
    words: str

    @property
    def of(self) -> int:
        """Benchmarks that the suite has in this size."""
        return len(self.members) + len(self.left_out)

    @property
    def complete(self) -> bool:
        """Is every benchmark of the suite in the mean?"""
        return not self.left_out
