"""The result of a history: experiments over time, their series, and the shifts of these."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from regatta.answers.history.canary import Cause
from regatta.answers.history.environment import EnvironmentChange
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

    `ratio`: after to before, over the experiments between the neighbouring shifts. `cause`: program, host or both.
    """

    since: int
    ratio: Interval
    #: share of unchanged series with such a shift at any place; with invocations as replicates, of Welch's test
    p: float
    before: int
    after: int
    words: str
    cause: Cause = ""


@dataclass(frozen=True, kw_only=True)
class Track:
    """Values over experiments, and their shifts."""

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


@dataclass(frozen=True, kw_only=True)
class SeriesHistory(Track):
    """A series (host, benchmark, configuration name, heap, metric, parameters) over the experiments that have it."""

    #: `h2 at 2 x minheap (g1)`, for sentences
    title: str
    place: Place = field(metadata={INLINED: ("host", "benchmark", "configuration", *HEAP)})
    metric: str
    unit: str
    better: Better
    parameters: Mapping[str, Scalar]
    #: whether it is the canary, whose shifts are those of the host
    is_canary: bool = False
    #: the series as if the host had not changed, by its canary, where both ran; None: no canary, or not a time or a rate
    at_one_speed: Track | None = None

    @property
    def told(self) -> Track:
        """Return the values whose shifts are told: at one speed of the host, if as many experiments have them.

        A canary of the last few nights does not show how much nights vary; then it only gives causes to shifts as measured.
        """
        own = self.at_one_speed
        return self if own is None or own.replicates != self.replicates else own


@dataclass(frozen=True)
class History:
    """The changes over several experiments."""

    experiments: tuple[PastExperiment, ...]
    series: tuple[SeriesHistory, ...]
    level: float
    sentences: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    #: what differs between the environments of successive experiments
    environment: tuple[EnvironmentChange, ...] = ()


def told_shifts(one: SeriesHistory) -> list[LevelShift]:
    """Return the shifts that are not those of the host: of the track that is told, and those as measured without a cause."""
    more = () if one.told is one else (shift for shift in one.shifts if not shift.cause)
    return [*one.told.shifts, *more]
