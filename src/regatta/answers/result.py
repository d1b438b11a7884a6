"""What the analysis answers: estimates, comparisons, failures. Frozen values that tables and reports read.

An undefined number is NaN and its `reason` says why; it is never 0 (design: how results are trusted).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from regatta.answers.families.result import Family
from regatta.answers.parts import HEAP, INLINED, Place, Sample
from regatta.host.values.experiment import Better, Scalar, Summary
from regatta.stats.estimate import Interval


@dataclass(frozen=True)
class CellAnswer:
    """One series: a cell, a metric and the metric's parameters."""

    cell_id: str
    place: Place = field(metadata={INLINED: ("platform", "host", "benchmark", "runtime", "modifiers", *HEAP)})
    metric: str
    unit: str
    better: Better
    parameters: Mapping[str, Scalar]
    estimate: Interval
    #: those the estimate is made of, in order of time
    samples: tuple[Sample, ...]
    #: perturbed ones left out of the estimate
    perturbed: tuple[Sample, ...]
    #: status -> count, of all invocations of the cell (last attempt of each)
    statuses: Mapping[str, int]
    planned: int
    #: those of the rounds before the first that counts, in no estimate
    discarded: tuple[Sample, ...] = ()
    #: what the repetitions of each invocation became
    summary: Summary = "mean"


@dataclass(frozen=True)
class Comparison:
    """Alternative `a` over baseline `b` (cell ids): the ratio a/b of their metric, paired by block where possible."""

    a: str
    b: str
    a_name: str
    b_name: str
    #: of the alternative
    place: Place = field(metadata={INLINED: ("host", "benchmark", *HEAP)})
    metric: str
    parameters: Mapping[str, Scalar]
    #: ratio a/b with its interval; `method` tells paired from unpaired
    ratio: Interval
    p: float
    #: one sentence that can be read aloud
    words: str
    #: p after Holm, over all comparisons of the answer
    p_holm: float = math.nan
    #: the ratio with an interval that holds together with those of all alternatives of its baseline (Dunnett); None with one
    simultaneous: Interval | None = None
    p_simultaneous: float = math.nan
    #: does it matter, by theta: `yes`, `no`, `open`; "" undefined
    practical: str = ""


@dataclass(frozen=True)
class Failure:
    """Invocations of one cell that ended with one status and one reason."""

    cell_id: str
    cell: str
    host: str
    status: str
    reason: str
    count: int
    invocation_ids: tuple[str, ...]


@dataclass(frozen=True)
class Answer:
    """The whole answer of one experiment."""

    experiment: str
    question: str
    seed: int
    order: str
    level: float
    #: host name -> facts as text (cpu, cores, memory, kernel ...)
    hosts: Mapping[str, Mapping[str, str]]
    #: runtime name -> version text
    runtimes: Mapping[str, str]
    cells: tuple[CellAnswer, ...]
    comparisons: tuple[Comparison, ...]
    families: tuple[Family, ...]
    failures: tuple[Failure, ...]
    #: cells that could not exist, as (cell, reason)
    impossible: tuple[tuple[str, str], ...]
    #: host -> platform, of every planned host
    platforms: Mapping[str, str] = field(default_factory=dict)
    #: sentences that the reader must know (unpaired comparisons, capped n ...)
    warnings: tuple[str, ...] = ()
    planned: int = 0
    recorded: int = 0
    #: status -> how many of the recorded invocations have it (last attempt of each)
    statuses: Mapping[str, int] = field(default_factory=dict)
    #: first sentences of the report: which alternative wins where
    headline: tuple[str, ...] = field(default_factory=tuple)
    #: "regatta", or "georges2007" for the paper's own way
    method: str = "regatta"
    #: differences below this many per cent are of no practical interest
    theta_percent: float = 1.0
    #: key of a topic -> its sentences, in the order in which they are read
    findings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: key of a topic -> its result; `Topic.of` gives it with its type
    topics: Mapping[str, Any] = field(default_factory=dict)
