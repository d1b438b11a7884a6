"""Time and memory to read request logs and fit their models, compared with goaccess."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

import numpy as np
from command import run_command
from cost import MIB, cost_of
from rows import Row, say
from turns import take_turns

LINES_OF = {False: 10_000_000, True: 100_000}
TURNS = {False: 3, True: 2}
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
    lines = LINES_OF[quick]
    log, model = place / "access.log", place / "model.yml"
    say(f"a log of {lines:,} lines")
    synthetic(log, lines)
    peaks: dict[str, list[float]] = {"ours": [], "goaccess": []}

    def run(name: str, command: list[str]) -> float:
        cost = cost_of(place, command)
        peaks[name].append(cost.peak_mib)
        return cost.elapsed_s

    ours = [sys.executable, "-m", "regatta", "model", "log", str(log), "-o", str(model)]
    contenders = {"ours": lambda: run("ours", ours)}
    if shutil.which("goaccess") is None:
        peer_name = "goaccess: NOT INSTALLED; apt-get install goaccess"
    else:
        peer_name = "goaccess, which counts and fits nothing"
        theirs = [
            "goaccess",
            str(log),
            "--log-format",
            '%h %^[%d:%t %^] "%r" %s %b "%R" "%u" %D',
            "--date-format",
            "%d/%b/%Y",
        ]
        theirs += ["--time-format", "%T", "--no-progress", "-o", str(place / "report.json")]
        contenders["goaccess"] = lambda: run("goaccess", theirs)
    found = take_turns(contenders, TURNS[quick])
    times = {name: float(np.median(values)) for name, values in found.items()}
    memory = {name: float(np.median(values)) for name, values in peaks.items() if values}
    return [
        Row(f"model of {lines:,} lines", "s", times["ours"], times.get("goaccess"), peer_name, "60 s for 10^7", _GOAL_S, times["ours"] <= _GOAL_S,
            details={"seconds": found}),
        Row("its memory", "MiB", memory["ours"], memory.get("goaccess"), peer_name, "1 GB", _GOAL_MIB, memory["ours"] <= _GOAL_MIB),
    ]  # fmt: skip


if __name__ == "__main__":
    sys.exit(run_command(__doc__ or "", measure))
