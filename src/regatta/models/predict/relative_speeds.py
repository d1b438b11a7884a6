"""Speeds of an application on each system, relative to one of them: predicted, measured, and by a score.

Source: X. Zhang, "Application-Specific Benchmarking", PhD thesis, Harvard University, 2001, section 4.3.2, figures 4-4 to 4-7
(normalized running speeds).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from regatta.figures.section import Table
from regatta.figures.text import show_ends, show_ratio
from regatta.models.predict.forecast import ApplicationForecast, Forecast, PairForecast
from regatta.models.vectors.values import Value

SPEEDS = (
    "application",
    "system",
    "relative to",
    "predicted speed",
    "CI",
    "measured speed",
    "measured CI",
    "by score",
)


@dataclass(frozen=True)
class Speed:
    """The time of an application on the reference divided by its time on a system. An unknown number is NaN."""

    system: str
    predicted: Value
    measured: Value
    score: Value


@dataclass(frozen=True)
class ApplicationSpeeds:
    """The speeds of one application, the fastest first: by the measured speed, or by the predicted one if that is unknown."""

    application: str
    #: the traced system, or the fastest one if none of the systems was traced; its speed is 1
    reference: str
    speeds: tuple[Speed, ...]


def speeds_of(forecast: Forecast) -> list[ApplicationSpeeds]:
    """Return the speeds of each application that has any; none unless the systems have runtimes."""
    if not forecast.has_runtimes:
        return []
    return [speeds for one in forecast.applications if (speeds := _speeds_of(one)).speeds]


def _speeds_of(one: ApplicationForecast) -> ApplicationSpeeds:
    reference = one.traced_on or (one.systems[0].system if one.systems else "")
    speeds = [_speed(pair, reference) for pair in one.pairs if reference in (pair.faster, pair.slower)]
    return ApplicationSpeeds(one.application.name, reference, tuple(sorted(speeds, key=_order)))


def _speed(pair: PairForecast, reference: str) -> Speed:
    ratios = (pair.comparable, pair.measured, pair.score)
    if pair.slower == reference:
        return Speed(pair.faster, *ratios)
    return Speed(pair.slower, *map(_inverse, ratios))


def _inverse(ratio: Value) -> Value:
    if math.isnan(ratio.value):
        return ratio
    if ratio.value <= 0.0:
        return Value(math.nan, reason="division by 0")
    low = 1.0 / ratio.high if ratio.high > 0.0 else math.nan
    high = 1.0 / ratio.low if ratio.low > 0.0 else math.nan
    return Value(1.0 / ratio.value, low, high, ratio.n, ratio.reason)


def _order(speed: Speed) -> float:
    known = speed.measured if math.isfinite(speed.measured.value) else speed.predicted
    return -known.value if math.isfinite(known.value) else math.inf


def speeds_table(found: Sequence[ApplicationSpeeds]) -> Table:
    """List the speeds. The title names the reference if it is the same for all applications, else a column does."""
    references = {one.reference for one in found}
    same = len(references) == 1
    rows = [
        (
            one.application,
            speed.system,
            "" if same else one.reference,
            show_ratio(speed.predicted.value),
            show_ends(speed.predicted),
            _if_known(speed.measured),
            show_ends(speed.measured) if math.isfinite(speed.measured.value) else "",
            _if_known(speed.score),
        )
        for one in found
        for speed in one.speeds
    ]
    title = f"Speed relative to {references.pop()}" if same else "Relative speed"
    table = Table(title, SPEEDS, rows, frozenset(range(3, len(SPEEDS))))
    return table.of_columns(at for at in range(len(SPEEDS)) if any(row[at] for row in rows))


def _if_known(ratio: Value) -> str:
    return show_ratio(ratio.value) if math.isfinite(ratio.value) else ""
