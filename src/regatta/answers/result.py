"""What the analysis answers: estimates, comparisons, failures. Frozen values that tables and reports read.

An undefined number is NaN and its `reason` says why; it is never 0 (design: how results are trusted).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from regatta.answers.parts import Sample, TukeyPair
from regatta.answers.topics.aa.result import Gate
from regatta.answers.topics.chat.result import Chat
from regatta.answers.topics.collectors.result import Overheads
from regatta.answers.topics.dependence.result import Dependence
from regatta.answers.topics.effects.result import Effects
from regatta.answers.topics.hosts.result import OverHosts
from regatta.answers.topics.levels.result import CellLevels
from regatta.answers.topics.load.result import Scaling
from regatta.answers.topics.outliers.result import Outliers
from regatta.answers.topics.replay.result import CompilationControl
from regatta.answers.topics.scores.result import SuiteScore
from regatta.answers.topics.steady.result import Steadiness
from regatta.answers.topics.stopping.result import StoppedGroup
from regatta.answers.topics.suites.result import SuiteComparison
from regatta.host.values.cell import configuration_name
from regatta.host.values.experiment import Better, Scalar, Summary
from regatta.stats.estimate import Interval as Interval


@dataclass(frozen=True)
class CellAnswer:
    """One series: a cell, a metric and the metric's parameters."""

    cell_id: str
    host: str
    platform: str
    benchmark: str
    runtime: str
    #: "" for native benchmarks
    collector: str
    modifiers: str
    heap_factor: float | None
    heap_mib: int | None
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

    @property
    def configuration(self) -> str:
        """Runtime, collector and modifiers as one name."""
        return configuration_name(self.runtime, self.collector, self.modifiers)


@dataclass(frozen=True)
class Comparison:
    """Alternative `a` over baseline `b` (cell ids): the ratio a/b of their metric, paired by block where possible."""

    a: str
    b: str
    a_name: str
    b_name: str
    host: str
    benchmark: str
    heap_factor: float | None
    heap_mib: int | None
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
class Family:
    """All collectors of one benchmark, runtime, modifiers, heap and host: ANOVA with block as factor, and Tukey HSD."""

    host: str
    benchmark: str
    runtime: str
    modifiers: str
    heap_factor: float | None
    heap_mib: int | None
    metric: str
    parameters: Mapping[str, Scalar]
    names: tuple[str, ...]
    f: float
    df_between: float
    df_error: float
    p: float
    method: str
    pairs: tuple[TukeyPair, ...]
    #: "g1 is fastest ..." or "no difference shown; ..."
    words: str
    reason: str = ""
    #: p after Benjamini and Hochberg over all families of the answer, for exploration
    q: float = math.nan


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
    #: sentences that the reader must know (unpaired comparisons, capped n ...)
    warnings: tuple[str, ...] = ()
    planned: int = 0
    recorded: int = 0
    #: first sentences of the report: which alternative wins where
    headline: tuple[str, ...] = field(default_factory=tuple)
    #: "regatta", or "georges2007" for the paper's own way
    method: str = "regatta"
    #: differences below this many per cent are of no practical interest
    theta_percent: float = 1.0
    #: topic -> its sentences, in the order in which they are read
    findings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: of an A/A test, one a host
    gates: tuple[Gate, ...] = ()
    #: where invocations are steady; None where they have one iteration each
    steadiness: Steadiness | None = None
    #: between successive invocations, one a cell
    dependences: tuple[Dependence, ...] = ()
    #: what lies far out, and what hangs on it
    outliers: Outliers = field(default_factory=Outliers)
    #: geometric means over suites
    suites: tuple[SuiteComparison, ...] = ()
    #: against the reference machines of suites
    scores: tuple[SuiteScore, ...] = ()
    #: every comparison over all hosts
    over_hosts: OverHosts = field(default_factory=OverHosts)
    #: which factor explains how much, over the whole experiment
    effects: Effects = field(default_factory=Effects)
    #: what collectors cost at least
    overheads: Overheads = field(default_factory=Overheads)
    #: every series over the number of processes at a time
    scaling: Scaling = field(default_factory=Scaling)
    #: a chat server over its connections
    chat: Chat = field(default_factory=Chat)
    #: where the variance of each series is
    levels: tuple[CellLevels, ...] = ()
    #: block groups whose number of rounds was not fixed
    stopping: tuple[StoppedGroup, ...] = ()
    #: conclusions under controlled compilation against those without
    compilation: tuple[CompilationControl, ...] = ()
