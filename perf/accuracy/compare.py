"""Show how often `regatta compare` claims a difference between more than two groups that do not differ.

The values are normal with mean 100 and an SD of 1, and 10 in one noisy group. The table has the share of data sets with
any false pair: by the ratios, which the conclusions use, by the differences of the method `regatta`, and, for comparison, by
the differences of the method `georges2007` (Tukey). It takes about two minutes.

    .venv/bin/python perf/accuracy/compare.py [--quick] [--replications N]
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import numpy as np
from frame import options_of

from regatta.answers.compare.compute import simultaneous_pairs
from regatta.answers.compare.table import ForeignTable, Labels
from regatta.stats.anova import block_anova, one_way
from regatta.stats.tukey import tukey

_GOAL = 5.0


@dataclass(frozen=True)
class Case:
    """One setting: sizes of the groups (of blocks: their number each), whether the last one is noisy, and the SD of blocks."""

    sizes: tuple[int, ...]
    noisy: bool
    block_sd: float | None = None


CASES = (
    *(Case((10,) * k, noisy, sd) for sd in (None, 3.0) for k in (3, 5, 8) for noisy in (False, True)),
    Case((10, 10, 3), False),
    Case((10, 10, 3), True),
)


def table_of(random: np.random.Generator, case: Case) -> ForeignTable:
    """Return data of groups with the same mean, as `read_foreign` does."""
    k = len(case.sizes)
    groups = np.repeat(np.arange(k), case.sizes)
    blocks = np.concatenate([np.arange(size) for size in case.sizes])
    spread = np.where((groups == k - 1) & case.noisy, 10.0, 1.0)
    values = random.normal(100.0, spread)
    if case.block_sd is not None:
        values += random.normal(0.0, case.block_sd, max(case.sizes))[blocks]
    block = Labels("block", tuple(map(str, range(max(case.sizes)))), blocks)
    by = Labels("group", tuple("abcdefgh"[:k]), groups)
    return ForeignTable(
        "simulated", "t", values, by, None if case.block_sd is None else block, (), (), len(values), 0
    )


def measure(case: Case, replications: int, seed: int) -> list[float]:
    """Return the percentages of data sets with a false pair: by ratios, by differences, by Tukey."""
    random = np.random.default_rng([seed, *case.sizes, case.noisy, case.block_sd is not None])
    false = np.zeros(3)
    for _ in range(replications):
        table = table_of(random, case)
        groups = table.groups()
        blocks = table.blocks() if table.block else None
        pairs = simultaneous_pairs(table, groups, blocks, 0.95)
        fit = one_way(groups) if blocks is None else block_anova(blocks)
        false += [
            any(not pair.ratio.low <= 1.0 <= pair.ratio.high for pair in pairs),
            any(pair.difference.p < 0.05 for pair in pairs),
            any(pair.p < 0.05 for pair in tukey(fit)),
        ]
    return [100.0 * float(count) / replications for count in false]


def main() -> int:
    """Print the table; return 1 if a goal is missed."""
    options = options_of(__doc__, default=2000, quick=100)
    replications = options.replications
    missed = 0
    print(
        f"{replications} data sets per row; ± is the Monte-Carlo standard error; goal: at most {_GOAL:.0f} %"
    )
    print("groups  sizes    blocks  noisy  any false pair: ratios  differences  Tukey")
    for case in CASES:
        ratios, differences, tukeys = measure(case, replications, options.seed)
        errors = [
            100.0 * math.sqrt(max(p * (100.0 - p), 1.0) / 1e4 / replications) for p in (ratios, differences)
        ]
        bad = max(ratios - 3.0 * errors[0], differences - 3.0 * errors[1]) > _GOAL
        missed += bad
        sizes = "10/10/3" if case.sizes[-1] == 3 else "10 each"
        print(
            f"{len(case.sizes):6}  {sizes}  {'no' if case.block_sd is None else 'yes':>6}  {'one' if case.noisy else 'none':>5}"
            f"  {ratios:15.1f} ± {errors[0]:.1f}  {differences:5.1f} ± {errors[1]:.1f}  {tukeys:5.1f}{'  MISSED' if bad else ''}",
            flush=True,
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
