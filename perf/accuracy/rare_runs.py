"""Show what rare slow runs do to intervals, and how often they are found. Takes 1 to 2 minutes (`--quick`: some 10 s).

Four tables, from the functions of the product:

- coverage of the 95 % interval of a paired ratio if one alternative has rare slow runs (10 % of runs, 20 % slower) or
  skewed values (5 % exponential): overall, and separately for samples with and without a visible slow run;
- the share of samples in which slow runs are reported, and of samples without any in which they are (goal: at most 1 %
  per comparison);
- coverage after Stein's decision with a pilot of 10 rounds, and how often the pilot leads to the maximum;
- coverage of "benchmarks like these" of a suite whose effects are skewed.

Values have a standard deviation of 1 %. A goal is missed if the measured value is beyond it by more than 3 Monte-Carlo
standard errors; then the exit code is 1.

    .venv/bin/python perf/accuracy/rare_runs.py [--quick] [--replications N]
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

import numpy as np
from frame import options_of
from numpy.typing import NDArray

from regatta.host.journal.modes import slow_runs
from regatta.host.journal.stopping import Pair, Rule, decide
from regatta.planner.stopping import t_quantiles
from regatta.stats.estimate import Contrast
from regatta.stats.ratios import paired_log_ratios
from regatta.stats.stein import stein_log_ratio
from regatta.stats.suite_mean import suite_ratio

Floats = NDArray[np.float64]
SD = 0.01
SLOW_SHARE = 0.1
#: smallest relevant difference, as by default (theta of 1 %)
LEAST_GAP = math.log1p(0.01)
FALSE_ALARMS = 0.01
REPLICATIONS, QUICK = 10_000, 1_000
_ERRORS = 3.0


def measured(hits: Floats) -> str:
    """Return `64.2 ± 0.5 %`, or `–` without a sample."""
    if not hits.size:
        return "–"
    share = float(hits.mean())
    return f"{100 * share:.1f} ± {100 * math.sqrt(share * (1 - share) / hits.size):.1f} %"


def noise(rng: np.random.Generator, kind: str, shape: tuple[int, ...]) -> Floats:
    """Return logarithms of times with a standard deviation of 1 % (lognormal: 10 %, so that its skewness shows)."""
    if kind == "lognormal":
        return np.log(np.exp(rng.normal(0.0, 0.1, shape)))
    if kind == "t3":
        return np.log1p(np.maximum(-0.5, SD * rng.standard_t(3, shape) / math.sqrt(3.0)))
    if kind == "normal":
        return np.log1p(SD * rng.standard_normal(shape))
    raise ValueError(kind)


def slowed(
    rng: np.random.Generator, m: int, n: int, slower: float, share: float = SLOW_SHARE
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return logarithms of times with rare slow runs, and which runs are slow."""
    slow = rng.random((m, n)) < share
    return noise(rng, "normal", (m, n)) + slow * math.log1p(slower), slow


def covers(contrasts: list[Contrast], truth: float) -> Floats:
    """Return 1.0 for each interval that contains the true logarithm of the ratio."""
    ends = np.log([(one.interval.low, one.interval.high) for one in contrasts])
    return ((ends[:, 0] <= truth) & (truth <= ends[:, 1])).astype(np.float64)


def coverage(rng: np.random.Generator, m: int) -> None:
    print("Coverage of the 95 % interval of a ratio; one alternative has ...")
    print(f"  {'':34}{'n':>4}  {'all samples':>16}{'a slow run seen':>18}{'none seen':>18}")
    for n in (3, 5, 9, 10, 30):
        a, slow = slowed(rng, m, n, 0.2)
        hits = covers(
            paired_log_ratios(np.exp(a), np.exp(noise(rng, "normal", (m, n)))),
            SLOW_SHARE * math.log1p(0.2),
        )
        seen = slow.any(axis=1)
        row = (measured(hits), measured(hits[seen]), measured(hits[~seen]))
        print(f"  {'10 % of runs 20 % slower':34}{n:>4}  {row[0]:>16}{row[1]:>18}{row[2]:>18}")
    for n in (3, 5, 9, 10, 30):
        a, _ = slowed(rng, m, n, 0.2)
        b, _ = slowed(rng, m, n, 0.2)
        hits = covers(paired_log_ratios(np.exp(a), np.exp(b)), 0.0)
        print(f"  {'(the same in both alternatives)':34}{n:>4}  {measured(hits):>16}")
    # The mean of log(1 + 0.05 E) with E exponential.
    truth = float(np.log1p(0.05 * rng.standard_exponential(4_000_000)).mean())
    for n in (3, 5, 9, 10, 30):
        a = np.log1p(0.05 * rng.standard_exponential((m, n)))
        b = noise(rng, "normal", (m, n))
        hits = covers(paired_log_ratios(np.exp(a), np.exp(b)), truth + SD**2 / 2)
        print(f"  {'5 % exponential values':34}{n:>4}  {measured(hits):>16}")


