"""The section of capacity: the metric over the load with the target, and a table of the highest loads that meet it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from regatta.answers.kit.view import View
from regatta.answers.topics.capacity.compute import converted, metric_words
from regatta.answers.topics.capacity.result import Capacities, Capacity
from regatta.answers.topics.capacity.words import bound_words, load_words, notes, target_words
from regatta.figures.axes import Figure, Group
from regatta.figures.curves import Point, segment
from regatta.figures.labelled import (
    MOST_LINES,
    Mark,
    NamedLine,
    estimate_point,
    labelled_figure,
    measured_axis,
    plain_quantity,
    time_quantity,
)
from regatta.figures.section import Section, Table
from regatta.figures.text import ABSENT, choose_scale, joined, show_ends, show_heap, show_number, show_percent
from regatta.host.units import UNITS

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
        packs = [
            many[first : first + MOST_LINES]
            for many in places.values()
            for first in range(0, len(many), MOST_LINES)
        ]
        figures = [figure for pack in packs if (figure := _figure(pack, view)) is not None]
        if figures:
            groups.append(Group(title, figures))
    return groups


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
    columns = (
        *("host", "benchmark", "configuration", "target", "load", "capacity"),
        *(f"{show_percent(view.answer.level)} CI", "rounds", "loads (rounds met)", "notes"),
    )
    rows = [
        (
            view.host(one.place.host),
            one.place.benchmark,
            _series_name(one),
            target_words(one.target),
            one.target.parameter,
            *_capacity_texts(one),
            str(one.estimate.n),
            ", ".join(f"{load_words(point.load)} ({point.met})" for point in one.points),
            "; ".join(filter(None, (one.estimate.reason, *notes(one)))),
        )
        for one in found.found
    ]
    return [Table("Capacity", columns, rows, frozenset({5, 6, 7}))]


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
