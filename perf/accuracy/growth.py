"""Show which kind of growth is named, and how often the true one is among the plausible. Takes about one minute.

Six sizes from 20 to 800; lognormal values of independent invocations. Columns: share of replications in which the true kind is
plausible; in which it is the first (a power law is listed last, because the exponent is its answer); in which only the constant is
claimed; in which no kind fits; mean number of plausible kinds; share in which the interval of the exponent contains the true one.
Goals, within three Monte-Carlo errors:

- the true kind is plausible in at least 95 %;
- a quantity that falls by 10 % per doubling is never claimed to be constant (in at most 1 %);
- with noise of 2 %, a step that no kind describes is found in at least 95 %.

Run: .venv/bin/python perf/accuracy/growth.py [--quick] [--replications N]
"""

from __future__ import annotations

import itertools
import math
import sys

import numpy as np
from frame import options_of
from numpy.typing import NDArray

from regatta.stats.growth import CONSTANT, GROWTHS, POWER, growth

SEED = 20012
SIZES = np.array([20.0, 50.0, 100.0, 200.0, 400.0, 800.0])
NOISES = (0.02, 0.1, 0.3)
VALUES = (3, 10)
#: a tenth less per doubling
FALLING = math.log2(0.9)
STEP = "step"
ERRORS = 3.0
KEPT, FLAT, FOUND = 0.95, 0.01, 0.95


def truth(kind: str) -> NDArray[np.float64]:
    """Return the true values at the sizes, 1 on average."""
    if kind == POWER:
        curve = SIZES**FALLING
    elif kind == STEP:
        curve = np.where(SIZES < 150.0, 1.0, 3.0)
    elif kind == CONSTANT:
        curve = np.ones_like(SIZES)
    else:
        # A falling logarithm needs a base.
        curve = GROWTHS[kind](SIZES) + (10.0 if kind == "-log n" else 0.0)
    return curve / float(curve.mean())


def main() -> int:
    """Print a row per true kind, noise and number of values per size; return 1 if a goal is missed."""
    options = options_of(__doc__, default=400, quick=60, seed=SEED)
    replications = options.replications
    print(
        f"{'true kind':10} {'noise':>5} {'values':>6} {'plausible':>16} {'first':>6} {'flat':>6} "
        f"{'none':>6} {'kinds':>5} {'exponent':>8}"
    )
    missed = 0
    for number, case in enumerate(itertools.product([*GROWTHS, POWER, STEP], NOISES, VALUES)):
        missed += judged(case, replications, np.random.default_rng([options.seed, number]))
    print(f"{replications} replications each, {missed} rows miss a goal")
    return int(missed > 0)


def judged(case: tuple[str, float, int], replications: int, random: np.random.Generator) -> bool:
    """Print the row of a case; return whether it misses a goal."""
    kind, noise, values = case
    curve = truth(kind)
    logs = np.log(SIZES)
    exponent = float(np.polyfit(logs, np.log(curve), 1)[0])
    kept = first = flat = none = kinds = contains = 0
    for _ in range(replications):
        measured = curve * np.exp(noise * random.standard_normal((values, SIZES.size)))
        found = growth([(float(size), list(own)) for size, own in zip(SIZES, measured.T, strict=True)])
        kept += kind in found.plausible
        first += found.plausible[:1] == (kind,)
        flat += found.flat
        none += not found.plausible
        kinds += len(found.plausible)
        contains += found.exponent.low <= exponent <= found.exponent.high
    misses = False
    if kind == STEP:
        misses = noise <= 0.02 and below(none / replications, FOUND, replications)
    else:
        misses = below(kept / replications, KEPT, replications)
    if kind == POWER:
        misses |= below(1.0 - flat / replications, 1.0 - FLAT, replications)
    error = math.sqrt(kept * (replications - kept) / replications**3)
    print(
        f"{kind:10} {noise:5.0%} {values:6} {kept / replications:8.1%} ± {error:5.1%} {first / replications:6.0%} "
        f"{flat / replications:6.1%} {none / replications:6.1%} {kinds / replications:5.1f} "
        f"{contains / replications:8.1%}{'  missed' if misses else ''}",
        flush=True,
    )
    return misses


def below(share: float, goal: float, count: int) -> bool:
    """Return whether a share is below its goal by more than chance; the error is that of a share at the goal."""
    return share < goal - ERRORS * math.sqrt(goal * (1.0 - goal) / count)


if __name__ == "__main__":
    sys.exit(main())
