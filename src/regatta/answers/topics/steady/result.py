"""Where invocations reach their steady state, and how they get there. Frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from regatta.answers.parts import HEAP, INLINED, Place
from regatta.host.values.experiment import Scalar
from regatta.stats.estimate import Interval


@dataclass(frozen=True)
class IterationCurve:
    """Iterations of several invocations, each divided by the mean of its own steady state (or by its median without one).

    `kind`: what the invocations have in common, such as their class. `iterations`: which are shown, counted from 0. `middle`, `low`,
    `high`: median, 10th and 90th percentile over the invocations.
    """

    kind: str
    invocations: int
    iterations: tuple[int, ...]
    middle: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True)
class SeriesSteadiness:
    """One series (a cell's own metric with one set of parameters), judged by both ways."""

    cell_id: str
    #: `h2 at 2 x minheap (g1)`, for sentences
    title: str
    place: Place = field(metadata={INLINED: ("host", "benchmark", "configuration", *HEAP)})
    metric: str
    parameters: Mapping[str, Scalar]
    #: that were judged
    invocations: int
    #: of a typical invocation
    iterations: int
    #: invocations that have a steady window, and the median of how many iterations come before it
    cov_reached: int
    cov_start: float
    #: class by change points: the common one, "inconsistent", or "" where none could be told
    kind: str
    #: class -> invocations
    kinds: Mapping[str, int]
    #: median and largest number of iterations before the steady state by change points; NaN where none is steady
    steady_from: float
    steady_from_latest: float
    #: mean of the steady window over the mean after the last change point, of invocations that have both
    cov_over_changepoints: Interval
    #: "agree" (the whole interval within theta), "disagree" (it excludes equality), "open", or "" where no invocation has both
    agreement: str
    #: invocations that change after the spec's warm-up, and their mean after it over that after the last change point
    after_warmup: int
    bias: Interval
    curve: IterationCurve


@dataclass(frozen=True)
class Steadiness:
    """All series of an experiment that have enough iterations."""

    window: int
    threshold: float
    warmup: int
    series: tuple[SeriesSteadiness, ...]
    #: of all series, a curve a class of invocation
    curves: tuple[IterationCurve, ...]
    #: series with several iterations, but too few to judge: how many, and the most iterations that one has
    too_short: int = 0
    most_iterations: int = 0
    #: 0, or how many invocations of each cell were judged at most, evenly spread over time
    judged_at_most: int = 0
