"""Swap areas."""

from __future__ import annotations

import errno
import re
from collections.abc import Mapping

from regatta.host.quiet.host import QuietHost
from regatta.host.quiet.knob import Item, Knob, KnobState

#: The kernel assigns negative priorities itself: they decrease with every area and cannot be requested.
_CHOSEN = "on"
_OCTAL = re.compile(r"\\([0-7]{3})")
#: free memory that must remain when swap is read back
_SPARE_KIB = 256 * 1024


class Swap(Knob):
    """Disable every swap area; restore it with its priority."""

    name = "swap"
    aim = "no swap"
    effect = "a swapped page costs milliseconds, and swapped pages vary between runs"
    level = "fair"
    keys = re.compile(r"swap:/.+")

    def find(self, host: QuietHost, saved: Mapping[str, str]) -> KnobState:
        areas = _areas(host)
        if areas is None:
            return KnobState(missing="/proc/swaps does not exist")
        # The kernel's own priorities decrease in the order of swapon. Disabling the lowest first leaves the others unchanged, and
        # enabling in the reverse order restores all.
        items = [Item(f"swap:{path}", now, "off") for path, (now, _) in areas.items()]
        items += [Item(key, "off", "off") for key in saved if key[5:] not in areas]
        if items and not (host.has_program("swapoff") and host.has_program("swapon")):
            return KnobState(missing="swapoff and swapon are not installed")
        return KnobState(items, [] if items else ["no swap on this host"])

    def get(self, host: QuietHost, key: str) -> str | None:
        areas = _areas(host) or {}
        return areas.get(key[5:], ("off", 0))[0]

    def put(self, host: QuietHost, key: str, value: str) -> None:
        path = key[5:]
        if value == "off":
            _check_room(host, path)
            host.run(["swapoff", path])
            return
        host.run(["swapon", *(["-p", value.split()[-1]] if value != _CHOSEN else []), path])


def _areas(host: QuietHost) -> dict[str, tuple[str, int]] | None:
    """Return path -> ("on" or "on, priority N", KiB used), the lowest priority first."""
    text = host.read("proc/swaps")
    if text is None:
        return None
    rows = [line.split() for line in text.splitlines()[1:]]
    areas = [
        (int(row[4]), _OCTAL.sub(lambda match: chr(int(match[1], 8)), row[0]), int(row[3]))
        for row in rows
        if len(row) == 5
    ]
    return {
        path: (_CHOSEN if priority < 0 else f"{_CHOSEN}, priority {priority}", used)
        for priority, path, used in sorted(areas)
    }


def _check_room(host: QuietHost, path: str) -> None:
    """Raise OSError if the swapped-out pages would not fit into memory."""
    used_kib = (_areas(host) or {}).get(path, ("", 0))[1]
    for line in (host.read("proc/meminfo") or "").splitlines():
        if line.startswith("MemAvailable:"):
            free_kib = int(line.split()[1])
            if used_kib and used_kib + _SPARE_KIB > free_kib:
                raise OSError(
                    errno.ENOMEM,
                    f"{used_kib >> 10} MiB are in swap, only {free_kib >> 10} MiB of memory are free",
                )
