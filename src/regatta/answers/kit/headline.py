"""Write the first sentences of an answer: comparisons with the baseline, winning collectors, else comparisons or means."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from typing import Protocol, TypeVar

from regatta.answers.kit.topic import Lead
from regatta.answers.spine.alternatives import against_baseline
from regatta.answers.spine.baseline import asks_beyond_collectors
from regatta.answers.spine.context import Context
from regatta.answers.spine.families.result import Family
from regatta.answers.spine.families.words import winner
from regatta.answers.spine.groups import grouped
from regatta.answers.spine.names import Names
from regatta.answers.spine.parts import Place
from regatta.answers.spine.result import CellAnswer, Comparison
from regatta.answers.spine.samples import PlannedCell
from regatta.answers.spine.verdicts import Verdict
from regatta.answers.spine.words import counted, measured, sample_words
from regatta.figures.text import show_quantity
from regatta.host.values.experiment import Better, Heap
from regatta.host.values.levels import ALWAYS
from regatta.stats.estimate import DISTURBED, Interval

#: with more sets of parameters, write one summary sentence
FEW = 3
#: with more places, write a summary before the single places
MANY_PLACES = 6


def headline(context: Context, lead: Lead) -> list[str]:
    """Describe the result: one sentence per benchmark and heap (and runtime), in plan order; many are summarized first.

    Comparisons with the baseline appear for cells outside families. If the question goes beyond collectors, they appear
    first and for all cells that have one.

    Args:
        context: context of the experiment; only the cells' own metrics are described.
        lead: first sentences of topics, and the cells that they cover.
    """
    cells, names = context.samples.cells, context.names
    extra = extra_factors(context, context.families)
    families = leading(context.families, extra)
    asked = asks_beyond_collectors(context.baseline) or bool(extra)
    better = {cell.place.family: cell.better for cell in cells}
    comparisons = [one for one in context.comparisons if one.a not in lead.compared]
    found = grouped(comparisons, lambda comparison: (comparison.place.host, comparison.a))
    in_family = ranked_places(families, extra)
    outside = {
        key: kept
        for key, many in found.items()
        if (kept := [one for one in many if not in_family(one.place, extra.intersection(one.factors))])
    }
    if extra and not asks_beyond_collectors(context.baseline):
        outside = {
            key: kept
            for key, many in outside.items()
            if (kept := [one for one in many if extra.intersection(one.factors)])
        }
    sentences = against_baseline(context, lead.compared)
    summarized = bool(sentences)
    sentences += _with_baseline(outside, better, cells, names, summarized) if asked else []
    sentences += [*lead.sentences, *_overview(families)]
    of_place = grouped(families, lambda family: family.place.family)
    for many in of_place.values():
        sentences += [f.words for f in many] if len(many) <= FEW else [_many_families(many, names)]
    covered = set(of_place)
    of_cell = grouped(context.cells, lambda answer: (answer.place.host, answer.cell_id))
    baselines = {(c.place.host, c.b) for c in comparisons}
    for cell in cells:
        key = (cell.place.host, cell.cell_id)
        if cell.place.family in covered or in_family(cell.place, extra) or (asked and key in found):
            continue
        if key in found and len(found[key]) <= FEW:
            sentences += [c.words for c in found[key]]
        elif key in found or (key not in baselines and cell.cell_id not in lead.cells):
            sentences += _means(cell, [a for a in of_cell[key] if a.metric == cell.metric], names)
    return sentences


class _Ranked(Protocol):
    """A family on one host, or over the hosts of a platform."""

    @property
    def factor(self) -> str: ...

    @property
    def place(self) -> Place: ...


_F = TypeVar("_F", bound=_Ranked)


def extra_factors(context: Context, families: Iterable[_Ranked]) -> frozenset[str]:
    """Return the factors, and crossings with families, that the spec compares beyond the usual ones: they are the question."""
    return frozenset(context.compared).union(one.factor for one in families).difference(ALWAYS)


def leading(families: Sequence[_F], extra: Set[str]) -> list[_F]:
    """Return the families of extra factors, then those of collectors; at places without collectors, of runtimes, else of modifiers."""
    usual = [family for family in families if family.factor not in extra]
    first: dict[tuple[object, ...], str] = {}
    for family in usual:
        at = _at(family.place)
        first[at] = min(first.get(at, family.factor), family.factor, key=ALWAYS.index)
    return [
        *(family for family in families if family.factor in extra),
        *(family for family in usual if family.factor == first[_at(family.place)]),
    ]


def ranked_places(families: Sequence[_F], extra: Set[str]) -> Callable[[Place, Iterable[str]], bool]:
    """Return a function: whether families already describe a place that is compared in some factors.

    Args:
        families: those of `leading`.
        extra: factors that the spec compares beyond the usual ones.
    """
    ranked = {_at(one.place) for one in families if one.factor != "collector"}
    grouped = {(one.factor, _asked(one.place)) for one in families if one.factor in extra}

    def in_family(place: Place, factors: Iterable[str]) -> bool:
        return _at(place) in ranked or any((f, _asked(place.without(f))) in grouped for f in factors)

    return in_family


def _with_baseline(
    found: Mapping[tuple[str, str], Sequence[Comparison]],
    better: Mapping[Place, Better],
    cells: Sequence[PlannedCell],
    names: Names,
    summarized: bool,
) -> list[str]:
    """Describe every comparison with the baseline in plan order; many are summarized first, unless they are already."""
    of_key = {(cell.place.host, cell.cell_id): cell for cell in cells}
    every = [
        (one.ratio, one.verdict, better[of_key[key].place.family])
        for key, many in found.items()
        for one in many
    ]
    sentences = []
    if len(found) > MANY_PLACES and not summarized:
        sentences.append(f"{counted(len(every), 'comparison')} with the baseline: {outcomes_of(every)}")
    for key, many in found.items():
        if len(many) <= FEW:
            sentences += [one.words for one in many]
            continue
        first = many[0]
        outcomes = outcomes_of((one.ratio, one.verdict, better[of_key[key].place.family]) for one in many)
        settings = settings_of(one.parameters for one in many)
        where = f"{names.where(of_key[key], {}, (*ALWAYS, *first.factors))} ({settings})"
        sentences.append(f"{where}: {first.a_name} compared with {first.b_name}: {outcomes}")
    return sentences


def outcomes_of(many: Iterable[tuple[Interval, Verdict, Better]]) -> str:
    """Return `better in 3, worse in 1, no significant difference in 2`, from ratios with their better direction."""
    ratios = list(many)
    shown = [
        (ratio.point < 1.0) == (way == "lower")
        for ratio, verdict, way in ratios
        if verdict.significant == "yes"
    ]
    better, worse = shown.count(True), shown.count(False)
    disturbed = sum(verdict.practical == DISTURBED for _, verdict, _ in ratios)
    parts = f"better in {better}, worse in {worse}, no significant difference in {len(ratios) - len(shown) - disturbed}"
    return f"{parts}, {DISTURBED} in {disturbed}" if disturbed else parts


def wins_of(winners: Sequence[str]) -> str:
    """Return `parallel is best in 20, g1 is best in 2, no significant winner in 2`; the winner is "" for no significant winner."""
    wins = Counter(winners)
    parts = [f"{name} is best in {count}" for name, count in wins.most_common() if name]
    if wins[""]:
        parts.append(f"no significant winner in {wins['']}")
    return ", ".join(parts)


def overview_of(winners: Sequence[str], benchmarks: set[str], heaps: set[Heap], runtimes: set[str]) -> str:
    """Return `24 combinations (benchmark x heap): parallel is best in 20, g1 is best in 4`, naming the factors that vary."""
    named = (("benchmark", benchmarks), ("heap", heaps), ("runtime", runtimes))
    varying = " x ".join(name for name, values in named if len(values) > 1)
    return f"{len(winners)} combinations{f' ({varying})' if varying else ''}: {wins_of(winners)}"


def settings_of(parameters: Iterable[Mapping[str, object]]) -> str:
    """Return `12 settings of size_bytes and stride`, or `12 series` without parameters."""
    given = list(parameters)
    keys = sorted({key for one in given for key in one})
    return f"{len(given)} settings of {' and '.join(keys)}" if keys else f"{len(given)} series"


def _asked(place: Place) -> Place:
    return replace(place, heap=place.heap.asked)


def _at(place: Place) -> tuple[object, ...]:
    return place.host, place.benchmark, place.heap.asked


def _overview(families: Sequence[Family]) -> list[str]:
    """Count the places that each alternative leads, if there are many."""
    places = [family.place for family in families]
    if len({place.family for place in places}) <= MANY_PLACES:
        return []
    winners = [winner(one.pairs, one.names, one.better) for one in families]
    return [
        overview_of(
            winners, {p.benchmark for p in places}, {p.heap for p in places}, {p.runtime for p in places}
        )
    ]


def _many_families(families: Sequence[Family], names: Names) -> str:
    """Write one sentence for a benchmark that measures many settings."""
    settings = settings_of(family.parameters for family in families)
    wins = wins_of([winner(family.pairs, family.names, family.better) for family in families])
    return f"{names.benchmark(families[0].place.benchmark)} ({settings}): {wins}"


def _means(cell: PlannedCell, answers: Sequence[CellAnswer], names: Names) -> list[str]:
    if len(answers) <= FEW:
        return [
            f"{names.where(cell, a.parameters)}: {a.metric} {measured(a.estimate, a.unit)}"
            f" {sample_words(a.estimate.n, 'invocation')}"
            for a in answers
        ]
    where = f"{names.where(cell, {})} ({settings_of(a.parameters for a in answers)})"
    points = [(a.estimate.point, a.unit) for a in answers if not math.isnan(a.estimate.point)]
    if not points:
        return [f"{where}: no value"]
    low, high = (show_quantity(*point) for point in (min(points), max(points)))
    return [f"{where}: {cell.metric} {low} to {high}"]
