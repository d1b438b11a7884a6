"""How a benchmark fares under load: the same series with 1, 2, 4 ... processes at a time. Frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from regatta.answers.parts import HEAP, INLINED, Place
from regatta.host.values.experiment import Better, Scalar
from regatta.stats.estimate import Interval

#: what a number is of: the median process, all processes together, or the best or the worst process
Aspect = Literal["each", "system", "fastest", "slowest"]

#: `up` and `down`: a change is shown; `same`: none that matters is possible; `open`: neither; `unknown`: no interval
Verdict = Literal["up", "down", "same", "open", "unknown"]


@dataclass(frozen=True)
class LoadPoint:
    """One load. `parallel`: processes at a time, >= 1. `values`: one an invocation, in the curve's unit, in order of time."""

    parallel: int
    cell_id: str
    estimate: Interval
    values: tuple[float, ...]
    #: what all processes do together, over what one does alone; None where that means nothing or one alone was not measured
    throughput: Interval | None = None


@dataclass(frozen=True)
class LoadStep:
    """The value at `load` over that at the lighter load `over`."""

    over: int
    load: int
    ratio: Interval
    p: float
    #: p after Holm, over all pairs of loads of all curves that are spoken of
    p_holm: float
    verdict: Verdict


@dataclass(frozen=True)
class LoadCurve:
    """One series over the load. `points` ascend in `parallel`, two at least; `steps` are those that are told."""

    #: the program's name (`lat_syscall`); where several of its settings are measured, with what tells them apart
    program: str
    place: Place = field(metadata={INLINED: ("host", "runtime", "collector", "modifiers", *HEAP)})
    #: name without the aspect
    metric: str
    aspect: Aspect
    unit: str
    better: Better
    #: without `parallel`
    parameters: Mapping[str, Scalar]
    points: tuple[LoadPoint, ...]
    steps: tuple[LoadStep, ...] = ()


@dataclass(frozen=True)
class Scaling:
    """All curves of an experiment; empty where nothing was measured under two loads."""

    curves: tuple[LoadCurve, ...] = ()
    #: host -> CPUs that the measured processes could use, where that is known
    cpus: Mapping[str, int] = field(default_factory=dict)
