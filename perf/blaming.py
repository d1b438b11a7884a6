"""Whether a change of 5 % is blamed on what changed, in real runs on this machine. README.md explains the output.

    perf/run blaming [--json] [--quick] [--directory FOLDER]

A trial has six experiments of a program with the canary as it is, six on a host of which another program takes a share so that all
others need 5 % longer, and six with 5 % more work. `regatta history` compares the first six with each of the others. The peer is
the same history without the canary: each shift of the program would be called a change of the program.

The share is taken in turns of a millisecond, by a program with real-time priority. A quota of processor time would not do: it stops
a program once in 100 ms, which a program of 0.2 s meets once or twice, and another one more often.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from command import run_command
from experiments import NEVER_PERTURBED, REGATTA, Unfit, call
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
#: what changed -> share of the processor that another program takes, and turns of the program
CHANGES = {
    "nothing": (0.0, 200_000_000),
    "host": (1.0 - 1.0 / 1.05, 200_000_000),
    "program": (0.0, 210_000_000),
}
#: the last CPU measures
_CPU = max(os.sched_getaffinity(0))


@contextmanager
def slower_host(place: Path, share: float) -> Iterator[None]:
    """Let another program take a share of the measuring CPU."""
    if not share:
        yield
        return
    taker = place / "slower_cpu"
    if not taker.exists():
        call(place, "gcc", "-O2", "-o", str(taker), str(Path(__file__).with_name("slower_cpu.c")))
    process = subprocess.Popen([str(taker), str(_CPU), f"{share:.6f}"])
    try:
        time.sleep(0.1)
        if process.poll() is not None:
            raise Unfit("expected real-time priority for perf/slower_cpu.c; run this command as root")
        yield
    finally:
        process.kill()
        process.wait()


def measured(place: Path, trial: int, changed: str, number: int) -> Path:
    """Measure the program and the canary; return the folder of the results."""
    share, turns = CHANGES[changed]
    name = f"{changed}-{trial:02d}-{number}"
    (place / f"{name}-suite.yml").write_text(_SUITE.replace("TURNS", str(turns)))
    (place / f"{name}.yml").write_text(
        f"name: {name}\nsuites: [{name}-suite.yml]\nbenchmarks: [{{suite: blamed, benchmark: work}}]\n"
        f"canary: {{suite: canary, benchmark: processor}}\nseed: {trial}\n"
        f"iterations: {{method: fixed}}\ninvocations: {{fixed: {ROUNDS}}}\nsegment: {{rounds: {ROUNDS}}}\n"
        f"cores: {{use: cpus, cpus: [{_CPU}]}}\n" + NEVER_PERTURBED
    )
    with slower_host(place, share):
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
