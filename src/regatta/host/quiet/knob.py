"""What every knob is: places, each with a value that is there and one that is wanted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from regatta.host.quiet.host import QuietHost


@dataclass(frozen=True)
class Item:
    """One place of a knob. `key` names it: a file below the root, or what the knob itself makes of it."""

    key: str
    now: str
    wanted: str


@dataclass
class Found:
    """What a knob found on the host.

    Attributes:
        items: its places, in the order in which they are set.
        told: what people should know of them.
        missing: why there is nothing to set here; "": there is.
        asked: whether it was asked for at all; if not, `missing` says what is to be named.
    """

    items: list[Item] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    missing: str = ""
    asked: bool = True


class Knob:
    """One thing that disturbs measurements. A subclass says where it is and what is wanted; files need no more than `find`.

    Attributes:
        name: by which people and the kept state know it.
        aim: what a quiet host has here.
        effect: what it does to measurements where it cannot be set.
        level: how fit a host is without it, `poor`, `fair` or `good`.
        keys: what its keys look like, so that kept state can name no other file.
        may_refuse: single places may be bound by the hardware or a driver: told, but no failure.
        restore_forward: put back in the order of setting; all others in the reverse.
    """

    name = ""
    aim = ""
    effect = ""
    level = "fair"
    keys: re.Pattern[str] = re.compile(r"(?!)")
    may_refuse = False
    restore_forward = False

    def find(self, host: QuietHost, saved: Mapping[str, str]) -> Found:
        """Look at the host. `saved`: key -> what was there before the first change, as far as it was changed."""
        raise NotImplementedError

    def get(self, host: QuietHost, key: str) -> str | None:
        """What is there now; None: the place is gone."""
        return host.read(key)

    def put(self, host: QuietHost, key: str, value: str) -> None:
        """Set it. Raises OSError."""
        host.write(key, value)

    def describe(self, host: QuietHost, key: str) -> str:
        """The place in words."""
        return key if ":" in key else f"/{key}"

    def after_setting(self, host: QuietHost) -> list[str]:
        """What is to be done once its places are set, each time; returns what people should know."""
        return []

    def found_files(self, host: QuietHost, wanted: Mapping[str, str]) -> Found:
        """Its places where they are files: those of `wanted` (key -> value) that are there and can be written."""
        found, reasons = Found(), []
        for key, value in wanted.items():
            reason = host.why_fixed(key)
            now = self.get(host, key)
            if reason or now is None:
                reasons.append(reason or f"/{key} cannot be read")
            else:
                found.items.append(Item(key, now, value))
        if not found.items:
            found.missing = reasons[0] if reasons else "there is nothing of the kind"
        return found


def of_cpus(host: QuietHost) -> Found | None:
    """Why a knob about the measured CPUs has nothing to do; None: it has."""
    if not host.measured:
        return Found(missing="no CPUs to measure on are named (regatta_cpus)", asked=False)
    if not host.housekeeping:
        return Found(missing="no CPU is left for anything else")
    return None
