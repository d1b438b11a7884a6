"""Write the first sentences of an answer on several hosts: separate platforms, pooled hosts."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set

from regatta.answers.baseline import asks_beyond_collectors
from regatta.answers.context import Context
from regatta.answers.headline import FEW, MANY_PLACES, outcomes_of, overview_of, settings_of, wins_of
from regatta.answers.names import Names, heap_words
from regatta.answers.result import CellAnswer
from regatta.answers.samples import PlannedCell
from regatta.answers.topics.hosts.result import HostComparison, OverHosts, PlatformFamily, PlatformHosts
from regatta.answers.words import counted, measured
from regatta.figures.text import show_quantity

#: benchmark, heap, runtime, modifiers
_Place = tuple[object, ...]


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
    cells, names = context.samples.cells, context.names
    # Then the comparisons with the baseline precede the leading collectors.
    asked = asks_beyond_collectors(context.baseline)
    if not platform.measured:
        return [f"{platform.title}: nothing has been measured yet"]
    leaders = [one for one in over.leaders if one.platform == platform.name]
    of_leaders = [*_overview(platform, leaders), *_families(platform, leaders, names)]
    told: set[_Place] = {_place_of(one) for one in leaders}
    own = [cell for cell in cells if cell.place.platform == platform.name and cell.cell_id not in apart]
    benchmarks = {cell.place.benchmark for cell in own}
    compared = [
        one
        for one in over.comparisons
        if one.platform == platform.name
        and (asked or _place_of(one) not in told)
        and one.benchmark in benchmarks
    ]
    of_pairs = _comparisons(platform, compared, names)
    sentences = [*of_pairs, *of_leaders] if asked else [*of_leaders, *of_pairs]
    sides = {(one.benchmark, one.heap.factor, name) for one in compared for name in (one.a_name, one.b_name)}
    left = {
        (cell.place.benchmark, cell.place.configuration, cell.place.heap.asked): cell
        for cell in own
        if _place_of_cell(cell) not in told
        and (cell.place.benchmark, cell.place.heap.factor, cell.place.configuration) not in sides
    }
    for cell in left.values():
        sentences += _means(platform, cell, context.cells, names)
    return sentences


def _place_of(one: PlatformFamily | HostComparison) -> _Place:
    return one.benchmark, one.heap.asked, one.runtime, one.modifiers


def _place_of_cell(cell: PlannedCell) -> _Place:
    return cell.place.benchmark, cell.place.heap.asked, cell.place.runtime, cell.place.modifiers


def _overview(platform: PlatformHosts, leaders: Sequence[PlatformFamily]) -> list[str]:
    if len({_place_of(one) for one in leaders}) <= MANY_PLACES:
        return []
    benchmarks, runtimes = {one.benchmark for one in leaders}, {one.runtime for one in leaders}
    winners = [one.winner for one in leaders]
    return [f"{platform.title}: {overview_of(winners, benchmarks, {one.heap for one in leaders}, runtimes)}"]


def _families(platform: PlatformHosts, leaders: Sequence[PlatformFamily], names: Names) -> list[str]:
    places: dict[_Place, list[PlatformFamily]] = {}
    for one in leaders:
        places.setdefault(_place_of(one), []).append(one)
    sentences = []
    for many in places.values():
        if len(many) <= FEW:
            sentences += [one.words for one in many]
        else:
            what = f"{names.benchmark(many[0].benchmark)} over {settings_of(one.parameters for one in many)}"
            sentences.append(f"{platform.title}: {what}: {wins_of([one.winner for one in many], 'in')}")
    return sentences


def _comparisons(platform: PlatformHosts, compared: Sequence[HostComparison], names: Names) -> list[str]:
    groups: dict[tuple[object, ...], list[HostComparison]] = {}
    for one in compared:
        groups.setdefault((*_place_of(one), one.a_name, one.b_name), []).append(one)
    sentences = []
    for many in groups.values():
        if len(many) <= FEW:
            sentences += [one.words for one in many]
            continue
        first = many[0]
        sentences.append(
            f"{platform.title}: {first.a_name} against {first.b_name} on {names.benchmark(first.benchmark)} over"
            f" {settings_of(one.parameters for one in many)}: {outcomes_of((one.ratio, one.better) for one in many)}"
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
    by_parameters: dict[str, list[CellAnswer]] = {}
    for answer in own:
        by_parameters.setdefault(str(sorted(answer.parameters.items())), []).append(answer)
    named = cell.place.configuration
    who = f" ({named})" if named and named != "native" else ""
    if not own:
        return [
            f"{platform.title}: no value of {names.benchmark(cell.place.benchmark)}{who}{heap_words(cell.place.heap)}"
        ]
    if len(by_parameters) > FEW:
        what = f"{names.benchmark(cell.place.benchmark)}{who}"
        return [
            f"{platform.title}: {what}: {cell.metric} {_range(own)} over {counted(len(by_parameters), 'setting')}"
        ]
    sentences = []
    for many in by_parameters.values():
        what = f"{platform.title}: {names.place(cell, many[0].parameters)}{who}"
        if len(many) == 1:
            estimate = many[0].estimate
            value = f"{measured(estimate, many[0].unit)} {cell.metric}, {counted(estimate.n, 'invocation')}"
            sentences.append(f"{what}: {value}")
        else:
            sentences.append(f"{what}: {cell.metric} {_range(many)}")
    return sentences


def _range(answers: Sequence[CellAnswer]) -> str:
    """Return `from 64.2 ns (ryzen) to 80.1 ns (xeon)`."""
    ordered = sorted(answers, key=lambda answer: answer.estimate.point)
    low, high = (
        f"{show_quantity(answer.estimate.point, answer.unit)} ({answer.place.host})"
        for answer in (ordered[0], ordered[-1])
    )
    return f"from {low} to {high}"
