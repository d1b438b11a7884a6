"""Show how often the rule `decide` is wrong, and what it saves. Takes about eight minutes.

Two alternatives in blocks; relevant differences are 2 %, at most 30 rounds. Columns: share of replications with the answers
"smaller or larger", "equivalent" and "undecided"; with a wrong answer; whose last interval, adjusted for all looks, contains the
true ratio; mean number of rounds. Goals, within three Monte-Carlo errors, for every kind of values:

- a wrong answer in at most 5 %: the wrong direction, a difference where there is none, or "equivalent" where it is relevant;
- the interval contains the true ratio in at least 95 %.

Values: normal logarithms; skewed (exponential); heavy-tailed (Student, 3 degrees of freedom); every tenth run 20 % slower; each
difference depends on the one before (correlation 0.3).

A second table has several hosts that stop alone: how often the interval of the mean over hosts contains the true ratio, with the
goal of at least 95 %; how often it would without adjustment; and how often the interval of one alternative contains its mean.

A third table has hosts that decide together, after 3 rounds and then after each five: the columns are those of the first table, for
the mean difference over hosts. The difference of a host is up to one point larger or smaller, and the last host varies three times
as much as the others.

Run: .venv/bin/python perf/accuracy/deciding.py [--quick] [--replications N]
     .venv/bin/python perf/accuracy/deciding.py --table     the levels of looks (src/regatta/stats/looks.py); takes minutes
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
from frame import ERRORS, error_of, options_of
from numpy.typing import NDArray
from scipy.special import stdtr

from regatta.fleet.deciding import mean_pair
from regatta.host.journal.early_decisions import decide_early
from regatta.host.journal.looks import looks_until
from regatta.host.journal.stopping import Pair, PairDecision, Rule
from regatta.planner.stopping import t_quantiles
from regatta.stats.hosts import paired_effect, pool_hosts
from regatta.stats.intervals import mean_interval
from regatta.stats.looks import level_of_looks

SEED = 20070144
LEVEL, MAXIMUM, RELEVANT = 0.95, 30, 2.0
NOISES = (0.01, 0.03)
DIFFERENCES = (0.0, 0.01, 0.02, 0.04, 0.1)
HOSTS, DIFFERENCES_OF_HOSTS = (2, 4, 8), (0.0, 0.02)
#: the smallest errors of the table need many series
TABLE_SERIES, TABLE_BATCH = 3_000_000, 250_000
ERROR_RATES = (0.9, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005)
MAXIMA = (3, 5, 7, 10, 15, 21, 31, 50, 98, 191, 495, 967, 2074, 4890, 10_000)

Floats = NDArray[np.float64]


def normal(rng: np.random.Generator, n: int) -> Floats:
    return rng.standard_normal(n)


def skewed(rng: np.random.Generator, n: int) -> Floats:
    return rng.exponential(size=n) - 1.0


def heavy(rng: np.random.Generator, n: int) -> Floats:
    return rng.standard_t(3, n) / math.sqrt(3.0)


def dependent(rng: np.random.Generator, n: int) -> Floats:
    found = rng.standard_normal(n)
    for at in range(1, n):
        found[at] = 0.3 * found[at - 1] + math.sqrt(1 - 0.3**2) * found[at]
    return found


VALUES: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "normal": normal,
    "skewed": skewed,
    "heavy tails": heavy,
    "rare slow runs": normal,
    "dependent": dependent,
}
#: with these, neither intervals nor answers are promised; the rule has to notice them
NOT_PROMISED = ("rare slow runs", "dependent")


def rule_of(level: float, maximum: int) -> Rule:
    return Rule("decide", 3, maximum, RELEVANT, t_quantiles(level_of_looks(level, maximum), maximum - 1))


def trial(
    rule: Rule, values: str, noise: float, difference: float, rng: np.random.Generator
) -> tuple[PairDecision, Floats, Floats]:
    """Return the answer about one pair of alternatives, and the logarithms of both that it is from."""
    sides = [noise * VALUES[values](rng, MAXIMUM) for _ in range(2)]
    if values == "rare slow runs":
        sides = [side + np.log(1.2) * (rng.random(MAXIMUM) < 0.1) for side in sides]
    a, b = sides[0] + math.log1p(difference), sides[1]
    rounds = range(MAXIMUM)
    logs = {name: {"": [dict(enumerate(side.tolist()))]} for name, side in (("a", a), ("b", b))}
    pair = Pair("a", "b", "", (a - b).tolist(), "", rounds)
    found = decide_early(rule, [pair], logs, ["a", "b"], 0, MAXIMUM).pairs[0]
    return found, a[: found.needed], b[: found.needed]


def cases(
    seeds: list[int], differences: Sequence[float]
) -> Iterator[tuple[float, float, np.random.Generator]]:
    """Yield each noise and difference, with the random numbers of its row."""
    for noise, difference in product(NOISES, differences):
        yield noise, difference, np.random.default_rng([*seeds, round(1e4 * noise), round(1e4 * difference)])


def is_wrong(outcome: str, difference: float) -> bool:
    if outcome == "greater":
        return difference <= 0.0
    return outcome == "less" or (outcome == "equivalent" and difference >= RELEVANT / 100)


def simulate(replications: int, seed: int) -> int:
    """Print a row per kind of values, noise and difference; return how many goals are missed."""
    rule = rule_of(LEVEL, MAXIMUM)
    print(
        f"{'values':15} {'noise':>5} {'true':>5} {'differ':>7} {'equal':>7} {'open':>7} {'wrong':>16} {'contained':>16} {'rounds':>6}"
    )
    missed = 0
    for values in VALUES:
        for noise, difference, rng in cases([seed, len(values)], DIFFERENCES):
            counts: Counter[str] = Counter()
            wrong = contained = rounds = 0
            for _ in range(replications):
                found, a, b = trial(rule, values, noise, difference, rng)
                counts[found.outcome or ""] += 1
                wrong += is_wrong(found.outcome or "", difference)
                half = math.log1p((found.half_width_percent or 0.0) / 100)
                contained += abs(float((a - b).mean()) - math.log1p(difference)) <= half
                rounds += found.needed or MAXIMUM
            missed += print_row(
                f"{values:15}",
                noise,
                difference,
                counts,
                wrong,
                contained,
                rounds,
                replications,
                values not in NOT_PROMISED,
            )
    return missed


def print_row(
    name: str,
    noise: float,
    difference: float,
    counts: Counter[str],
    wrong: int,
    contained: int,
    rounds: int,
    replications: int,
    promised: bool = True,
) -> int:
    """Print the shares of answers, of wrong ones and of intervals that contain the true ratio; return how many goals are missed."""
    shares = [wrong / replications, contained / replications]
    errors = [error_of(share, replications) for share in shares]
    bad = (shares[0] > 1 - LEVEL + ERRORS * errors[0], shares[1] < LEVEL - ERRORS * errors[1])
    differ = counts["less"] + counts["greater"]
    cells = [f"{count / replications:7.1%}" for count in (differ, counts["equivalent"], counts["undecided"])]
    goals = [
        f"{share:7.2%} ±{error:5.2%}{'!' if off and promised else ' '}"
        for share, error, off in zip(shares, errors, bad, strict=True)
    ]
    print(
        f"{name} {noise:5.0%} {difference:5.0%} {' '.join(cells)} {' '.join(goals)} {rounds / replications:6.1f}"
    )
    return promised * sum(bad)


def simulate_hosts(replications: int, seed: int) -> int:
    """Print how often a mean over hosts that stop alone is contained in its interval; return how many goals are missed."""
    rule = rule_of(LEVEL, MAXIMUM)
    print(
        f"\n{'hosts':>5} {'noise':>5} {'true':>5} {'contained':>16} {'rounds as if fixed':>18} {'one alternative':>16}"
    )
    missed = 0
    for hosts in HOSTS:
        for noise, difference, rng in cases([seed, hosts], DIFFERENCES_OF_HOSTS):
            true = math.log1p(difference)
            counts = np.zeros(3)
            for _ in range(replications):
                found = [trial(rule, "normal", noise, difference, rng)[1:] for _ in range(hosts)]
                effects = [paired_effect(a - b) for a, b in found]
                intervals = [
                    pool_hosts(effects, LEVEL, looks=MAXIMUM).contrast.interval,
                    pool_hosts(effects, LEVEL).contrast.interval,
                    mean_interval(found[0][0], LEVEL),
                ]
                counts += [one.low <= true <= one.high for one in intervals]
            shares = counts / replications
            errors = [error_of(share, replications) for share in shares]
            bad = bool(shares[0] < LEVEL - ERRORS * errors[0])
            missed += bad
            print(
                f"{hosts:5} {noise:5.0%} {difference:5.0%} {shares[0]:7.2%} ±{errors[0]:5.2%}{'!' if bad else ' '}"
                f" {shares[1]:10.2%} ±{errors[1]:5.2%} {shares[2]:8.2%} ±{errors[2]:5.2%}"
            )
    return missed


def trial_together(
    rule: Rule, hosts: int, noise: float, difference: float, rng: np.random.Generator
) -> tuple[PairDecision, float]:
    """Return the answer of hosts that decide together, and by how much their interval misses the true mean: at most 0 if it contains it."""
    own = np.linspace(-0.01, 0.01, hosts)[:, None]
    spread = np.where(np.arange(hosts) == hosts - 1, 3.0, 1.0)[:, None] * noise * math.sqrt(2.0)
    rounds = math.log1p(difference) + own + spread * rng.standard_normal((hosts, MAXIMUM))
    pair = mean_pair([Pair("a", "b", "", one.tolist(), "", range(MAXIMUM)) for one in rounds])
    logs = {"a": {"": [dict(enumerate(one.tolist())) for one in rounds]}, "b": {}}
    found = decide_early(rule, [pair], logs, ["a", "b"], 0, MAXIMUM).pairs[0]
    seen = rounds[:, : found.needed]
    effects = [paired_effect(one) for one in seen]
    interval = pool_hosts(effects, LEVEL, looks=MAXIMUM, rounds=seen).contrast.interval
    return found, max(interval.low - math.log1p(difference), math.log1p(difference) - interval.high)


def simulate_together(replications: int, seed: int) -> int:
    """Print a row per number of hosts, noise and difference, of hosts that decide together; return how many goals are missed."""
    rule = replace(rule_of(LEVEL, MAXIMUM), looks_together=[*range(3, MAXIMUM, 5), MAXIMUM])
    print(
        f"\n{'together':>8} {'noise':>5} {'true':>5} {'differ':>7} {'equal':>7} {'open':>7} {'wrong':>16} {'contained':>16} {'rounds':>6}"
    )
    missed = 0
    for hosts in HOSTS:
        for noise, difference, rng in cases([seed, hosts, 1], DIFFERENCES):
            counts: Counter[str] = Counter()
            wrong = contained = rounds = 0
            for _ in range(replications):
                found, miss = trial_together(rule, hosts, noise, difference, rng)
                counts[found.outcome or ""] += 1
                wrong += is_wrong(found.outcome or "", difference)
                contained += miss <= 0.0
                rounds += found.needed or MAXIMUM
            missed += print_row(
                f"{hosts:8}", noise, difference, counts, wrong, contained, rounds, replications
            )
    return missed


def print_table(seed: int) -> None:
    """Print the nominal error of each look as a share of the error of all."""
    looks = looks_until(max(MAXIMA))
    rng = np.random.default_rng(seed)
    smallest: dict[int, list[Floats]] = {maximum: [] for maximum in MAXIMA}
    for _ in range(TABLE_SERIES // TABLE_BATCH):
        sums, squares, least = (np.full(TABLE_BATCH, start) for start in (0.0, 0.0, 1.0))
        n = 0
        for look in looks:
            added = rng.standard_normal(TABLE_BATCH) * math.sqrt(look - n)
            squares += added**2 / (look - n)
            if look - n > 1:
                squares += rng.chisquare(look - n - 1, TABLE_BATCH)
            sums += added
            n = look
            t = np.abs(sums) / n / np.sqrt((squares - sums**2 / n) / (n - 1) / n)
            least = np.minimum(least, 2.0 * stdtr(n - 1, -t))
            if look in smallest:
                smallest[look].append(least.astype(np.float32))
    for maximum, found in smallest.items():
        ordered = np.sort(np.concatenate(found))
        shares = [min(1.0, ordered[int(rate * TABLE_SERIES)] / rate) for rate in ERROR_RATES]
        print(f"{maximum:6} " + " ".join(f"{share:.3f}" for share in shares))


def main() -> int:
    """Return 1 if a goal is missed."""
    if "--table" in sys.argv:
        print_table(SEED)
        return 0
    options = options_of(__doc__, default=2000, quick=100, seed=SEED)
    tables = (simulate, simulate_hosts, simulate_together)
    return 1 if sum(table(options.replications, options.seed) for table in tables) else 0


if __name__ == "__main__":
    sys.exit(main())
