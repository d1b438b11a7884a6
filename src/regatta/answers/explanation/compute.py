"""Explain a difference between two sides, from samples of what their programs executed in the same rounds.

The time of a part is its samples divided by their rate. A program that uses one processor at a time spends its elapsed time in the
sampled parts and in waiting, so they add up to it. If threads run at the same time, processor time is divided instead: samples do
not show which thread the others wait for.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from regatta.answers.explanation.result import Counted, Explanation, Part
from regatta.answers.explanation.work import Work
from regatta.answers.spine.context import Context
from regatta.answers.spine.iterations import steady_iterations
from regatta.answers.spine.kept_files import runs_with
from regatta.answers.spine.samples import PlannedCell, Series
from regatta.answers.topics.counters.topic import missing_counters
from regatta.host.counters.program_profile import VERSION
from regatta.host.errors import StoreError
from regatta.host.files import read_object
from regatta.host.units import is_counted
from regatta.host.values.counters import METRIC_PREFIX, PER, PROFILE_FILE, PROGRAM_PROFILE, metric_of
from regatta.stats.contributions import contributions, unexplained
from regatta.stats.estimate import Floats, Interval
from regatta.stats.intervals import mean_interval
from regatta.stats.ratios import paired_log_ratio

WAITING, RARE = "waiting, or another program ran", "rare work"
#: Fewer rounds do not show how much they vary.
LEAST_ROUNDS = 3
#: From this many processors on average, threads run at the same time.
_PARALLEL = 1.05
#: parts with a smaller share of the whole on both sides are one part; and at most so many others
_RARE, _MOST_PARTS = 0.005, 20


@dataclass(frozen=True)
class Run:
    """One profiled invocation. `whole_s`: per iteration or invocation. `stacks_s`: stack -> processor time, likewise."""

    whole_s: float
    stacks_s: Mapping[str, float]
    of_iterations: bool


def explain(
    context: Context, a: PlannedCell, b: PlannedCell, names: tuple[str, str], measured: Interval
) -> Explanation:
    """Explain the difference of a profiled side B from a profiled side A.

    Args:
        context: of the experiment with the profiled runs.
        a, b: the cells on one host.
        names: of the sides.
        measured: relative difference of the metric without the profiler, as a share.

    Raises:
        StoreError: fewer than `LEAST_ROUNDS` rounds have a profile of both sides, or a profile is not readable.
    """
    sides = [_runs(context, cell) for cell in (a, b)]
    rounds = sorted(set(sides[0]) & set(sides[1]))
    missing = tuple(one for one in missing_counters(context.connection) if one.host == a.place.host)
    if len(rounds) < LEAST_ROUNDS:
        why = [one.reason for one in missing if PROGRAM_PROFILE in one.counters]
        raise StoreError(
            str(context.folder.path),
            f"at least {LEAST_ROUNDS} rounds with a profile of both sides on host {a.place.host}",
            f"{len(rounds)} ({why[0] if why else 'the others failed or were perturbed'})",
            "mend that, or ask for more with --rounds",
        )
    pairs = [(sides[0][one], sides[1][one]) for one in rounds]
    level = context.facts.level
    parallel = any(_processors([pair[side] for pair in pairs]) > _PARALLEL for side in (0, 1))
    times = [[_parts_of(run, parallel) for run in pair] for pair in pairs]
    titles, values = _named(times)
    whole = values[:, 0].sum(axis=1)
    profiled = mean_interval(values[:, 1].sum(axis=1) / whole - 1.0, level)
    found = contributions(values[:, 0], values[:, 1], whole, level)
    causes = np.array([one.low > 0.0 or one.high < 0.0 for one in found])
    # What is divided: the difference of the experiment, or the processor time, which only the profiled runs have.
    divided = profiled if parallel else measured
    explained = ((values[:, 1] - values[:, 0])[:, causes] / whole[:, np.newaxis]).sum(axis=1)
    sizes = values.sum(axis=0) / whole.sum()
    parts = [
        Part(title, (float(before), float(after)), one, bool(is_cause))
        for title, before, after, one, is_cause in zip(titles, *sizes, found, causes, strict=True)
    ]
    return Explanation(
        experiment=context.facts.name,
        host=a.place.host,
        benchmark=a.place.benchmark,
        a=names[0],
        b=names[1],
        metric=a.metric,
        quantity="processor time" if parallel else "elapsed time",
        per="iteration" if pairs[0][0].of_iterations else "invocation",
        rounds=len(rounds),
        level=level,
        measured=measured,
        profiled=profiled,
        parts=tuple(sorted(parts, key=lambda part: -abs(part.contribution.point))),
        unexplained=unexplained(divided, explained, level) if causes.any() else divided,
        counters=_counters(context, a, b),
        missing=missing,
        stacks=_mean_stacks(times, float(whole.sum())),
    )


def _runs(context: Context, cell: PlannedCell) -> dict[int, Run]:
    """Return round -> its profiled invocation."""
    counted, elapsed = _counted_iterations(context, cell), _elapsed(context, cell)
    found = {}
    for sample, path in runs_with(context.folder.path, context.samples, cell, PROFILE_FILE):
        found[sample.round] = _read(
            path, counted.get(sample.invocation_id, set()), elapsed[sample.invocation_id]
        )
    return found


def _counted_iterations(context: Context, cell: PlannedCell) -> dict[str, set[int]]:
    """Return invocation -> the iterations that its value is the mean of; nothing for a metric of the process."""
    steady = context.facts.steady
    if steady.method in ("fixed", "cov", "changepoints"):
        join, condition = steady_iterations(steady)
    else:
        join, condition = "join first_iterations f on f.record = i.record", "i.iteration = f.lowest"
    rows = context.connection.execute(
        f"select distinct c.invocation_id, i.iteration from iterations i join counted c on c.record = i.record {join}"
        f" where c.cell = $cell and i.metric = $metric and {condition}",
        {"cell": cell.number, "metric": cell.metric},
    ).fetchall()
    found: dict[str, set[int]] = {}
    for invocation, iteration in rows:
        found.setdefault(invocation, set()).add(iteration)
    return found


def _elapsed(context: Context, cell: PlannedCell) -> dict[str, float]:
    """Return invocation -> elapsed time of its process in s."""
    rows = context.connection.execute(
        "select invocation_id, elapsed_ns from counted where cell = $cell", {"cell": cell.number}
    ).fetchall()
    return {invocation: elapsed_ns / 1e9 for invocation, elapsed_ns in rows}


def _read(path: Path, counted: set[int], elapsed_s: float) -> Run:
    """Read a profile: of the counted iterations if the program marked them, or else of the invocation.

    Raises:
        StoreError: it cannot be read.
    """
    document = read_object(path)
    try:
        if document["v"] != VERSION:
            raise ValueError(f"version {document['v']}")
        hz, stacks = float(document["hz"]), document["stacks"]
        windows = {int(number): float(duration_s) for number, duration_s in document["windows"].items()}
        if not (0.0 < hz < math.inf and all(0.0 < duration_s < math.inf for duration_s in windows.values())):
            raise ValueError("a rate or a duration that is not positive")
        chosen = counted & set(windows)
        times: dict[str, float] = defaultdict(float)
        for window, count, stack in stacks:
            if not chosen or window in chosen:
                times[str(stack)] += int(count) / hz
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreError(
            str(path), "a profile of this version", repr(error)[:200], "run the command again"
        ) from error
    if not chosen:
        return Run(elapsed_s, times, False)
    share = 1.0 / len(chosen)
    return Run(
        share * math.fsum(windows[number] for number in chosen),
        {stack: share * used_s for stack, used_s in times.items()},
        True,
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


def _counters(context: Context, a: PlannedCell, b: PlannedCell) -> tuple[Counted, ...]:
    """Return the ratio of each counter that both sides have, per iteration if the program marks iterations."""
    known = [
        {(one.metric, one.parameters_text): one for one in context.samples.series.get(cell.number, ())}
        for cell in (a, b)
    ]
    found = []
    for key, one in known[0].items():
        other = known[1].get(key)
        metric = key[0]
        if other is None or not metric.startswith(METRIC_PREFIX) or metric == metric_of(PROGRAM_PROFILE):
            continue
        name = metric.removeprefix(PER["iteration"])
        per_iteration = (metric.replace(METRIC_PREFIX, PER["iteration"], 1), key[1])
        if name == metric and per_iteration in known[0]:
            continue
        counted = _counted(name.removeprefix(METRIC_PREFIX), one, other, context.facts.level)
        if counted is not None:
            found.append(counted)
    return tuple(found)


def _counted(name: str, a: Series, b: Series, level: float) -> Counted | None:
    values = [{sample.round: sample.value for sample in side.samples} for side in (a, b)]
    rounds = sorted(set(values[0]) & set(values[1]))
    if not rounds:
        return None
    x, y = ([side[one] for one in rounds] for side in values)
    ratio = paired_log_ratio(y, x, level, is_counted(a.unit)).interval
    space = a.parameters.get("space")
    title = name.replace("_", " ") + (f", {space}" if space else "")
    return Counted(title, a.unit, (math.fsum(x) / len(x), math.fsum(y) / len(y)), ratio)
