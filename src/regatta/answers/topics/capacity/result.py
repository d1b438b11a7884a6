"""Hold the capacity of each series: the highest load at which a metric meets a target."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from regatta.answers.parts import HEAP, INLINED, Place
from regatta.host.values.experiment import CapacityTarget
from regatta.stats.estimate import Interval

#: `interpolated`: between the last load that meets the target and the next; `lower`: that load, because the metric at one
#: of the two has no logarithm; `above`: every load meets the target; `below`: the lowest load does not
Kind = Literal["interpolated", "lower", "above", "below"]


@dataclass(frozen=True)
class RoundCapacity:
    """The capacity of one round. `load`: with `above` the highest and with `below` the lowest measured load, else the capacity."""

    round: int
    load: float
    kind: Kind


@dataclass(frozen=True)
class CapacityPoint:
    """One load. `estimate`: mean of the metric over its values, in the unit of the capacity's metric."""

    load: float
    cell_id: str
    estimate: Interval
    #: number of complete rounds in which this load meets the target, whatever the lower loads do
    met: int


@dataclass(frozen=True)
class Bound:
    """A bound of the mean capacity over rounds: `above`: at least `load`; `below`: less than `load`."""

    kind: Literal["above", "below"]
    load: float
    #: number of rounds whose capacity is outside of the measured loads
    rounds: int


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
    #: mean over rounds, in the unit of the load; undefined with a reason if there is a bound
    estimate: Interval
    bound: Bound | None = None
    #: complete rounds, ascending
    rounds: tuple[RoundCapacity, ...] = ()
    #: number of rounds without a usable invocation at some load: perturbed, or not measured
    incomplete_rounds: int = 0
    #: number of rounds in which a load above the capacity meets the target again
    nonmonotone_rounds: int = 0


@dataclass(frozen=True)
class Capacities:
    """All capacities of an experiment, by target and in plan order; empty without a target."""

    found: tuple[Capacity, ...] = ()
