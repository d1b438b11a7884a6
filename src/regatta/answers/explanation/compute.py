"""Explain a difference between two sides, from samples of what their programs executed in the same rounds."""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path

from regatta.answers.explanation.division import Run, divide
from regatta.answers.explanation.result import Counted, Explanation
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
from regatta.stats.estimate import Interval
from regatta.stats.ratios import paired_log_ratio

#: Fewer rounds do not show how much they vary.
LEAST_ROUNDS = 3


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


def _runs(context: Context, cell: PlannedCell) -> dict[int, Run]:
    """Return round -> its profiled invocation."""
    counted, elapsed = _counted_iterations(context, cell), _elapsed(context, cell)
    found = {}
    for sample, path in runs_with(context.folder.path, context.samples, cell, PROFILE_FILE):
        found[sample.round] = read_profile(
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


def read_profile(path: Path, counted: set[int], elapsed_s: float) -> Run:
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
