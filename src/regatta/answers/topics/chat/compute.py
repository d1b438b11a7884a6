"""Compare the modes of the chat server over the number of connections: which is better, from what number on, at what cost.

The parameters `connections`, `mode` and `rate` identify its series (docs/protocol.md, metrics of the chat server). Counters of
its cells have the same ones.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from regatta.answers.spine.context import Context
from regatta.answers.spine.parts import Place
from regatta.answers.spine.result import CellAnswer
from regatta.answers.spine.verdicts import judge
from regatta.host.values.counters import METRIC_PREFIX, SPACE, metric_of
from regatta.host.values.experiment import Scalar
from regatta.stats.estimate import Interval
from regatta.stats.multiplicity import holm
from regatta.stats.ratios import welch_log_ratio

#: `better`, `worse`: significant; `open`: not significant; `unknown`: no interval
ModeVerdict = Literal["better", "worse", "open", "unknown"]


@dataclass(frozen=True)
class ChatPlace(Place):
    """The place that compared curves share. `benchmark`: without the parameters that identify curves."""

    #: messages per second and user; 0: a closed loop
    rate: float


@dataclass(frozen=True)
class ChatPoint:
    """One number of connections. `values`: one per invocation, in the curve's unit, in time order."""

    connections: int
    cell_id: str
    estimate: Interval
    values: tuple[float, ...]


@dataclass(frozen=True)
class ChatCurve:
    """One metric of one mode over the number of connections (ascending)."""

    place: ChatPlace
    #: `platform`, `virtual`, `selector`
    mode: str
    metric: str
    #: percentile of a latency, space of a counter (`user`, `kernel`, `all`); "" for other metrics
    aspect: str
    unit: str
    points: tuple[ChatPoint, ...]

    def at(self, connections: int) -> ChatPoint | None:
        """Return the point at a number of connections."""
        return next((point for point in self.points if point.connections == connections), None)


@dataclass(frozen=True)
class ModeContrast:
    """Ratio of `metric` in `mode` to that in `base`, at the same number of connections."""

    place: ChatPlace
    connections: int
    mode: str
    base: str
    metric: str
    ratio: Interval
    p: float
    #: p adjusted over all contrasts of the answer (Holm)
    p_holm: float
    verdict: ModeVerdict


@dataclass(frozen=True)
class Chat:
    """The results for chat servers; empty if none was measured."""

    curves: tuple[ChatCurve, ...] = ()
    contrasts: tuple[ModeContrast, ...] = ()
    #: descriptions of cells that repeat the measurement of another cell, and are therefore in no curve
    twice: tuple[str, ...] = ()

    @property
    def cell_ids(self) -> frozenset[str]:
        """Return the cells that the sentences cover: those of places with several modes."""
        compared = {contrast.place for contrast in self.contrasts}
        return frozenset(
            point.cell_id for curve in self.curves if curve.place in compared for point in curve.points
        )


#: in the order of sentences
MODES = ("platform", "virtual", "selector")
#: (mode, base of the comparison)
PAIRS = (("virtual", "platform"), ("selector", "platform"), ("selector", "virtual"))
#: the pairs in the first sentences of an answer
HEADLINE_PAIRS = PAIRS[:2]
#: (metric, aspect) that modes are compared by. In a closed loop, server and client together determine the messages
#: delivered; at a fixed rate, they determine the latency. Processor time per message belongs to the server alone.
DELIVERED, LATE, COST = ("delivered_rate", ""), ("latency", "99"), ("cpu_per_message", "")
#: metric of a window -> the same divided by the connections
PER_CONNECTION = {metric_of("instructions", "iteration"): "counter_instructions_per_connection"}
_OWN = {"connections", "mode", "rate"}
_ASPECTS = {"percentile", SPACE}


def judge_chat(context: Context) -> Chat:
    """Return every series of a chat server over its connections, and compare its modes.

    Returns:
        Curves in cell order. Modes are compared at equal connections by the ratio of geometric means (Welch's t on
        logarithms, because they share no block). Metrics are messages delivered in a closed loop, the 99th percentile of
        latency at a rate, and the server's processor time per message. A difference is significant if it still is after
        Holm over all of them.
    """
    groups: dict[tuple[ChatPlace, str, str, str, str], dict[int, CellAnswer]] = defaultdict(dict)
    twice: dict[str, None] = {}
    own = _own_parameters(context.cells)
    for cell in context.cells:
        counted = cell.metric.startswith(METRIC_PREFIX)
        given = {**(own.get(_identity(cell), {}) if counted else {}), **cell.parameters}
        key = _key(cell, given)
        if key is not None and cell.samples:
            first = groups[key].setdefault(int(given["connections"]), cell)
            if first is not cell:
                place = cell.place
                twice[f"{place.benchmark}, {place.configuration}, {place.host}: measured twice"] = None
    curves = [
        ChatCurve(
            *key,
            points=tuple(
                ChatPoint(n, many[n].cell_id, many[n].estimate, tuple(s.value for s in many[n].samples))
                for n in sorted(many)
            ),
        )
        for key, many in groups.items()
    ]
    curves += [_per_connection(curve) for curve in curves if curve.metric in PER_CONNECTION]
    return Chat(tuple(curves), tuple(_contrasts(curves, context.facts.level)), tuple(twice))


