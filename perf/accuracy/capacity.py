"""Show how often the interval of a capacity contains the true load, and how large its bias is. Takes about three minutes.

The true capacity is 500 minus 0.35 steps. Nine loads lie around 500; loads at or above the saturation of a curve fail. The values
are lognormal, with noise per point and an effect per round that all loads of a round share. Goals, within three Monte-Carlo errors:

- intervals contain the truth in at least 92 % (nominal 95 %), where at least a quarter of the replications give an interval;
- intervals and bounds together are right in at least 92 %, everywhere;
- the bias of the point is below 0.5 %, where at least 90 % of the replications give an interval: where fewer do, those with a
  point near the ends of the measured loads are missing. It is below 1 % for a curve that saturates a fifth above its capacity,
  because no curve through loads 100 apart finds such a knee.

Run: .venv/bin/python perf/accuracy/capacity.py [--quick] [--replications N]
"""

from __future__ import annotations

import itertools
import math
import sys

import numpy as np
from frame import error_of, options_of
from numpy.typing import NDArray

from regatta.stats.crossing import crossing

SEED = 20011
#: name -> growth rate b of y = exp(b * load), or the load at which y = 1 / (1 - load / saturation) has no limit
CURVES = {"exp 0.005": 0.005, "M/M/1 1000": 1000.0, "M/M/1 750": 750.0, "M/M/1 600": 600.0}
STEPS = (10, 25, 100)
NOISES = (0.02, 0.1, 0.3)
ROUND_EFFECTS = (0.0, 0.1)
ROUNDS = (5, 10, 30)
COVERAGE, BIAS, SHARP_BIAS = 0.92, 0.005, 0.01
SHARP = "M/M/1 600"
ERRORS = 3.0


def log_curve(curve: str, loads: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithm of the curve; NaN from its saturation on."""
    rate = CURVES[curve]
    if rate < 1.0:
        return rate * loads
    free = np.where(loads < rate, 1.0 - loads / rate, math.nan)
    return -np.log(free)


def main() -> int:
    """Print a row per curve, step, noise, effect of the rounds and number of rounds; return 1 if a goal is missed."""
    options = options_of(__doc__, default=400, quick=50, seed=SEED)
    replications = options.replications
    rounds = (10,) if options.is_quick else ROUNDS
    print(
        f"{'curve':11} {'step':>4} {'noise':>6} {'round':>6} {'rounds':>6} {'interval':>8} "
        f"{'coverage':>16} {'bias %':>15} {'width %':>7} {'with bounds':>11}"
    )
    missed = rows = 0
    for number, case in enumerate(itertools.product(CURVES, STEPS, NOISES, ROUND_EFFECTS, rounds)):
        rows += 1
        missed += judged(case, replications, np.random.default_rng([options.seed, number]))
    print(f"{rows} rows, {replications} replications each, {missed} miss a goal")
    return int(missed > 0)


def judged(case: tuple[str, int, float, float, int], replications: int, random: np.random.Generator) -> bool:
    """Print the row of a case; return whether it misses a goal."""
    curve, step, noise, effect, rounds = case
    loads = 500.0 + step * np.arange(-4.0, 5.0)
    truth = 500.0 - 0.35 * step
    logs = log_curve(curve, loads)
    target = math.exp(float(log_curve(curve, np.array([truth]))[0]))
    contains, biases, widths, right = [], [], [], 0
    for _ in range(replications):
        common = effect * random.standard_normal((rounds, 1))
        values = np.exp(logs + common + noise * random.standard_normal((rounds, loads.size)))
        found = crossing(loads, values, target)
        estimate = found.estimate
        if math.isfinite(estimate.low):
            contains.append(estimate.low <= truth <= estimate.high)
            biases.append(estimate.point / truth - 1.0)
            widths.append((estimate.high - estimate.low) / truth)
            right += contains[-1]
        else:
            right += (found.low is None or found.low <= truth) and (found.high is None or truth <= found.high)
    count = len(contains)
    share = count / replications
    misses = wrong(right / replications, COVERAGE, replications)
    text = f"{curve:11} {step:4} {noise:6.0%} {effect:6.0%} {rounds:6} {share:8.0%} "
    if count > 1:
        covered, bias = sum(contains) / count, float(np.mean(biases))
        bias_error = float(np.std(biases, ddof=1)) / math.sqrt(count)
        most = SHARP_BIAS if curve == SHARP else BIAS
        misses |= share >= 0.25 and wrong(covered, COVERAGE, count)
        misses |= share >= 0.9 and abs(bias) > most + ERRORS * bias_error
        text += (
            f"{covered:7.1%} ± {error_of(covered, count):5.1%} {bias:+7.2%} ± {bias_error:4.2%} "
            f"{float(np.median(widths)):7.1%}"
        )
    else:
        text += f"{'-':>15} {'-':>16} {'-':>7}"
    print(f"{text} {right / replications:11.1%}{'  missed' if misses else ''}", flush=True)
    return misses


def wrong(share: float, goal: float, count: int) -> bool:
    """Return whether a share is below its goal by more than chance; the error is that of a share at the goal."""
    return share < goal - ERRORS * error_of(goal, count)


if __name__ == "__main__":
    sys.exit(main())
