"""Which time of an application is shown: both sides of a comparison, and their ratio, are of one quantity."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

from regatta.predict.forecast import ApplicationForecast, SystemForecast
from regatta.spec.vectors import Value

#: `elapsed`: with the application's own time in user mode; `primitives`: what these alone take; `kernel`: their part in the kernel
Shown = Literal["elapsed", "kernel", "primitives"]
#: those that can be measured
COMPARED: tuple[Shown, ...] = ("elapsed", "kernel")
#: as axes and titles say it
WORDS: Mapping[Shown, str] = {
    "elapsed": "elapsed time",
    "kernel": "kernel time",
    "primitives": "time of the primitives",
}


def ranked_by(one: ApplicationForecast) -> Shown:
    """The time by which systems are in order."""
    return "primitives" if one.application.user_time is None else "elapsed"


def compared_by(one: ApplicationForecast) -> Shown:
    """The time that is held against what was measured: elapsed where every side of every system has it, else the kernel's."""
    measured = [system.measured for system in one.systems if system.measured is not None]
    whole = all(math.isfinite(each.elapsed.value) for each in measured)
    return "elapsed" if ranked_by(one) == "elapsed" and whole else "kernel"


def shown_by(one: ApplicationForecast) -> Shown:
    """The time of a figure of both sides; the one that ranks where nothing was measured."""
    return compared_by(one) if any(system.measured is not None for system in one.systems) else ranked_by(one)


def predicted_of(system: SystemForecast, what: Shown) -> Value:
    """A predicted time."""
    if what == "elapsed":
        return system.elapsed
    return system.prediction.kernel if what == "kernel" else system.prediction.time


def measured_of(system: SystemForecast, what: Shown) -> Value:
    """The same as it was measured; NaN where it was not."""
    if system.measured is None or what == "primitives":
        return Value(math.nan)
    return system.measured.elapsed if what == "elapsed" else system.measured.kernel
