"""Divide a program's values by those of the frozen program of the same rounds, so that changes of the host cancel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from regatta.answers.spine.samples import BlockKey, Series
from regatta.host.units import UNITS
from regatta.stats.estimate import Floats
from regatta.stats.shifts import EXPERIMENTS

#: fewer rounds with both programs show no spread
_LEAST_ROUNDS = 2

#: what caused a shift; "": unknown, without a canary or because neither shifts alone
Cause = Literal["", "program", "host", "both"]

#: A change below this part of the other, on logarithms, is no second cause: hosts and programs also change a little by themselves.
_MINOR = 0.25

#: plan and round
RoundKey = tuple[str, int]


@dataclass(frozen=True)
class Canary:
    """The frozen program of a host in several experiments: those that ran the same file.

    `name`: label of the benchmark. `times`: experiment -> round -> time of the canary, in its own unit.
    """

    name: str
    times: Mapping[int, Mapping[RoundKey, float]]
    #: experiments with a canary that is another file
    others: tuple[int, ...] = ()

    def has(self, experiments: Sequence[int]) -> bool:
        """Return whether it ran in all of these experiments."""
        return all(one in self.times for one in experiments)


@dataclass
class CanaryRuns:
    """The frozen programs of one host, by experiment: label and hash, and its series."""

    runs: dict[int, tuple[tuple[str, str], Series]] = field(default_factory=dict)

    def add(self, experiment: int, label: str, program: str, series: Series) -> None:
        """Add the canary of an experiment. `program`: hash of its file."""
        self.runs[experiment] = ((label, program), series)

    def newest(self) -> Canary | None:
        """Return the canary of the latest experiment that has one, in all experiments that ran the same file; None: none."""
        if not self.runs:
            return None
        identity, _ = self.runs[max(self.runs)]
        same = {one: series for one, (own, series) in self.runs.items() if own == identity}
        times = {one: by_round(series.by_block) for one, series in same.items()}
        return Canary(identity[0], times, tuple(sorted(set(self.runs) - set(same))))


def cause_of(
    since: int, of_program: Mapping[int, float], of_host: Mapping[int, float], replicates: str
) -> Cause:
    """Return the cause of a shift: which of program and host shifted at the same place, and by more than a small part of the other.

    Args:
        since: index of the first experiment after the shift.
        of_program: such index -> logarithm of the ratio, of the program's shifts at one speed of the host.
        of_host: the same of the canary's shifts.
        replicates: those that found the shift.
    """
    program, host = (
        max((abs(log) for place, log in those.items() if same_place(since, [place], replicates)), default=0.0)
        for those in (of_program, of_host)
    )
    if max(program, host) == 0.0:
        return ""
    if min(program, host) >= _MINOR * max(program, host):
        return "both"
    return "program" if program > host else "host"


def same_place(since: int, those: Iterable[int], replicates: str) -> bool:
    """Return whether a shift is at the place of another. With experiments as replicates, places are uncertain by one."""
    apart = 1 if replicates == EXPERIMENTS else 0
    return any(abs(one - since) <= apart for one in those)


def by_round(values: Mapping[BlockKey, float]) -> dict[RoundKey, float]:
    """Return values by round: a cell runs once in each."""
    return {(plan, round_): value for (plan, round_, _), value in values.items()}


def scales_with_the_host(unit: str) -> int:
    """Return 1 for times, -1 for rates, and 0 for quantities that a slower host does not change, such as sizes."""
    dimension = UNITS.get(unit, ("", 1.0))[0]
    return {"time": 1, "rate": -1, "bandwidth": -1}.get(dimension, 0)


def at_one_speed(points: Sequence[tuple[int, Series]], canary: Canary) -> list[tuple[int, Floats]]:
    """Return the values of a series as if the host had always been as fast as in the first experiment of both.

    Each value is divided by the canary of its round relative to the geometric mean of the first experiment, or multiplied,
    if it is a rate. This supposes that the host slows the program as it slows the canary.

    Args:
        points: experiment and series, of times or rates, in order of time.
        canary: of their host.

    Returns:
        Experiment and values, for the experiments in which at least two rounds have both; at least two experiments, else empty.
    """
    pairs: list[tuple[int, Floats, Floats]] = []
    for experiment, series in points:
        times = canary.times.get(experiment, {})
        both = [
            (value, times[key])
            for key, value in by_round(series.by_block).items()
            if times.get(key, 0.0) > 0.0
        ]
        if len(both) >= _LEAST_ROUNDS:
            values, own = np.array(both).T
            pairs.append((experiment, values, own))
    if len(pairs) < 2:
        return []
    reference = np.exp(np.log(pairs[0][2]).mean())
    sign = scales_with_the_host(points[0][1].unit)
    return [(experiment, values * (own / reference) ** -sign) for experiment, values, own in pairs]
