"""An estimate with its interval, and one sample: what every answer is made of. Frozen values.

An undefined number is NaN and its `reason` says why; it is never 0 (design: how results are trusted).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """A point with its interval. `point`, `low`, `high` in the unit of what is estimated; NaN when undefined."""

    n: int
    point: float
    low: float
    high: float
    level: float
    method: str
    reason: str = ""

    @property
    def within_range(self) -> str:
        """How the interval of a positive quantity was kept above 0 (`log scale`, `cut at 0`); empty where it was not needed."""
        how = self.method.partition(", ")[2]
        return how if how in ("log scale", "cut at 0") else ""


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
    ratio: Estimate
    p: float
