"""Show what `order: duet` costs and gains: how often its test refuses a program, and how often its interval contains the ratio.

The test runs a program alone and with its copy, at different times. Each time has noise that both halves share, which differs from
time to time, and noise of each half. `interference` is the true slowdown with a partner; the goal is that the test refuses at most
5 % of the programs without any, and at least 95 % of those that are 30 % slower or more, as programs are that wait for one memory bus,
on hosts whose times vary by 15 % or less.

The intervals are paired t intervals on logarithms of rounds in which both programs swap their halves, whose difference is removed. The slower program is alone
at its end, so that a difference is measured as its true value divided by 1 + interference, which the goal takes into account. One
after the other, both programs meet noise of different times. It takes about one minute.

    .venv/bin/python perf/accuracy/duet.py [--quick] [--replications N]
"""

from __future__ import annotations

import math
import sys

import numpy as np
from frame import ERRORS, error_of, options_of

from regatta.host.duet.trial import LOOKS, Trial, judged
from regatta.host.journal.halves import without_halves
from regatta.stats.ratios import paired_log_ratios

_LEVEL = 0.95
#: per cent
_MOST_REFUSED, _LEAST_REFUSED, _LEAST_COVERED = 5.0, 95.0, 94.0
#: noise that both halves share, and of each half; SD of logarithms
NOISES = ((0.01, 0.005), (0.05, 0.02), (0.15, 0.05), (0.3, 0.1))
INTERFERENCES = (0.0, 0.05, 0.15, 0.3, 1.0)
#: rounds, true ratio, interference, half 0 relative to half 1
RATIOS = (
    (6, 1.05, 0.0, 1.0),
    (10, 1.05, 0.0, 1.0),
    (30, 1.05, 0.0, 1.0),
    (30, 1.05, 0.0, 1.05),
    (30, 1.05, 0.0, 1.2),
    (11, 1.05, 0.0, 1.2),
    (30, 1.02, 0.05, 1.0),
    (30, 1.1, 0.05, 1.0),
    (30, 1.1, 0.1, 1.0),
    (30, 2.0, 0.1, 1.0),
)
_SHARED, _OWN = 0.15, 0.02
#: the goals of the test are for hosts whose times vary by at most this
_MOST_NOISE = 0.15


def tested(random: np.random.Generator, interference: float, shared: float, own: float) -> tuple[Trial, int]:
    """Return the test of one program, and its rounds."""
    most = max(LOOKS)
    alone = np.exp(random.normal(0.0, shared, most) + random.normal(0.0, own, most)).tolist()
    logs = random.normal(math.log1p(interference), shared, (most, 1)) + random.normal(0.0, own, (most, 2))
    beside = [(float(left), float(right)) for left, right in np.exp(logs)]
    for look in LOOKS:
        trial = judged("program", alone[:look], beside[:look])
        if trial is not None:
            return trial, look
    raise AssertionError("unreachable")


def times_of(
    random: np.random.Generator, count: int, rounds: int, ratio: float, interference: float, halves: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the times of both programs, each of shape (count, rounds)."""
    swapped = np.where(np.arange(rounds) % 2, 1.0, -1.0) * math.log(halves) / 2.0
    shape = (count, rounds)
    common = random.normal(0.0, _SHARED, shape)
    slower, faster = (
        np.exp(common + sign * swapped + random.normal(0.0, _OWN, shape)) * size
        for sign, size in ((1, ratio), (-1, 1.0))
    )
    # Each is slower while the other runs.
    first = np.minimum(slower, faster) * (1.0 + interference)
    longer = np.maximum(slower, faster) + np.minimum(slower, faster) * interference
    return np.where(slower > faster, longer, first), np.where(slower > faster, first, longer)


def covered(times: tuple[np.ndarray, np.ndarray], truth: float, swaps: bool) -> tuple[float, float, float]:
    """Return the share of intervals that contain the truth, the mean ratio, and the median half-width in per cent.

    Args:
        times: of both programs.
        truth: their ratio.
        swaps: whether they swapped their halves, whose difference is then removed.
    """
    slower, faster = times
    if swaps:
        sides = [-1 if at % 2 else 1 for at in range(slower.shape[1])]
        logs = np.array([without_halves(row, sides) for row in np.log(slower / faster).tolist()])
        slower, faster = np.exp(logs), np.ones_like(logs)
    found = [contrast.interval for contrast in paired_log_ratios(slower, faster, _LEVEL)]
    inside = sum(one.low <= truth <= one.high for one in found)
    widths = [100.0 * (one.high - one.low) / 2.0 / one.point for one in found]
    mean = math.exp(float(np.mean([math.log(one.point) for one in found])))
    return inside / len(found), mean, float(np.median(widths))


def main() -> int:
    """Print both tables; return 1 if a goal is missed."""
    options = options_of(__doc__, 2000, 200)
    count, missed = options.replications, 0
    print(f"{count:,} replications per row; Monte-Carlo errors in per cent after ±")
    print(
        f"\n{'shared noise':>12} {'own noise':>10} {'interference':>13} {'refused':>15} {'rounds':>8}  goal"
    )
    for row, (shared, own) in enumerate(NOISES):
        for column, interference in enumerate(INTERFERENCES):
            random = np.random.default_rng([options.seed, 0, row, column])
            found = [tested(random, interference, shared, own) for _ in range(count)]
            refused = sum(bool(trial.refused) for trial, _ in found) / count
            error = error_of(refused, count)
            rounds = float(np.mean([rounds for _, rounds in found]))
            goal, bad = "", False
            if shared > _MOST_NOISE:
                pass
            elif interference == 0.0:
                goal, bad = (
                    f"at most {_MOST_REFUSED:g} %",
                    100 * refused > _MOST_REFUSED + ERRORS * 100 * error,
                )
            elif interference >= 0.3:
                goal = f"at least {_LEAST_REFUSED:g} %"
                bad = 100 * refused < _LEAST_REFUSED - ERRORS * 100 * error
            missed += bad
            print(
                f"{shared:>12.1%} {own:>10.1%} {interference:>13.0%} {refused:>8.1%} ± {100 * error:>4.1f} {rounds:>8.1f}  {goal}"
                + (" MISSED" if bad else "")
            )
    print(
        f"\n{'rounds':>6} {'ratio':>6} {'interference':>13} {'halves':>7} {'measured':>9} {'contains it':>14} {'half-width':>11}"
        f" {'one by one':>11}  goal"
    )
    for row, (rounds, ratio, interference, halves) in enumerate(RATIOS):
        random = np.random.default_rng([options.seed, 1, row])
        expected = 1.0 + (ratio - 1.0) / (1.0 + interference)
        share, mean, width = covered(
            times_of(random, count, rounds, ratio, interference, halves), expected, True
        )
        apart = times_of(random, count, rounds, ratio, 0.0, 1.0)
        # One after the other: the second program meets noise of another time.
        _, _, wide = covered((apart[0], apart[1][random.permutation(count)]), ratio, False)
        error = error_of(share, count)
        bad = 100 * share < _LEAST_COVERED - ERRORS * 100 * error
        missed += bad
        print(
            f"{rounds:>6} {ratio:>6.2f} {interference:>13.0%} {halves:>7.2f} {mean:>9.4f} {share:>8.1%} ± {100 * error:>3.1f} {width:>10.2f}%"
            f" {wide:>10.2f}%  at least {_LEAST_COVERED:g} %" + (" MISSED" if bad else "")
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
