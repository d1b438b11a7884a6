"""Whether a change of 5 % is blamed on what changed, in real runs on this machine. README.md explains the output.

    perf/run blaming [--json] [--quick] [--directory FOLDER]

A trial has six experiments of a program with the canary as it is, six on a host that a quota of processor time slows by 5 %, and six
with 5 % more work. `regatta history` compares the first six with each of the others. The peer is the same history without
the canary: each shift of the program would be called a change of the program.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from command import run_command
from experiments import NEVER_PERTURBED, REGATTA, call
from rows import Row, say

from regatta.answers.history.compute import history_of
from regatta.stats.proportion import proportion_interval

EXPERIMENTS, ROUNDS, TRIALS, QUICK_TRIALS = 6, 4, 20, 2
#: per cent of trials, of 20 one
MOST_WRONG = 5.0
_SOURCE = """\
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments) {
    uint64_t turns = count > 1 ? strtoull(arguments[1], NULL, 10) : 0, x = 1;
    for (uint64_t i = 0; i < turns; i++) {
        x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    }
    return printf("%d\\n", (int)(x & 1)) < 0;
}
"""
_SUITE = """\
suite: blamed
description: A program whose work can grow
builds:
  work:
    directory: source
    command: [gcc, -O2, -o, work, work.c]
    outputs: {program: work}
    needs: [gcc]
benchmarks:
  work: {command: ["{work.program}", "TURNS"]}
"""
#: what changed -> quota of processor time, and turns of the program
CHANGES = {"nothing": ("", 200_000_000), "host": ("0.952", 200_000_000), "program": ("", 210_000_000)}


def measured(place: Path, trial: int, changed: str, number: int) -> Path:
    """Measure the program and the canary; return the folder of the results."""
    quota, turns = CHANGES[changed]
    name = f"{changed}-{trial:02d}-{number}"
    (place / f"{name}-suite.yml").write_text(_SUITE.replace("TURNS", str(turns)))
    (place / f"{name}.yml").write_text(
        f"name: {name}\nsuites: [{name}-suite.yml]\nbenchmarks: [{{suite: blamed, benchmark: work}}]\n"
        f"canary: {{suite: canary, benchmark: processor}}\nseed: {trial}\n"
        f"iterations: {{method: fixed}}\ninvocations: {{fixed: {ROUNDS}}}\nsegment: {{rounds: {ROUNDS}}}\n"
        + (f"isolation: {{kind: cgroup, cpu_quota: {quota}}}\n" if quota else "")
        + NEVER_PERTURBED
    )
    call(place, REGATTA, "run", f"{name}.yml")
    return place / "results" / name


def blamed(folders: list[Path]) -> tuple[str, bool]:
    """Return the cause of the program's shift, `none` without a shift, and whether it shifted as measured."""
    (program,) = (one for one in history_of(folders).series if not one.is_canary)
    track = program.at_one_speed
    shifts = (*program.shifts, *(track.shifts if track is not None else ()))
    cause = next((shift.cause for shift in shifts if abs(shift.since - EXPERIMENTS) <= 1), None)
    return "none" if cause is None else cause or "not known", bool(program.shifts)


def measure(place: Path, quick: bool) -> list[Row]:
    """Return a row for each change."""
    trials = QUICK_TRIALS if quick else TRIALS
    (place / "source").mkdir()
    (place / "source" / "work.c").write_text(_SOURCE)
    causes: dict[str, Counter[str]] = {changed: Counter() for changed in ("host", "program")}
    called: Counter[str] = Counter()
    for trial in range(trials):
        folders = {
            changed: [measured(place, trial, changed, number) for number in range(EXPERIMENTS)]
            for changed in CHANGES
        }
        for changed, counts in causes.items():
            cause, shifted = blamed([*folders["nothing"], *folders[changed]])
            counts[cause] += 1
            called[changed] += shifted
        say(f"{trial + 1} of {trials} trials: " + "; ".join(f"{c}: {dict(n)}" for c, n in causes.items()))
    return [_row(changed, counts, called[changed], trials) for changed, counts in causes.items()]


def _row(changed: str, counts: Counter[str], called: int, trials: int) -> Row:
    wrong = 100.0 * (trials - counts[changed]) / trials
    peer = called if changed == "host" else trials - called
    interval = proportion_interval(trials - counts[changed], trials)
    return Row(
        f"{changed} slower by 5 %, not blamed on it alone",
        "%",
        wrong,
        100.0 * peer / trials,
        "without a canary: blamed on the program" if changed == "host" else "without a canary: not found",
        f"at most {MOST_WRONG:g} %",
        MOST_WRONG,
        wrong <= MOST_WRONG,
        details={
            "trials": trials,
            "causes": dict(counts),
            "low": 100 * interval.low,
            "high": 100 * interval.high,
        },
    )


if __name__ == "__main__":
    sys.exit(run_command(__doc__ or "", measure))
