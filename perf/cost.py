"""Wall time, processor time and peak memory of a command."""

from __future__ import annotations

import math
import os
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from experiments import Unfit, environment

MIB = 1 << 20
_SHOWN_BYTES = 3000


@dataclass
class Cost:
    """Wall time in s, peak memory in MiB of the largest process, and processor time of all in s (NaN: unknown)."""

    elapsed_s: float
    peak_mib: float
    cpu_s: float = math.nan


def cost_of(place: Path, command: list[str], more: Mapping[str, str] | None = None) -> Cost:
    """Run a command; return its wall time, its processor time and its peak memory, children included.

    Args:
        place: working directory; standard output and errors are in its file `output`.
        command: with arguments.
        more: environment variables to add.

    Raises:
        Unfit: the command failed.
    """
    start = time.perf_counter()
    with (place / "output").open("wb") as output:
        own = {**environment(place), **(more or {})}
        process = subprocess.Popen(command, cwd=place, env=own, stdout=output, stderr=output)
        _, status, usage = os.wait4(process.pid, 0)
    elapsed_s = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        printed = (place / "output").read_text(errors="replace")[-_SHOWN_BYTES:]
        raise Unfit(f"{' '.join(command[:6])}: exit code {process.returncode}\n{printed}")
    return Cost(elapsed_s, usage.ru_maxrss * 1024 / MIB, usage.ru_utime + usage.ru_stime)
