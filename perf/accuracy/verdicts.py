"""How often a family of collectors names a winner: without a difference, below theta, and with a relevant difference.

    .venv/bin/python perf/accuracy/verdicts.py        # two seconds

Each replication has rounds of blocks with an effect of the block, and the pairs, verdicts and leaders of an answer.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Sequence

import numpy as np
from frame import ERRORS, error_of, options_of

from regatta.answers.spine.families.words import ranking, winner
from regatta.answers.spine.parts import FamilyPair
from regatta.answers.spine.verdicts import judge
from regatta.stats.all_pairs import paired_pairs

THETA_PERCENT = 1.0
BLOCK_SD, BLOCKS = 0.03, 30
ANY = (0.0, 1.0)
#: true difference of the other alternatives to the first, noise of a run, and the least and largest share with a winner
CASES = ((0.0, 0.01, 0.0, 0.05), (0.003, 0.003, 0.0, 0.0), (0.003, 0.01, *ANY), (0.02, 0.01, 0.99, 1.0))


def _families(
    factors: Sequence[float], noise: float, count: int, rng: np.random.Generator
) -> Iterator[list[FamilyPair]]:
    """Yield the judged pairs of `count` families of alternatives with these true times."""
    shape = (count, BLOCKS, len(factors))
    blocks = rng.normal(0.0, BLOCK_SD, shape[:2])[:, :, None]
    tables = np.exp(np.log(factors) + blocks + rng.normal(0.0, noise, shape))
    for pairs in paired_pairs(list(tables)):
        yield [
            FamilyPair(
                str(one.first), str(one.second), one.ratio, one.p, judge(one.ratio, THETA_PERCENT, one.p)
            )
            for one in pairs
        ]


def main() -> int:
    """Print the share of families with a winner in each case; return 1 if a goal is missed."""
    options = options_of(__doc__, default=1000, quick=100, seed=20261128)
    rng = np.random.default_rng(options.seed)
    missed = 0
    print(f"{options.replications} families per row; ± is the Monte-Carlo standard error")
    print("collectors  true difference  noise  a winner is named")
    for (difference, noise, low, high), alternatives in itertools.product(CASES, (2, 3, 5)):
        factors = [1.0, *[1.0 + difference] * (alternatives - 1)]
        names = [str(place) for place in range(alternatives)]
        named = sum(
            bool(winner(pairs, ranking(names, pairs, "lower"), "lower"))
            for pairs in _families(factors, noise, options.replications, rng)
        )
        share = named / options.replications
        error = error_of(share, options.replications)
        misses = share + ERRORS * error < low or share - ERRORS * error > high
        missed += misses
        goal = f"goal {low:.0%} to {high:.0%}" if (low, high) != ANY else ""
        print(
            f"{alternatives:10}  {difference:15.1%}  {noise:5.1%}  {share:8.1%} ± {error:.1%}  {goal}"
            f"{'  MISSED' if misses else ''}",
            flush=True,
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
