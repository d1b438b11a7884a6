"""What a prediction comes to beside what was measured: what `regatta predict` prints. Frozen values.

All times are in ns, for one unit of the application's work. An undefined number is NaN and its `reason` says why.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from regatta.spec.vectors import ApplicationVector, Measured, Prediction, Value

#: of two systems that were measured to differ: ordered right, wrong, or not told apart by the prediction; `same`: their measured times
#: do not differ significantly; `unknown`: that is not known; "" where they were not both measured
Verdict = Literal["right", "wrong", "open", "same", "unknown", ""]

NOTHING = Value(math.nan)


@dataclass(frozen=True)
class Beyond:
    """A cost that an application uses at arguments at which nobody measured it."""

    primitive: str
    argument: str
    #: the least and the largest at which it was measured
    low: float
    high: float
    #: the least and the largest, of those outside, with which it is used
    least: float
    largest: float
    #: what those uses take of the predicted time, in ns
    time: float


@dataclass(frozen=True)
class SystemForecast:
    """An application on one system."""

    system: str
    #: experiment, host, configuration ... of the system vector
    provenance: Mapping[str, str]
    prediction: Prediction
    #: kernel's part and the application's own time in user mode: what a processor that never waits needs
    elapsed: Value
    #: the part of it in user mode: measured where the application was traced, and that of primitives
    user: Value
    #: None where nothing of it was measured
    measured: Measured | None = None
    #: why nothing was measured, where that was looked for
    unmeasured: str = ""
    #: predicted / measured, of "elapsed", "kernel" and "user"; only those that both sides have
    ratios: Mapping[str, Value] = field(default_factory=dict)
    #: which part of the measured time in the kernel the vector explains, as a sentence, and why that is too little
    coverage: str = ""
    warning: str = ""
    #: costs that are used outside of what was measured
    beyond: tuple[Beyond, ...] = ()

    @property
    def explained(self) -> float:
        """Which part of the measured time in the kernel the vector explains; NaN where it was not measured."""
        return self.ratios["kernel"].value if "kernel" in self.ratios else math.nan


@dataclass(frozen=True)
class PairForecast:
    """Two systems under one application. `ratio`: predicted time on the slower over that on the faster."""

    faster: str
    slower: str
    ratio: Value
    #: whether the interval of the difference leaves out 0
    told_apart: bool
    measured: Value = NOTHING
    verdict: Verdict = ""
    #: predicted ratio of the quantity that was measured, which need not be that of the ranking
    compared: Value = NOTHING
    #: "kernel" or "elapsed": what `measured` and `compared` are ratios of; "" where they were not both measured
    quantity: str = ""

    @property
    def comparable(self) -> Value:
        """The predicted ratio that stands beside the measured one; that of the ranking where nothing does."""
        return self.compared if self.quantity else self.ratio


@dataclass(frozen=True)
class Saving:
    """What one primitive takes of a unit of work, all its entries together: what it could save at most."""

    primitive: str
    time: Value
    #: of the whole predicted time, 0 to 1
    share: float
    #: the system, of those that were asked for, on which it is cheapest for this application; "" where that is this one
    best: str = ""
    #: saved where it costs what it does there, and of the whole predicted time
    as_best: Value = NOTHING
    as_best_share: float = math.nan


@dataclass(frozen=True)
class Effect:
    """What the changes do on one system: the times of the primitives before and after, and what is saved."""

    before: Value
    after: Value
    saved: Value
    #: of the whole predicted time before, 0 to 1
    share: float
    #: primitives that were changed and that the application does not use
    unused: tuple[str, ...] = ()


@dataclass(frozen=True)
class Change:
    """What was asked: a primitive's cost changed. `text`: as it was written."""

    primitive: str
    text: str


@dataclass(frozen=True)
class ApplicationForecast:
    """One application on every system, the fastest first."""

    application: ApplicationVector
    systems: tuple[SystemForecast, ...]
    pairs: tuple[PairForecast, ...] = ()
    #: the names of those that cannot be told apart, the fastest first; a system may be in two groups
    groups: tuple[tuple[str, ...], ...] = ()
    #: system -> its primitives, the dearest first
    savings: Mapping[str, tuple[Saving, ...]] = field(default_factory=dict)
    #: system -> what the changes do that were asked for
    effects: Mapping[str, Effect] = field(default_factory=dict)
    #: which of the three levels holds: every pair that differs is told apart and ordered right
    ranked_right: bool = False
    #: the system on which the user time was measured; "" where none of them is
    traced_on: str = ""
    #: systems to which the application's own time in user mode is not brought from there, because one of both does not tell what such work costs
    unscaled: tuple[str, ...] = ()


@dataclass(frozen=True)
class SpeedUp:
    """How many times as fast an application becomes on a system when a part of it is replaced."""

    system: str
    #: the applications before and after: mixes, or what was replaced itself
    before: str
    after: str
    #: (old, new) of what was replaced
    replaced: tuple[tuple[str, str], ...]
    #: of the kernel's times alone (r)
    kernel: Value
    #: with the time in user mode, which stays (r')
    with_user: Value
    #: each side with its own measured time in user mode
    own_user: Value
    #: the measured time in user mode that was used
    user: Value
    #: of elapsed times
    measured: Value = NOTHING
    unmeasured: str = ""

    @property
    def off(self) -> float:
        """The best prediction of elapsed times over what was measured; NaN where one of both is not known."""
        return self.best.value / self.measured.value if self.measured.value else math.nan

    @property
    def best(self) -> Value:
        """With the user times of both sides where they are known, else with one that stays."""
        return self.own_user if math.isfinite(self.own_user.value) else self.with_user


@dataclass(frozen=True)
class Forecast:
    """All that was asked in one call."""

    applications: tuple[ApplicationForecast, ...]
    level: float
    changes: tuple[Change, ...] = ()
    speed_ups: tuple[SpeedUp, ...] = ()
    #: the answer, to be read aloud
    sentences: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
