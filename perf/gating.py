"""False alarms of `regatta gate`, and how often it finds a planted change. README.md explains the output.

    perf/run gating [--json] [--quick] [--replays N]

A replay is a gate over the 11 programs of DaCapo in `tests/reference/dacapo_collectors.csv`: the baseline, its copy and the
candidate are drawn with replacement from the published invocations of a program under G1. So the candidate is the baseline, or
slower by exactly the planted change. Peers judge the same 30 rounds: a threshold of 5 % on the ratio of means, of all rounds and of one; Welch's t
test of each benchmark without regard to the others.

The promise comes from ten earlier rounds of the baseline and its copy: the power of the t test with their spread.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from deciding import BASELINE, LEVEL, RELEVANT, ROUNDS, SEED, Floats, early, options_of, read
from rows import Row, print_rows, say
from scipy.special import nctdtr
from scipy.stats import ttest_ind

from regatta.answers.gate.compute import verdict_of
from regatta.host.journal.stopping import Rule
from regatta.planner.stopping import t_quantiles
from regatta.stats.all_pairs import simultaneous
from regatta.stats.estimate import Contrast
from regatta.stats.looks import adjusted_for_looks, level_of_looks
from regatta.stats.ratios import paired_log_ratio

PILOT = 10
CHANGES = (0.0, 2.0, 5.0)
THRESHOLD = 1.05
CANDIDATE, COPY = "candidate", "copy"
#: goals: percentage of gates with a false alarm, and percentage points by which fewer changes may be found than promised
MOST_WRONG, SHORT = 5.0, 1.0


@dataclass
class Tally:
    """Sums over all replays of one planted change."""

    verdicts: Counter[str] = field(default_factory=Counter)
    alarming_gates: int = 0
    #: rule of a peer -> changes that it reports, and gates with at least one
    reported: Counter[str] = field(default_factory=Counter)
    alarming: Counter[str] = field(default_factory=Counter)
    promised: float = 0.0
    seconds: float = 0.0
    all_seconds: float = 0.0


#: whether a rule says that the candidate (first) is slower than the baseline
PEERS: dict[str, Callable[[Floats, Floats], bool]] = {
    "one run, threshold 5 %": lambda a, b: bool(a[0] / b[0] > THRESHOLD),
    "30 runs, threshold 5 %": lambda a, b: bool(a.mean() / b.mean() > THRESHOLD),
    "30 runs, Welch at 5 %": lambda a, b: bool(
        ttest_ind(a, b, equal_var=False).pvalue < 0.05 and a.mean() > b.mean()
    ),
}


def together(programs: dict[str, Floats]) -> int:
    """Return how many comparisons share the error: those of the candidate and of the copy."""
    return 2 * len(programs)


def promise(pilot: Floats, change: float, level: float) -> float:
    """Return the chance that the last of all looks finds a change, with the spread of the pilot."""
    last = t_quantiles(level_of_looks(level, ROUNDS), ROUNDS - 1)[-1]
    centre = math.log1p(change / 100) / float(pilot.std(ddof=1)) * math.sqrt(ROUNDS)
    # Far beyond the quantile, the function is not defined.
    return 1.0 if centre > last + 20 else 1.0 - float(nctdtr(ROUNDS - 1, centre, last))


def gates(programs: dict[str, Floats], change: float, replays: int) -> Tally:
    level = LEVEL ** (1 / together(programs))
    rule = Rule("decide", 3, ROUNDS, RELEVANT, t_quantiles(level_of_looks(level, ROUNDS), ROUNDS - 1))
    rng, tally = np.random.default_rng([SEED, round(100 * change)]), Tally()
    for _ in range(replays):
        alarmed, peers = False, set()
        for values in programs.values():
            runs = {name: rng.choice(values, ROUNDS) for name in (BASELINE, CANDIDATE, COPY)}
            runs[CANDIDATE] = runs[CANDIDATE] * (1 + change / 100)
            found = early(runs, rule)
            verdict = judged(runs, found.rounds, together(programs))
            tally.verdicts[verdict] += 1
            alarmed = alarmed or verdict in ("better", "worse")
            tally.seconds += sum(float(own[: found.rounds[name]].sum()) for name, own in runs.items())
            # Others need no copy.
            tally.all_seconds += float(runs[BASELINE].sum() + runs[CANDIDATE].sum())
            for name, says in PEERS.items():
                if says(runs[CANDIDATE], runs[BASELINE]):
                    tally.reported[name] += 1
                    peers.add(name)
            if change:
                pilot = np.log(rng.choice(values, PILOT)) - np.log(rng.choice(values, PILOT))
                tally.promised += promise(pilot, change, level)
        tally.alarming_gates += alarmed
        tally.alarming.update(peers)
    return tally


def judged(runs: dict[str, Floats], rounds: dict[str, int], comparisons: int) -> str:
    """Return the verdict on the candidate, as `regatta gate` judges it."""

    def contrast(name: str) -> Contrast:
        a, b = (runs[side][: rounds[name]] for side in (name, BASELINE))
        nominal = paired_log_ratio(a, b, level_of_looks(LEVEL, ROUNDS))
        return simultaneous(adjusted_for_looks(nominal, LEVEL, ROUNDS), comparisons)

    if contrast(COPY).p < 1.0 - LEVEL:
        return "undecided"
    return verdict_of(contrast(CANDIDATE), "lower", RELEVANT)[0]


def rows_of(change: float, tally: Tally, replays: int) -> list[Row]:
    compared = tally.verdicts.total()
    details = {name: count / compared for name, count in tally.verdicts.items()}
    if not change:
        wrong, error = 100 * tally.alarming_gates / replays, 100 * math.sqrt(0.05 * 0.95 / replays)
        rows = [
            Row(
                "the same program: gates with a false alarm", "%", wrong, 100 * tally.alarming[peer] / replays, peer,
                "at most", MOST_WRONG, wrong <= MOST_WRONG + 3 * error, details=details,
            )
            for peer in PEERS
        ]  # fmt: skip
        return [*rows, _time("the same program", tally)]
    found, promised = 100 * tally.verdicts["worse"] / compared, 100 * tally.promised / compared
    error = 100 * math.sqrt(found / 100 * (1 - found / 100) / compared)
    what = f"{change:g} % slower"
    rows = [
        Row(
            f"{what}: changes found", "%", found, promised, "promised", "at least", promised - SHORT,
            found >= promised - SHORT - 3 * error, details=details,
        )
    ]  # fmt: skip
    rows += [
        Row(
            f"{what}: changes found",
            "%",
            found,
            100 * tally.reported[peer] / compared,
            peer,
            None,
            None,
            None,
        )
        for peer in PEERS
    ]
    return [*rows, _time(what, tally)]


def _time(what: str, tally: Tally) -> Row:
    spent = 100 * tally.seconds / tally.all_seconds
    return Row(f"{what}: machine time", "% of 30 rounds", spent, 100.0, "30 rounds", None, None, None)


def main() -> int:
    as_json, replays = options_of(__doc__)
    say(f"{replays} gates for each planted change")
    programs = {
        program: of[BASELINE] for program, of in read("dacapo_collectors.csv", "collector", ("G1",)).items()
    }
    rows = [row for change in CHANGES for row in rows_of(change, gates(programs, change, replays), replays)]
    print_rows(rows, as_json)
    return 1 if any(row.holds is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
