"""Write the first sentences of an answer on several hosts: separate platforms, pooled hosts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence, Set
from dataclasses import replace

from regatta.answers.kit.headline import (
    FEW,
    MANY_PLACES,
    extra_factors,
    leading,
    outcomes_of,
    overview_of,
    ranked_places,
    settings_of,
    wins_of,
)
from regatta.answers.spine.baseline import asks_beyond_collectors
from regatta.answers.spine.context import Context
from regatta.answers.spine.groups import grouped
from regatta.answers.spine.names import Names, heap_words
from regatta.answers.spine.pairs import differing
from regatta.answers.spine.parts import Place
from regatta.answers.spine.result import CellAnswer
from regatta.answers.spine.samples import PlannedCell
from regatta.answers.spine.words import counted, measured, sample_words
from regatta.answers.topics.hosts.result import HostComparison, OverHosts, PlatformFamily, PlatformHosts
from regatta.figures.text import show_quantity


def headline_of_hosts(over: OverHosts, context: Context, apart: Set[str]) -> list[str]:
    """Describe the result on each platform, in plan order.

    Args:
        over: results over several hosts.
        context: context of the experiment; only the cells' own metrics are described.
        apart: ids of cells that other sentences cover.
    """
    return [
        sentence for platform in over.platforms for sentence in _of_platform(platform, over, context, apart)
    ]


def _of_platform(platform: PlatformHosts, over: OverHosts, context: Context, apart: Set[str]) -> list[str]:
    if not platform.measured:
        return [f"{platform.title}: not measured yet"]
    cells, names = context.samples.cells, context.names
    every = [one for one in over.leaders if one.place.platform == platform.name]
    extra, beyond = extra_factors(context, every), asks_beyond_collectors(context.baseline)
    # Then the comparisons with the baseline precede the leaders.
    asked = beyond or bool(extra)
    leaders = leading(every, extra)
    of_leaders = [*_overview(platform, leaders), *_families(platform, leaders, names)]
    in_family, covered = ranked_places(leaders, extra), {one.place.family for one in leaders}
    own = [cell for cell in cells if cell.place.platform == platform.name and cell.cell_id not in apart]
    benchmarks = {cell.place.benchmark for cell in own}

    def described(place: Place, factors: Iterable[str]) -> bool:
        shared = extra.intersection(factors)
        if in_family(place, shared):
            return False
        return beyond or bool(shared) if asked else place.family not in covered

    compared = [
        one
        for one in over.comparisons
        if one.place.platform == platform.name
        and one.place.benchmark in benchmarks
        and described(replace(one.place, heap=one.place.heap.asked), one.factors)
    ]
    of_pairs = _comparisons(platform, compared, names)
    sentences = [*of_pairs, *of_leaders] if asked else [*of_leaders, *of_pairs]
    sides = {
        _shared(side)
        for pair in context.pairs
        if pair.cell.place.platform == platform.name
        and (asked or described(_shared(pair.cell), differing(pair.cell, pair.base)))
        for side in (pair.cell, pair.base)
    }
    left = {
        (cell.place.benchmark, cell.place.configuration, cell.place.heap.asked): cell
        for cell in own
        if _shared(cell) not in sides
        and _shared(cell).family not in covered
        and not in_family(_shared(cell), extra)
    }
    for cell in left.values():
        sentences += _means(platform, cell, context.cells, names)
    return sentences


def _shared(cell: PlannedCell) -> Place:
    """Return the place of a cell on all hosts of its platform."""
    return replace(cell.place, host="", heap=cell.place.heap.asked)


def _overview(platform: PlatformHosts, leaders: Sequence[PlatformFamily]) -> list[str]:
    places = [one.place for one in leaders]
    if len({place.family for place in places}) <= MANY_PLACES:
        return []
    benchmarks, runtimes = {place.benchmark for place in places}, {place.runtime for place in places}
    winners = [one.winner for one in leaders]
    return [f"{platform.title}, {overview_of(winners, benchmarks, {p.heap for p in places}, runtimes)}"]


def _families(platform: PlatformHosts, leaders: Sequence[PlatformFamily], names: Names) -> list[str]:
    places = grouped(leaders, lambda one: one.place.family)
    sentences = []
    for place, many in places.items():
        if len(many) <= FEW:
            sentences += [one.words for one in many]
        else:
            what = f"{names.benchmark(place.benchmark)} ({settings_of(one.parameters for one in many)})"
            sentences.append(f"{platform.title}, {what}: {wins_of([one.winner for one in many])}")
    return sentences


def _comparisons(platform: PlatformHosts, compared: Sequence[HostComparison], names: Names) -> list[str]:
    groups: dict[tuple[object, ...], list[HostComparison]] = {}
    for one in compared:
        place = one.place
        where = place.benchmark, place.heap.asked, place.runtime, place.modifiers
        groups.setdefault((*where, one.a_name, one.b_name), []).append(one)
    sentences = []
    for many in groups.values():
        if len(many) <= FEW:
            sentences += [one.words for one in many]
            continue
        first = many[0]
        sentences.append(
            f"{platform.title}, {names.benchmark(first.place.benchmark)} ({settings_of(one.parameters for one in many)}):"
            f" {first.a_name} compared with {first.b_name}: {outcomes_of((one.ratio, one.verdict, one.better) for one in many)}"
        )
    return sentences


def _means(
    platform: PlatformHosts, cell: PlannedCell, answers: Sequence[CellAnswer], names: Names
) -> list[str]:
    own = [
        answer
        for answer in answers
        if answer.place.host in platform.hosts
        and (answer.cell_id, answer.metric) == (cell.cell_id, cell.metric)
        and not math.isnan(answer.estimate.point)
    ]
    by_parameters = grouped(own, lambda answer: str(sorted(answer.parameters.items())))
    named = cell.place.configuration
    who = f" ({named})" if named and named != "native" else ""
    if not own:
        return [
            f"{platform.title}, {names.benchmark(cell.place.benchmark)}{heap_words(cell.place.heap)}{who}: no value"
        ]
    if len(by_parameters) > FEW:
        what = f"{names.benchmark(cell.place.benchmark)}{who}"
        return [
            f"{platform.title}, {what}: {cell.metric} {_range(own)} ({counted(len(by_parameters), 'setting')})"
        ]
    sentences = []
    for many in by_parameters.values():
        what = f"{platform.title}, {names.place(cell, many[0].parameters)}{who}"
        if len(many) == 1:
            estimate = many[0].estimate
            value = f"{measured(estimate, many[0].unit)} {sample_words(estimate.n, 'invocation')}"
            sentences.append(f"{what}: {cell.metric} {value}")
        else:
            sentences.append(f"{what}: {cell.metric} {_range(many)}")
    return sentences


def _range(answers: Sequence[CellAnswer]) -> str:
    """Return `64.2 ns (ryzen) to 80.1 ns (xeon)`."""
    ordered = sorted(answers, key=lambda answer: answer.estimate.point)
    low, high = (
        f"{show_quantity(answer.estimate.point, answer.unit)} ({answer.place.host})"
        for answer in (ordered[0], ordered[-1])
    )
    disturbed = any(answer.estimate.is_disturbed for answer in answers)
    return f"{low} to {high}{', disturbed' * disturbed}"
