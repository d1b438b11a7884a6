"""Reports of the knobs, for users and for the Ansible roles."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from regatta.host.quiet.knob import Knob


@dataclass
class KnobPlace:
    """One place: its value before the first change ("": unchanged), its current value and the wanted one."""

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
    """The report of one knob.

    Attributes:
        state: `quiet`, `noisy`, `not available`, `not asked`, or `left` (by request); after `restore`: `restored`,
            `nothing kept`, `back by restart`.
        changed: number of places written.
        refused: places that the hardware or a driver fixes: reported, no failure.
        told: notes for users.
        changes: of `status`: the changes that `apply` would make, as text.
        restores: of `status`: the changes that `restore` would make, as text.
    """

    name: str
    aim: str
    effect: str
    level: str
    state: str = "quiet"
    changed: int = 0
    places: list[KnobPlace] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    restores: list[str] = field(default_factory=list)


def report_of(knob: Knob, state: str = "quiet") -> KnobReport:
    """Return an empty report of a knob."""
    return KnobReport(knob.name, knob.aim, knob.effect, knob.level, state)


@dataclass
class Outcome:
    """The reports of all knobs for one command.

    Attributes:
        kept: whether values are (still) stored on the host.
        restarted: whether the host has rebooted since they were stored.
    """

    verb: str
    cpus: list[int]
    housekeeping: list[int]
    knobs: list[KnobReport]
    kept: bool
    restarted: bool = False

    @property
    def changed(self) -> int:
        """Return the number of places written."""
        return sum(knob.changed for knob in self.knobs)

    @property
    def failed(self) -> bool:
        """Return whether an existing place did not take its value."""
        return any(knob.problems for knob in self.knobs)

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as a JSON object."""
        return {**asdict(self), "changed": self.changed, "failed": self.failed}
