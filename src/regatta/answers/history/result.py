"""The same cells over several experiments, in time order. Frozen values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from regatta.answers.spine.parts import HEAP, INLINED, Place
from regatta.host.values.experiment import Better, Scalar
from regatta.stats.estimate import Interval


@dataclass(frozen=True)
class PastExperiment:
    """One experiment. `name`: its labels, or its folder name; unique in a history."""

    name: str
    folder: str
    experiment: str
    labels: Mapping[str, str]
    #: start of its first invocation
    started_utc_ns: int
    #: how the iterations of an invocation are reduced to its value
    steady: str


@dataclass(frozen=True)
class PastPoint:
    """One series in one experiment. `experiment`: index into the history's experiments. `values`: one per invocation."""

    experiment: int
    heap_mib: int | None
    mean: Interval
    values: tuple[float, ...]


@dataclass(frozen=True)
class LevelShift:
    """A shift of one series. `since`: index of the first experiment after it.

    `ratio`: after to before, over the experiments between the neighbouring shifts.
    """

    since: int
    ratio: Interval
    #: share of unchanged series with such a shift at any place; with invocations as replicates, of Welch's test
    p: float
    before: int
    after: int
    words: str


@dataclass(frozen=True)
class SeriesHistory:
    """A series (host, benchmark, configuration name, heap, metric, parameters) over the experiments that have it."""

    #: `h2 at 2 x minheap (g1)`, for sentences
    title: str
    place: Place = field(metadata={INLINED: ("host", "benchmark", "configuration", *HEAP)})
    metric: str
    unit: str
    better: Better
    parameters: Mapping[str, Scalar]
    points: tuple[PastPoint, ...]
    shifts: tuple[LevelShift, ...]
    #: unit of replication: "experiments", or "invocations" with fewer than five experiments
    replicates: str
    #: autocorrelation of successive experiments around the levels, 0 to 0.9
    autocorrelation: float = math.nan
    #: share of unchanged series of this length and autocorrelation that show a shift (simulated)
    false_rate: float = math.nan
    #: why `autocorrelation` and `false_rate` are undefined, else ""
    rate_reason: str = ""
    #: why the result is undefined, else ""
    reason: str = ""


@dataclass(frozen=True)
class History:
    """The changes over several experiments."""

    experiments: tuple[PastExperiment, ...]
    series: tuple[SeriesHistory, ...]
    level: float
    sentences: tuple[str, ...]
    warnings: tuple[str, ...] = ()
