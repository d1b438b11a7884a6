"""The result of the analysis: estimates, comparisons, failures. Frozen values for tables and reports.

An undefined number is NaN with the reason in `reason`; it is never 0 (design: how results are trusted).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from regatta.answers.spine.families.result import Family
from regatta.answers.spine.parts import HEAP, INLINED, Place, Sample
from regatta.answers.spine.verdicts import VERDICT, Verdict
from regatta.host.values.experiment import Better, Scalar, Summary
from regatta.stats.dispersion import Dispersion
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
    #: undisturbed samples in time order: those of the estimate, unless it is marked `disturbed`
    samples: tuple[Sample, ...]
    #: perturbed samples, excluded from the estimate, unless it is marked `disturbed`
    perturbed: tuple[Sample, ...]
    #: status -> count, over all invocations of the cell (last attempt of each)
    statuses: Mapping[str, int]
    planned: int
    #: samples of the rounds before the first that counts, in no estimate
    discarded: tuple[Sample, ...] = ()
    #: statistic that reduces the repetitions of each invocation
    summary: Summary = "mean"
    #: of the samples of the estimate
    dispersion: Dispersion = field(default_factory=Dispersion)


@dataclass(frozen=True)
class Comparison:
    """Alternative `a` over baseline `b` (cell ids): the ratio a/b of their metric, paired by block where possible."""

    a: str
    b: str
    a_name: str
    b_name: str
    #: place of the alternative
    place: Place = field(metadata={INLINED: ("host", "benchmark", *HEAP)})
    metric: str
    parameters: Mapping[str, Scalar]
    #: ratio a/b with its interval; `method` says whether it is paired
    ratio: Interval
    p: float
    #: one sentence
    words: str
    #: p adjusted over all comparisons of the answer (Holm)
    p_holm: float = math.nan
    #: ratio with its simultaneous interval over all alternatives of its baseline (Sidak); None with one alternative
    simultaneous: Interval | None = None
    p_simultaneous: float = math.nan
    #: by Holm's p; if the pair is also in families, by theirs, too
    verdict: Verdict = field(default=Verdict(), metadata={INLINED: VERDICT})
    #: factors in which the two differ
    factors: tuple[str, ...] = ()


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
    """The answer of one experiment."""

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
    #: impossible cells, as (cell, reason)
    impossible: tuple[tuple[str, str], ...]
    #: host -> platform, for every planned host
    platforms: Mapping[str, str] = field(default_factory=dict)
    #: sentences that the reader must know (unpaired comparisons, capped n ...)
    warnings: tuple[str, ...] = ()
    planned: int = 0
    recorded: int = 0
    #: status -> number of recorded invocations (last attempt of each)
    statuses: Mapping[str, int] = field(default_factory=dict)
    #: first sentences of the report: which alternative wins where
    headline: tuple[str, ...] = field(default_factory=tuple)
    #: "regatta", or "georges2007" for the method of the paper
    method: str = "regatta"
    #: differences below this percentage are not practically significant
    theta_percent: float = 1.0
    #: topic key -> its sentences, in reading order
    findings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: topic key -> its result; `Topic.of` returns it with its type
    topics: Mapping[str, Any] = field(default_factory=dict)
