"""Machine time of rules that stop measuring, on published measurements. README.md explains the output.

    perf/run deciding [--json] [--quick] [--replays N]

A replay is a family of 20 comparisons: five alternatives against a baseline for four programs of DaCapo, 30 rounds drawn from the
published invocations with replacement. So the true ratios are known. The alternatives are five collectors against G1
(`tests/reference/dacapo_collectors.csv`), five heap sizes against twice the minimum heap (`dacapo_heaps.csv`), and G1 against itself.
Every rule decides about the same rounds; a family has 5 % of error in all (Sidak).
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rows import Row, print_rows, say

from regatta.host.journal.early_decisions import decide_early
from regatta.host.journal.looks import looks_until
from regatta.host.journal.stopping import Pair, Rule, decide
from regatta.planner.stopping import t_quantiles
from regatta.stats.looks import level_of_looks

REFERENCE = Path(__file__).parents[1] / "tests" / "reference"
#: heap sizes, in multiples of the minimum heap; the first is the baseline
HEAPS = ("2", "3", "4", "6", "8", "10")
BASELINE = "baseline"
LEVEL, ROUNDS, RELEVANT, PROGRAMS = 0.95, 30, 2.0, 4
PILOT, TARGET = 10, 2.0
SEED = 20070101
EQUAL = "equal programs"
#: goals, in percent: of the machine time of all rounds if alternatives differ, and of families with a wrong answer
MOST_TIME, MOST_WRONG = 100 / 3, 5.0

Floats = NDArray[np.float64]
#: collector -> seconds by round
Runs = Mapping[str, Floats]


@dataclass
class Verdict:
    """What a rule says about the alternatives of one program: its answers, and the rounds that each alternative ran."""

    answers: Mapping[str, str]
    rounds: Mapping[str, int]


@dataclass
class Tally:
    """Sums over all replays."""

    seconds: float = 0.0
    answers: Counter[str] = field(default_factory=Counter)
    same: int = 0
    wrong: int = 0
    wrong_families: int = 0
    by_answer: Counter[str] = field(default_factory=Counter)


def read(name: str, column: str, wanted: Sequence[str]) -> dict[str, dict[str, Floats]]:
    """Return program -> alternative -> seconds, of programs that have all; the first alternative is the baseline."""
    lines = (REFERENCE / name).read_text(encoding="utf-8").splitlines()
    found: dict[str, dict[str, Floats]] = {}
    for row in csv.DictReader(line for line in lines if not line.startswith("#")):
        if row[column] in wanted:
            seconds = np.array([float(word) for word in row["seconds"].split()])
            found.setdefault(row["benchmark"], {})[row[column]] = seconds
    return {
        program: {BASELINE: of[wanted[0]], **{one: of[one] for one in wanted[1:]}}
        for program, of in found.items()
        if len(of) == len(wanted)
    }


def data() -> dict[str, dict[str, dict[str, Floats]]]:
    """Return what is compared -> program -> alternative -> seconds."""
    collectors = read(
        "dacapo_collectors.csv", "collector", ("G1", "Parallel", "Serial", "Shenandoah", "Z", "Zgen")
    )
    equal = {program: dict.fromkeys(of, of[BASELINE]) for program, of in collectors.items()}
    return {
        "collectors": collectors,
        "heap sizes": read("dacapo_heaps.csv", "heap_factor", HEAPS),
        EQUAL: equal,
    }


def fixed(runs: Runs, level: float, rounds: Mapping[str, int] | None = None) -> Verdict:
    """Decide by the ordinary intervals after all rounds, or after those that a rule ran."""
    ran = dict.fromkeys(runs, ROUNDS) if rounds is None else rounds
    answers = {}
    for name in runs:
        if name != BASELINE:
            n = min(ran[name], ran[BASELINE])
            answers[name] = judged(np.log(runs[name][:n]) - np.log(runs[BASELINE][:n]), level)
    return Verdict(answers, ran)


def judged(differences: Floats, level: float) -> str:
    n, mean = differences.size, float(differences.mean())
    half = t_quantiles(level, n - 1)[-1] * float(differences.std(ddof=1)) / math.sqrt(n)
    if abs(mean) + half < math.log1p(RELEVANT / 100):
        return "equivalent"
    return "undecided" if abs(mean) <= half else "less" if mean < 0 else "greater"


def pairs_of(runs: Runs) -> list[Pair]:
    base = np.log(runs[BASELINE])
    return [
        Pair(name, BASELINE, "", (np.log(own) - base).tolist(), "", range(ROUNDS))
        for name, own in runs.items()
        if name != BASELINE
    ]


def early(runs: Runs, rule: Rule) -> Verdict:
    logs = {name: {"": [dict(enumerate(np.log(own).tolist()))]} for name, own in runs.items()}
    found = decide_early(rule, pairs_of(runs), logs, list(runs), 0, ROUNDS)
    return Verdict({one.a: one.outcome or "" for one in found.pairs}, found.cells)


def stein(runs: Runs, rule: Rule, level: float) -> Verdict:
    pilot = [Pair(p.a, p.b, "", p.differences[:PILOT], "", p.rounds[:PILOT]) for p in pairs_of(runs)]
    logs = {name: np.log(own[:PILOT]).tolist() for name, own in runs.items()}
    needed = decide(rule, pilot, logs, PILOT).needed or ROUNDS
    return fixed(runs, level, dict.fromkeys(runs, needed))


def each_alone(runs: Runs, level: float, is_enough: Callable[[Floats], bool]) -> Verdict:
    """Stop each alternative alone as soon as its values suffice."""
    rounds = {
        name: next((n for n in looks_until(ROUNDS) if is_enough(own[:n])), ROUNDS)
        for name, own in runs.items()
    }
    return fixed(runs, level, rounds)


def narrow_mean(values: Floats) -> bool:
    half = t_quantiles(LEVEL, values.size - 1)[-1] * values.std(ddof=1) / math.sqrt(values.size)
    return bool(half <= TARGET / 100 * values.mean())


def small_cov(values: Floats) -> bool:
    return bool(values.std(ddof=1) <= TARGET / 100 * values.mean())


def is_wrong(answer: str, difference: float) -> bool:
    if answer == "equivalent":
        return abs(difference) >= math.log1p(RELEVANT / 100)
    return (answer == "less" and difference >= 0) or (answer == "greater" and difference <= 0)


def replay(programs: Mapping[str, Mapping[str, Floats]], replays: int) -> dict[str, Tally]:
    """Return the sums of each rule."""
    alternatives = next(iter(programs.values()))
    level = LEVEL ** (1 / (PROGRAMS * (len(alternatives) - 1)))
    quantiles = t_quantiles(level_of_looks(level, ROUNDS), ROUNDS - 1)
    of_decide = Rule("decide", 3, ROUNDS, RELEVANT, quantiles)
    of_stein = Rule("stein", PILOT, ROUNDS, TARGET, t_quantiles(LEVEL, ROUNDS - 1))
    rules: dict[str, Callable[[Runs], Verdict]] = {
        "fixed": lambda runs: fixed(runs, level),
        "decide": lambda runs: early(runs, of_decide),
        "stein": lambda runs: stein(runs, of_stein, level),
        "mean (JavaStats)": lambda runs: each_alone(runs, level, narrow_mean),
        "CoV": lambda runs: each_alone(runs, level, small_cov),
    }
    tallies = {name: Tally() for name in rules}
    rng = np.random.default_rng(SEED)
    names = list(programs)
    for _ in range(replays):
        wrong = dict.fromkeys(rules, 0)
        for program in rng.choice(names, PROGRAMS, replace=False).tolist():
            of = programs[program]
            runs = {name: rng.choice(values, ROUNDS) for name, values in of.items()}
            true = {
                name: float(np.log(values).mean() - np.log(of[BASELINE]).mean())
                for name, values in of.items()
            }
            reference = rules["fixed"](runs).answers
            for rule, judge in rules.items():
                verdict, tally = judge(runs), tallies[rule]
                for name, own in runs.items():
                    spent = float(own[: verdict.rounds[name]].sum())
                    tally.seconds += spent
                    tally.by_answer[verdict.answers.get(name, "baseline")] += spent
                for name, answer in verdict.answers.items():
                    tally.answers[answer] += 1
                    tally.same += answer == reference[name]
                    wrong[rule] += is_wrong(answer, true[name])
        for rule, count in wrong.items():
            tallies[rule].wrong += count
            tallies[rule].wrong_families += count > 0
    return tallies


def rows_of(compared_what: str, tallies: Mapping[str, Tally], replays: int) -> list[Row]:
    base = tallies["fixed"]
    compared = base.answers.total()
    rows = []
    for rule, tally in tallies.items():
        time, wrong = 100 * tally.seconds / base.seconds, 100 * tally.wrong_families / replays
        has_goal = rule == "decide"
        details = {
            "answers": {name: count / compared for name, count in tally.answers.items()},
            "time_by_answer": {name: spent / base.seconds for name, spent in tally.by_answer.items()},
            "wrong_answers": tally.wrong / compared,
        }
        saves = has_goal and compared_what != EQUAL
        goal, holds = ("at most", time <= MOST_TIME) if saves else (None, None)
        rows.append(
            Row(
                f"{compared_what}, {rule}: machine time",
                "% of 30 rounds",
                time,
                100.0,
                "30 rounds",
                goal,
                MOST_TIME if saves else None,
                holds,
                details=details,
            )
        )
        rows.append(
            Row(
                f"{compared_what}, {rule}: the same answers",
                "%",
                100 * tally.same / compared,
                100.0,
                "30 rounds",
                None,
                None,
                None,
            )
        )
        error = 100 * math.sqrt(0.05 * 0.95 / replays)
        goal, holds = ("at most", wrong <= MOST_WRONG + 3 * error) if has_goal else (None, None)
        peer = 100 * base.wrong_families / replays
        rows.append(
            Row(
                f"{compared_what}, {rule}: families with a wrong answer",
                "%",
                wrong,
                peer,
                "30 rounds",
                goal,
                MOST_WRONG if has_goal else None,
                holds,
            )
        )
    return rows


def options_of(description: str | None) -> tuple[bool, int]:
    """Return whether to print JSON, and the number of replays, from the command line."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quick", action="store_true", help="50 replays")
    parser.add_argument("--replays", type=int, default=2000, help="default 2,000: some minutes")
    arguments = parser.parse_args()
    return arguments.json, 50 if arguments.quick else arguments.replays


def main() -> int:
    as_json, replays = options_of(__doc__)
    say(f"{replays} families of 20 comparisons")
    rows = [
        row for name, programs in data().items() for row in rows_of(name, replay(programs, replays), replays)
    ]
    print_rows(rows, as_json)
    return 1 if any(row.holds is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
