"""Divide a program's values by those of the frozen program of the same rounds, so that changes of the host cancel."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from regatta.answers.spine.samples import Series
from regatta.host.journal.round_values import CLOSE_NS, CLOSE_TIMES
from regatta.host.units import UNITS
from regatta.stats.estimate import Floats
from regatta.stats.shifts import EXPERIMENTS

#: fewer rounds with both programs show no spread
_LEAST_ROUNDS = 2
#: A change below this part of the other, on logarithms, is no second cause: hosts and programs also change a little by themselves.
_MINOR = 0.25

#: what caused a shift; "": unknown, without a canary or because neither shifts alone
Cause = Literal["", "program", "host", "both"]


class Paired(NamedTuple):
    """Rounds of an experiment in which both programs ran.

    `values`: of the program at one speed of the host. `canary`: how slow the canary was. Both of shape (rounds,).
    """

    experiment: int
    values: Floats
    canary: Floats


@dataclass
class Canary:
    """The frozen programs of a host whose values come from one steady-state method, by experiment: an identity and the series."""

    runs: dict[int, tuple[tuple[str, str], Series]] = field(default_factory=dict)

    def add(self, experiment: int, label: str, program: str, series: Series) -> None:
        """Add the canary of an experiment. `program`: hash of what it runs."""
        self.runs[experiment] = ((label, program), series)

    def newest(self) -> dict[int, Series]:
        """Return the series of the experiments that ran the same canary as the latest one."""
        identity, _ = self.runs[max(self.runs)]
        return {experiment: series for experiment, (own, series) in self.runs.items() if own == identity}

    def others(self) -> list[int]:
        """Return the experiments that ran another one."""
        return sorted(set(self.runs) - set(self.newest()))


def scales_with_the_host(unit: str) -> int:
    """Return 1 for times, -1 for rates, and 0 for quantities that a slower host does not change, such as sizes."""
    dimension = UNITS.get(unit, ("", 1.0))[0]
    return {"time": 1, "rate": -1, "bandwidth": -1}.get(dimension, 0)


def at_one_speed(points: Sequence[tuple[int, Series]], canary: Mapping[int, Series]) -> list[Paired]:
    """Return the values of a series as if the host had always been as fast as in the first experiment of both.

    Each value is divided by the slowness of the canary in its round, relative to the geometric mean of the first experiment, or
    multiplied, if it is a rate. This supposes that the host slows the program as it slows the canary.

    Args:
        points: experiment and series, of times or rates, in order of time.
        canary: experiment -> series of the canary on their host, times or rates.

    Returns:
        The experiments in which at least two rounds have both; at least two experiments, else empty.
    """
    sign = scales_with_the_host(points[0][1].unit)
    pairs = []
    for experiment, series in points:
        values, own = _together(series, canary[experiment]) if experiment in canary else ([], [])
        if len(values) >= _LEAST_ROUNDS:
            pairs.append((experiment, np.array(values), np.array(own)))
    if len(pairs) < 2:
        return []
    reference = float(np.exp(np.log(pairs[0][2]).mean()))
    return [Paired(one, values * (own / reference) ** -sign, own) for one, values, own in pairs]


def _together(series: Series, canary: Series) -> tuple[list[float], list[float]]:
    """Return the values, and the slowness of the canary, of the rounds that have both.

    An invocation that was repeated much later, such as after a crash, is not of the same time.
    """
    sign = scales_with_the_host(canary.unit)
    own = {sample.round: sample for sample in canary.samples if sample.value > 0.0}
    starts = np.sort([sample.started_utc_ns for sample in series.samples])
    round_ns = float(np.median(np.diff(starts))) if starts.size > 1 else 0.0
    close_ns = max(CLOSE_NS, CLOSE_TIMES * round_ns)
    both = [
        (sample.value, own[sample.round].value ** sign)
        for sample in series.samples
        if sample.round in own and abs(sample.started_utc_ns - own[sample.round].started_utc_ns) <= close_ns
    ]
    return [value for value, _ in both], [slowness for _, slowness in both]


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
    if min(program, host) >= _MINOR * max(program, host) or not math.isfinite(program + host):
        return "both"
    return "program" if program > host else "host"


def same_place(since: int, those: Iterable[int], replicates: str) -> bool:
    """Return whether a shift is at the place of another. With experiments as replicates, places are uncertain by one."""
    apart = 1 if replicates == EXPERIMENTS else 0
    return any(abs(one - since) <= apart for one in those)
