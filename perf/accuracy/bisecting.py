"""Show how often `regatta bisect` is wrong, and how many runs it needs. Takes about three minutes.

Histories of 64 commits with one to three changes at random places, each slower by 5 %. Runs vary by 2 % (standard deviation), with
normal or heavy-tailed logarithms (Student, 3 degrees of freedom). Columns: histories in which exactly the true changes were found;
with at least one commit blamed that changed nothing; with at least one change not found; mean number of runs.

Beside it: `git bisect run` with one run of each commit, or ten, and a threshold halfway between the ends of the history, which it
knows exactly. It finds one change at most, and the first, the last or any of several counts as right.

Goal, within three Monte-Carlo errors: at most 5 % of the histories with one or two changes blame a commit that changed nothing.

Run: .venv/bin/python perf/accuracy/bisecting.py [--quick] [--replications N]
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from frame import ERRORS, error_of, options_of
from numpy.typing import NDArray

from regatta.answers.bisect.search import Compared, level_of_step, relation, search, searched_difference
from regatta.host.journal.early_decisions import decide_early
from regatta.host.journal.stopping import Pair, Rule
from regatta.planner.stopping import t_quantiles
from regatta.stats.all_pairs import simultaneous
from regatta.stats.estimate import Interval
from regatta.stats.looks import adjusted_for_looks, level_of_looks
from regatta.stats.ratios import paired_log_ratio

SEED = 20070145
COMMITS, CHANGE, NOISE, ROUNDS, RELEVANT, LEVEL = 64, 0.05, 0.02, 60, 0.01, 0.95
PROMISED = (1, 2)

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Floats]

NOISES: dict[str, Draw] = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "heavy tails": lambda rng, n: rng.standard_t(3, n) / math.sqrt(3.0),
}


@dataclass
class History:
    """`levels`: of each commit, on logarithms. `runs`: how many were measured so far."""

    levels: Floats
    draw: Draw
    rng: np.random.Generator
    runs: int = 0

    def measure(self, commit: int, runs: int) -> Floats:
        return self.levels[commit] + NOISE * self.draw(self.rng, runs)


def step(
    history: History, places: tuple[int, ...], middle: int, level: float, searched: float
) -> list[Interval]:
    """Return the ratios of the middle to each of the others, measured by the rule `decide`."""
    together = max(len(places), math.comb(len(places) + 1, 2))
    own = level ** (1 / together)
    quantiles = t_quantiles(level_of_looks(own, ROUNDS), ROUNDS - 1)
    rule = Rule("decide", 3, ROUNDS, 100 * math.expm1(searched), quantiles)
    logs = {str(place): history.measure(place, ROUNDS) for place in (*places, middle)}
    base = logs[str(middle)]
    pairs = [Pair(str(p), str(middle), "", (logs[str(p)] - base).tolist(), "", range(ROUNDS)) for p in places]
    rounds = {name: {"": [dict(enumerate(values.tolist()))]} for name, values in logs.items()}
    found = decide_early(rule, pairs, rounds, list(logs), 0, ROUNDS)
    history.runs += sum(found.cells.values())
    ratios = []
    for place in places:
        n = found.cells[str(place)]
        nominal = paired_log_ratio(
            np.exp(logs[str(place)][:n]), np.exp(base[:n]), level_of_looks(level, ROUNDS)
        )
        ratios.append(simultaneous(adjusted_for_looks(nominal, level, ROUNDS), together).interval)
    return ratios


def regatta(history: History) -> set[int]:
    level = level_of_step(LEVEL, COMMITS - 1)
    (ends,) = step(history, (COMMITS - 1,), 0, level, RELEVANT)
    if relation(ends, RELEVANT, RELEVANT) != "differs":
        return set()
    known = {(0, COMMITS - 1): ends}

    def compare(left: int, middle: int, right: int) -> Compared:
        searched = searched_difference(known[left, right], RELEVANT)
        ratios = step(history, (left, right), middle, level, searched)
        known[left, middle], known[middle, right] = ratios
        return Compared(*(relation(ratio, RELEVANT, searched) for ratio in ratios))

    return {one.last for one in search(COMMITS - 1, compare).changes}


def git_bisect(runs: int) -> Callable[[History], set[int]]:
    def run(history: History) -> set[int]:
        threshold = (history.levels[0] + history.levels[-1]) / 2
        good, bad = 0, COMMITS - 1
        while bad - good > 1:
            middle = (good + bad) // 2
            history.runs += runs
            if history.measure(middle, runs).mean() > threshold:
                bad = middle
            else:
                good = middle
        return {bad}

    return run


WAYS: dict[str, Callable[[History], set[int]]] = {
    "regatta bisect": regatta,
    "git bisect, 1 run": git_bisect(1),
    "git bisect, 10 runs": git_bisect(10),
}


def main() -> int:
    """Return 1 if a goal is missed."""
    options = options_of(__doc__, default=500, quick=30, seed=SEED)
    missed = 0
    print(f"{'noise':11} {'changes':>7} {'way':20} {'exactly':>8} {'blames':>16} {'misses':>8} {'runs':>7}")
    for noise, draw in NOISES.items():
        for count in (1, 2, 3):
            for way, find in WAYS.items():
                rng = np.random.default_rng([options.seed, len(noise), count])
                exactly = blames = misses = runs = 0
                for _ in range(options.replications):
                    true = set((1 + rng.choice(COMMITS - 1, count, replace=False)).tolist())
                    jumps = np.array([math.log1p(CHANGE) * (at in true) for at in range(COMMITS)])
                    history = History(np.cumsum(jumps), draw, rng)
                    found = find(history)
                    exactly += found == true
                    blames += bool(found - true)
                    misses += bool(true - found)
                    runs += history.runs
                n = options.replications
                share = blames / n
                error = error_of(share, n)
                bad = share > 1 - LEVEL + ERRORS * error and way == "regatta bisect" and count in PROMISED
                missed += bad
                print(
                    f"{noise:11} {count:7} {way:20} {exactly / n:8.1%} {share:7.2%} ±{error:5.2%}{'!' if bad else ' '}"
                    f" {misses / n:8.1%} {runs / n:7.0f}"
                )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
