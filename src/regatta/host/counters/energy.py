"""Read the energy that processors use from the kernel's powercap files (Intel RAPL, which AMD's processors also have).

Source: Documentation/power/powercap/powercap.rst of the kernel. The counters are of whole packages: all processes count.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ZONES = Path("/sys/class/powercap")
#: a package of processors; its parts (`intel-rapl:0:0`) are in its value
_PACKAGE = re.compile(r"intel-rapl:\d+")
#: No package uses more power. A counter that could have wrapped twice tells nothing.
_MOST_W = 2000.0


@dataclass(frozen=True)
class Zone:
    """The counter of a package at one time."""

    energy_uj: int
    #: its highest value; it then starts again at 0
    range_uj: int


def read_zones(zones: Path = ZONES) -> tuple[dict[str, Zone], str]:
    """Return the counter of each package by the zone's folder name, or none of them and why.

    All or nothing: without one of several packages, the sum would be too low.
    """
    found = {}
    for folder in sorted(zones.glob("intel-rapl:*")):
        if not _PACKAGE.fullmatch(folder.name):
            continue
        try:
            if not (folder / "name").read_text().startswith("package"):
                continue
            energy_uj, range_uj = (
                int((folder / name).read_text()) for name in ("energy_uj", "max_energy_range_uj")
            )
        except PermissionError:
            return {}, f"not permitted: only root reads {folder}/energy_uj"
        except (OSError, ValueError) as error:
            return {}, f"{folder}: {error}"
        found[folder.name] = Zone(energy_uj, range_uj)
    return found, "" if found else "the processor has no counter of energy, or a virtual machine hides it"


def joules(before: dict[str, Zone], after: dict[str, Zone], elapsed_s: float) -> tuple[float | None, str]:
    """Return the energy of all packages between two readings in J, or None and why.

    Args:
        before, after: of `read_zones`.
        elapsed_s: time between them, which limits how often a counter can have started again.
    """
    if not before or before.keys() != after.keys():
        return None, "the counters of the packages appeared or disappeared"
    total_uj = 0
    for name, first in before.items():
        last = after[name]
        if elapsed_s * _MOST_W * 1e6 >= first.range_uj:
            return None, f"in {elapsed_s:.0f} s the counter of {name} can have started again more than once"
        total_uj += (last.energy_uj - first.energy_uj) % (first.range_uj + 1)
    return total_uj / 1e6, ""
