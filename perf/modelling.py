"""Time and memory to read request logs and fit their models, compared with goaccess."""

from __future__ import annotations

import shutil
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
from command import run_command
from cost import MIB, cost_of
from rows import Row, say
from turns import take_turns

LINES_OF = {False: 10_000_000, True: 20_000}
COMPARED_LINES = {False: 1_000_000, True: 10_000}
TURNS = {False: 3, True: 1}
_GOAL_S, _GOAL_MIB = 60.0, 1e9 / MIB
_AGENTS, _OBJECTS, _REQUESTS_PER_CLIENT, _DAYS = 30, 20_000, 60, 3
_BLOCK = 100_000


def synthetic(path: Path, lines: int) -> None:
    """Write a log in the Combined Log Format with the time of each answer: sessions, Zipf's law, lognormal sizes.

    Args:
        path: of the log.
        lines: number of lines.
    """
    rng = np.random.default_rng(1)
    sizes = np.exp(rng.normal(8.5, 1.3, _OBJECTS)).astype(int)
    seconds = np.sort(rng.integers(0, 86_400 * _DAYS, lines))
    with path.open("w") as file:
        for begin in range(0, lines, _BLOCK):
            some = seconds[begin : begin + _BLOCK]
            stamps = [time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(1_760_000_000 + at)) for at in range(some[0], some[-1] + 1)]  # fmt: skip
            clients = rng.integers(0, lines // _REQUESTS_PER_CLIENT + 1, len(some)).tolist()
            objects = (rng.zipf(1.3, len(some)) % _OBJECTS).tolist()
            file.writelines(
                f'10.{client >> 16 & 255}.{client >> 8 & 255}.{client & 255} - - [{stamps[at]}] "GET /page/{number}.html?x={at % 7} '
                f'HTTP/1.1" 200 {sizes[number]} "https://www.example.org/page/{number * 7 % _OBJECTS}.html" "Mozilla/5.0 (X11; Linux '
                f'x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/1{client % _AGENTS:02d}.0.0.0 Safari/537.36" {at % 5000}\n'
                for client, number, at in zip(clients, objects, (some - some[0]).tolist(), strict=True)
            )


def measure(place: Path, quick: bool) -> list[Row]:
    """Return all rows."""
    lines, compared = LINES_OF[quick], COMPARED_LINES[quick]
    log = place / "access.log"
    say(f"a log of {lines:,} lines")
    synthetic(log, lines)
    seconds, memory = _costs({"ours": _ours(place, log)}, place, TURNS[quick])
    alone = "NOT COMPARED: goaccess takes over 7 minutes"
    rows = [
        Row(f"model of {lines:,} lines", "s", seconds["ours"], None, alone, "60 s for 10^7", _GOAL_S, seconds["ours"] <= _GOAL_S),
        Row("its memory", "MiB", memory["ours"], None, alone, "1 GB", _GOAL_MIB, memory["ours"] <= _GOAL_MIB),
    ]  # fmt: skip
    synthetic(log, compared)
    contenders = {"ours": _ours(place, log)}
    peer_name = "goaccess: NOT INSTALLED; apt-get install goaccess"
    if shutil.which("goaccess") is not None:
        contenders["goaccess"] = [
            *("goaccess", str(log), "--log-format", '%h %^[%d:%t %^] "%r" %s %b "%R" "%u" %D'),
            *(
                "--date-format",
                "%d/%b/%Y",
                "--time-format",
                "%T",
                "--no-progress",
                "-o",
                str(place / "report.json"),
            ),
        ]
        peer_name = "goaccess, which counts and fits nothing"
    seconds, memory = _costs(contenders, place, TURNS[quick])
    return [
        *rows,
        Row(f"model of {compared:,} lines", "s", seconds["ours"], seconds.get("goaccess"), peer_name, None, None, None),
        Row("its memory", "MiB", memory["ours"], memory.get("goaccess"), peer_name, None, None, None),
    ]  # fmt: skip


def _ours(place: Path, log: Path) -> list[str]:
    return [sys.executable, "-m", "regatta", "model", "log", str(log), "-o", str(place / "model.yml")]


def _costs(
    commands: dict[str, list[str]], place: Path, turns: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the medians of seconds and of peaks of memory in MiB of commands that take turns."""
    peaks: dict[str, list[float]] = {name: [] for name in commands}

    def run(name: str) -> float:
        cost = cost_of(place, commands[name])
        peaks[name].append(cost.peak_mib)
        return cost.elapsed_s

    found = take_turns({name: partial(run, name) for name in commands}, turns)
    seconds = {name: float(np.median(values)) for name, values in found.items()}
    return seconds, {name: float(np.median(values)) for name, values in peaks.items()}


if __name__ == "__main__":
    sys.exit(run_command(__doc__ or "", measure))
