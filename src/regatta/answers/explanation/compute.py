"""Explain a difference between two sides, from samples of what their programs executed in the same rounds."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from regatta.answers.explanation.division import Run, divide
from regatta.answers.explanation.result import Counted, Explanation
from regatta.answers.spine.context import Context
from regatta.answers.spine.iterations import steady_iterations
from regatta.answers.spine.kept_files import runs_with
from regatta.answers.spine.samples import PlannedCell, Series
from regatta.answers.topics.counters.topic import missing_counters
from regatta.host.counters.profile import FREQUENCY_HZ
from regatta.host.counters.program_profile import VERSION
from regatta.host.errors import StoreError
from regatta.host.files import read_object
from regatta.host.units import UNITS, is_counted
from regatta.host.values.counters import METRIC_PREFIX, PER, PROFILE_FILE, PROGRAM_PROFILE, metric_of
from regatta.stats.estimate import Interval
from regatta.stats.ratios import paired_log_ratio

#: Fewer rounds do not show how much they vary.
LEAST_ROUNDS = 3
#: Below this share of the time of a process, a metric is something else: much of the process would be divided in vain.
_LEAST_OF_PROCESS = 0.5
#: on logarithms, difference of two ratios that are the same
_SAME_MULTIPLE = 0.05
#: share of the processor time that samples may lack, beside so many of their standard errors
_LOST, _ERRORS = 0.05, 4.0


def explain(
    context: Context, cells: tuple[PlannedCell, PlannedCell], names: tuple[str, str], measured: Interval
) -> Explanation:
    """Explain the difference of a profiled side B from a profiled side A.

    Args:
        context: of the experiment with the profiled runs.
        cells: of both sides on one host.
        names: of the sides.
        measured: relative difference of the metric without the profiler, as a share.

    Raises:
        StoreError: fewer than `LEAST_ROUNDS` rounds have a profile of both sides, one is not readable, or the metric is not the time
            that the profiles divide.
    """
    a, b = cells
    missing = tuple(one for one in missing_counters(context.connection) if one.host == a.place.host)
    sides = [_runs(context, cell) for cell in cells]
    rounds = sorted(set(sides[0]) & set(sides[1]))
    pairs = [(sides[0][one], sides[1][one]) for one in rounds]
    if len(rounds) < LEAST_ROUNDS:
        why = [one.reason for one in missing if PROGRAM_PROFILE in one.counters]
        others = "in the others an invocation failed, was perturbed, or has fewer samples than processor time"
        raise StoreError(
            str(context.folder.path),
            f"at least {LEAST_ROUNDS} rounds with a profile of both sides on host {a.place.host}",
            f"{len(rounds)} ({why[0] if why else others})",
            "remove the cause, or raise --rounds",
        )
    check_times(a.label, a.metric, pairs)
    level = context.facts.level
    found = divide(pairs, measured, level)
    return Explanation(
        experiment=context.facts.name,
        host=a.place.host,
        benchmark=a.place.benchmark,
        a=names[0],
        b=names[1],
        metric=a.metric,
        quantity=found.quantity,
        per="iteration" if pairs[0][0].of_iterations else "invocation",
        rounds=len(rounds),
        level=level,
        measured=measured,
        profiled=found.profiled,
        parts=found.parts,
        unexplained=found.unexplained,
        counters=_counters(context, a, b),
        missing=missing,
        stacks=found.stacks,
    )


def check_times(cell: str, metric: str, pairs: Sequence[tuple[Run, Run]]) -> None:
    """Raise StoreError unless the values of a metric are the divided times, or the same multiple of them on both sides."""
    runs = [run for pair in pairs for run in pair]
    if len({run.of_iterations for run in runs}) > 1:
        got = "iterations that only some invocations mark"
        fix = "compare programs that both mark their iterations (docs/counters.md)"
        raise StoreError(cell, "the same kind of time on both sides", got, fix)
    ratios = [math.fsum(side[at].value_s / side[at].whole_s for side in pairs) / len(pairs) for at in (0, 1)]
    fix = "let the program mark its iterations (docs/counters.md), or compare the time of the process by `metric: process_elapsed`"
    if not runs[0].of_iterations and min(ratios) < _LEAST_OF_PROCESS:
        got = f"{metric}, which is {100 * min(ratios):.0f} % of the time of the process"
        raise StoreError(cell, "a metric that is the time of the process", got, fix)
    if not min(ratios) > 0.0 or abs(math.log(ratios[1] / ratios[0])) > _SAME_MULTIPLE:
        got = f"{metric}, which is {ratios[0]:.3g} and {ratios[1]:.3g} times the profiled time"
        raise StoreError(cell, "a metric that is the same part of the profiled time", got, fix)


def _runs(context: Context, cell: PlannedCell) -> dict[int, Run]:
    """Return round -> its profiled invocation, without those whose samples are not the processor time that the kernel counted."""
    counted, processes = _counted_iterations(context, cell), _processes(context, cell)
    series = {one.metric: one for one in context.samples.series.get(cell.number, ())}
    clock = series.get(metric_of("task-clock"))
    used_s = {one.invocation_id: one.value / 1e9 for one in clock.samples} if clock else {}
    own = context.samples.own(cell)
    factor = UNITS[own[0].unit][1] if own else math.nan
    found = {}
    for sample, path in runs_with(context.folder.path, context.samples, cell, PROFILE_FILE):
        attempt, elapsed_s = processes[sample.invocation_id]
        # An earlier attempt can have a profile, too.
        if path.parent.name != f"{sample.invocation_id}-a{attempt}":
            continue
        run = read_profile(path, counted.get(sample.invocation_id, set()), elapsed_s, factor * sample.value)
        if is_complete(run.sampled_s, used_s.get(sample.invocation_id, run.sampled_s)):
            found[sample.round] = run
    return found


def is_complete(sampled_s: float, used_s: float) -> bool:
    """Return whether samples stand for the processor time that the kernel counted: perf can sample less often than asked.

    Args:
        sampled_s: time of all samples.
        used_s: time that the kernel counted.
    """
    error = _ERRORS * math.sqrt(max(used_s, 0.0) / FREQUENCY_HZ)
    return abs(sampled_s - used_s) <= _LOST * used_s + error


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


def _processes(context: Context, cell: PlannedCell) -> dict[str, tuple[int, float]]:
    """Return invocation -> the attempt that counts, and the elapsed time of its process in s."""
    rows = context.connection.execute(
        "select c.invocation_id, l.attempt, c.elapsed_ns from counted c join last_attempts l using (record) where c.cell = $cell",
        {"cell": cell.number},
    ).fetchall()
    return {invocation: (attempt, elapsed_ns / 1e9) for invocation, attempt, elapsed_ns in rows}


def read_profile(path: Path, counted: set[int], elapsed_s: float, value_s: float) -> Run:
    """Read a profile: of the counted iterations if the program marked them, or else of the invocation.

    Args:
        path: of the file.
        counted: iterations whose mean is the value of the invocation.
        elapsed_s: of the process.
        value_s: value of the invocation.

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
        sampled_s = sum(int(count) for _, count, _ in stacks) / hz
        for window, count, stack in stacks:
            if not chosen or window in chosen:
                times[str(stack)] += int(count) / hz
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreError(
            str(path), "a profile of this version", repr(error)[:200], "run the command again"
        ) from error
    if not chosen:
        return Run(elapsed_s, times, False, value_s, sampled_s)
    share = 1.0 / len(chosen)
    return Run(
        share * math.fsum(windows[number] for number in chosen),
        {stack: share * used_s for stack, used_s in times.items()},
        True,
        value_s,
        sampled_s,
    )


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
