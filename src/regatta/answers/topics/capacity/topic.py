"""The topic of capacity: the highest load at which a metric meets a target."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from regatta.answers.kit.columns import BENCHMARK, CONFIGURATION_AND_HEAP, host_column
from regatta.answers.kit.plain import plain
from regatta.answers.kit.topic import Document, Lead, Topic, Words
from regatta.answers.kit.view import View
from regatta.answers.spine.context import Context
from regatta.answers.spine.groups import grouped
from regatta.answers.spine.words import counted, measured
from regatta.answers.topics.capacity.compute import (
    Capacities,
    Capacity,
    converted,
    judge_capacity,
    metric_words,
)
from regatta.figures.axes import Figure, Group
from regatta.figures.curves import Point, segment
from regatta.figures.labelled import (
    Mark,
    NamedLine,
    estimate_point,
    labelled_figure,
    measured_axis,
    packs,
    plain_quantity,
    time_quantity,
)
from regatta.figures.section import Column, Section, Table, table_of
from regatta.figures.text import (
    ABSENT,
    choose_scale,
    joined,
    show_ends,
    show_heap,
    show_number,
    show_percent,
    with_unit,
)
from regatta.host.units import UNITS
from regatta.host.values.experiment import CapacityTarget

#: with more series of one target, the first sentences name only the smallest and the largest capacity
FEW_SERIES = 6


def target_words(target: CapacityTarget) -> str:
    """Return `latency (percentile 99) at most 10 ms`."""
    return f"{metric_words(target)} at most {with_unit(f'{target.at_most:.15g}', target.unit)}"


def load_words(load: float) -> str:
    """Return a measured load with all its digits: `2,000`."""
    return f"{load:,.15g}"


def bound_words(one: Capacity) -> str:
    """Return `at least 8,000`, `below 2,000` or `between 2,000 and 8,000`; "" without a bound."""
    if one.bound is None:
        return ""
    low, high = (None if load is None else load_words(load) for load in (one.bound.low, one.bound.high))
    if low is None:
        return f"below {high}"
    return f"at least {low}" if high is None else f"between {low} and {high}"


def capacity_words(found: Capacities) -> tuple[str, ...]:
    """Return one sentence per series, with the rounds that are excluded."""
    return tuple(map(_sentence, found.found))


def first_words(found: Capacities) -> tuple[str, ...]:
    """Return the first sentences of an answer: one per series, or one per target with many series."""
    by_target = grouped(found.found, lambda one: _highest(one.target))
    return tuple(
        words
        for title, many in by_target.items()
        for words in (map(_sentence, many) if len(many) <= FEW_SERIES else [_summary(title, many)])
    )


def notes(one: Capacity) -> list[str]:
    """Return what limits a capacity: excluded rounds, and loads without a value in some rounds."""
    incomplete = counted(one.incomplete_rounds, "round")
    found = [f"{incomplete} excluded (perturbed or incomplete)"] if one.incomplete_rounds else []
    failed = [f"{load_words(point.load)} ({point.failed})" for point in one.points if point.failed]
    return found + ([f"rounds without a value: {', '.join(failed)}"] if failed else [])


def _highest(target: CapacityTarget) -> str:
    return f"highest {target.parameter} with {target_words(target)}"


def _sentence(one: Capacity) -> str:
    bound = bound_words(one)
    value = f"{bound} ({one.estimate.reason})" if bound else measured(one.estimate, "")
    return "; ".join([f"{one.name}: {_highest(one.target)}: {value}", *notes(one)])


def _summary(title: str, many: Sequence[Capacity]) -> str:
    """Return the smallest and largest capacity of one target, and the number of series that have only a bound or nothing."""
    known = sorted(
        (one for one in many if math.isfinite(one.estimate.point)), key=lambda one: one.estimate.point
    )
    parts = []
    if known:
        ends = [known[0], known[-1]] if len(known) > 1 else known
        parts.append(" to ".join(f"{measured(one.estimate, '')} ({one.name})" for one in ends))
    bounds = sum(one.bound is not None for one in many)
    without = len(many) - len(known) - bounds
    parts += [f"only a bound in {bounds}"] if bounds else []
    parts += [f"undefined in {without}"] if without else []
    return f"{title}, {len(many)} series: {'; '.join(parts)}"


#: texts of marks that are closer than this share of the axis would overlap
_MARK_ROOM = 0.08


def capacity_section(found: Capacities, view: View) -> Section | None:
    """Return a figure for each target, host and benchmark; None without a target."""
    if not found.found:
        return None
    return Section(
        "capacity",
        words="The capacity is the load at which the curve of the metric, over all rounds, crosses the target: the geometric mean "
        "of the rounds meets the target at every lower load. Near the crossing, a parabola in the load is fitted to the logarithms "
        f"of the metric. The {show_percent(view.answer.level)} confidence interval is Fieller's, with rounds as replicates, and "
        "includes the difference between the parabola and a line. A load without a value in at least half of the rounds ends the "
        "curve; any other missing value counts as the larger of the target and the largest value at that load. Rounds with a "
        "perturbed or missing invocation are excluded. If the interval exceeds the measured loads, the capacity has only bounds: the "
        "loads at which the target is significantly met, or significantly missed. In the figures, points are means over invocations "
        "with a value, the dashed line is the target, and dotted lines mark capacities.",
        groups=_groups(found, view),
    )


def _groups(found: Capacities, view: View) -> list[Group]:
    by_target: dict[str, dict[tuple[str, ...], list[Capacity]]] = {}
    for one in found.found:
        key = (one.place.host, one.place.benchmark, one.unit)
        by_target.setdefault(_title(one), {}).setdefault(key, []).append(one)
    groups = []
    for title, places in by_target.items():
        figures = [_figure(pack, view) for many in places.values() for pack in packs(many)]
        groups.append(Group(title, [figure for figure in figures if figure is not None]))
    return [group for group in groups if group.figures]


def _title(one: Capacity) -> str:
    return f"{one.target.parameter}: {target_words(one.target)}"


def _figure(pack: Sequence[Capacity], view: View) -> Figure | None:
    """Return the metric over the load, one line per series of one host, benchmark and target; None without values."""
    drawn = [one for one in pack if any(math.isfinite(point.estimate.point) for point in one.points)]
    if not drawn or not _comparable(drawn[0]):
        return None
    first = drawn[0]
    time = UNITS[first.unit][0] == "time"
    unit = "ns" if time else first.unit
    heaps = len({one.place.heap for one in drawn}) > 1
    names = [_series_name(one) if heaps else one.place.configuration for one in drawn]
    lines = [NamedLine(name, _points(one, unit)) for name, one in zip(names, drawn, strict=True)]
    x_axis = measured_axis(
        first.target.parameter, sorted({point.load for one in drawn for point in one.points})
    )
    at_most = converted(first.target.at_most, first.target.unit, unit)
    # The axis of the quantity must include the target.
    spanned = [*lines, NamedLine("target", [Point(0.0, at_most, at_most, at_most, "")])]
    metric = metric_words(first.target)
    quantity = time_quantity(metric, spanned) if time else plain_quantity(metric, unit, spanned)
    ends = [10.0**end if x_axis.get("type") == "log" else end for end in x_axis["range"]]
    target = segment(ends, [at_most * quantity.scale.factor] * 2, "@muted", 1.5, "dash")
    shared = "" if heaps else show_heap(first.place.heap)
    title = joined(first.place.benchmark, shared, view.on_host(first.place.host))
    return labelled_figure(title, lines, x_axis, quantity, _marks(drawn, x_axis), [target])


def _comparable(one: Capacity) -> bool:
    known = one.unit in UNITS and one.target.unit in UNITS
    return known and UNITS[one.unit][0] == UNITS[one.target.unit][0]


def _series_name(one: Capacity) -> str:
    return joined(one.place.configuration, show_heap(one.place.heap))


def _points(one: Capacity, unit: str) -> list[Point]:
    name = _series_name(one)
    return [
        estimate_point(
            point.load,
            point.estimate,
            one.unit,
            name,
            f"{one.target.parameter} {load_words(point.load)}",
            f"target met in {point.met} of {one.estimate.n} rounds",
            shown=unit,
        )
        for point in one.points
    ]


def _marks(drawn: Sequence[Capacity], x_axis: Mapping[str, Any]) -> list[Mark]:
    """Return a mark at each capacity, with its number if there is room."""
    log = x_axis.get("type") == "log"
    room = _MARK_ROOM * (x_axis["range"][1] - x_axis["range"][0])
    marks: list[Mark] = []
    last = -math.inf
    for load in sorted(one.estimate.point for one in drawn if math.isfinite(one.estimate.point)):
        place = math.log10(load) if log else load
        apart = place - last >= room
        last = place if apart else last
        marks.append(Mark(load, show_number(load) if apart else ""))
    return marks


def capacity_tables(found: Capacities, view: View) -> list[Table]:
    """Return one row per series and target."""

    def loads(one: Capacity) -> str:
        return ", ".join(f"{load_words(point.load)} ({point.met})" for point in one.points)

    columns: list[Column[Capacity]] = [
        *(host_column(view), BENCHMARK, CONFIGURATION_AND_HEAP),
        Column("target", lambda one: target_words(one.target)),
        Column("load", lambda one: one.target.parameter),
        Column("capacity", lambda one: _capacity_texts(one)[0], numeric=True),
        Column(f"{show_percent(view.answer.level)} CI", lambda one: _capacity_texts(one)[1], numeric=True),
        Column("rounds", lambda one: str(one.estimate.n), numeric=True),
        Column("loads (rounds met)", loads),
        Column("notes", lambda one: "; ".join(filter(None, (one.estimate.reason, *notes(one))))),
    ]
    return [table_of("Capacity", found.found, columns)]


def _capacity_texts(one: Capacity) -> tuple[str, str]:
    """Return the capacity or its bound, and the interval."""
    if one.bound is not None:
        return bound_words(one), ABSENT
    if not math.isfinite(one.estimate.point):
        return "n.d.", ABSENT
    scale = choose_scale([one.estimate], "")
    if math.isnan(one.estimate.low):
        return show_number(one.estimate.point), ABSENT
    return scale.show(one.estimate.point), show_ends(one.estimate, scale.show) or ABSENT


def _lead(found: Capacities, context: Context) -> Lead:
    """Return the first sentences; they cover cells whose compared metric is that of the target."""
    metrics = {cell.cell_id: cell.metric for cell in context.samples.cells}
    cells = {
        point.cell_id
        for one in found.found
        for point in one.points
        if metrics[point.cell_id] == one.target.metric
    }
    return Lead(first_words(found), cells=frozenset(cells))


CAPACITY: Topic[Capacities] = Topic(
    "capacity",
    title="Capacity",
    empty=Capacities(),
    compute=judge_capacity,
    words=Words(85, "Capacity", lambda found, _: capacity_words(found)),
    document=Document(75, "capacity", lambda found: plain(found.found)),
    section=capacity_section,
    tables=capacity_tables,
    methods=lambda found: {"Capacity": {one.estimate.method for one in found.found}} if found.found else {},
    lead=_lead,
)
