"""How precise two alternatives are at once, and one after the other, in real runs. README.md explains the output.

    perf/run duet [--json] [--quick] [--directory FOLDER]

The second alternative of a program has 10 % more work. Both orders measure it in turns, on the host as it is, and while another
program takes 40 % of all processors in bursts of random length: a neighbor that slows the whole host. The peer is the order that
other tools have, one run at a time, here in randomized blocks.
"""

from __future__ import annotations

import math
import os
import random
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from command import run_command
from experiments import NEVER_PERTURBED, REGATTA, Unfit, call
from rows import Row, say

from regatta.answers.report.answer import answer_experiment
from regatta.answers.spine.result import Comparison
from regatta.answers.topics.duet.topic import DUETS
from regatta.host.duet.trial import MOST_SLOWER_PERCENT
from regatta.host.measure.topology import halve, read_topology

TURNS, QUICK_TURNS, ROUNDS, QUICK_ROUNDS = 5, 1, 20, 6
#: the second alternative has this share more work
MORE = 0.1
#: of all processors, while a burst lasts; its mean length, and that of a pause, in s
_TAKEN, _BURST_S = 0.4, 0.6
#: half-widths under load, of the peer's
_MOST_OF_PEER = 0.5
_SOURCE = """\
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    const char *work = getenv("TURNS");
    uint64_t turns = work ? strtoull(work, NULL, 10) : 0, x = 1;
    for (uint64_t i = 0; i < turns; i++) {
        x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    }
    return printf("%d\\n", (int)(x & 1)) < 0;
}
"""
_WORK = 200_000_000
ORDERS = ("duet", "randomized-blocks")


@contextmanager
def bursts(place: Path) -> Iterator[None]:
    """Take processor time on all CPUs at once, in bursts."""
    taker = place / "slower_cpu"
    if not taker.exists():
        call(place, "gcc", "-O2", "-o", str(taker), str(Path(__file__).with_name("slower_cpu.c")))
    draw = random.Random(1)
    done, allowed = threading.Event(), threading.Event()
    allowed.set()

    def take() -> None:
        while not done.wait(draw.expovariate(1.0 / _BURST_S)):
            takers = [
                subprocess.Popen([str(taker), str(cpu), f"{_TAKEN:.6f}"])
                for cpu in sorted(os.sched_getaffinity(0))
            ]
            try:
                done.wait(draw.expovariate(1.0 / _BURST_S))
                if any(process.poll() is not None for process in takers):
                    allowed.clear()
            finally:
                for process in takers:
                    process.kill()
                    process.wait()

    thread = threading.Thread(target=take)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
    if not allowed.is_set():
        raise Unfit("expected real-time priority for perf/slower_cpu.c; run this command as root")


def measured(place: Path, order: str, loaded: bool, turn: int, rounds: int) -> tuple[Comparison, float, str]:
    """Measure both alternatives; return their comparison, the time it took in s, and why the host refuses the order."""
    name = f"{order}-{'loaded' if loaded else 'quiet'}-{turn}"
    (place / f"{name}.yml").write_text(
        f"name: {name}\nsuites: [suite.yml]\nbenchmarks: [{{suite: paired, benchmark: work}}]\nseed: {turn}\norder: {order}\n"
        f"modifiers: {{less: {{environment: {{TURNS: '{_WORK}'}}}}, more: {{environment: {{TURNS: '{round(_WORK * (1 + MORE))}'}}}}}}\n"
        f"modifier_sets: [[less], [more]]\niterations: {{method: fixed}}\nmetric: process_elapsed\n"
        f"invocations: {{fixed: {rounds}}}\nsegment: {{rounds: {rounds}}}\n" + NEVER_PERTURBED
    )
    began = time.monotonic()
    with bursts(place) if loaded else nullcontext():
        done = subprocess.run(
            [REGATTA, "run", f"{name}.yml"], cwd=place, capture_output=True, text=True, check=False
        )
    elapsed_s = time.monotonic() - began
    if done.returncode not in (0, 1):
        raise Unfit(f"`regatta run` ended with exit code {done.returncode}: {done.stderr[-300:]}")
    answer = answer_experiment(place / "results" / name)
    refused = [test.trial.refused for test in DUETS.of(answer).tests if test.trial.refused]
    (comparison,) = answer.comparisons
    return comparison, elapsed_s, refused[0] if refused else ""


def measure(place: Path, quick: bool) -> list[Row]:
    """Return the rows of both conditions."""
    try:
        halve(os.sched_getaffinity(0), read_topology())
    except ValueError as error:
        raise Unfit(f"expected two cores, got {error}") from error
    turns, rounds = (QUICK_TURNS, QUICK_ROUNDS) if quick else (TURNS, ROUNDS)
    (place / "source").mkdir()
    (place / "source" / "work.c").write_text(_SOURCE)
    (place / "suite.yml").write_text(
        "suite: paired\nbuilds:\n  work:\n    directory: source\n    command: [gcc, -O2, -o, work, work.c]\n"
        "    outputs: {program: work}\n    needs: [gcc]\nbenchmarks:\n  work: {command: ['{work.program}']}\n"
    )
    rows = []
    for loaded in (False, True):
        widths: dict[str, list[float]] = {order: [] for order in ORDERS}
        points: dict[str, list[float]] = {order: [] for order in ORDERS}
        times: dict[str, list[float]] = {order: [] for order in ORDERS}
        refusals: list[str] = []
        for turn in range(turns):
            for order in ORDERS:
                found, elapsed_s, refused = measured(place, order, loaded, turn, rounds)
                if refused:
                    refusals.append(refused)
                    continue
                ratio = found.ratio
                widths[order].append(100.0 * math.expm1(math.log(ratio.high / ratio.low) / 2.0))
                points[order].append(100.0 * (ratio.point - 1.0))
                times[order].append(elapsed_s)
            say(f"{turn + 1} of {turns} turns; refused: {len(refusals)}")
        rows += _rows(loaded, widths, points, times, refusals)
    return rows


def _rows(
    loaded: bool,
    widths: dict[str, list[float]],
    points: dict[str, list[float]],
    times: dict[str, list[float]],
    refusals: list[str],
) -> list[Row]:
    where = "a loaded host" if loaded else "the host as it is"
    duet, blocks = ORDERS
    medians = {order: statistics.median(found) if found else None for order, found in widths.items()}
    ours, peer = medians[duet], medians[blocks]
    limit = None if peer is None or not loaded else _MOST_OF_PEER * peer
    details = {
        "widths": widths, "differences": points, "seconds": times, "refused": refusals, "most_slower": MOST_SLOWER_PERCENT,
    }  # fmt: skip
    typical = {order: statistics.median(found) if found else None for order, found in points.items()}
    return [
        Row(
            f"half-width of the ratio, {where}",
            "%",
            ours,
            peer,
            "one run at a time, in blocks" if peer is not None else "not measured",
            f"at most {_MOST_OF_PEER:g} of the peer's" if loaded else None,
            limit,
            (ours is not None and limit is not None and ours <= limit) if loaded else None,
            details=details,
        ),
        Row(
            f"{100 * MORE:g} % more work, as measured, {where}",
            "%",
            typical[duet],
            typical[blocks],
            "one run at a time, in blocks" if typical[blocks] is not None else "not measured",
            None,
            None,
            None,
        ),
    ]


if __name__ == "__main__":
    sys.exit(run_command(__doc__ or "", measure))
