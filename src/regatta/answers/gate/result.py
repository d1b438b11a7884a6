"""The result of a gate: a verdict on each comparison, and on all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from regatta.answers.spine.parts import HEAP, INLINED, Place
from regatta.host.values.experiment import Better, Scalar
from regatta.stats.estimate import Interval

#: `failed`: an invocation failed, so that nothing can be said about its values
Outcome = Literal["better", "worse", "equivalent", "undecided", "failed"]


@dataclass(frozen=True)
class GateRow:
    """The verdict on one alternative at one place."""

    #: `h2 at 2 x minheap, alpha`, for sentences; with the name of the alternative if there are several
    title: str
    candidate: str
    baseline: str
    place: Place = field(metadata={INLINED: ("platform", "host", "benchmark", *HEAP)})
    metric: str
    unit: str
    better: Better
    parameters: Mapping[str, Scalar]
    verdict: Outcome
    #: why the verdict is not what the ratio says; "" if it is
    reason: str
    #: candidate / baseline with the interval that holds for all comparisons of the host together
    ratio: Interval
    #: smallest change that all rounds would find with a chance of 90 %, given the measured spread, in percent; NaN: unknown
    finds_percent: float


@dataclass(frozen=True)
class FalseAlarms:
    """How often gates on the same hosts found a difference between the baseline and its copy."""

    #: copies of the baseline that were judged in this gate, and how many of them differed
    copies: int
    alarms: int
    #: gates so far, this one included, and how many of them had such an alarm
    gates: int
    gates_with_alarm: int
    #: share of gates with an alarm, with its interval; in 0 to 1
    rate: Interval
    #: probability of at least so many alarms if the budget holds
    p: float


@dataclass(frozen=True)
class GateAnswer:
    """The verdict of one gate."""

    experiment: str
    verdict: Outcome
    candidates: tuple[str, ...]
    baseline: str
    #: host -> facts as text
    hosts: Mapping[str, Mapping[str, str]]
    #: largest irrelevant change, in percent
    relevance_percent: float
    #: probability of any wrong "better" or "worse" in the whole gate that is accepted, in percent
    false_alarms_percent: float
    #: of the intervals of one host together, between 0 and 1
    level: float
    rows: tuple[GateRow, ...]
    #: what was not measured, not compared, or is not intact
    problems: tuple[str, ...]
    false_alarms: FalseAlarms
    warnings: tuple[str, ...] = ()
