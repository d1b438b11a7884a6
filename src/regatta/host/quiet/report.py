"""What a knob answers, for people and for the roles."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from regatta.host.quiet.knob import Knob


@dataclass
class Place:
    """One place: what was there before the first change ("": unchanged), what is there and what is wanted."""

    where: str
    before: str
    now: str
    wanted: str


@dataclass
class Problem:
    """A place that did not take its value."""

    where: str
    expected: str
    got: str


@dataclass
class KnobReport:
    """One knob's answer.

    Attributes:
        state: `quiet`, `noisy`, `not available`, `not asked`, or `left` (by request); after `restore`: `restored`,
            `nothing kept`, `back by restart`.
        changed: how many places were written.
        refused: places that the hardware or a driver holds: told, no failure.
        told: what people should know.
    """

    name: str
    aim: str
    effect: str
    level: str
    state: str = "quiet"
    changed: int = 0
    places: list[Place] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)


def report_of(knob: Knob, state: str = "quiet") -> KnobReport:
    """An empty answer of a knob."""
    return KnobReport(knob.name, knob.aim, knob.effect, knob.level, state)


@dataclass
class Outcome:
    """All knobs' answers to one command.

    Attributes:
        kept: whether something that was there before is (still) kept on the host.
        restarted: whether the host has started anew since it was kept.
    """

    verb: str
    cpus: list[int]
    housekeeping: list[int]
    knobs: list[KnobReport]
    kept: bool
    restarted: bool = False

    @property
    def changed(self) -> int:
        """How many places were written."""
        return sum(knob.changed for knob in self.knobs)

    @property
    def failed(self) -> bool:
        """Whether a place that is there did not take its value."""
        return any(knob.problems for knob in self.knobs)

    def to_json(self) -> dict[str, Any]:
        """All of it."""
        return {**asdict(self), "changed": self.changed, "failed": self.failed}
