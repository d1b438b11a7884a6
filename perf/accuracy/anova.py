"""Show how often the ANOVA over all factors finds effects that do not exist, and that it finds those that do.

Each case simulates experiments with 3 heaps and 3 or 5 collectors. A block holds one run of every collector at one heap, a round
holds one block of every heap. Blocks and runs have normal errors. The rates are the percentages of experiments with p < 0.05.
The goal without an effect is 4 to 6 % (4 to 7 % with missing runs or unequal variances, 2 to 8 % with 3 rounds), within three
Monte-Carlo standard errors. A difference of 2 % between collectors must be found in at least 99 %. Exit code 1 if a goal is missed.

Run `python perf/accuracy/anova.py`: about 2 minutes on one core, 5 seconds with `--quick`, which misses some goals by chance.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import numpy as np
from frame import options_of

from regatta.stats.strata import strata_anova

ROWS = ("collector", "heap", "collector:heap")
HEAPS = 3


@dataclass(frozen=True)
class Case:
    """One kind of experiment. Standard deviations are shares of the value; `noisy_*`: factor of the first level's error."""

    name: str
    collectors: int = 3
    rounds: int = 10
    block_sd: float = 0.03
    round_sd: float = 0.0
    error_sd: float = 0.01
    noisy_collector: float = 1.0
    noisy_heap: float = 1.0
    missing: float = 0.0
    effect: float = 0.0

    @property
    def goal(self) -> tuple[float, float]:
        """Return the lowest and highest rate without an effect, in percent."""
        if self.rounds == 3:
            return 2.0, 8.0
        unequal = self.noisy_collector != 1.0 or self.noisy_heap != 1.0
        return 4.0, 7.0 if self.missing or unequal else 6.0


CASES = (
    Case("block SD 3 %"),
    Case("block SD 3 %", collectors=5),
    Case("block SD 1 %", block_sd=0.01),
    Case("block SD 1 %", collectors=5, block_sd=0.01),
    Case("block and round SD 3 %", round_sd=0.03),
    Case("5 rounds", rounds=5),
    Case("5 rounds", collectors=5, rounds=5),
    Case("3 rounds", rounds=3),
    Case("3 rounds, noisy collector", rounds=3, noisy_collector=10.0),
    Case("3 rounds, noisy heap", rounds=3, noisy_heap=10.0),
    Case("10 % of runs missing", missing=0.1),
    Case("10 % of runs missing", collectors=5, missing=0.1),
    Case("one collector 10 x noisier", noisy_collector=10.0),
    Case("one collector 10 x noisier", collectors=5, noisy_collector=10.0),
    Case("one heap 10 x noisier", noisy_heap=10.0),
    Case("one heap 10 x noisier", collectors=5, noisy_heap=10.0),
    Case("noisier collector, 10 % missing", collectors=5, noisy_collector=10.0, missing=0.1),
    Case("2 % between collectors", effect=0.02),
    Case("2 % between collectors", collectors=5, effect=0.02, missing=0.1),
)


def significant(case: Case, generator: np.random.Generator) -> list[bool]:
    """Return whether each row of the analysis of one simulated experiment is significant."""
    collector, heap, number = (axis.ravel() for axis in np.indices((case.collectors, HEAPS, case.rounds)))
    noisy = np.where(np.arange(HEAPS) == 0, case.noisy_heap, 1.0)
    blocks = case.block_sd * noisy * generator.normal(size=(case.rounds, HEAPS))
    deviation = case.error_sd * noisy[heap] * np.where(collector == 0, case.noisy_collector, 1.0)
    values = generator.normal(size=collector.size) * deviation + blocks[number, heap]
    values += case.round_sd * generator.normal(size=case.rounds)[number]
    values += math.log1p(case.effect) * (collector == 1)
    kept = generator.random(collector.size) >= case.missing
    found = strata_anova(
        values[kept],
        [("collector", collector[kept]), ("heap", heap[kept])],
        [("blocks", (number * HEAPS + heap)[kept]), ("rounds", number[kept])],
    )
    return [row.p < 0.05 for row in found.rows]


def main() -> int:
    """Print a table of rates and return the exit code."""
    options = options_of(__doc__, default=2000, quick=100, seed=20)
    replications = options.replications
    print(f"{'case':34}{'collectors':>11}" + "".join(f"{row:>24}" for row in ROWS) + f"{'goal':>9}")
    missed = 0
    for number, case in enumerate(CASES):
        generator = np.random.default_rng([options.seed, number])
        rates = 100.0 * np.mean([significant(case, generator) for _ in range(replications)], axis=0)
        shown = []
        for name, rate in zip(ROWS, rates.tolist(), strict=True):
            found = case.effect > 0.0 and name == "collector"
            low, high = (99.0, 100.0) if found else case.goal
            fair = 3.0 * 100.0 * math.sqrt(low / 100.0 * (1.0 - low / 100.0) / replications)
            good = low - fair <= rate <= high + fair
            missed += not good
            error = 100.0 * math.sqrt(max(rate * (100.0 - rate), 0.0) / 1e4 / replications)
            shown.append(f"{rate:.1f} % (SE {error:.1f}) {'ok' if good else 'MISSED':6}".rjust(24))
        goal = "{:g}-{:g} %".format(*case.goal)
        print(f"{case.name:34}{case.collectors:>11}" + "".join(shown) + f"{goal:>9}", flush=True)
    print(f"{replications} experiments per case; {missed} of {len(CASES) * len(ROWS)} goals missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