def reported(values: Floats) -> Floats:
    """Return 1.0 for each sample (row) whose slow runs are reported."""
    return np.array([float(slow_runs(row, LEAST_GAP) > 0) for row in values.tolist()])


def detection(rng: np.random.Generator, m: int) -> bool:
    print(
        "\nSlow runs reported in one alternative with 10 % of slow runs (share of samples with one in parentheses)"
    )
    sizes = (5, 10, 20, 30)
    print(f"  {'':34}" + "".join(f"{f'n = {n}':>24}" for n in sizes))
    for slower in (0.05, 0.1, 0.2):
        cells = []
        for n in sizes:
            a, slow = slowed(rng, m, n, slower)
            cells.append(f"{measured(reported(a))} ({100 * slow.any(axis=1).mean():.0f} %)")
        print(f"  {f'{100 * slower:.0f} % slower':34}" + "".join(f"{cell:>24}" for cell in cells))
    print(
        f"False reports per comparison of two alternatives without slow runs (goal: at most {FALSE_ALARMS:.0%})"
    )
    met = True
    for kind in ("normal", "lognormal", "t3"):
        cells = []
        for n in sizes:
            hits = np.maximum(*(reported(noise(rng, kind, (m, n))) for _ in range(2)))
            error = math.sqrt(FALSE_ALARMS * (1 - FALSE_ALARMS) / m)
            met &= bool(hits.mean() <= FALSE_ALARMS + _ERRORS * error)
            cells.append(measured(hits))
        print(f"  {kind:34}" + "".join(f"{cell:>24}" for cell in cells))
    return met


def stopping(rng: np.random.Generator, m: int) -> bool:
    """Decide as the runner does, then compute the interval as the analysis does."""
    print("\nStein's rule: pilot of 10 rounds, target 1 %, at most 30 rounds; one alternative has ...")
    print(f"  {'':34}{'coverage':>18}{'all rounds, slow run seen':>28}{'all rounds, none seen':>26}")
    rule = Rule("stein", 10, 30, 1.0, t_quantiles(0.95, 29))
    met = True
    for share, slower in ((0.0, 0.2), (0.05, 0.2), (0.1, 0.2), (0.1, 0.1), (0.1, 0.05)):
        a, slow = slowed(rng, m, 30, slower, share)
        b = noise(rng, "normal", (m, 30))
        hits, all_rounds = [], []
        for x, y in zip(a, b, strict=True):
            pilots = {"a": x[:10].tolist(), "b": y[:10].tolist()}
            found = decide(rule, [Pair("a", "b", "", (x - y)[:10].tolist())], pilots, 10)
            n = found.needed or rule.maximum
            all_rounds.append(n == rule.maximum)
            if found.modes:
                hits.append(paired_log_ratios(np.exp(x[None, :n]), np.exp(y[None, :n]))[0])
            else:
                hits.append(stein_log_ratio(np.exp(x[:n]), np.exp(y[:n]), 10))
        covered = covers(hits, share * math.log1p(slower))
        full = np.array(all_rounds, dtype=np.float64)
        seen = slow[:, :10].any(axis=1)
        label = f"{100 * share:.0f} % of runs {100 * slower:.0f} % slower" if share else "no slow runs"
        print(f"  {label:34}{measured(covered):>18}{measured(full[seen]):>28}{measured(full[~seen]):>26}")
        if slower == 0.2 and share:
            # Every pilot with a slow run must lead to the maximum.
            met &= bool(full[seen].mean() >= 0.99)
    return met


def suites(rng: np.random.Generator, m: int) -> None:
    print("\nCoverage of the suite interval for benchmarks like these; effects of programs (SD 10 %) are ...")
    kinds: dict[str, Callable[[tuple[int, int]], Floats]] = {
        "normal": lambda shape: 0.1 * rng.standard_normal(shape),
        "skewed (exponential)": lambda shape: 0.1 * (rng.standard_exponential(shape) - 1.0),
    }
    for label, draw in kinds.items():
        cells = []
        for b in (5, 12):
            variance = SD**2 * 2 / 10
            logs = draw((m, b)) + math.sqrt(variance) * rng.standard_normal((m, b))
            found = [suite_ratio(row, np.full(b, variance), np.full(b, 9.0)).like_these for row in logs]
            hits = np.array([float(one.low <= 1.0 <= one.high) for one in found])
            cells.append(f"{measured(hits)} ({b} programs)")
        print(f"  {label:34}" + "".join(f"{cell:>30}" for cell in cells))


def main() -> int:
    options = options_of(__doc__, REPLICATIONS, QUICK, seed=20070101)
    m = options.replications
    rng = np.random.default_rng(options.seed)
    print(f"{m} replications, nominal coverage 95 %, ± Monte-Carlo standard error")
    coverage(rng, m)
    met = detection(rng, m)
    met = stopping(rng, max(200, m // 5)) and met
    suites(rng, m)
    print("\nGoals met." if met else "\nA goal is missed.")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
