"""Divide the difference of profiled runs into parts, each with what it contributes.

The time of a part is its samples divided by their rate. A program that uses one processor at a time spends its elapsed time in the
sampled parts and in waiting, so they add up to it. If threads run at the same time, processor time is divided instead: samples do
not show which thread the others wait for.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from regatta.answers.explanation.result import Part, Quantity
from regatta.answers.explanation.work import Work
from regatta.stats.contributions import contributions, unexplained
from regatta.stats.estimate import Floats, Interval
from regatta.stats.intervals import mean_interval

WAITING, RARE = "not running: waiting, or another program ran", "other work"
#: From this many processors on average, threads run at the same time.
_PARALLEL = 1.05
#: parts with a smaller share of the whole on both sides are one part; and at most so many others
_RARE, _MOST_PARTS = 0.005, 20


@dataclass(frozen=True)
class Run:
    """One profiled invocation.

    `whole_s`: elapsed time of a mean iteration, or of the process. `stacks_s`: stack -> its processor time. `of_iterations`: whether
    the times are those of iterations. `value_s`: value of the metric. `sampled_s`: of all samples, in iterations or not.
    """

    whole_s: float
    stacks_s: Mapping[str, float]
    of_iterations: bool
    value_s: float
    sampled_s: float


@dataclass(frozen=True)
class Division:
    """The parts of a difference; see `Explanation`."""

    quantity: Quantity
    profiled: Interval
    parts: tuple[Part, ...]
    unexplained: Interval
    stacks: Mapping[str, tuple[float, float]]


def divide(pairs: Sequence[tuple[Run, Run]], measured: Interval, level: float) -> Division:
    """Divide the difference of side B from side A.

    Args:
        pairs: of each round the run of A and that of B; at least two.
        measured: relative difference of the elapsed time without the profiler, as a share.
        level: confidence, between 0 and 1.
    """
    parallel = any(_processors([pair[side] for pair in pairs]) > _PARALLEL for side in (0, 1))
    times = [[_parts_of(run, parallel) for run in pair] for pair in pairs]
    titles, values = _named(times)
    whole = values[:, 0].sum(axis=1)
    shares = values.sum(axis=0) / whole.sum()
    found = contributions(values[:, 0], values[:, 1], whole, level)
    parts = [
        Part(title, (float(before), float(after)), one, one.low > 0.0 or one.high < 0.0)
        for title, before, after, one in zip(titles, *shares, found, strict=True)
    ]
    causes = np.array([part.is_cause for part in parts])
    by_round = (values[:, 1] - values[:, 0]) / whole[:, np.newaxis]
    rest = measured
    if parallel:
        # The processor time is known of the profiled runs alone.
        rest = mean_interval(by_round[:, ~causes].sum(axis=1), level)
    elif causes.any():
        rest = unexplained(measured, by_round[:, causes].sum(axis=1), level)
    return Division(
        quantity="processor time" if parallel else "elapsed time",
        profiled=mean_interval(by_round.sum(axis=1), level),
        parts=tuple(sorted(parts, key=lambda part: -abs(part.contribution.point))),
        unexplained=rest,
        stacks=_mean_stacks(times, float(whole.sum())),
    )


def _processors(runs: Sequence[Run]) -> float:
    """Return how many processors the runs use on average."""
    return math.fsum(math.fsum(run.stacks_s.values()) for run in runs) / math.fsum(
        run.whole_s for run in runs
    )


def _parts_of(run: Run, parallel: bool) -> dict[str, float]:
    """Return stack -> its part of the quantity in s; the rest of elapsed time is `WAITING`."""
    if parallel:
        return dict(run.stacks_s)
    return {**run.stacks_s, WAITING: run.whole_s - math.fsum(run.stacks_s.values())}


def _named(times: Sequence[Sequence[Mapping[str, float]]]) -> tuple[list[str], Floats]:
    """Return names of parts, and their times in s, shape (rounds, 2, parts). Parts are chosen by their size, not by their difference."""
    work = Work({stack for pair in times for side in pair for stack in side if stack != WAITING})
    named: list[list[dict[str, float]]] = [[defaultdict(float) for _ in pair] for pair in times]
    for sums, pair in zip(named, times, strict=True):
        for tally, side in zip(sums, pair, strict=True):
            for stack, used_s in side.items():
                tally[WAITING if stack == WAITING else work.name(stack)] += used_s
    names = list(dict.fromkeys(name for pair in named for side in pair for name in side))
    values = np.array([[[side[name] for name in names] for side in pair] for pair in named])
    largest = (values.sum(axis=0) / values[:, 0].sum()).max(axis=0)
    order = np.argsort(-largest, kind="stable")
    kept = [int(at) for at in order if largest[at] >= _RARE][:_MOST_PARTS]
    rest = sorted(set(range(len(names))) - set(kept))
    if not rest:
        return [names[at] for at in kept], values[:, :, kept]
    others = values[:, :, rest].sum(axis=2, keepdims=True)
    return [*(names[at] for at in kept), RARE], np.concatenate([values[:, :, kept], others], axis=2)


def _mean_stacks(
    times: Sequence[Sequence[Mapping[str, float]]], total_s: float
) -> dict[str, tuple[float, float]]:
    before: dict[str, float] = defaultdict(float)
    after: dict[str, float] = defaultdict(float)
    for pair in times:
        for one, side in zip((before, after), pair, strict=True):
            for stack, used_s in side.items():
                one[stack] += used_s
    return {stack: (before[stack] / total_s, after[stack] / total_s) for stack in {**before, **after}}
