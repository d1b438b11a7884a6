"""One ratio over a whole suite. Frozen values."""

from __future__ import annotations

from dataclasses import dataclass

from regatta.host.values.experiment import Better, Heap
from regatta.stats.estimate import Interval


@dataclass(frozen=True)
class SuiteMember:
    """The ratio of one benchmark of the suite."""

    benchmark: str
    ratio: Interval


@dataclass(frozen=True)
class SuiteComparison:
    """Alternative `a` over baseline `b` on one host: the geometric mean of the ratios of a suite's benchmarks."""

    host: str
    suite: str
    a_name: str
    b_name: str
    #: a cell (of the first benchmark) that stands for the alternative in figures
    a: str
    #: without its size where that differs between the benchmarks
    heap: Heap
    metric: str
    better: Better
    #: only those that both sides completed
    members: tuple[SuiteMember, ...]
    #: benchmark and why it is in no mean
    left_out: tuple[tuple[str, str], ...]
    #: how well the mean of these very benchmarks is known
    these: Interval
    #: what it says of further benchmarks, were these a random sample of them
    like_these: Interval
    #: does it matter, by theta, on these benchmarks: `yes`, `no`, `open`; "" undefined
    practical: str
    words: str

    @property
    def generalises(self) -> bool:
        """Is a difference shown for benchmarks like these, too?"""
        return self.like_these.low > 1.0 or self.like_these.high < 1.0
