"""Forecasts for systems with runtimes, such as JVMs, from times by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations

from regatta.models.predict.forecast import (
    NOTHING,
    ApplicationForecast,
    Forecast,
    PairForecast,
    SystemForecast,
)
from regatta.models.vectors.values import ApplicationVector, Contribution, Count, Measured, Prediction, Value

EXACT = Value.exact
#: system -> predicted and measured time, and that by the score; the first is traced
TIMES: Mapping[str, tuple[float, float, float]] = {
    "temurin-17 parallel": (1200.0, 1200.0, 1200.0),
    "temurin-21 parallel": (1000.0, 1010.0, 1180.0),
    "temurin-11 parallel with a very long name of a configuration": (1250.0, 1225.0, 1240.0),
    "temurin-21 serial": (900.0, math.nan, 1100.0),
    "temurin-21 parallel c1-only": (2100.0, 2700.0, 1900.0),
    "temurin-21 parallel interpreter": (9000.0, 14000.0, 30000.0),
}


def number(value: float, part: float = 0.1) -> Value:
    """A number with an interval of this relative half-width."""
    return Value(value, value * (1 - part), value * (1 + part), 5)


def system(name: str, times: dict[str, float], elapsed: float, ratio: float | None = None) -> SystemForecast:
    """A system with the time of each primitive. `ratio`: predicted / measured elapsed time."""
    rows = tuple(
        Contribution(primitive, "operation", {}, EXACT(time), EXACT(1), EXACT(time), 0.0)
        for primitive, time in times.items()
    )
    time = EXACT(sum(times.values()))
    prediction = Prediction("app", name, "iteration", "ns", 0.95, time, EXACT(0), time, rows)
    found = SystemForecast(name, {"runtime": name}, prediction, EXACT(elapsed), EXACT(0), EXACT(elapsed))
    if ratio is None:
        return found
    real = Measured(name, EXACT(elapsed / ratio), EXACT(0), EXACT(0), "ns")
    return replace(found, measured=real, ratios={"elapsed": number(ratio)})


def application(
    *systems: SystemForecast, name: str = "app", traced_on: str = "17", **more: object
) -> ApplicationForecast:
    """An application that was traced on 17."""
    vector = ApplicationVector(
        name, "iteration", (Count("hash", EXACT(1)),), user_time=EXACT(1000),
        provenance={"system_share": "70.0 % [65.0, 75.0] (95 % CI, 300 samples of main)"}, pause_time=EXACT(100),
    )  # fmt: skip
    return ApplicationForecast(vector, systems, traced_on=traced_on, **more)  # type: ignore[arg-type]


def pair(
    faster: str, slower: str, ratio: Value, measured: Value = NOTHING, score: float = math.nan
) -> PairForecast:
    """Two systems; with a measured ratio, that of the elapsed times."""
    found = PairForecast(faster, slower, ratio, True, score=Value(score))
    if math.isnan(measured.value):
        return found
    return replace(found, measured=measured, verdict="right", compared=ratio, quantity="elapsed")


def six_runtimes(*names: str, score: bool = True) -> Forecast:
    """Applications on six systems: one without a measurement, one with a long name, one far slower than the others."""
    order = sorted(TIMES, key=lambda system: TIMES[system][0])
    pairs = tuple(
        pair(
            faster,
            slower,
            number(TIMES[slower][0] / TIMES[faster][0]),
            number(TIMES[slower][1] / TIMES[faster][1], 0.03),
            TIMES[slower][2] / TIMES[faster][2] if score else math.nan,
        )
        for faster, slower in combinations(order, 2)
    )
    systems = [
        system(one, {"hash": 300, "read": 300}, predicted, None if math.isnan(real) else predicted / real)
        for one in order
        for predicted, real, _ in [TIMES[one]]
    ]
    (traced, *_) = TIMES
    found = (application(*systems, name=name, traced_on=traced, pairs=pairs) for name in names)
    return Forecast(tuple(found), 0.95)
