"""Compute geometric means of ratios over a suite, for these benchmarks and for similar benchmarks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from regatta.answers.spine.context import Context
from regatta.answers.spine.names import Names, full_names, heap_words, short_names
from regatta.answers.spine.pairs import Pair, differing
from regatta.answers.spine.parts import INLINED, shared_heap
from regatta.answers.spine.suite_means import (
    LEAST_BENCHMARKS,
    Measured,
    simultaneous_mean,
    suite_mean,
    suite_of,
    why_no_ratio,
)
from regatta.answers.spine.verdicts import VERDICT, Verdict, judge, shows_difference
from regatta.answers.spine.words import bound_words, compared, how_much, listed, no_difference, too_small
from regatta.host.values.experiment import Better, Heap
from regatta.host.values.levels import label_without
from regatta.stats.estimate import Interval

_NOT_ADJUSTED = "not significant after adjustment for all pairs of alternatives"
#: host, suite, heap, metric, better, name of the alternative and of the baseline
_Key = tuple[str, str, Heap, str, Better, str, str]


@dataclass(frozen=True)
class SuiteMember:
    """The ratio of one benchmark of the suite."""

    benchmark: str
    ratio: Interval


@dataclass(frozen=True)
class SuiteComparison:
    """Alternative `a` over baseline `b` on one host: the geometric mean of the ratios of a suite's benchmarks."""

    host: str
    suite: str
    a_name: str
    b_name: str
    #: a cell (of the first benchmark) that represents the alternative in figures
    a: str
    #: without its size if that differs between benchmarks
    heap: Heap
    metric: str
    better: Better
    #: only benchmarks that both sides completed
    members: tuple[SuiteMember, ...]
    #: excluded benchmarks with reasons
    left_out: tuple[tuple[str, str], ...]
    #: mean with an interval for exactly these benchmarks
    these: Interval
    #: mean with an interval for similar benchmarks, treating these as a random sample
    like_these: Interval
    #: on these benchmarks, adjusted for all pairs of the alternatives of a baseline (Sidak)
    verdict: Verdict = field(metadata={INLINED: VERDICT})
    words: str
    #: factors in which the alternatives differ
    factors: tuple[str, ...] = ()
    #: of "the mean over exactly these benchmarks is 1"
    p: float = math.nan

    @property
    def generalises(self) -> bool:
        """Return whether the difference is significant for similar benchmarks, too."""
        return self.like_these.low > 1.0 or self.like_these.high < 1.0


def judge_suites(context: Context) -> tuple[SuiteComparison, ...]:
    """Return geometric means of the ratios of each host, suite, heap setting, alternative and baseline.

    Returns:
        Suites of which both sides completed at least two benchmarks, in plan order. A benchmark that a side did not
        complete, or that has many settings and thus several ratios, is excluded and reported.
    """
    groups: dict[_Key, Measured] = {}
    for pair, of_pair in zip(context.pairs, context.ratios, strict=True):
        cell = pair.cell
        if "benchmark" in differing(cell, pair.base):
            continue
        key = (
            cell.place.host, suite_of(pair), cell.place.heap.asked, cell.metric, cell.better, *full_names(cell, pair.base),
        )  # fmt: skip
        groups.setdefault(key, []).append((pair, of_pair.contrast))
    names: dict[tuple[object, ...], set[str]] = {}
    for key, measured in groups.items():
        names.setdefault(_baseline(key, measured), set()).add(key[-2])
    found = (
        _one(measured, len(names[_baseline(key, measured)]), context) for key, measured in groups.items()
    )
    return tuple(suite for suite in found if suite is not None)


def _baseline(key: _Key, measured: Measured) -> tuple[object, ...]:
    """Return what the alternatives of one baseline share: all pairs of them are compared together (topic `suite_pairs`)."""
    host, suite, heap, metric, better, _, b_name = key
    compares_heaps = "heap" in differing(measured[0][0].cell, measured[0][0].base)
    return host, suite, None if compares_heaps else heap, metric, better, b_name


def _one(given: Measured, alternatives: int, context: Context) -> SuiteComparison | None:
    by_benchmark: dict[str, Measured] = {}
    for pair, contrast in given:
        by_benchmark.setdefault(pair.cell.place.benchmark, []).append((pair, contrast))
    measured: Measured = []
    left_out: list[tuple[str, str]] = []
    for benchmark, several in by_benchmark.items():
        reason = why_no_ratio(several)
        if reason:
            left_out.append((benchmark, reason))
        else:
            measured.append(several[0])
    if len(measured) < LEAST_BENCHMARKS:
        return None
    found = suite_mean(measured, context.facts.level)
    these, like_these = found.these, found.like_these
    adjusted = simultaneous_mean(measured, context.facts.level, math.comb(alternatives + 1, 2))
    theta_percent = context.facts.theta_percent
    verdict = judge(adjusted.interval, theta_percent, adjusted.p)
    first = measured[0][0]
    a_name, b_name = full_names(first.cell, first.base)
    factors = differing(first.cell, first.base)
    return SuiteComparison(
        host=first.cell.place.host,
        suite=suite_of(first),
        a_name=a_name,
        b_name=b_name,
        a=first.cell.cell_id,
        heap=shared_heap(pair.cell.place for pair, _ in measured),
        metric=first.cell.metric,
        better=first.cell.better,
        members=tuple(
            SuiteMember(label_without(pair.cell.place.benchmark, factors), contrast.interval)
            for pair, contrast in measured
        ),
        left_out=tuple(left_out),
        these=these,
        like_these=like_these,
        verdict=verdict,
        words=_words(first, these, like_these, [benchmark for benchmark, _ in left_out], context.names)
        + (f"; {_NOT_ADJUSTED}" if shows_difference(these) and verdict.significant == "no" else "")
        + (f"; {too_small(theta_percent)}" if verdict == Verdict("yes", "no") else ""),
        factors=factors,
        p=found.p,
    )


def _words(first: Pair, these: Interval, like_these: Interval, left_out: Sequence[str], names: Names) -> str:
    cell = first.cell
    a_name, b_name, differ = short_names(cell, first.base)
    heap = "" if "heap" in differ else heap_words(cell.place.heap)
    suite = f" of {suite_of(first)}" if suite_of(first) else ""
    where = f"geometric mean of {these.n} benchmarks{suite}{heap}{names.within(cell, differ)}"
    without = f" (excluded: {listed([names.benchmark(label) for label in left_out])})" if left_out else ""
    where += f"{without}, on {names.host(cell)}"
    if math.isnan(these.low):
        return f"{where}: {a_name} / {b_name} undefined ({these.reason})"
    if these.is_exact and these.point == 1.0:
        words = f"{where}: {no_difference(a_name, b_name, these)}"
    elif shows_difference(these):
        unit = first.series.unit if first.series else ""
        words = f"{where}: {compared(a_name, b_name, these, cell.metric, unit, cell.better)}"
    else:
        words = f"{where}: no significant difference between {a_name} and {b_name} ({bound_words([these])})"
    return f"{words}; {_generalising(these, like_these)}"


def _generalising(these: Interval, like_these: Interval) -> str:
    if math.isnan(like_these.low):
        return f"similar benchmarks: undefined ({like_these.reason})"
    if not shows_difference(these):
        return f"similar benchmarks: {bound_words([like_these])}"
    said = f"similar benchmarks: {how_much(like_these)}"
    if shows_difference(like_these):
        return f"{said}, significant if these are a representative sample"
    return f"{said}, not significant"
