"""Cost of one invocation: ours, bare, and of peers, in alternating chunks."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import statistics
import time
from pathlib import Path

from experiments import BIN, Unfit, exit_program, plan, records, segment_command, timed, write_spec
from rows import HYPERFINE_MISSING, REBENCH_MISSING, Row, say

SEED = 1
CONFIGURATIONS = 2

_REBENCH = """\
default_experiment: all
default_data_file: rebench.data
benchmark_suites:
  perf: {{gauge_adapter: PlainSecondsLog, command: "%(benchmark)s", invocations: 1, benchmarks: [a, b]}}
executors:
  exit: {{path: {path}, executable: {name}}}
experiments:
  all: {{suites: [perf], executions: [exit]}}
"""


class Contenders:
    """Each method runs one chunk and returns the cost per invocation in ms."""

    def __init__(self, place: Path, chunks: int, rounds: int) -> None:
        self.place = place
        self.rounds = rounds
        self.invocations = CONFIGURATIONS * rounds
        self.program = exit_program(place)
        self.environment = {"PATH": os.environ.get("PATH", ""), "PERF": "m0000"}
        long = write_spec(place, "invocations", [self.program], chunks * rounds, rounds_per_segment=rounds)
        short = write_spec(place, "start", [self.program], chunks, rounds_per_segment=1)
        self.long, self.short = plan(place, long), plan(place, short)
        self.line = b"x" * 1600 + b"\n"

    def bare(self) -> float:
        """Return the median of starting a process and waiting for it."""
        return statistics.median(self._bare_once() for _ in range(self.invocations))

    def _bare_once(self) -> float:
        start_ns = time.perf_counter_ns()
        pid = os.posix_spawn(self.program, [self.program], self.environment)
        os.wait4(pid, 0)
        return (time.perf_counter_ns() - start_ns) / 1e6

    def sync(self) -> float:
        """Return the median of appending a line of record size and syncing it, between bare invocations as in a runner."""
        path = self.long / "journal" / "sync"
        path.parent.mkdir(exist_ok=True)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        times = []
        for _ in range(self.invocations):
            self._bare_once()
            start_ns = time.perf_counter_ns()
            os.write(fd, self.line)
            os.fdatasync(fd)
            times.append((time.perf_counter_ns() - start_ns) / 1e6)
        os.close(fd)
        path.unlink()
        return statistics.median(times)

    def ours(self, chunk: int) -> dict[str, float]:
        """Run one segment; return medians and overheads in ms.

        `period` is the median from start to start; `marginal` is the wall time per invocation less that of a one-round
        segment;
        the overheads of the runner are from its records."""
        total_s = timed(self.place, segment_command(self.long, chunk))
        start_s = timed(self.place, segment_command(self.short, chunk))
        found = records(self.long, chunk)
        if [record["status"] for record in found] != ["ok"] * self.invocations:
            raise Unfit(
                f"expected {self.invocations} invocations that are ok, in {len(found)} records they are not"
            )
        starts = [record["started_monotonic_ns"] for record in found]
        return {
            "period": statistics.median(b - a for a, b in itertools.pairwise(starts)) / 1e6,
            "marginal": (total_s - start_s) * 1e3 / (self.invocations - CONFIGURATIONS),
            "process": statistics.median(record["elapsed_ns"] for record in found) / 1e6,
            "runner_before": statistics.median(record["runner"]["before_ns"] for record in found) / 1e6,
            "runner_after": statistics.median(record["runner"]["after_ns"] for record in found) / 1e6,
        }

    def hyperfine(self) -> float:
        """Return wall time divided by the number of runs."""
        commands = [f"{self.program}", f"{self.program}"]
        command = ["hyperfine", "-N", "--style", "basic", "--runs", str(self.rounds), *commands]
        return timed(self.place, command) * 1e3 / self.invocations

    def rebench(self, invocations: int) -> float:
        """Return the wall time per invocation: a run with this many invocations per configuration, less a run with one."""
        program = Path(self.program)
        (self.place / "rebench.conf").write_text(_REBENCH.format(path=program.parent, name=program.name))
        command = [str(BIN / "rebench"), "-D", "-c", "rebench.conf"]
        many_s = timed(self.place, [*command, "-in", str(invocations)])
        one_s = timed(self.place, [*command, "-in", "1"])
        return (many_s - one_s) * 1e3 / (CONFIGURATIONS * (invocations - 1))


def measure_invocations(place: Path, quick: bool) -> list[Row]:
    """Return rows on the cost of one invocation."""
    chunks, rounds, rebench_invocations = (1, 50, 50) if quick else (5, 200, 1000)
    say(
        f"one invocation: {chunks} chunks of {CONFIGURATIONS} x {rounds} invocations, contenders taking turns"
    )
    contenders = Contenders(place, chunks, rounds)
    with_hyperfine = shutil.which("hyperfine") is not None
    with_rebench = (BIN / "rebench").exists() and Path(contenders.program).name == "exit"
    costs: dict[str, list[float]] = {}
    order = random.Random(SEED)
    for chunk in range(chunks):
        turns = ["bare", "sync", "ours", *["hyperfine"] * with_hyperfine, *["rebench"] * with_rebench]
        order.shuffle(turns)
        for turn in turns:
            if turn == "ours":
                for name, cost in contenders.ours(chunk).items():
                    costs.setdefault(name, []).append(cost)
            elif turn == "rebench":
                costs.setdefault(turn, []).append(contenders.rebench(rebench_invocations))
            else:
                costs.setdefault(turn, []).append(getattr(contenders, turn)())
    return [_beside_bare(costs), _beside_rebench(costs, contenders.program), _beside_hyperfine(costs)]


def _beside_bare(costs: dict[str, list[float]]) -> Row:
    limits = [2 * bare + sync for bare, sync in zip(costs["bare"], costs["sync"], strict=True)]
    share = _ratio(costs["period"], limits)
    median = {name: statistics.median(values) for name, values in costs.items()}
    return Row(
        what="one invocation, its record durable",
        unit="ms",
        ours=median["period"],
        peer=median["bare"],
        peer_name="bare: posix_spawn, wait4",
        goal="at most 2 x bare + one fdatasync",
        limit=median["period"] / share,
        holds=share <= 1,
        ratio=_ratio(costs["period"], costs["bare"]),
        details={
            "fdatasync": median["sync"],
            "share_of_limit": share,
            **{name: median[name] for name in ("marginal", "process", "runner_before", "runner_after")},
            "chunks": {name: [round(value, 4) for value in values] for name, values in costs.items()},
        },
    )


def _beside_rebench(costs: dict[str, list[float]], program: str) -> Row:
    row = Row(
        what="the same, wall time of a segment",
        unit="ms",
        ours=statistics.median(costs["marginal"]),
        peer=None,
        peer_name=REBENCH_MISSING,
        goal="below ReBench",
        limit=None,
        holds=False,
    )
    if "rebench" not in costs:
        if (BIN / "rebench").exists():
            row.peer_name = f"ReBench: NOT RUN; it needs a program that prints a number, and without gcc there is only {program}"
    elif statistics.median(costs["rebench"]) <= 0:
        row.peer_name = "ReBench: NOT MEASURED; its start-up varied by more than the time of its invocations"
    else:
        row.peer = statistics.median(costs["rebench"])
        row.peer_name = "ReBench, nothing synced"
        row.ratio = _ratio(costs["marginal"], costs["rebench"])
        row.limit = statistics.median(costs["marginal"]) / row.ratio
        row.holds = row.ratio < 1
    return row


def _beside_hyperfine(costs: dict[str, list[float]]) -> Row:
    there = "hyperfine" in costs
    return Row(
        what="the same, wall time of a segment",
        unit="ms",
        ours=statistics.median(costs["marginal"]),
        peer=statistics.median(costs["hyperfine"]) if there else None,
        peer_name="hyperfine -N, nothing recorded" if there else HYPERFINE_MISSING,
        goal=None,
        limit=None,
        holds=None,
        ratio=_ratio(costs["marginal"], costs["hyperfine"]) if there else None,
    )


def _ratio(ours: list[float], peers: list[float]) -> float:
    """Return the median of the ratios, each from chunks of the same turn."""
    return statistics.median(a / b for a, b in zip(ours, peers, strict=True))
