"""Show how often `regatta history` blames a change on the host or on the program, when one of them changed by 5 %.

Each experiment has 10 rounds of a program and of the canary. What slows a round slows both (SD 1 %); each has noise of its
own (SD 1 %), and an effect of the day of its own (SD 0.3 %); the host has one that both share (SD 0.5 %). `depends` is how much
of a change of the host reaches the program: 1 as it reaches the canary. The last columns are the shares of histories in which the
change in the middle was blamed on each cause; without a change, those with any shift. The goal is for five experiments or more:
fewer do not show how much days vary. Without a canary, a change of the host would be one of the program. It takes about four
minutes.

    .venv/bin/python perf/accuracy/canary.py [--quick] [--replications N]
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from dataclasses import dataclass

import numpy as np
from frame import ERRORS, error_of, options_of

from regatta.answers.history.canary import Cause, cause_of, same_place
from regatta.stats.shifts import EXPERIMENTS, INVOCATIONS, LEAST_TO_SEE_VARIATION, find_shifts

_ROUNDS, _CHANGE = 10, math.log(1.05)
_OF_ROUND, _OWN, _OF_HOST, _OF_PROGRAM = 0.01, 0.01, 0.005, 0.003
#: 19 of 20
_GOAL = 95.0
CAUSES: tuple[Cause, ...] = ("host", "program", "both", "")


@dataclass(frozen=True)
class Case:
    """One setting. `right`: the cause that the goal is for; "": none is required."""

    experiments: int
    host: bool
    program: bool
    depends: float = 1.0
    right: Cause = ""


CASES = (
    *(Case(n, True, False, right="host") for n in (2, 4, 8, 20)),
    *(Case(n, False, True, right="program") for n in (2, 4, 8, 20)),
    *(Case(n, True, True, right="both") for n in (2, 4, 8, 20)),
    *(Case(n, False, False) for n in (2, 4, 8, 20)),
    *(Case(8, True, False, depends) for depends in (0.8, 0.5, 0.0)),
)


def history(random: np.random.Generator, case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Return the logarithms of program and canary, each of shape (experiments, rounds)."""
    shape = (case.experiments, _ROUNDS)
    after = (np.arange(case.experiments) >= case.experiments // 2)[:, np.newaxis]
    of_host = random.normal(0.0, _OF_HOST, (case.experiments, 1)) + _CHANGE * (after & case.host)
    of_round = random.normal(0.0, _OF_ROUND, shape)
    canary, program = (
        random.normal(0.0, _OF_PROGRAM, (case.experiments, 1)) + random.normal(0.0, _OWN, shape) + of_round
        for _ in range(2)
    )
    return program + case.depends * of_host + _CHANGE * (after & case.program), canary + of_host


def blamed(program: np.ndarray, canary: np.ndarray) -> dict[int, Cause]:
    """Return experiment -> cause, of the shifts of the program as measured and at one speed of its host."""
    raw, bird, own = (find_shifts(list(np.exp(logs))) for logs in (program, canary, program - canary))
    of_program, of_host = (
        {shift.at: math.log(shift.ratio.interval.point) for shift in found.shifts} for found in (own, bird)
    )
    found = {at: cause_of(at, of_program, of_host, own.unit) for at in of_program}
    return found | {shift.at: cause_of(shift.at, of_program, of_host, raw.unit) for shift in raw.shifts}


def measure(case: Case, replications: int, seed: int) -> dict[Cause, float]:
    """Return the percentage of histories with each cause of the change; without a change, of any shift."""
    random = np.random.default_rng([seed, CASES.index(case)])
    counts: Counter[Cause] = Counter()
    place = case.experiments // 2
    unit = EXPERIMENTS if case.experiments >= LEAST_TO_SEE_VARIATION else INVOCATIONS
    for _ in range(replications):
        found = blamed(*history(random, case))
        anywhere = not (case.host or case.program)
        counts.update({cause for at, cause in found.items() if anywhere or same_place(at, [place], unit)})
    return {cause: 100.0 * counts[cause] / replications for cause in CAUSES}


def main() -> int:
    """Print the table; return 1 if a goal is missed."""
    options = options_of(__doc__, default=1000, quick=50)
    replications = options.replications
    missed = 0
    print(
        f"{replications} histories per row; a goal ({_GOAL:.0f} %) holds within 3 Monte-Carlo standard errors (±)"
    )
    print("experiments  changed           depends    host %  program %     both %  unknown %     ±")
    for case in CASES:
        found = measure(case, replications, options.seed)
        percent = found[case.right] if case.right else 50.0
        error = 100.0 * error_of(percent / 100.0, replications)
        bad = (
            case.experiments >= LEAST_TO_SEE_VARIATION
            and bool(case.right)
            and percent + ERRORS * error < _GOAL
        )
        missed += bad
        changed = (
            " and ".join(name for name, is_so in (("host", case.host), ("program", case.program)) if is_so)
            or "nothing"
        )
        shares = "  ".join(f"{found[cause]:9.1f}" for cause in CAUSES)
        print(
            f"{case.experiments:11}  {changed:16}  {case.depends:7.1f} {shares}  {error:4.1f}{'  MISSED' if bad else ''}",
            flush=True,
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
