"""Units of measurements, and their display.

Standard library only and no imports of Regatta: the runner uses this module on the host.
"""

from __future__ import annotations

#: unit -> (dimension, factor to the dimension's base unit)
UNITS: dict[str, tuple[str, float]] = {
    "ns": ("time", 1e-9),
    "us": ("time", 1e-6),
    "ms": ("time", 1e-3),
    "s": ("time", 1.0),
    "bytes": ("information", 1.0),
    "KiB": ("information", 1024.0),
    "MiB": ("information", 1024.0**2),
    "GiB": ("information", 1024.0**3),
    "bytes/s": ("bandwidth", 1.0),
    "KiB/s": ("bandwidth", 1024.0),
    "MiB/s": ("bandwidth", 1024.0**2),
    "MB/s": ("bandwidth", 1e6),
    "GB/s": ("bandwidth", 1e9),
    "ops/s": ("rate", 1.0),
    "ops/min": ("rate", 1.0 / 60.0),
    "Hz": ("frequency", 1.0),
    "MHz": ("frequency", 1e6),
    "GHz": ("frequency", 1e9),
    "J": ("energy", 1.0),
    "count": ("count", 1.0),
    "percent": ("ratio", 0.01),
    "ratio": ("ratio", 1.0),
}

#: dimensions whose quantities cannot be negative; a ratio or percentage can be, as a change
_POSITIVE = ("time", "information", "bandwidth", "rate", "frequency", "energy", "count")

_TIME_STEPS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
_SIZE_STEPS = ((1024.0**3, "GiB"), (1024.0**2, "MiB"), (1024.0, "KiB"), (1.0, "bytes"))


def is_positive(unit: str) -> bool:
    """Return whether quantities of this unit cannot be negative: times, sizes, counts, rates."""
    return UNITS.get(unit, ("", 1.0))[0] in _POSITIVE


def is_counted(unit: str) -> bool:
    """Return whether values of this unit are counts or sizes: exact, and not rounded by a clock."""
    return UNITS.get(unit, ("", 1.0))[0] in ("count", "information")


def display_scale(value: float, unit: str) -> tuple[float, str]:
    """Choose the unit in which to display a magnitude.

    Args:
        value: a representative value (finite), in `unit`.
        unit: a key of `UNITS`.

    Returns:
        `(factor, shown_unit)`: multiply values in `unit` by `factor` to get them in `shown_unit`.
        Units without a ladder are returned unchanged.
    """
    dimension, base = UNITS.get(unit, ("", 1.0))
    steps = {"time": _TIME_STEPS, "information": _SIZE_STEPS}.get(dimension)
    if steps is None:
        return 1.0, unit
    magnitude = abs(value) * base
    for step, name in steps:
        if magnitude >= step:
            return base / step, name
    step, name = steps[-1]
    return base / step, name
