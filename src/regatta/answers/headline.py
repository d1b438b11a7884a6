"""Write the first sentences of an answer: comparisons with the baseline, winning collectors, else comparisons or means."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from regatta.answers.baseline import asks_beyond_collectors
from regatta.answers.context import Context
from regatta.answers.families.result import Family
from regatta.answers.families.words import winner
from regatta.answers.names import Names
from regatta.answers.parts import Place
from regatta.answers.result import CellAnswer, Comparison
from regatta.answers.samples import PlannedCell
from regatta.answers.topic import Lead
from regatta.answers.words import capitalised, counted, measured, shows_difference
from regatta.figures.text import show_quantity
from regatta.host.values.experiment import Better, Heap
from regatta.stats.estimate import Interval

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
    cells, families, names = context.samples.cells, context.families, context.names
    asked = asks_beyond_collectors(context.baseline)
    better = {cell.place.family: cell.better for cell in cells}
    comparisons = [one for one in context.comparisons if one.a not in lead.compared]
    found: dict[tuple[str, str], list[Comparison]] = {}
    for comparison in comparisons:
        found.setdefault((comparison.place.host, comparison.a), []).append(comparison)
    sentences = _with_baseline(found, better, cells, names) if asked else []
    sentences += [*lead.sentences, *_overview(families, better)]
    of_place: dict[Place, list[Family]] = {}
    for family in families:
        of_place.setdefault(family.place.family, []).append(family)
    for place, many in of_place.items():
        sentences += (
            [f.words for f in many] if len(many) <= FEW else [_many_families(many, better[place], names)]
        )
    told = set(of_place)
    of_cell: dict[tuple[str, str], list[CellAnswer]] = {}
    for answer in context.cells:
        of_cell.setdefault((answer.place.host, answer.cell_id), []).append(answer)
    baselines = {(c.place.host, c.b) for c in comparisons}
    for cell in cells:
        key = (cell.place.host, cell.cell_id)
        if cell.place.family in told or (asked and key in found):
            continue
        if key in found and len(found[key]) <= FEW:
            sentences += [c.words for c in found[key]]
        elif key in found or (key not in baselines and cell.cell_id not in lead.cells):
            sentences += _means(cell, [a for a in of_cell[key] if a.metric == cell.metric], names)
    return capitalised(sentences)


def _with_baseline(
    found: Mapping[tuple[str, str], Sequence[Comparison]],
    better: Mapping[Place, Better],
    cells: Sequence[PlannedCell],
    names: Names,
) -> list[str]:
    """Describe every comparison with the baseline in plan order; many are summarized first."""
    of_key = {(cell.place.host, cell.cell_id): cell for cell in cells}
    every = [(one.ratio, better[of_key[key].place.family]) for key, many in found.items() for one in many]
    sentences = []
    if len(found) > MANY_PLACES:
        sentences.append(f"of {counted(len(every), 'comparison')} with the baseline: {outcomes_of(every)}")
    for key, many in found.items():
        if len(many) <= FEW:
            sentences += [one.words for one in many]
            continue
        first = many[0]
        outcomes = outcomes_of((one.ratio, better[of_key[key].place.family]) for one in many)
        settings = settings_of(one.parameters for one in many)
        place = f"{names.place(of_key[key], {})} over {settings}"
        sentences.append(f"{first.a_name} against {first.b_name} on {place}: {outcomes}")
    return sentences


def outcomes_of(many: Iterable[tuple[Interval, Better]]) -> str:
    """Return `better in 3, worse in 1, no difference shown in 2`, from ratios with their better direction."""
    ratios = list(many)
    shown = [(ratio.high < 1.0) == (way == "lower") for ratio, way in ratios if shows_difference(ratio)]
    better, worse = shown.count(True), shown.count(False)
    return f"better in {better}, worse in {worse}, no difference shown in {len(ratios) - len(shown)}"


def wins_of(winners: Sequence[str], at: str) -> str:
    """Return `parallel leads at 20, g1 leads at 2, no single leader is shown at 2`; winners are "" at places without one."""
    wins = Counter(winners)
    parts = [f"{name} leads {at} {count}" for name, count in wins.most_common() if name]
    if wins[""]:
        parts.append(f"no single leader is shown {at} {wins['']}")
    return ", ".join(parts)


def overview_of(winners: Sequence[str], benchmarks: set[str], heaps: set[Heap], runtimes: set[str]) -> str:
    """Return `of 24 places (benchmark x heap): parallel leads at 20, g1 leads at 4`, naming the factors that vary."""
    named = (("benchmark", benchmarks), ("heap", heaps), ("runtime", runtimes))
    varying = " x ".join(name for name, values in named if len(values) > 1)
    return f"of {len(winners)} places{f' ({varying})' if varying else ''}: {wins_of(winners, 'at')}"


def settings_of(parameters: Iterable[Mapping[str, object]]) -> str:
    """Return `12 settings of size_bytes and stride`, or `12 series` without parameters."""
    given = list(parameters)
    keys = sorted({key for one in given for key in one})
    return f"{len(given)} settings of {' and '.join(keys)}" if keys else f"{len(given)} series"


def _overview(families: Sequence[Family], better: Mapping[Place, Better]) -> list[str]:
    """Count the places that each collector leads, if there are many."""
    places = [family.place for family in families]
    if len({place.family for place in places}) <= MANY_PLACES:
        return []
    winners = [winner(one.pairs, one.names, better[one.place.family]) for one in families]
    return [
        overview_of(
            winners, {p.benchmark for p in places}, {p.heap for p in places}, {p.runtime for p in places}
        )
    ]


def _many_families(families: Sequence[Family], better: Better, names: Names) -> str:
    """Write one sentence for a benchmark that measures many settings."""
    settings = settings_of(family.parameters for family in families)
    wins = wins_of([winner(family.pairs, family.names, better) for family in families], "in")
    return f"{names.benchmark(families[0].place.benchmark)} over {settings}: {wins}"


def _means(cell: PlannedCell, answers: Sequence[CellAnswer], names: Names) -> list[str]:
    who = names.benchmark(cell.place.benchmark)
    named = cell.place.configuration
    who += f" ({named})" if named else ""
    if len(answers) <= FEW:
        return [
            f"{names.place(cell, a.parameters)}: {measured(a.estimate, a.unit)} {a.metric},"
            f" {counted(a.estimate.n, 'invocation')}, on {names.host(cell)}"
            for a in answers
        ]
    points = [(a.estimate.point, a.unit) for a in answers if not math.isnan(a.estimate.point)]
    settings = settings_of(a.parameters for a in answers)
    if not points:
        return [f"{who}: no value over {settings}"]
    low, high = (show_quantity(*point) for point in (min(points), max(points)))
    return [f"{who}: {cell.metric} from {low} to {high} over {settings}, on {names.host(cell)}"]