def _per_connection(curve: ChatCurve) -> ChatCurve:
    """Return a metric of the window divided by the number of connections, which is exact."""

    def divided(point: ChatPoint) -> ChatPoint:
        values = tuple(value / point.connections for value in point.values)
        estimate = point.estimate.mapped(lambda value: value / point.connections)
        return replace(point, estimate=estimate, values=values)

    return replace(
        curve, metric=PER_CONNECTION[curve.metric], points=tuple(divided(point) for point in curve.points)
    )


def subjects(rate: float) -> tuple[tuple[str, str], ...]:
    """Return the metrics and aspects that modes are compared by; the first is also in the first sentences."""
    return (DELIVERED if rate == 0 else LATE), COST


def _identity(cell: CellAnswer) -> tuple[str, str]:
    return cell.place.host, cell.cell_id


def _own_parameters(cells: Iterable[CellAnswer]) -> dict[tuple[str, str], dict[str, Scalar]]:
    """Return the parameters of the chat server's cells, for series that the runner reports without them."""
    return {
        _identity(cell): {name: cell.parameters[name] for name in _OWN}
        for cell in cells
        if cell.metric == DELIVERED[0] and cell.parameters.keys() >= _OWN
    }


def _key(cell: CellAnswer, given: Mapping[str, Scalar]) -> tuple[ChatPlace, str, str, str, str] | None:
    """Return place, mode, metric, aspect and unit of a series of a chat server; None for other series."""
    connections, mode, rate = given.get("connections"), given.get("mode"), given.get("rate")
    others = set(given) - _OWN
    if type(connections) is not int or mode not in MODES or not others <= _ASPECTS or len(others) > 1:
        return None
    if isinstance(rate, (bool, str)) or rate is None:
        return None
    value = given[others.pop()] if others else ""
    aspect = f"{value:g}" if isinstance(value, (int, float)) else str(value)
    own = {"benchmark": _kind(cell.place.benchmark), "rate": float(rate)}
    place = ChatPlace(**(vars(cell.place) | own))
    return place, str(mode), cell.metric, aspect, cell.unit


def _kind(label: str) -> str:
    """Return `chat/chat:short seconds=3` for `chat/chat:short connections=20 mode=virtual seconds=3`."""
    return " ".join(part for part in label.split(" ") if part.partition("=")[0] not in _OWN)


def _contrasts(curves: Sequence[ChatCurve], level: float) -> list[ModeContrast]:
    by_mode: dict[tuple[ChatPlace, str], dict[str, ChatCurve]] = defaultdict(dict)
    for curve in curves:
        if (curve.metric, curve.aspect) in subjects(curve.place.rate):
            by_mode[curve.place, curve.metric][curve.mode] = curve
    found: list[tuple[ChatPlace, int, str, str, str, Interval, float]] = []
    for (place, metric), modes in by_mode.items():
        for mode, base in PAIRS:
            for point in modes[mode].points if mode in modes and base in modes else ():
                other = modes[base].at(point.connections)
                if other is not None:
                    contrast = welch_log_ratio(point.values, other.values, level)
                    ratio = contrast.interval
                    found.append((place, point.connections, mode, base, metric, ratio, contrast.p))
    adjusted = holm([p for *_, p in found]).tolist() if found else []
    return [
        ModeContrast(
            place,
            connections,
            mode,
            base,
            metric,
            ratio,
            p,
            p_holm,
            _verdict(ratio, p_holm, higher_is_better=metric == DELIVERED[0]),
        )
        for (place, connections, mode, base, metric, ratio, p), p_holm in zip(found, adjusted, strict=True)
    ]


def _verdict(ratio: Interval, p_holm: float, higher_is_better: bool) -> ModeVerdict:
    if math.isnan(ratio.low) or math.isnan(p_holm):
        return "unknown"
    if judge(ratio, 0.0, p_holm).significant == "no":
        return "open"
    return "better" if (ratio.point > 1.0) == higher_is_better else "worse"
