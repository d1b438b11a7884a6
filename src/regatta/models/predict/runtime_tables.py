"""Tables of predictions for runtimes such as JVMs: held-out errors, shares of system classes, differences.

Source: X. Zhang, "Application-Specific Benchmarking", PhD thesis, Harvard University, 2001, chapter 4: tables 4-5 and
4-6 (system classes).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from regatta.figures.section import Table
from regatta.figures.text import show_percent, show_share
from regatta.models.predict.forecast import ApplicationForecast, Forecast, SystemForecast
from regatta.models.predict.tables import scale_of
from regatta.models.vectors.sums import NS
from regatta.models.vectors.values import Value

#: limits of an accurate prediction: median and 90th percentile of the errors, share of intervals that contain the measurement
MEDIAN_AT_MOST, HIGH_AT_MOST, CONTAINED_AT_LEAST = 0.15, 0.30, 0.85
#: rows of a table of differences; the others are summed
_ROWS = 10
HELD_OUT = (
    "system",
    "applications",
    "median error",
    "90th percentile",
    "intervals that contain it",
    "verdict",
)
DIFFERENCES = ("primitive", "on the fastest", "on the slowest", "difference", "share of difference")
OWN_CODE, PAUSES, OTHERS = "(own code)", "(collector pauses)", "(others)"


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
    # A ratio without an upper end is unbounded there.
    contained = sum(ratio.low <= 1.0 and not ratio.high < 1.0 for ratio in ranged)
    median, high = float(np.median(errors)), float(np.quantile(errors, 0.9))
    wrong = [f"median above {show_percent(MEDIAN_AT_MOST)}"] if median > MEDIAN_AT_MOST else []
    wrong += [f"90th percentile above {show_percent(HIGH_AT_MOST)}"] if high > HIGH_AT_MOST else []
    if ranged and contained < CONTAINED_AT_LEAST * len(ranged):
        wrong.append(f"intervals contain less than {show_percent(CONTAINED_AT_LEAST)}")
    return (
        name, str(len(ratios)), show_share(median), show_share(high), f"{contained} of {len(ranged)}",
        "; ".join(wrong) or "within limits",
    )  # fmt: skip


def shares_table(applications: Sequence[ApplicationForecast]) -> Table:
    """List the share of an application's time in system classes: predicted on each system, and sampled on the traced one.

    An application without own code, such as requests to a server, has no such share.
    """
    applications = [one for one in applications if one.application.user_time != Value.exact(0.0)]
    names = list(dict.fromkeys(system.system for one in applications for system in one.systems))
    rows = []
    for one in applications:
        of = {system.system: system for system in one.systems if system.elapsed.value > 0.0}
        sampled = one.application.provenance.get("system_share", "")
        rows.append(
            (
                one.application.name, sampled.partition(" (")[0],
                *(show_share(of[name].prediction.time.value / of[name].elapsed.value) if name in of else "" for name in names),
            )
        )  # fmt: skip
    columns = ("application", "sampled", *names)
    table = Table("Share of the time in system classes", columns, rows, frozenset(range(1, len(columns))))
    return table.of_columns(at for at in range(len(columns)) if any(row[at] for row in rows))


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
    names = sorted(
        here.keys() | there.keys(), key=lambda name: -abs(there.get(name, 0.0) - here.get(name, 0.0))
    )
    parts = [(name, here.get(name, 0.0), there.get(name, 0.0)) for name in names]
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
    found: dict[str, float] = {}
    for row in system.prediction.contributions:
        if math.isfinite(row.time.value):
            found[row.primitive] = found.get(row.primitive, 0.0) + row.time.value
    own = system.elapsed.value - system.prediction.time.value - pause_ns
    if own > 1e-9 * system.elapsed.value:
        found[OWN_CODE] = own
    if pause_ns:
        found[PAUSES] = pause_ns
    return found
