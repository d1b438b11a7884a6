"""A chat server with more and more connections, in several ways to serve them. Frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from regatta.answers.parts import Place
from regatta.stats.estimate import Interval

#: `better` and `worse`: shown; `open`: not; `unknown`: no interval
ModeVerdict = Literal["better", "worse", "open", "unknown"]


@dataclass(frozen=True)
class ChatPlace(Place):
    """What curves that are compared have in common. `benchmark`: without what the curves are told apart by."""

    #: messages a second of each user; 0: a closed loop
    rate: float


@dataclass(frozen=True)
class ChatPoint:
    """One number of connections. `values`: one an invocation, in the curve's unit, in order of time."""

    connections: int
    cell_id: str
    estimate: Interval
    values: tuple[float, ...]


@dataclass(frozen=True)
class ChatCurve:
    """One metric of one way to serve, over the connections (ascending)."""

    place: ChatPlace
    #: `platform`, `virtual`, `selector`
    mode: str
    metric: str
    #: of a latency its percentile, of a counter its space (`user`, `system`, `all`); "" for all others
    aspect: str
    unit: str
    points: tuple[ChatPoint, ...]

    def at(self, connections: int) -> ChatPoint | None:
        """The point of so many connections."""
        return next((point for point in self.points if point.connections == connections), None)


@dataclass(frozen=True)
class ModeContrast:
    """`metric` in `mode` over that in `base`, with as many connections."""

    place: ChatPlace
    connections: int
    mode: str
    base: str
    metric: str
    ratio: Interval
    p: float
    #: p after Holm, over all contrasts of the answer
    p_holm: float
    verdict: ModeVerdict


@dataclass(frozen=True)
class Chat:
    """All that is known of chat servers; empty where none was measured."""

    curves: tuple[ChatCurve, ...] = ()
    contrasts: tuple[ModeContrast, ...] = ()
    #: host -> why hardware events were not counted there, and which where some were; none where all were
    uncounted: Mapping[str, str] = field(default_factory=dict)
    #: cells that measure what another one measures, and are therefore in no curve; in words
    twice: tuple[str, ...] = ()

    @property
    def counting_hosts(self) -> frozenset[str]:
        """Hosts with a hardware event that was counted."""
        return frozenset(curve.place.host for curve in self.curves if curve.aspect in ("user", "system"))

    @property
    def cell_ids(self) -> frozenset[str]:
        """Cells that are spoken of."""
        return frozenset(point.cell_id for curve in self.curves for point in curve.points)
