"""Small experiments through the real command line, in a separate folder on a real disk."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HOME = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
REGATTA = str(BIN / "regatta")

#: in-memory file systems, where syncing costs nothing
_MEMORY = {"tmpfs", "ramfs", "devtmpfs"}

_SUITE = """\
suite: perf
description: Programs that do nothing
benchmarks:
"""
NEVER_PERTURBED = """\
perturbation:
  {steal_percent: null, other_cpu_percent: null, memory_pressure_percent: null, io_pressure_percent: null,
   frequency_drop_percent: null, swapped_pages: null, throttle_events: null}
"""


class Unfit(Exception):
    """Nothing can be measured here: a command failed, or there is no disk."""


def _file_system(path: Path) -> str:
    """Return the type of the file system of a folder."""
    best = ("", "unknown")
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, point, kind, *_ = line.split()
        inside = path == Path(point) or Path(point) in path.parents
        if inside and len(point) >= len(best[0]):
            best = (point, kind)
    return best[1]


@contextmanager
def workplace(directory: str | None) -> Iterator[Path]:
    """Yield an empty folder on a disk, and remove it afterwards.

    Raises:
        Unfit: there is no disk.
    """
    choices = [Path(directory)] if directory else [Path(tempfile.gettempdir()), Path("/var/tmp"), HOME]
    for choice in choices:
        if os.access(choice, os.W_OK) and _file_system(choice.resolve()) not in _MEMORY:
            with tempfile.TemporaryDirectory(prefix="regatta-perf-", dir=choice.resolve()) as name:
                yield Path(name)
            return
    raise Unfit(f"expected a folder on a disk, got {', '.join(map(str, choices))}; choose one by --directory")


def environment(place: Path) -> dict[str, str]:
    """Return the environment for Regatta, with a separate lock: it neither waits for a measurement nor blocks one."""
    return {
        **os.environ,
        "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}",
        "REGATTA_HOME": str(HOME),
        "REGATTA_HOST_LOCK": str(place / "host.lock"),
    }


def call(place: Path, *command: str, expected: tuple[int, ...] = (0,)) -> None:
    """Run a command in the workplace.

    Raises:
        Unfit: its exit code is not an expected one.
    """
    done = subprocess.run(command, cwd=place, env=environment(place), capture_output=True, text=True)
    if done.returncode not in expected:
        raise Unfit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")


def exit_program(place: Path) -> str:
    """Return a program that exits at once: compiled statically if gcc is available; else /bin/true."""
    program = place / "exit"
    if program.exists():
        return str(program)
    source = str(Path(__file__).with_name("exit.c"))
    if shutil.which("gcc"):
        for flags in (["-static"], []):
            if not subprocess.run(
                ["gcc", "-O2", *flags, "-o", program, source], capture_output=True
            ).returncode:
                return str(program)
    return shutil.which("true") or "/bin/true"


def write_spec(
    place: Path,
    name: str,
    command: list[str],
    rounds: int,
    modifiers: int = 2,
    benchmarks: int = 1,
    rounds_per_segment: int = 10,
) -> Path:
    """Write a spec: all benchmarks are the same program, and every modifier is an environment variable."""
    names = [f"m{i:04d}" for i in range(modifiers)]
    programs = "".join(
        f"  program{i}: {{command: {json.dumps(command + [str(i)] * (i > 0))}}}\n" for i in range(benchmarks)
    )
    (place / f"{name}-suite.yml").write_text(_SUITE + programs)
    spec = place / f"{name}.yml"
    spec.write_text(
        f"name: {name}\nsuites: [{name}-suite.yml]\nbenchmarks: [{{suite: perf, benchmark: all}}]\n"
        + "modifiers:\n"
        + "".join(f"  {m}: {{environment: {{PERF: {m}}}}}\n" for m in names)
        + f"modifier_sets: [{', '.join(f'[{m}]' for m in names)}]\n"
        # Not startup: it would run and exclude an additional first round.
        + f"iterations: {{method: fixed}}\ninvocations: {{fixed: {rounds}}}\nsegment: {{rounds: {rounds_per_segment}}}\n"
        + NEVER_PERTURBED
    )
    return spec


def plan(place: Path, spec: Path) -> Path:
    """Plan a spec; return its results folder."""
    call(place, REGATTA, "plan", str(spec), "--results", "results", "--write")
    return place / "results" / spec.stem


def segment_command(folder: Path, number: int) -> list[str]:
    """Return the command of one job of the workflow."""
    receipt = folder / "receipts" / "local" / f"{number:05d}.json"
    return [
        REGATTA,
        "segment",
        str(folder),
        "--host",
        "local",
        "--segment",
        str(number),
        "--receipt",
        str(receipt),
    ]


def timed(place: Path, command: list[str]) -> float:
    """Return the wall time of a command in s.

    Raises:
        Unfit: its exit code is not 0.
    """
    start = time.perf_counter()
    call(place, *command)
    return time.perf_counter() - start


def records(folder: Path, segment: int) -> list[dict[str, Any]]:
    """Return the records of one segment; an incomplete last line is skipped."""
    path = folder / "journal" / "local" / f"{segment:05d}.jsonl"
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return []
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
