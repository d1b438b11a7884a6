"""Predictions for runtimes such as JVMs: speeds, held-out errors, shares of system classes, differences.

Source: X. Zhang, "Application-Specific Benchmarking", PhD thesis, Harvard University, 2001, section 4.3.2,
figures 4-4 to 4-7 (normalized running speeds), and tables 4-5 and 4-6 (system classes).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regatta.figures.section import Column, Table, table_of
from regatta.figures.text import show_percent, show_share
from regatta.models.predict.accuracy import contains_1
from regatta.models.predict.forecast import ApplicationForecast, Forecast, PairForecast, SystemForecast
from regatta.models.predict.tables import (
    MEASURED_CI,
    if_finite,
    interval_columns,
    ratio_column,
    scale_of,
    without_blank,
)
from regatta.models.vectors.sums import NS
from regatta.models.vectors.values import Value

#: limits of an accurate prediction: median and 90th percentile of the errors, share that agrees with the
#: measurement within both errors
MEDIAN_AT_MOST, HIGH_AT_MOST, AGREE_AT_LEAST = 0.15, 0.30, 0.85
#: rows of a table of differences; the others are summed
_ROWS = 10
HELD_OUT = (
    "system",
    "applications",
    "median error",
    "90th percentile",
    "agree within both errors",
    "verdict",
)
DIFFERENCES = ("primitive", "on the fastest", "on the slowest", "difference", "share of difference")
OWN_CODE, PAUSES, OTHERS = "(own code)", "(collector pauses)", "(others)"


# Relative speeds


@dataclass(frozen=True)
class Speed:
    """The time of an application on the reference divided by its time on a system.

    An unknown number is NaN.
    """

    system: str
    predicted: Value
    measured: Value
    score: Value


@dataclass(frozen=True)
class ApplicationSpeeds:
    """The speeds of one application, the fastest first, by the measured speed, or else by the predicted one."""

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
    names = [system.system for system in one.systems]
    reference = one.traced_on if one.traced_on in names else next(iter(names), "")
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
    """List the speeds.

    The title names the reference if it is the same for all applications, else a column does.
    """
    references = {one.reference for one in found}
    same = len(references) == 1
    columns: list[Column[tuple[ApplicationSpeeds, Speed]]] = [
        Column("application", lambda row: row[0].application),
        Column("system", lambda row: row[1].system),
        Column("relative to", lambda row: "" if same else row[0].reference),
        *interval_columns("predicted speed", "CI", lambda row: row[1].predicted),
        *interval_columns("measured speed", MEASURED_CI, lambda row: if_finite(row[1].measured)),
        ratio_column("by score", lambda row: if_finite(row[1].score)),
    ]
    title = f"Speed relative to {references.pop()}" if same else "Relative speed"
    return without_blank(table_of(title, [(one, speed) for one in found for speed in one.speeds], columns))


# Errors, shares, differences


def runtime_tables(forecast: Forecast) -> list[Table]:
    """Return the tables that have rows; none unless the systems have runtimes."""
    if not forecast.has_runtimes:
        return []
    found = [held_out_table(forecast.applications), shares_table(forecast.applications)]
    found += [differences_table(one) for one in forecast.applications]
    return [table for table in found if table.rows]


def held_out_table(applications: Sequence[ApplicationForecast]) -> Table:
    """List the errors of predicted elapsed times on each system where an application was not traced.

    A prediction for such a system uses no measurement of the application there.
    """
    held: dict[str, list[Value]] = {}
    for one in applications:
        for system in one.systems:
            if one.traced_on and system.system != one.traced_on and "elapsed" in system.ratios:
                held.setdefault(system.system, []).append(system.ratios["elapsed"])
    rows = [_held_out(name, ratios) for name, ratios in held.items()]
    if len(held) > 1:
        rows.append(_held_out("all", [ratio for ratios in held.values() for ratio in ratios]))
    title = "Errors of elapsed times on systems where the application was not traced"
    return Table(title, HELD_OUT, rows, frozenset(range(1, 5)))


def _held_out(name: str, ratios: Sequence[Value]) -> tuple[str, ...]:
    errors = [abs(ratio.value - 1.0) for ratio in ratios]
    ranged = [ratio for ratio in ratios if not math.isnan(ratio.low)]
    agree = sum(map(contains_1, ranged))
    median, high = float(np.median(errors)), float(np.quantile(errors, 0.9))
    wrong = [f"median above {show_percent(MEDIAN_AT_MOST)}"] if median > MEDIAN_AT_MOST else []
    wrong += [f"90th percentile above {show_percent(HIGH_AT_MOST)}"] if high > HIGH_AT_MOST else []
    if ranged and agree < AGREE_AT_LEAST * len(ranged):
        wrong.append(f"less than {show_percent(AGREE_AT_LEAST)} agree")
    within, verdict = f"{agree} of {len(ranged)}", "; ".join(wrong) or "within limits"
    return name, str(len(ratios)), show_share(median), show_share(high), within, verdict


def shares_table(applications: Sequence[ApplicationForecast]) -> Table:
    """List the share of the time in system classes: predicted on each system, and sampled on the traced one.

    An application without own code, such as requests to a server, has no such share.
    """
    applications = [one for one in applications if one.application.user_time != Value.exact(0.0)]
    names = list(dict.fromkeys(system.system for one in applications for system in one.systems))

    def share_on(name: str) -> Column[ApplicationForecast]:
        def text(one: ApplicationForecast) -> str:
            system = next((each for each in one.systems if each.system == name), None)
            known = system is not None and system.elapsed.value > 0.0
            return show_share(system.in_primitives / system.elapsed.value) if system and known else ""

        return Column(name, text, numeric=True)

    columns: list[Column[ApplicationForecast]] = [
        Column("application", lambda one: one.application.name),
        Column(
            "sampled", lambda one: one.application.provenance.get("system_share", "").partition(" (")[0], True
        ),
        *map(share_on, names),
    ]
    return without_blank(table_of("Share of the time in system classes", applications, columns))


def differences_table(one: ApplicationForecast) -> Table:
    """List by primitive why the slowest system is predicted to be slower than the fastest."""
    known = [system for system in one.systems if math.isfinite(system.elapsed.value)]
    title = f"Difference of {one.application.name}"
    if len(known) < 2:
        return Table(title, DIFFERENCES, [])
    fast, slow = known[0], known[-1]
    whole = slow.elapsed.value - fast.elapsed.value
    pause = one.application.pause_time
    pause_ns = 0.0 if pause is None else pause.value * NS[one.application.time_unit]
    here, there = _parts(fast, pause_ns), _parts(slow, pause_ns)
    parts = [(name, here.get(name, 0.0), there.get(name, 0.0)) for name in sorted({*here, *there})]
    parts.sort(key=lambda part: -abs(part[2] - part[1]))
    if len(parts) > _ROWS:
        rest = parts[_ROWS - 1 :]
        total = (OTHERS, math.fsum(part[1] for part in rest), math.fsum(part[2] for part in rest))
        parts = [*parts[: _ROWS - 1], total]
    parts.append(("total", fast.elapsed.value, slow.elapsed.value))
    scale = scale_of(Value.exact(number) for _, a, b in parts for number in (a, b))
    rows = [
        (name, scale.show(a), scale.show(b), scale.show(b - a), show_share((b - a) / whole) if whole else "")
        for name, a, b in parts
    ]
    title = f"{title}: {slow.system} minus {fast.system} ({scale.unit})"
    return Table(title, DIFFERENCES, rows, frozenset(range(1, 5)))


def _parts(system: SystemForecast, pause_ns: float) -> dict[str, float]:
    """Return the time of each primitive on a system, of own code, and of pauses, in ns."""
    found = system.prediction.times
    own = system.elapsed.value - system.prediction.time.value - pause_ns
    if own > 1e-9 * system.elapsed.value:
        found[OWN_CODE] = own
    if pause_ns:
        found[PAUSES] = pause_ns
    return found
