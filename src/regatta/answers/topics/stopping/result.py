"""What came of the rule of stopping: for each block group how many rounds it needed, ran and gave. Frozen values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StoppedPair:
    """One comparison of a group (`b_name` is empty where an alternative is alone in its group)."""

    a_name: str
    b_name: str
    #: canonical JSON of the metric's parameters, "" when there are none
    parameters: str
    #: blocks it was decided by, and the standard deviation of their differences of logs; NaN: unknown
    decided_by: int
    sd: float
    #: rounds it asked for; None: it had no say, or asks for more, nobody knows how many
    needed: int | None
    #: half-width of its interval now, in per cent; NaN: undefined
    reached_percent: float
    reason: str


@dataclass(frozen=True)
class StoppedGroup:
    """One block group. Rounds are those that count."""

    host: str
    #: `h2 at 2 x minheap`
    place: str
    rule: str
    target_percent: float
    pilot: int
    maximum: int
    #: None: not decided yet
    needed: int | None
    #: rounds that are recorded, at most over its cells
    run: int
    #: invocations of all its cells that the maximum would have taken beyond what is needed
    saved: int
    #: half-width of the widest interval, in per cent; NaN: undefined
    reached_percent: float
    #: whether every comparison that can be made is as narrow as wanted; None: not decided yet, or nothing can be compared
    met: bool | None
    #: alternatives whose pilot shows several modes
    modes: tuple[str, ...]
    pairs: tuple[StoppedPair, ...]
    reason: str
    words: str
