"""What several answers are made of: a sample, and a pair of alternatives. Frozen values."""

from __future__ import annotations

from dataclasses import dataclass

from regatta.stats.estimate import Interval


@dataclass(frozen=True)
class Sample:
    """One invocation's number and where it stood in time. `position` is the place in the block."""

    invocation_id: str
    value: float
    round: int
    block: int
    position: int
    started_utc_ns: int
    perturbed: bool


@dataclass(frozen=True)
class TukeyPair:
    """Simultaneous interval of the difference of log means, given as the ratio a/b."""

    a_name: str
    b_name: str
    ratio: Interval
    p: float
