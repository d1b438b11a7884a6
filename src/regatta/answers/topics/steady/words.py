"""Describe startup and steady state."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from regatta.answers.spine.names import Names
from regatta.answers.spine.samples import PlannedCell
from regatta.answers.spine.words import counted, how_much, listed
from regatta.answers.topics.steady.compute import SeriesSteadiness, Steadiness
from regatta.figures.text import show_percent
from regatta.host.values.experiment import SteadyState
from regatta.stats.warmup import FLAT, INCONSISTENT, KINDS, LEAST_ITERATIONS, SLOWDOWN, UNSTEADY, WARMUP

_SAYS = {
    FLAT: ("is flat", "are flat"),
    WARMUP: ("warms up", "warm up"),
    SLOWDOWN: ("slows down", "slow down"),
    UNSTEADY: ("reaches no steady state", "reach no steady state"),
    INCONSISTENT: ("differs from invocation to invocation", "differ from invocation to invocation"),
}
#: maximum number of places to name in a sentence
_NAMED = 3


def steadiness_words(found: Steadiness | None, steady: SteadyState) -> tuple[str, ...]:
    """Return the sentences, most important first; empty if invocations have one iteration each."""
    if found is None:
        return ()
    sentences = []
    if found.series:
        sentences = [
            _classes(found),
            *_unsteady(found.series),
            _windows(found),
            *_agreement(found.series),
            *(_warmup(found) if steady.method == "fixed" else ()),
        ]
    if found.too_short:
        sentences.append(_too_short(found, steady))
    if found.judged_at_most:
        sentences.append(
            f"analyzed: at most {found.judged_at_most} invocations per cell, evenly spread over time"
        )
    return tuple(sentences)


def summary_words(cells: Sequence[PlannedCell], names: Names) -> tuple[str, ...]:
    """Report the summary of an invocation's repetitions, unless it is the mean everywhere."""
    benchmarks: dict[str, list[str]] = {}
    for label, summary in dict.fromkeys((cell.place.benchmark, cell.summary) for cell in cells):
        benchmarks.setdefault(summary, []).append(label)
    if benchmarks.keys() <= {"mean"}:
        return ()
    parts = []
    for name, labels in benchmarks.items():
        some = [names.benchmark(label) for label in labels[:_NAMED]]
        if len(labels) > _NAMED:
            some.append(f"{len(labels) - _NAMED} more")
        parts.append(f"{name} in {listed(some)}")
    return (
        f"summary of the repetitions of an invocation after warm-up: {', '.join(parts)}; estimates are means of it over invocations",
    )


def _classes(found: Steadiness) -> str:
    counts = Counter(one.kind for one in found.series)
    parts = [
        f"{counts[kind]} {_SAYS[kind][counts[kind] > 1]}" for kind in (*KINDS, INCONSISTENT) if counts[kind]
    ]
    starts = [one.steady_from for one in found.series if not math.isnan(one.steady_from)]
    when = ""
    if starts:
        low, high = round(min(starts)), round(max(starts))
        when = f"; steady {_after(low)}" if low == high else f"; steady after {low} to {high} iterations"
    return f"change points, n = {len(found.series)} series: {listed(parts)}{when}"


def _after(iterations: float) -> str:
    return f"after {counted(round(iterations), 'iteration')}"


def _unsteady(series: Sequence[SeriesSteadiness]) -> list[str]:
    """Report cells whose invocations disagree or never settle: their mean is not a property of the program."""
    odd = [one for one in series if one.kind in (UNSTEADY, INCONSISTENT, SLOWDOWN)]
    odd.sort(key=lambda one: -one.kinds.get(UNSTEADY, 0))
    named = [f"{one.title}: {_kinds(one)}" for one in odd[:_NAMED]]
    if len(odd) > _NAMED:
        named.append(f"and {len(odd) - _NAMED} more series")
    return [f"invocations differ, slow down or reach no steady state: {'; '.join(named)}"] if named else []


def _kinds(one: SeriesSteadiness) -> str:
    return listed([f"{count} {kind}" for kind, count in one.kinds.items()])


def _windows(found: Steadiness) -> str:
    reached = sum(one.cov_reached for one in found.series)
    total = sum(one.invocations for one in found.series)
    starts = [one.cov_start for one in found.series if not math.isnan(one.cov_start)]
    after = f", typically {_after(sorted(starts)[len(starts) // 2])}" if starts else ""
    return (
        f"CoV window ({found.window} iterations below {show_percent(found.threshold)}): reached in {reached} of "
        f"{counted(total, 'invocation')}{after}"
    )


def _agreement(series: Sequence[SeriesSteadiness]) -> list[str]:
    both = [one for one in series if one.agreement]
    if not both:
        return []
    differ = [one for one in both if one.agreement == "disagree"]
    alike = sum(one.agreement == "agree" for one in both)
    text = f"CoV window and change points agree on the mean in {alike} of {len(both)} series"
    if unsure := len(both) - alike - len(differ):
        text += f"; inconclusive in {unsure}"
    if differ:
        worst = max(differ, key=lambda one: abs(math.log(one.cov_over_changepoints.point)))
        ratio = worst.cov_over_changepoints
        word = "above" if ratio.point > 1 else "below"
        text += f"; largest difference in {worst.title}: the mean of the window is {how_much(ratio)} {word} the steady state"
    return [text]


def _warmup(found: Steadiness) -> list[str]:
    """Report whether the warm-up of the spec is long enough."""
    steady = [one for one in found.series if not math.isnan(one.steady_from)]
    late = [one for one in steady if 2 * one.after_warmup > one.invocations]
    left_out = f"warm-up of {counted(found.warmup, 'iteration')}"
    if not steady:
        return []
    if not late:
        return [f"{left_out}: long enough in most invocations of every series (change points)"]
    worst = max(late, key=lambda one: _size(one.bias.point))
    text = (
        f"{left_out}: too short in {len(late)} of {len(steady)} series (change points); worst in {worst.title}: "
        f"steady {_after(worst.steady_from)}"
    )
    if not math.isnan(worst.bias.low):
        word = "above" if worst.bias.point > 1 else "below"
        text += f", mean {how_much(worst.bias)} {word} the steady state"
    return [text]


def _size(ratio: float) -> float:
    return abs(math.log(ratio)) if ratio > 0 else 0.0


def _too_short(found: Steadiness, steady: SteadyState) -> str:
    warmup = f" of the warm-up of {counted(steady.warmup, 'iteration')}" if steady.method == "fixed" else ""
    return (
        f"no steady-state analysis{warmup} for {counted(found.too_short, 'cell')}: at most {found.most_iterations} iterations, "
        f"requires {LEAST_ITERATIONS}"
    )
