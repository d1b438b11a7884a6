"""Cost of the timing harness of the micro-benchmarks in C, and agreement with other harnesses."""

from __future__ import annotations

import json
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from command import run_command
from experiments import HOME, Unfit
from rows import Row, say
from ruamel.yaml import YAML
from turns import row_beside, take_turns

SUITE = YAML(typ="safe").load(HOME / "configs/suites/lm.yml")
PERF_MISSING = "perf bench: NOT INSTALLED; apt-get install linux-perf"
GOOGLE_MISSING = "google-benchmark: NOT INSTALLED; apt-get install libbenchmark-dev g++"
#: goals of the suite
FIXED_COST_S, EMPTY_NS, SUITE_S = 0.2, 0.5, 480.0
COPY_KIB = 8192
MEASURED = re.compile(r"\d+ ns do not exceed the \d+ ns of the empty loop")


def _output(place: Path, command: list[str | Path], **variables: str) -> str:
    ended = subprocess.run(
        command, cwd=place, env={"PATH": "/usr/bin:/bin", **variables},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if ended.returncode:
        raise Unfit(f"{' '.join(map(str, command))}: exit code {ended.returncode}\n{ended.stderr}")
    return ended.stdout + ended.stderr


def _build(place: Path) -> Path:
    """Build the suite and the empty loop in the workplace."""
    sources = place / "lm"
    shutil.copytree(
        HOME / SUITE["builds"]["lm"]["directory"], sources, ignore=shutil.ignore_patterns("build")
    )
    _output(sources, SUITE["builds"]["lm"]["command"])
    objects = sorted((sources / "build/harness").glob("*.o"))
    flags = ["-std=c11", "-O2", "-I.", "-o", "build/empty", HOME / "perf/empty.c"]
    _output(sources, ["gcc", *flags, *objects, "-pthread", "-lm"])
    return sources / "build"


def _peer_loops(place: Path) -> Path | None:
    """Return the google-benchmark program; None if it is not installed."""
    program = place / "peer_loops"
    try:
        _output(place, ["g++", "-O2", "-o", program, HOME / "perf/peer_loops.cc", "-lbenchmark", "-pthread"])
    except (Unfit, FileNotFoundError):
        return None
    return program


def _of_google(place: Path, program: Path, name: str) -> float:
    told = _output(place, [program, f"--benchmark_filter=^{name}$", "--benchmark_format=json"])
    (found,) = json.loads(told[told.index("{") : told.rindex("}") + 1])["benchmarks"]
    return float(found["real_time"])


def _lines(place: Path, command: list[str | Path]) -> list[dict[str, Any]]:
    results = place / "results.jsonl"
    results.unlink(missing_ok=True)
    _output(place, command, REGATTA_RESULTS=str(results))
    return [json.loads(line) for line in results.read_text().splitlines()]


def _median(place: Path, command: list[str | Path]) -> float:
    return statistics.median(line["value"] for line in _lines(place, command) if "metric" in line)


def _fixed_cost_s(place: Path, build: Path) -> float:
    """Return the wall time of a program with one latency, less its reported intervals."""
    start = time.perf_counter()
    lines = _lines(place, [build / "lat_syscall", "--call", "null"])
    elapsed_s = time.perf_counter() - start
    return elapsed_s - sum(line["value"] * line["operations"] for line in lines if "metric" in line) / 1e9


def _empty_ns(place: Path, build: Path) -> float:
    """Return the time of an empty loop; 0 if it is not positive, which the harness refuses to report."""
    try:
        return _median(place, [build / "empty"])
    except Unfit as refused:
        if MEASURED.search(str(refused)):
            return 0.0
        raise


def _of_perf(place: Path, pattern: str, factor: float, *arguments: str) -> float:
    told = _output(place, ["perf", "bench", *arguments])
    found = re.search(pattern, told)
    if not found:
        raise Unfit(f"perf bench {' '.join(arguments)}: expected {pattern}, got\n{told}")
    return factor * float(found[1])


def _suite_s(place: Path, build: Path) -> float:
    """Return the time of all benchmarks of the suite at default size, in sequence."""
    start = time.perf_counter()
    for name, benchmark in SUITE["benchmarks"].items():
        values = {
            f"lm.{output}": str(build / Path(path).name)
            for output, path in SUITE["builds"]["lm"]["outputs"].items()
        }
        values |= {key: str(value) for key, value in benchmark["sizes"]["default"]["parameters"].items()}
        work = place / "work" / name
        work.mkdir(parents=True)
        _output(work, [re.sub(r"\{([^}]+)\}", lambda m: values[m[1]], part) for part in benchmark["command"]])  # noqa: B023
    return time.perf_counter() - start


def _beside(
    place: Path, turns: int, what: str, unit: str, ours: Callable[[], float], peer: Callable[[], float] | None,
    name: str, missing: str, limit: float | None = None,
) -> Row:  # fmt: skip
    say(what)
    contenders = {"ours": ours} | ({name: peer} if peer else {})
    found = take_turns(contenders, turns)
    return row_beside(what, unit, found, name, limit, absent="" if peer else missing, ahead=False)


def measure_operations(place: Path, quick: bool) -> list[Row]:
    """Return all rows."""
    turns = 1 if quick else 11
    build, loops = _build(place), _peer_loops(place)
    has_perf = shutil.which("perf") is not None
    google, bench = "google-benchmark", "perf bench"

    def of_google(name: str) -> Callable[[], float] | None:
        return partial(_of_google, place, loops, name) if loops else None

    def of_perf(pattern: str, factor: float, *arguments: str) -> Callable[[], float] | None:
        return partial(_of_perf, place, pattern, factor, *arguments) if has_perf else None

    def ours(program: str, *arguments: str) -> Callable[[], float]:
        return partial(_median, place, [build / program, *arguments])

    null, pipe = ours("lat_syscall", "--call", "null"), ours("lat_pipe")
    copy = ours("bw_mem", "--operation", "libc_copy", "--kib", str(COPY_KIB))
    basic = of_perf(r"([\d.]+) usecs/op", 1e3, "syscall", "basic", "-l", "1000000")
    rows = [
        _beside(place, turns, "an empty loop, after subtraction", "ns", partial(_empty_ns, place, build),
                of_google("empty"), google, GOOGLE_MISSING, EMPTY_NS),
        _beside(place, turns, "the null call", "ns", null, of_google("null_call"), google, GOOGLE_MISSING),
        _beside(place, turns, "the null call", "ns", null, basic, bench, PERF_MISSING),
        _beside(place, turns, "a round trip through two pipes", "ns", pipe,
                of_perf(r"([\d.]+) usecs/op", 1e3, "sched", "pipe", "-l", "20000"), bench, PERF_MISSING),
        _beside(place, turns, f"memcpy of {COPY_KIB} KiB", "MB/s", copy,
                of_perf(r"([\d.]+) GB/sec", 1073.741824, "mem", "memcpy", "-f", "default",
                        "-s", f"{COPY_KIB}KB", "-l", "50"), bench, PERF_MISSING),
    ]  # fmt: skip
    fixed_s = statistics.median(_fixed_cost_s(place, build) for _ in range(turns))
    rows.append(
        Row(
            "one latency: time outside of its intervals",
            "s",
            fixed_s,
            None,
            "NOT IN ANY PEER",
            "at most",
            FIXED_COST_S,
            fixed_s <= FIXED_COST_S,
        )
    )
    if not quick:
        say("the whole suite in its default sizes, one process")
        suite_s = _suite_s(place, build)
        rows.append(
            Row(
                "the whole suite, one process",
                "s",
                suite_s,
                None,
                "NOT IN ANY PEER",
                "at most",
                SUITE_S,
                suite_s <= SUITE_S,
            )
        )
    return rows


if __name__ == "__main__":
    sys.exit(
        run_command(
            "Costs of the micro-benchmarks' harness, compared with results of peers in the same run.",
            measure_operations,
        )
    )
