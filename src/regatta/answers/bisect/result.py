"""The result of a search for changes: which they are, how large they are, and what is not known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from regatta.answers.bisect.search import Relation
from regatta.stats.estimate import Interval

#: `no difference shown`: the ends do not clearly differ, so that there was nothing to search
Verdict = Literal["found", "no difference shown", "undecided"]


@dataclass(frozen=True)
class Step:
    """One comparison. `middle`: title of the state in the middle; of the ends alone, the first."""

    middle: str
    left: str
    right: str
    #: of the middle to each
    to_left: Relation
    to_right: Relation
    #: folder of the experiment
    folder: str


@dataclass(frozen=True)
class Change:
    """A change between two neighbours. `ratios`: after / before, by host."""

    before: str
    after: str
    ratios: Mapping[str, Interval]


@dataclass(frozen=True)
class Unresolved:
    """States between which a change is, or may be, somewhere. `states`: number of possible changes."""

    before: str
    after: str
    states: int
    reason: str


@dataclass(frozen=True)
class BisectAnswer:
    """The result of one search."""

    name: str
    verdict: Verdict
    #: number of states, with both ends
    states: int
    good: str
    bad: str
    #: bad / good, by host
    ends: Mapping[str, Interval]
    benchmark: str
    metric: str
    unit: str
    changes: tuple[Change, ...]
    unresolved: tuple[Unresolved, ...]
    #: ranges in which a further change is not excluded
    possible: tuple[Unresolved, ...]
    #: states that could not be measured
    skipped: tuple[str, ...]
    steps: tuple[Step, ...]
    #: of the whole search, between 0 and 1
    level: float
    relevance_percent: float
