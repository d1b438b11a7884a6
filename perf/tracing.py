"""Cost of tracing: commands under bpftrace and strace as in `regatta trace os`, compared with `strace -f -c`."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from command import run_command
from experiments import HOME, Unfit
from rows import Row, say
from turns import take_turns

from regatta.host.errors import HostError
from regatta.models.system_calls.runs import Figures
from regatta.models.system_calls.runs import run_command as run_traced
from regatta.models.system_calls.tools import choose_tool, make_tracer
from regatta.models.vectors.calls import read_calls

TURNS = {False: 7, True: 2}
BARE, PEER = "bare", "strace -f -c"


def programs(place: Path, quick: bool) -> dict[str, list[str]]:
    """Return programs dominated by forks, by light calls, and by computation."""
    source = HOME / "tests" / "workloads" / "traced.c"
    traced = str(place / "traced")
    done = subprocess.run(["gcc", "-O2", "-pthread", "-o", traced, source], capture_output=True, check=False)
    if done.returncode:
        raise Unfit(f"gcc: {done.stderr.decode(errors='replace')[:300]}")
    forks, blocks = ("200", "2000") if quick else ("500", "20000")
    return {
        f"{forks} forks": [traced, "forks", forks],
        f"{2 * int(blocks):,} reads and writes of a byte": ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", f"count={blocks}", "status=none"],
        "a C file compiled": ["gcc", "-O2", "-c", "-o", "/dev/null", str(source)],
    }  # fmt: skip


def _bare(command: list[str]) -> float:
    return _elapsed(lambda: subprocess.run(command, check=True))


def _peer(command: list[str]) -> float:
    words = ["strace", "-f", "-c", "-q", "-o", os.devnull, *command]
    return _elapsed(lambda: subprocess.run(words, check=True, stderr=subprocess.DEVNULL))


def _elapsed(run: Callable[[], object]) -> float:
    began = time.monotonic_ns()
    run()
    return (time.monotonic_ns() - began) / 1e6


def measure(place: Path, quick: bool) -> list[Row]:
    """Return rows on the slowdown of each program under each tracer."""
    table = read_calls(HOME / "configs" / "primitives" / "os-calls.yml")
    tools = []
    for tool in ("bpftrace", "strace"):
        try:
            choose_tool(tool)
            tools.append(tool)
        except HostError as error:
            say(str(error))
    if not tools or shutil.which("strace") is None:
        raise Unfit("expected strace, and bpftrace as root")
    rows = []
    for what, command in programs(place, quick).items():
        say(what)

        def traced(tool: str, command: list[str] = command) -> Callable[[], float]:
            return lambda: run_traced(command, make_tracer(tool, table), Figures(1.0))[0].elapsed_ns / 1e6

        contenders = {tool: traced(tool) for tool in tools}
        contenders[BARE] = lambda command=command: _bare(command)  # type: ignore[misc]
        contenders[PEER] = lambda command=command: _peer(command)  # type: ignore[misc]
        found = take_turns(contenders, TURNS[quick])
        rows.extend(_row(what, name, found) for name in (*tools, PEER))
    return rows


def _row(what: str, name: str, found: dict[str, list[float]]) -> Row:
    ratios = [ours / bare for ours, bare in zip(found[name], found[BARE], strict=True)]
    return Row(
        what=f"{what}, under {name}",
        unit="ms",
        ours=statistics.median(found[name]),
        peer=statistics.median(found[BARE]),
        peer_name="bare",
        goal=None,
        limit=None,
        holds=None,
        ratio=statistics.median(ratios),
        details={"ratios": [round(ratio, 3) for ratio in ratios]},
    )


if __name__ == "__main__":
    sys.exit(run_command(__doc__ or "", measure))
