"""Results of a prediction with its measurements, as printed by `regatta predict`. Frozen values.

All times are in ns, for one unit of the application's work. An undefined number is NaN, with a `reason`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from regatta.models.predict.model_error import OF_SYSTEM_CALLS, ModelErrors
from regatta.models.vectors.values import WHOLE, ApplicationVector, Measured, Prediction, Value

#: of two systems whose measured times differ: ordered right or wrong by the prediction, or not distinguished by it (open);
#: `same`: no significant difference; `unknown`: significance unknown; "" without both measurements
Verdict = Literal["right", "wrong", "open", "same", "unknown", ""]

NOTHING = Value(math.nan)


@dataclass(frozen=True)
class Beyond:
    """A cost that an application uses at arguments outside the measured range."""

    primitive: str
    argument: str
    #: the measured range
    low: float
    high: float
    #: the smallest and largest argument in use outside that range
    least: float
    largest: float
    #: part of the predicted time of these uses, in ns
    time: float


@dataclass(frozen=True)
class SystemForecast:
    """An application on one system."""

    system: str
    #: experiment, host, configuration and further origin of the system vector
    provenance: Mapping[str, str]
    #: of the primitives, as the vectors give it; the three times below also have the model's own error in their intervals
    prediction: Prediction
    #: kernel part and the application's user time: the time on a processor that never waits
    elapsed: Value
    #: its kernel part
    kernel: Value
    #: its user part: the user time measured where the application was traced, and that of primitives
    user: Value
    #: None without measurements
    measured: Measured | None = None
    #: why a search found no measurements
    unmeasured: str = ""
    #: predicted / measured, by "elapsed", "kernel" and "user"; only those with both values
    ratios: Mapping[str, Value] = field(default_factory=dict)
    #: a sentence on which part of the measured kernel time the vector explains, and why that is too little
    coverage: str = ""
    warning: str = ""
    #: costs that are used outside of their measured range
    beyond: tuple[Beyond, ...] = ()

    @property
    def parts(self) -> dict[str, float]:
        """Return the parts that other models predict as a whole, in ns."""
        rows = self.prediction.contributions
        return {row.primitive: row.time.value for row in rows if row.unit == WHOLE}

    @property
    def in_primitives(self) -> float:
        """Return the time of the primitives, in ns, without those parts."""
        return self.prediction.time.value - math.fsum(self.parts.values())

    @property
    def own_code(self) -> float:
        """Return the part of the elapsed time that is not in primitives, in ns; 0 if it is rounding."""
        own = self.elapsed.value - self.prediction.time.value
        return own if own > 1e-9 * self.elapsed.value else 0.0

    @property
    def explained(self) -> float:
        """Return the part of the measured kernel time that the vector explains; NaN without a measurement."""
        return self.ratios["kernel"].value if "kernel" in self.ratios else math.nan


@dataclass(frozen=True)
class PairForecast:
    """Two systems with one application. `ratio`: predicted time on the slower divided by that on the faster."""

    faster: str
    slower: str
    ratio: Value
    #: whether the interval of the ratio excludes 1
    told_apart: bool
    measured: Value = NOTHING
    verdict: Verdict = ""
    #: predicted ratio of the measured quantity, which may differ from that of the ranking
    compared: Value = NOTHING
    #: "kernel" or "elapsed": the quantity of `measured` and `compared`; "" without both measurements
    quantity: str = ""
    #: ratio of the scores of the two systems, in the same direction; NaN unless requested
    score: Value = NOTHING

    @property
    def comparable(self) -> Value:
        """Return the predicted ratio to compare with the measured one; without a measurement that of the ranking."""
        return self.compared if self.quantity else self.ratio


@dataclass(frozen=True)
class Saving:
    """Time of one primitive per unit of work, over all its entries: the upper bound of a saving."""

    primitive: str
    time: Value
    #: of the whole predicted time, 0 to 1
    share: float
    #: the requested system on which it is cheapest for this application; "" if that is this one
    best: str = ""
    #: saving with the cost of that system, and its share of the whole predicted time
    as_best: Value = NOTHING
    as_best_share: float = math.nan


@dataclass(frozen=True)
class Effect:
    """Effect of the changes on one system: the times of the primitives before and after, and the saving."""

    before: Value
    after: Value
    saved: Value
    #: of the whole predicted time before, 0 to 1
    share: float
    #: changed primitives that the application does not use
    unused: tuple[str, ...] = ()


@dataclass(frozen=True)
class Change:
    """A requested change of a primitive: of its cost on the systems, or of its count in the applications."""

    primitive: str
    #: as the user wrote it
    text: str
    of: Literal["cost", "count"] = "cost"

    @property
    def words(self) -> str:
        """Return `stat 0.5x`, or `count of stat 0.5x`."""
        return f"{'count of ' if self.of == 'count' else ''}{self.primitive} {self.text}"


@dataclass(frozen=True)
class ApplicationForecast:
    """One application on every system, the fastest first."""

    application: ApplicationVector
    systems: tuple[SystemForecast, ...]
    pairs: tuple[PairForecast, ...] = ()
    #: names of systems that the prediction cannot distinguish, the fastest first; a system may be in two groups
    groups: tuple[tuple[str, ...], ...] = ()
    #: system -> its primitives, the most expensive first
    savings: Mapping[str, tuple[Saving, ...]] = field(default_factory=dict)
    #: system -> effect of the requested changes
    effects: Mapping[str, Effect] = field(default_factory=dict)
    #: whether the rank level holds: every pair that differs is distinguished and ordered right
    ranked_right: bool = False
    #: the system on which the user time was measured, which need not be one of these; "" if it is unknown
    traced_on: str = ""
    #: systems to which the application's user time is not scaled, because the cost of such work is unknown on one of the two
    unscaled: tuple[str, ...] = ()
    #: the suite of the requested score, and its benchmarks; this application's own is not among them
    score: str = ""
    score_of: tuple[str, ...] = ()
    #: by which share of the user time the primitives exceed it where it was measured; 0 if they do not
    overcounted: float = 0.0
    #: the model's own errors, which are in the intervals of times and ratios
    model_errors: ModelErrors = OF_SYSTEM_CALLS


@dataclass(frozen=True)
class SpeedUp:
    """Speed-up of an application on a system when a part of it is replaced."""

    system: str
    #: the applications before and after: mixes, or the replaced part itself
    before: str
    after: str
    #: (old, new) of the replaced parts
    replaced: tuple[tuple[str, str], ...]
    #: of the kernel times alone (r)
    kernel: Value
    #: with the user time, which is constant (r')
    with_user: Value
    #: each side with its measured user time
    own_user: Value
    #: the measured user time used for r'
    user: Value
    #: of elapsed times
    measured: Value = NOTHING
    unmeasured: str = ""

    @property
    def off(self) -> float:
        """Return the best prediction of elapsed times divided by the measurement; NaN if one of the two is unknown."""
        return self.best.value / self.measured.value if self.measured.value else math.nan

    @property
    def best(self) -> Value:
        """Return the speed-up with the user times of both sides if known, else with a constant one."""
        return self.own_user if math.isfinite(self.own_user.value) else self.with_user


@dataclass(frozen=True)
class Forecast:
    """All results of one request."""

    applications: tuple[ApplicationForecast, ...]
    level: float
    changes: tuple[Change, ...] = ()
    speed_ups: tuple[SpeedUp, ...] = ()
    #: the answer in sentences
    sentences: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def has_runtimes(self) -> bool:
        """Return whether a system has a runtime, such as a JVM."""
        return any(system.provenance.get("runtime") for one in self.applications for system in one.systems)
