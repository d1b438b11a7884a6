"""How often a family of collectors names a winner: without a difference, below theta, and with a relevant difference.

    .venv/bin/python perf/accuracy/verdicts.py        # two seconds

Each replication has rounds of blocks with an effect of the block, and the pairs, verdicts and leaders of an answer.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

import numpy as np
from frame import Row, run, share

from regatta.answers.families.words import ranking, winner
from regatta.answers.parts import FamilyPair
from regatta.answers.verdicts import judge
from regatta.stats.all_pairs import paired_pairs

THETA_PERCENT = 1.0
BLOCK_SD, BLOCKS = 0.03, 30
SEED = 20261128


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


def _measure(count: int) -> Iterator[Row]:
    rng = np.random.default_rng(SEED)
    cases = (
        ("equal", 0.0, 0.01, {"at_most": 5.0}),
        ("0.3 % apart, theta 1 %", 0.003, 0.003, {"at_most": 0.0}),
        ("0.3 % apart, theta 1 %", 0.003, 0.01, {}),
        ("2 % apart", 0.02, 0.01, {"at_least": 99.0}),
    )
    for label, difference, noise, goal in cases:
        for alternatives in (2, 3, 5):
            factors = [1.0, *[1.0 + difference] * (alternatives - 1)]
            names = [str(place) for place in range(alternatives)]
            named = sum(
                bool(winner(pairs, ranking(names, pairs, "lower"), "lower"))
                for pairs in _families(factors, noise, count, rng)
            )
            what = f"{alternatives} collectors, {label}, noise {noise:.1%}: a winner is named"
            yield share(what, named, count, **goal)


if __name__ == "__main__":
    sys.exit(run(__doc__ or "", _measure, 1000))
