"""The interface of a knob: places, each with a current and a wanted value."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from regatta.host.quiet.host import QuietHost


@dataclass(frozen=True)
class Item:
    """One place of a knob. `key` identifies it: a file below the root, or a name that the knob defines."""

    key: str
    now: str
    wanted: str


@dataclass
class KnobState:
    """The state that a knob found on the host.

    Attributes:
        items: its places, in the order in which they are set.
        told: notes for users.
        missing: why nothing can be set here; "": something can.
        asked: whether the knob was requested; if not, `missing` states the required option.
    """

    items: list[Item] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    missing: str = ""
    asked: bool = True


class Knob:
    """One source of disturbance. A subclass defines its places and wanted values; for files, `find` is sufficient.

    Attributes:
        name: identifies it for users and in the stored state.
        aim: the wanted state of a quiet host.
        effect: the effect on measurements if it cannot be set.
        level: fitness of a host without it, `poor`, `fair` or `good`.
        keys: pattern of its keys, so that the stored state cannot name any other file.
        may_refuse: hardware or a driver may fix single places: reported, but no failure.
    """

    name = ""
    aim = ""
    effect = ""
    level = "fair"
    keys: re.Pattern[str] = re.compile(r"(?!)")
    may_refuse = False

    def find(self, host: QuietHost, saved: Mapping[str, str]) -> KnobState:
        """Inspect the host. `saved`: key -> value before the first change, for changed places."""
        raise NotImplementedError

    def get(self, host: QuietHost, key: str) -> str | None:
        """Return the current value; None: the place no longer exists."""
        return host.read(key)

    def put(self, host: QuietHost, key: str, value: str) -> None:
        """Set a place. Raises OSError."""
        host.write(key, value)

    def restore_order(self, keys: Sequence[str]) -> list[str]:
        """Return stored keys (in the order of setting) in the order of restoring: by default in reverse."""
        return list(reversed(keys))

    def is_restored(self, host: QuietHost, now: str | None, value: str) -> bool:
        """Return whether a current value is the stored one, or has the same effect."""
        return now == value

    def describe(self, host: QuietHost, key: str) -> str:
        """Return a description of the place."""
        return key if ":" in key else f"/{key}"

    def after_setting(self, host: QuietHost) -> list[str]:
        """Finish each time after the places are set; return notes for users."""
        return []

    def found_files(self, host: QuietHost, wanted: Mapping[str, str]) -> KnobState:
        """Return the places of a knob that sets files: those of `wanted` (key -> value) that exist and are writable."""
        found, reasons = KnobState(), []
        for key, value in wanted.items():
            reason = host.why_fixed(key)
            now = self.get(host, key)
            if reason or now is None:
                reasons.append(reason or f"/{key} is not readable")
            else:
                found.items.append(Item(key, now, value))
        if not found.items:
            found.missing = reasons[0] if reasons else "no such setting on this host"
        return found


def of_cpus(host: QuietHost) -> KnobState | None:
    """Return why a knob about the measured CPUs has nothing to do; None: it applies."""
    if not host.measured:
        return KnobState(missing="measured CPUs are not set (regatta_cpus)", asked=False)
    if not host.housekeeping:
        return KnobState(missing="no CPU is left for housekeeping")
    return None
