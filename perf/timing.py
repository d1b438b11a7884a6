"""`regatta time` and hyperfine: the same commands and numbers of runs, in alternating turns."""

from __future__ import annotations

import shutil
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from command import run_command
from experiments import REGATTA, exit_program, records, timed
from rows import HYPERFINE_MISSING, Row, say
from turns import row_beside, take_turns

#: runs of each command
RUNS = {False: 200, True: 10}
TURNS = {False: 5, True: 1}
STARTS = {False: 10, True: 2}
SLEEP = ("sleep 0.02", "sleep 0.020")
#: commands whose difference is clear after a few runs: ten runs of hyperfine's default are enough, and so is less
SLOW = {
    "two commands of 0.5 s that differ by 10 %": ("sleep 0.5", "sleep 0.55"),
    "two computations of about 0.5 s that differ by 20 %": (
        "python3 -c 'sum(range(25_000_000))'",
        "python3 -c 'sum(range(30_000_000))'",
    ),
}
MOST_START_S = 0.3
MOST_OF_PEER = 1.3


class Contenders:
    """Two commands with the given number of runs each; None: the defaults decide. Every method returns a time in s."""

    def __init__(self, place: Path) -> None:
        self.place = place
        #: records of each call, with those of the discarded round and of repeated runs
        self.recorded: list[int] = []

    def ours(self, commands: tuple[str, str], runs: int | None) -> float:
        """Return the wall time of `regatta time`, with every record durable."""
        return self._ours(commands, runs)[0]

    def until_first_run(self, commands: tuple[str, str]) -> float:
        """Return the time from the start of `regatta time` to that of its first measured process."""
        # The clock of the records: CLOCK_MONOTONIC is system-wide.
        began_ns = time.monotonic_ns()
        _, found = self._ours(commands, 2)
        return (found[0]["started_monotonic_ns"] - began_ns) / 1e9

    def _ours(self, commands: tuple[str, str], runs: int | None) -> tuple[float, list[dict[str, Any]]]:
        # Not a temporary folder: it could be in memory, where nothing is durable.
        kept = self.place / "kept"
        shutil.rmtree(kept, ignore_errors=True)
        wall_s = timed(self.place, [REGATTA, "time", *commands, *_exactly(runs), "--save", str(kept)])
        found = records(kept / "results" / "time", 0)
        valid = sum(record["status"] == "ok" for record in found)
        if runs is not None and valid < 2 * runs:
            say(f"{2 * runs - valid} of {2 * runs} runs were perturbed, and so were their repetitions")
        self.recorded.append(len(found))
        return wall_s, found

    def hyperfine(self, commands: tuple[str, str], runs: int | None) -> float:
        """Return the wall time of hyperfine."""
        return timed(self.place, ["hyperfine", "-N", "--style", "none", *_exactly(runs), *commands])


def _exactly(runs: int | None) -> list[str]:
    return [] if runs is None else ["--runs", str(runs)]


def measure(place: Path, quick: bool) -> list[Row]:
    """Return rows on the start and on whole comparisons."""
    contenders = Contenders(place)
    program = exit_program(place)
    # An argument, because two equal commands are refused.
    empty = (program, f"{program} 1")
    rows = [_start(contenders, empty, STARTS[quick])]
    for what, commands, limit in (
        ("two commands of 20 ms", SLEEP, MOST_OF_PEER),
        ("two commands that end at once", empty, None),
    ):
        rows.append(_whole(contenders, what, commands, RUNS[quick], TURNS[quick], limit))
    rows += [_whole(contenders, what, commands, None, TURNS[quick], 1.0) for what, commands in SLOW.items()]
    return rows


def _there() -> bool:
    return shutil.which("hyperfine") is not None


def _start(contenders: Contenders, commands: tuple[str, str], times: int) -> Row:
    say(f"start of `regatta time`: {times} times")
    # The first call compiles modules that no command has imported before.
    contenders.until_first_run(commands)
    methods = {"ours": lambda: contenders.until_first_run(commands)}
    if _there():
        methods["hyperfine"] = lambda: contenders.hyperfine(commands, 2)
    found = take_turns(methods, times)
    ours = statistics.median(found["ours"])
    return Row(
        what="regatta time, until the first run",
        unit="s",
        ours=ours,
        peer=statistics.median(found["hyperfine"]) if _there() else None,
        peer_name="hyperfine -N, all of its two runs" if _there() else HYPERFINE_MISSING,
        goal="at most",
        limit=MOST_START_S,
        holds=ours <= MOST_START_S,
        details={name: [round(value, 4) for value in values] for name, values in found.items()},
    )


def _whole(
    contenders: Contenders,
    what: str,
    commands: tuple[str, str],
    runs: int | None,
    turns: int,
    most: float | None,
) -> Row:
    what += (
        ", number of runs by default: whole time" if runs is None else f", {runs} runs of each: whole time"
    )
    say(f"{what}: {turns} times")
    contenders.recorded.clear()
    methods = {"ours": lambda: contenders.ours(commands, runs)}
    if _there():
        methods["hyperfine"] = lambda: contenders.hyperfine(commands, runs)
    found = take_turns(methods, turns)
    row = row_beside(what, "s", found, "hyperfine", None, "" if _there() else HYPERFINE_MISSING)
    row.details["recorded"] = list(contenders.recorded)
    if most is not None:
        row.goal = f"at most {most:g} x hyperfine"
        row.holds = row.ratio is not None and row.ratio <= most
        row.limit = None if row.peer is None else most * row.peer
    if _there():
        row.peer_name = "hyperfine -N, nothing recorded"
    return row


if __name__ == "__main__":
    sys.exit(run_command("Costs of `regatta time`, compared with hyperfine in the same run.", measure))
