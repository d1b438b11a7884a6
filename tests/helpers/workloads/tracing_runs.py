"""Tracing programs as a user would."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from regatta.host.errors import HostError
from regatta.models.system_calls.bpftrace import START_S, STOP_S, check_bpftrace
from regatta.models.system_calls.processes import tree_of
from regatta.models.system_calls.runs import Figures, run_command
from regatta.models.system_calls.tools import make_tracer
from regatta.models.vectors.calls import Tally, read_calls

HOME = Path(__file__).parents[3]
TABLE = read_calls(HOME / "configs" / "primitives" / "os-calls.yml")
REGATTA = [sys.executable, "-m", "regatta"]
TRACING = Path("/sys/kernel/tracing")
#: a tracer may take as long to begin or to let go, on a machine that is very busy, and some more
PATIENCE_S = START_S + STOP_S


def needs(tool: str) -> None:
    """Skip the test where a tracer cannot trace."""
    if tool == "bpftrace":
        try:
            check_bpftrace()
        except HostError as error:
            pytest.skip(f"NOT TESTED, bpftrace cannot trace here: {error}")
    elif shutil.which("strace") is None:
        pytest.skip("NOT TESTED: strace is not installed")


def trace(tool: str, *command: str) -> Tally:
    return run_command(command, make_tracer(tool, TABLE), Figures(1.0))[1]


def begin_watching(
    server: subprocess.Popen[str], tool: str, folder: Path, *options: str | Path
) -> subprocess.Popen[str]:
    """`regatta trace os --pid` in the background, once it watches."""
    ready = folder / "ready"
    command = [*REGATTA, "trace", "os", "--pid", str(server.pid), "--ready", ready, "--tool", tool, *options]
    watching = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "REGATTA_HOME": str(HOME)},
    )
    try:
        wait_for(lambda: ready.exists() or watching.poll() is not None)
    except BaseException:
        watching.kill()
        raise
    assert watching.poll() is None, watching.communicate()[1]
    return watching


def turns_of(server: subprocess.Popen[str]) -> list[int]:
    """How often the processes of a server have begun to wait: once or more in each of their turns, which has a call."""
    status = [Path(f"/proc/{pid}/status").read_text() for pid in tree_of(server.pid)]
    found = [re.findall(r"^voluntary_ctxt_switches:\s+(\d+)", text, re.MULTILINE) for text in status]
    return [int(turns) for (turns,) in found]


def let_turn(server: subprocess.Popen[str], turns: int = 100) -> None:
    """Wait until every process of a server has had some turns more: a tracer may need several switches for each."""
    wait_for(lambda: len(turns_of(server)) == 2)
    before = turns_of(server)
    wait_for(lambda: all(now >= first + turns for first, now in zip(before, turns_of(server), strict=True)))


def wait_for(what: Callable[[], bool], seconds: float = PATIENCE_S) -> None:
    """Wait until something is so, which must be within `seconds`."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)
