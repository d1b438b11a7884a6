"""The topic of all pairs of alternatives over a suite."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from regatta.answers.kit.plain import pair_row
from regatta.answers.kit.ranking import Standings
from regatta.answers.kit.topic import Document, Rows, Topic, Words
from regatta.answers.kit.view import View
from regatta.answers.spine.comparisons import contrasts_of
from regatta.answers.spine.context import Context
from regatta.answers.spine.families.words import Sampled, family_words, leaders, ranking, winner
from regatta.answers.spine.names import full_names, heap_words
from regatta.answers.spine.pairs import Pair, differing
from regatta.answers.spine.parts import INLINED, FamilyPair, Place, shared_heap
from regatta.answers.spine.result import Answer
from regatta.answers.spine.samples import PlannedCell, Series
from regatta.answers.spine.suite_means import LEAST_BENCHMARKS, simultaneous_mean, suite_of, why_no_ratio
from regatta.answers.spine.verdicts import judge
from regatta.answers.spine.words import sample_words
from regatta.figures.section import Section, Table
from regatta.figures.text import show_heap, show_interval, show_p, show_percent
from regatta.host.values.benchmark_label import parts_of_label
from regatta.host.values.experiment import Better, Heap
from regatta.host.values.levels import label_without, parameters_in
from regatta.stats.estimate import Contrast

#: of two, the comparison with the baseline is the only pair
_LEAST_ALTERNATIVES = 3

#: benchmark -> cell and series of one alternative
_Measured = dict[str, tuple[PlannedCell, Series | None]]


@dataclass(frozen=True)
class SuitePairs:
    """All alternatives with one baseline on one host, over the benchmarks of a suite that all of them completed."""

    host: str
    suite: str
    #: without its size if that differs between benchmarks; empty if heaps are compared
    heap: Heap
    metric: str
    unit: str
    better: Better
    benchmarks: tuple[str, ...]
    #: the alternatives and their baseline, best first
    names: tuple[str, ...]
    #: geometric means of the ratios for exactly these benchmarks: simultaneous intervals, and p adjusted over the pairs;
    #: those of the baseline come first
    pairs: tuple[FamilyPair, ...]
    #: the best, and those that do not differ significantly from it
    leaders: tuple[str, ...]
    #: significantly better than all others; "" if none is
    winner: str
    words: str
    #: of each name: its place, with the suite as benchmark; not in documents
    places: tuple[Place, ...] = field(default=(), metadata={INLINED: ()})

    @property
    def baseline(self) -> str:
        """Name of the baseline."""
        return self.pairs[0].a_name


def compare_all(context: Context) -> tuple[SuitePairs, ...]:
    """Return all pairs for each host, suite, heap setting and baseline, in plan order.

    Returns:
        Sets of at least three alternatives (with the baseline) that have at least two benchmarks in common.
    """
    groups: dict[tuple[object, ...], dict[str, dict[str, list[tuple[Pair, Contrast]]]]] = {}
    for pair, of_pair in zip(context.pairs, context.ratios, strict=True):
        cell, base = pair.cell, pair.base
        factors = differing(cell, base)
        if "benchmark" in factors:
            continue
        a_name, b_name = full_names(cell, base)
        heap = None if "heap" in factors else cell.place.heap.asked
        key = (cell.place.host, suite_of(pair), heap, cell.metric, cell.better, b_name)
        benchmark = label_without(cell.place.benchmark, factors)
        of_name = groups.setdefault(key, {}).setdefault(a_name, {})
        of_name.setdefault(benchmark, []).append((pair, of_pair.contrast))
    found = (_compared(str(key[-1]), by_name, context) for key, by_name in groups.items())
    return tuple(one for one in found if one is not None)


def _compared(
    b_name: str, by_name: dict[str, dict[str, list[tuple[Pair, Contrast]]]], context: Context
) -> SuitePairs | None:
    usable = {
        name: {label: several[0][0] for label, several in own.items() if not why_no_ratio(several)}
        for name, own in by_name.items()
    }
    usable = {name: own for name, own in usable.items() if own}
    if len(usable) + 1 < _LEAST_ALTERNATIVES:
        return None
    first_name = next(iter(usable))
    common = [label for label in usable[first_name] if all(label in own for own in usable.values())]
    if len(common) < LEAST_BENCHMARKS:
        return None
    sides: dict[str, _Measured] = {
        b_name: {label: (usable[first_name][label].base, usable[first_name][label].b) for label in common}
    }
    sides |= {
        name: {label: (own[label].cell, own[label].a) for label in common} for name, own in usable.items()
    }
    made = list(combinations(sides, 2))
    ratios = [_mean(sides[a], sides[b], context, len(made)) for a, b in made]
    theta_percent = context.facts.theta_percent
    pairs = tuple(
        FamilyPair(a, b, one.interval, one.p, judge(one.interval, theta_percent, one.p))
        for (a, b), one in zip(made, ratios, strict=True)
    )
    first = usable[first_name][common[0]]
    cell, better = first.cell, first.cell.better
    ranked = ranking(list(sides), pairs, better)
    factors = {
        factor for own in usable.values() for factor in differing(own[common[0]].cell, own[common[0]].base)
    }
    heap = Heap() if "heap" in factors else shared_heap(own.place for own, _ in sides[first_name].values())
    unit = first.series.unit if first.series else ""
    suite = f" of {suite_of(first)}" if suite_of(first) else ""
    where = f"geometric mean of {len(common)} benchmarks{suite}{heap_words(heap)}{context.names.within(cell, factors)}"
    sample = sample_words(len(common), "benchmark")
    return SuitePairs(
        host=cell.place.host,
        suite=suite_of(first),
        heap=heap,
        metric=cell.metric,
        unit=unit,
        better=better,
        benchmarks=tuple(common),
        names=tuple(ranked),
        pairs=pairs,
        leaders=tuple(leaders(ranked, pairs)),
        winner=winner(pairs, ranked, better),
        words=f"{where}, on {context.names.host(cell)}: "
        + family_words(ranked, pairs, Sampled(cell, unit, sample, theta_percent, "alternative")),
        places=tuple(_place(sides[name][common[0]][0].place, heap, factors) for name in ranked),
    )


def _place(of: Place, heap: Heap, factors: Collection[str]) -> Place:
    """Return the place of an alternative over the suite, by its place on one benchmark."""
    parts = parts_of_label(of.benchmark)
    chosen = [
        f"{name}={parts.chosen[name]}" for name in sorted(parameters_in(factors)) if name in parts.chosen
    ]
    label = " ".join(filter(None, (parts.suite, *chosen)))
    return replace(of, benchmark=label, heap=of.heap.asked if "heap" in factors else heap)


def _mean(a: _Measured, b: _Measured, context: Context, pairs_made: int) -> Contrast:
    """Return the geometric mean of the ratios a/b, with an interval that is simultaneous for all pairs."""
    pairs = [Pair(a[label][0], b[label][0], a[label][1], b[label][1]) for label in a]
    found = contrasts_of(pairs, context.facts.level, context.stops)
    measured = [(pair, one.contrast) for pair, one in zip(pairs, found, strict=True)]
    return simultaneous_mean(measured, context.facts.level, pairs_made)


def suite_pairs_section(found: Sequence[SuitePairs], view: View) -> Section | None:
    """Explain the tables; None without three alternatives that completed two benchmarks."""
    if not found:
        return None
    return Section(
        "suite-pairs",
        words="Geometric means of the ratios of all pairs of alternatives, over the benchmarks that all of them completed, and for "
        f"exactly these benchmarks. The {show_percent(view.answer.level)} intervals are simultaneous for all pairs (Šidák). "
        "Leaders are the best alternative and those that do not differ significantly from it.",
    )


def suite_pairs_tables(found: Sequence[SuitePairs], view: View) -> list[Table]:
    """Return the alternatives, best first, and all pairs."""
    alternatives: list[tuple[str, ...]] = []
    pairs: list[tuple[str, ...]] = []
    for one in found:
        place = (view.host(one.host), one.suite, show_heap(one.heap), one.metric, str(len(one.benchmarks)))
        alternatives += [
            (*place, name, "yes" if name in one.leaders else "", "yes" if name == one.winner else "")
            for name in one.names
        ]
        pairs += [
            (*place, f"{pair.a_name} / {pair.b_name}", show_interval(pair.ratio), show_p(pair.p))
            for pair in one.pairs
        ]
    columns = ("host", "suite", "heap", "metric", "benchmarks")
    level = show_percent(view.answer.level)
    return [
        Table(
            "Leaders", (*columns, "alternative, best first", "leader", "winner"), alternatives, frozenset({4})
        ),
        Table(
            "All pairs",
            (*columns, "comparison", f"geometric mean, simultaneous {level} CI", "p"),
            pairs,
            frozenset({4, 7}),
            detail=True,
        ),
    ]


def _rows(found: Sequence[SuitePairs]) -> Iterator[dict[str, Any]]:
    """Yield the pairs; `value` is the ratio a/b."""
    for one in found:
        for pair in one.pairs:
            names = (pair.a_name, pair.b_name)
            yield pair_row(one, "suite-pair", *names, pair.ratio, pair.p, benchmark=one.suite)


def _standings(found: Sequence[SuitePairs], _: Answer) -> Iterator[Standings]:
    for one in found:
        places = dict(zip(one.names, one.places, strict=True))
        yield Standings("suite", one.baseline, one.metric, one.better, {}, places, one.pairs, one.leaders)


SUITE_PAIRS: Topic[tuple[SuitePairs, ...]] = Topic(
    "suite_pairs",
    title="Leaders over a suite",
    empty=(),
    compute=compare_all,
    words=Words(41, "Leaders over a suite", lambda found, _: [one.words for one in found]),
    document=Document(21, "suite_pairs"),
    rows=Rows(21, _rows),
    section=suite_pairs_section,
    tables=suite_pairs_tables,
    terminal=True,
    standings=_standings,
    methods=lambda found: (
        {"Pairs over a suite": {p.ratio.method for one in found for p in one.pairs}} if found else {}
    ),
)
