"""What an A/A test found: the same configuration twice, under two names, through the whole pipeline. Frozen values."""

from __future__ import annotations

from dataclasses import dataclass, field

from regatta.answers.parts import HEAP, INLINED, Place
from regatta.stats.estimate import Interval


@dataclass(frozen=True)
class TwinPair:
    """A cell and its twin: the ratio twin/cell, which is 1 but for chance."""

    place: Place = field(metadata={INLINED: ("benchmark", "configuration", *HEAP)})
    metric: str
    ratio: Interval
    p: float


@dataclass(frozen=True)
class Gate:
    """One host: how often a difference was shown where there is none."""

    host: str
    pairs: tuple[TwinPair, ...]
    #: pairs whose interval leaves out 1
    alarms: int
    #: share of false alarms among all intervals of a few successive blocks each, between 0 and 1
    alarm_rate: Interval
    #: probability of so many alarms if the intervals are right
    p: float
    #: the share that the level allows
    allowed: float
    #: None: too little was measured to say
    holds: bool | None
    words: str
