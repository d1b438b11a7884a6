"""Hold the capacity of each series: the highest load at which a metric meets a target."""

from __future__ import annotations

from dataclasses import dataclass, field

from regatta.answers.spine.parts import HEAP, INLINED, Place
from regatta.host.values.experiment import CapacityTarget
from regatta.stats.estimate import Interval


@dataclass(frozen=True)
class CapacityPoint:
    """One load. `estimate`: mean of the metric over its values, in the unit of the capacity's metric."""

    load: float
    cell_id: str
    estimate: Interval
    #: number of complete rounds in which this load meets the target, whatever the lower loads do
    met: int = 0
    #: number of complete rounds without a value at this load
    failed: int = 0


@dataclass(frozen=True)
class Bound:
    """What is known without an interval: the capacity is at least `low` and below `high`; None: not known, at least one is."""

    low: float | None
    high: float | None


@dataclass(frozen=True)
class Capacity:
    """The capacity of one series. `place.benchmark` has no load; `points` ascend in load, at least one."""

    target: CapacityTarget
    #: benchmark, heap, configuration and host, as far as they distinguish series
    name: str
    place: Place = field(
        metadata={INLINED: ("host", "benchmark", "runtime", "collector", "modifiers", *HEAP)}
    )
    #: unit of the metric as reported; that of the target if it is not reported
    unit: str
    points: tuple[CapacityPoint, ...]
    #: in the unit of the load; `n`: complete rounds; undefined with a reason if there is a bound
    estimate: Interval
    bound: Bound | None = None
    #: number of rounds without a usable invocation at some load: perturbed, or not measured
    incomplete_rounds: int = 0


@dataclass(frozen=True)
class Capacities:
    """All capacities of an experiment, by target and in plan order; empty without a target."""

    found: tuple[Capacity, ...] = ()
