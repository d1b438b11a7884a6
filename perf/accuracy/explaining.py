"""Show how often an explanation of a difference is wrong, when what each part contributes is known.

A program has parts of known time. Each run varies by 1 % as a whole, and each part by 3 % of its own (SD, of logarithms); heavy
tails are those of Student's distribution with 4 degrees of freedom. A profile of 10 rounds counts samples of a part as Poisson
numbers, which vary more than samples by a timer do. The difference of the elapsed time is measured by 10 other rounds.

`false causes`: explanations that name a part which did not change; the goal is at most 5 %. `hold`: explanations in which the
intervals of all parts contain the truth, and in which that of the unexplained rest does; the goal is at least 95 %. `found`:
changed parts that are named. It takes about half a minute.

    .venv/bin/python perf/accuracy/explaining.py [--quick] [--replications N]
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from frame import ERRORS, error_of, options_of

from regatta.answers.explanation.division import RARE, Run, divide
from regatta.answers.explanation.work import Work
from regatta.host.counters.profile import FREQUENCY_HZ
from regatta.stats.estimate import Interval
from regatta.stats.intervals import mean_interval

_ROUNDS, _OF_RUN, _OF_PART = 10, 0.01, 0.03
_LEVEL, _MOST_FALSE, _LEAST_HELD = 0.95, 5.0, 95.0
#: shares of the parts of the program; 1 - their sum is waiting
PARTS = {"a": 0.4, "b": 0.2, "c": 0.1, "d": 0.1, "e": 0.05, "f": 0.03, "g": 0.01, "h": 0.006}
WAITS = 1.0 - math.fsum(PARTS.values())


@dataclass(frozen=True)
class Case:
    """One setting. `changes`: part -> what it adds, as a share of the whole. `seconds`: of a run. `processors`: of threads at once."""

    changes: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 1.0
    heavy: bool = False
    processors: int = 1


CASES = (
    *(Case(seconds=s, heavy=heavy) for s in (0.2, 1.0, 5.0) for heavy in (False, True)),
    Case(processors=2),
    *(Case({part: 0.05}, seconds=s) for part in ("a", "d", "g") for s in (0.2, 1.0, 5.0)),
    Case({"b": 0.052, "e": 0.011}),
    Case({"b": 0.052, "e": 0.011}, heavy=True),
    Case({"b": 0.052, "e": 0.011}, processors=2),
    Case({"a": -0.05, "d": 0.1}),
)


def stack_of(part: str) -> str:
    """Return a stack in which a function has the name of the part."""
    return f"p;main (p);{part} (p)"


class Program:
    """A program whose runs vary."""

    def __init__(self, random: np.random.Generator, case: Case) -> None:
        self._random, self._case = random, case

    def _factor(self, deviation: float) -> float:
        noise = self._random.standard_t(4) / math.sqrt(2.0) if self._case.heavy else self._random.normal()
        return math.exp(deviation * noise)

    def _times(self, changed: bool) -> tuple[dict[str, float], float]:
        """Return the true time of each part of one run in s, and its waiting."""
        of_run = self._case.seconds * self._factor(_OF_RUN)
        added = self._case.changes if changed else {}
        times = {
            part: of_run * (share + added.get(part, 0.0)) * self._factor(_OF_PART)
            for part, share in PARTS.items()
        }
        return times, of_run * WAITS * self._factor(_OF_PART)

    def elapsed(self, changed: bool) -> float:
        """Return the elapsed time of one run in s."""
        times, waiting = self._times(changed)
        return math.fsum(times.values()) / self._case.processors + waiting

    def profiled(self, changed: bool) -> Run:
        """Return the profile of one run."""
        times, waiting = self._times(changed)
        sampled = {
            stack_of(part): self._random.poisson(used_s * FREQUENCY_HZ) / FREQUENCY_HZ
            for part, used_s in times.items()
        }
        elapsed_s = math.fsum(times.values()) / self._case.processors + waiting
        return Run(elapsed_s, sampled, False, elapsed_s, math.fsum(sampled.values()))


@dataclass
class Counts:
    """Explanations by what they got right."""

    false_causes: int = 0
    held: int = 0
    rest_held: int = 0
    found: int = 0


def explain_once(program: Program, case: Case, counts: Counts) -> None:
    """Explain one difference, and count what is right."""
    measured = mean_interval(
        [program.elapsed(True) / program.elapsed(False) - 1.0 for _ in range(_ROUNDS)], _LEVEL
    )
    pairs = [(program.profiled(False), program.profiled(True)) for _ in range(_ROUNDS)]
    found = divide(pairs, measured, _LEVEL)
    # With threads at once, only the parts on a processor are divided.
    whole = 1.0 if found.quantity == "elapsed time" else 1.0 - WAITS
    work = Work([])
    truth = {work.name(stack_of(part)): added / whole for part, added in case.changes.items()}
    known = [(part, truth.get(part.name, 0.0)) for part in found.parts if part.name != RARE]
    causes = [part.name for part in found.parts if part.is_cause]
    counts.false_causes += any(part.is_cause and true == 0.0 for part, true in known)
    counts.held += all(holds(part.contribution, true) for part, true in known)
    rest = math.fsum(added for name, added in truth.items() if name not in causes)
    counts.rest_held += holds(found.unexplained, rest)
    counts.found += sum(name in causes for name in truth)


def holds(interval: Interval, true: float) -> bool:
    """Return whether an interval contains the truth. Without spread there is no interval, and nothing is said."""
    return math.isnan(interval.low) or interval.low <= true <= interval.high


def main() -> int:
    """Print the table; return 1 if a goal is missed."""
    options = options_of(__doc__, default=1000, quick=100)
    n, missed = options.replications, 0
    print(f"{n} explanations per row; a goal holds within 3 Monte-Carlo standard errors")
    print(
        "changed parts         s of a run  tails   processors  false causes  parts hold  rest holds  found (%)"
    )
    for at, case in enumerate(CASES):
        counts = Counts()
        program = Program(np.random.default_rng([options.seed, at]), case)
        for _ in range(n):
            explain_once(program, case, counts)
        false, held, rest = (100.0 * one / n for one in (counts.false_causes, counts.held, counts.rest_held))
        slack = [ERRORS * 100.0 * error_of(goal / 100.0, n) for goal in (_MOST_FALSE, _LEAST_HELD)]
        bad = false > _MOST_FALSE + slack[0] or held < _LEAST_HELD - slack[1]
        missed += bad
        changed = ", ".join(f"{part} {100 * added:+.1f} %" for part, added in case.changes.items()) or "none"
        found = f"{100.0 * counts.found / (n * len(case.changes)):9.1f}" if case.changes else "        -"
        print(
            f"{changed:20}  {case.seconds:10.1f}  {'heavy' if case.heavy else 'normal':6}  {case.processors:10}  {false:12.1f}"
            f"  {held:10.1f}  {rest:10.1f}  {found}{'  MISSED' if bad else ''}",
            flush=True,
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
