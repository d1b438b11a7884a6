"""Show how often `regatta history` finds shifts that do not exist, and that it finds those that do.

Every series has 10 invocations (SD 1 %) per night, and nights with an SD and an autocorrelation of first order. The
table has the share of unchanged series that show a shift, the rate that the answer prints for them, and the share of
series with a shift of 2 % in the middle for which one is found within two nights of it. It takes about two minutes.

    .venv/bin/python perf/accuracy/history.py [--quick] [--replications N]
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import numpy as np
from frame import options_of

from regatta.stats.shifts import find_shifts

_INVOCATIONS, _NOISE, _SHIFT = 10, 0.01, math.log(1.02)


@dataclass(frozen=True)
class Case:
    """One setting. `false_at_most` and `found_at_least` in percent; NaN: reported only."""

    nights: int
    night_sd: float
    rho: float
    false_at_most: float = math.nan
    found_at_least: float = math.nan


CASES = (
    Case(20, 0.003, 0.5, 8.0, 90.0),
    Case(20, 0.005, 0.5, 8.0, 90.0),
    Case(20, 0.003, 0.0, 8.0, 90.0),
    Case(20, 0.01, 0.0, 8.0),
    Case(20, 0.005, 0.7),
    Case(60, 0.003, 0.5, 8.0, 90.0),
    Case(60, 0.005, 0.5, 8.0, 90.0),
    Case(60, 0.01, 0.0, 8.0, 90.0),
    Case(60, 0.005, 0.7),
    Case(5, 0.003, 0.5, 8.0),
)


def series(random: np.random.Generator, case: Case) -> np.ndarray:
    """Return the logarithms of an unchanged series, of shape (nights, invocations)."""
    nights = [random.normal()]
    for _ in range(case.nights - 1):
        nights.append(case.rho * nights[-1] + math.sqrt(1.0 - case.rho**2) * random.normal())
    noise = random.normal(0.0, _NOISE, (case.nights, _INVOCATIONS))
    return case.night_sd * np.array(nights)[:, np.newaxis] + noise


def measure(case: Case, replications: int, seed: int) -> tuple[float, float, float]:
    """Return the percentages: false shifts, printed rate, shifts found."""
    random = np.random.default_rng([seed, case.nights, int(case.night_sd * 1e4), int(case.rho * 10)])
    false = found = 0
    printed = 0.0
    place = case.nights // 2
    for _ in range(replications):
        logs = series(random, case)
        still = find_shifts(list(np.exp(logs)))
        false += bool(still.shifts)
        printed += still.false_rate
        logs[place:] += _SHIFT
        found += any(abs(one.at - place) <= 2 for one in find_shifts(list(np.exp(logs))).shifts)
    return 100.0 * false / replications, 100.0 * printed / replications, 100.0 * found / replications


def main() -> int:
    """Print the table; return 1 if a goal is missed."""
    options = options_of(__doc__, default=1000, quick=50)
    replications = options.replications
    missed = 0
    print(f"{replications} series per row; ± is the Monte-Carlo standard error; goals hold within 3 of them")
    print("nights  night SD  rho  false %      goal  printed %  2 % found    goal")
    for case in CASES:
        false, printed, found = measure(case, replications, options.seed)
        errors = [100.0 * math.sqrt(max(p * (100.0 - p), 1.0) / 1e4 / replications) for p in (false, found)]
        bad = false - 3.0 * errors[0] > case.false_at_most or found + 3.0 * errors[1] < case.found_at_least
        missed += bad
        goals = [
            "-" if math.isnan(goal) else f"{sign} {goal:.0f}"
            for sign, goal in (("<=", case.false_at_most), (">=", case.found_at_least))
        ]
        print(
            f"{case.nights:6}  {100 * case.night_sd:6.1f} %  {case.rho:.1f}  {false:4.1f} ± {errors[0]:.1f}  {goals[0]:>6}"
            f"  {printed:9.1f}  {found:5.1f} ± {errors[1]:.1f}  {goals[1]:>5}{'  MISSED' if bad else ''}",
            flush=True,
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
