"""The first sentences of an answer: what the baseline asks, which collector wins where; without collectors, comparisons or means."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from regatta.answers.baseline import asks_beyond_collectors
from regatta.answers.context import Context
from regatta.answers.families.result import Family
from regatta.answers.families.words import winner
from regatta.answers.names import Names
from regatta.answers.parts import Place
from regatta.answers.result import CellAnswer, Comparison
from regatta.answers.samples import PlannedCell
from regatta.answers.topic import Lead
from regatta.answers.words import capitalised, counted, measured, outcome_words, shows_difference
from regatta.figures.text import show_quantity
from regatta.host.values.experiment import Better

#: more sets of parameters than this are told in one sentence
_FEW = 3
#: more places than this are summed up before they are told one by one
_MANY_PLACES = 6


def headline(context: Context, lead: Lead) -> list[str]:
    """Say what was found, one sentence a benchmark and heap (and runtime), in the order of the plan; many summed up first.

    The comparisons with the baseline are told for cells that are in no family, or, where the question asks beyond collectors,
    first and for all that have one.

    Args:
        context: of the experiment; of its cells only their own metric is spoken of.
        lead: what topics say before the rest, and the cells that it covers.
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
            [f.words for f in many] if len(many) <= _FEW else [_many_families(many, better[place], names)]
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
        if key in found and len(found[key]) <= _FEW:
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
    """Every comparison with the baseline, in the order of the plan; many summed up first."""
    of_key = {(cell.place.host, cell.cell_id): cell for cell in cells}
    every = [(one, better[of_key[key].place.family]) for key, many in found.items() for one in many]
    sentences = []
    if len(found) > _MANY_PLACES:
        sentences.append(f"of {counted(len(every), 'comparison')} with the baseline: {_outcomes(every)}")
    for key, many in found.items():
        if len(many) <= _FEW:
            sentences += [one.words for one in many]
            continue
        first = many[0]
        outcomes = _outcomes([(one, better[of_key[key].place.family]) for one in many])
        settings = _settings([one.parameters for one in many])
        place = f"{names.place(of_key[key], {})} over {settings}"
        sentences.append(f"{first.a_name} against {first.b_name} on {place}: {outcomes}")
    return sentences


def _outcomes(many: Sequence[tuple[Comparison, Better]]) -> str:
    """`better in 3, worse in 1, no difference shown in 2`."""
    shown = [(one.ratio.high < 1.0) == (way == "lower") for one, way in many if shows_difference(one.ratio)]
    return outcome_words(shown.count(True), shown.count(False), len(many) - len(shown))


def _overview(families: Sequence[Family], better: Mapping[Place, Better]) -> list[str]:
    """`of 24 places, parallel leads at 20 and g1 at 2; no single leader is shown at 2`, where there are many places."""
    if len({family.place.family for family in families}) <= _MANY_PLACES:
        return []
    wins = Counter(winner(family.pairs, family.names, better[family.place.family]) for family in families)
    leading = [f"{name} leads at {count}" for name, count in wins.most_common() if name]
    if wins[""]:
        leading.append(f"no single leader is shown at {wins['']}")
    what = {
        "benchmark": len({family.place.benchmark for family in families}),
        "heap": len({family.place.heap for family in families}),
        "runtime": len({family.place.runtime for family in families}),
    }
    varying = [name for name, values in what.items() if values > 1]
    return [f"of {len(families)} places ({' x '.join(varying)}): {', '.join(leading)}"]


def _many_families(families: Sequence[Family], better: Better, names: Names) -> str:
    """One sentence for a benchmark that measures many settings."""
    first = families[0]
    wins = Counter(winner(family.pairs, family.names, better) for family in families)
    parts = [f"{name} leads in {count}" for name, count in sorted(wins.items()) if name]
    if wins[""]:
        parts.append(f"no single leader is shown in {wins['']}")
    settings = _settings([family.parameters for family in families])
    return f"{names.benchmark(first.place.benchmark)} over {settings}: {', '.join(parts)}"


def _means(cell: PlannedCell, answers: Sequence[CellAnswer], names: Names) -> list[str]:
    who = names.benchmark(cell.place.benchmark)
    named = cell.place.configuration
    who += f" ({named})" if named else ""
    if len(answers) <= _FEW:
        return [
            f"{names.place(cell, a.parameters)}: {measured(a.estimate, a.unit)} {a.metric},"
            f" {counted(a.estimate.n, 'invocation')}, on {names.host(cell)}"
            for a in answers
        ]
    points = [(a.estimate.point, a.unit) for a in answers if not math.isnan(a.estimate.point)]
    settings = _settings([a.parameters for a in answers])
    if not points:
        return [f"{who}: no value over {settings}"]
    low, high = min(points), max(points)
    ends = []
    for value, unit in (low, high):
        ends.append(show_quantity(value, unit))
    return [f"{who}: {cell.metric} from {ends[0]} to {ends[1]} over {settings}, on {names.host(cell)}"]


def _settings(parameters: Sequence[Mapping[str, object]]) -> str:
    keys = sorted({key for given in parameters for key in given})
    return f"{len(parameters)} settings of {' and '.join(keys)}" if keys else f"{len(parameters)} series"
