"""Cost per iteration of the harness of the Java workloads, and of the logs that it reads."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from command import run_command
from experiments import HOME, Unfit
from rows import Row, say
from turns import row_beside, take_turns

BUILD = ["mvn", "-q", "-B", "-pl", "vm,apps/h2", "-am", "package"]
SAFEPOINTS = "-Xlog:safepoint:file=safepoints.log:none:filecount=0"
GC = "-Xlog:gc,gc+marking,gc+phases:file=gc.log:timenanos:filecount=0"
JVM = ["java", "-Xms512m", "-Xmx512m"]
#: goal of the suite: of an iteration of about one second
COST_PERCENT = 1.0
WARM_UP = 2


@dataclass
class Workload:
    """A benchmark at a size with iterations of about one second."""

    name: str
    jar: Path
    main: str
    size: int
    #: contender -> cost of the harness per run, in percent of an iteration
    costs: dict[str, list[float]] = field(default_factory=dict)


def _build(place: Path) -> Path:
    """Build the workloads and the bare loop in the workplace."""
    sources = place / "java"
    shutil.copytree(HOME / "benchmarks/java", sources, ignore=shutil.ignore_patterns("target"))
    classes = place / "classes"
    classes.mkdir()
    jar = sources / "vm/target/regatta-vm.jar"
    _output(sources, BUILD)
    _output(place, ["javac", "-cp", str(jar), "-d", str(classes), str(HOME / "perf/Iterations.java")])
    return sources


def _output(place: Path, command: list[str], **variables: str) -> str:
    # Maven locates its settings and its repository through HOME.
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "JAVA_HOME") if name in os.environ}
    try:
        ended = subprocess.run(
            command, cwd=place, env={**environment, **variables}, capture_output=True, text=True, check=False
        )
    except FileNotFoundError as error:
        raise Unfit(f"{command[0]}: NOT INSTALLED; apt-get install maven default-jdk") from error
    if ended.returncode:
        raise Unfit(f"{' '.join(command)}: exit code {ended.returncode}\n{ended.stdout}{ended.stderr}")
    return ended.stdout


def _run_bare(place: Path, work: Workload, iterations: int, flags: tuple[str, ...]) -> float:
    """Return the median of the iterations after warm-up in a loop that only reads the clock, in s."""
    path = f"{work.jar}{os.pathsep}{place / 'classes'}"
    arguments = [work.main, work.name, str(work.size), "1", str(iterations)]
    told = _output(place, [*JVM, *flags, "-cp", path, "Iterations", *arguments])
    return statistics.median(int(ns) for ns in told.split()[WARM_UP:]) / 1e9


def _run_harness(
    place: Path, work: Workload, iterations: int, name: str, flags: tuple[str, ...], options: tuple[str, ...]
) -> float:
    """Return the median of the iterations after warm-up in the harness, in s; store its cost."""
    results, costs = place / "results.jsonl", place / "costs"
    for file in (results, costs):
        file.unlink(missing_ok=True)
    path = f"{work.jar}{os.pathsep}{place / 'classes'}"
    listener = ("-Dregatta.listener=Iterations$Costs", f"-Dcosts={costs}")
    arguments = [
        work.name,
        "--size",
        str(work.size),
        "--iterations",
        str(iterations),
        "--seed",
        "1",
        *options,
    ]
    _output(
        place, [*JVM, *flags, *listener, "-cp", path, work.main, *arguments], REGATTA_RESULTS=str(results)
    )
    pairs = [tuple(map(int, line.split())) for line in costs.read_text().splitlines()][WARM_UP:]
    work.costs.setdefault(name, []).append(statistics.median(100 * cost / ns for ns, cost in pairs))
    return statistics.median(ns for ns, _ in pairs) / 1e9


def _measure(place: Path, work: Workload, turns: int, iterations: int) -> list[Row]:
    say(f"{work.name}, {turns} turns of {iterations} iterations")
    bare, logged = "a bare loop", "a bare loop, logs written"

    def harness(name: str, *flags: str, options: tuple[str, ...] = ()) -> Callable[[], float]:
        return lambda: _run_harness(place, work, iterations, name, flags, options)

    pauses, log = ("--pauses", "safepoints.log"), ("--gc-log", "gc.log")
    plain, with_pauses, with_both = "no log", "safepoint log", "safepoint and collector log"
    found = take_turns(
        {
            bare: lambda: _run_bare(place, work, iterations, ()),
            logged: lambda: _run_bare(place, work, iterations, (SAFEPOINTS, GC)),
            plain: harness(plain),
            with_pauses: harness(with_pauses, SAFEPOINTS, options=pauses),
            with_both: harness(with_both, SAFEPOINTS, GC, options=(*pauses, *log)),
        },
        turns,
    )
    rows = [
        row_beside(f"{work.name}: an iteration, {what}", "s", {"ours": found[ours], **found}, peer, None)
        for what, ours, peer in (
            ("harness without logs", plain, bare),
            ("harness with both logs", with_both, bare),
            ("bare, both logs written", logged, bare),
        )
    ]
    for name, percents in work.costs.items():
        percent = statistics.median(percents)
        rows.append(
            Row(
                f"{work.name}: harness time per iteration, {name}",
                "%",
                percent,
                None,
                "NOT IN A BARE LOOP",
                "at most",
                COST_PERCENT,
                percent <= COST_PERCENT,
                details={"ours": percents},
            )
        )
    return rows


def measure_iterations(place: Path, quick: bool) -> list[Row]:
    """Return all rows."""
    turns, iterations = (3, 4) if quick else (7, 8)
    sources = _build(place)
    vm, h2 = sources / "vm/target/regatta-vm.jar", sources / "apps/h2/target/regatta-h2.jar"
    return [
        row
        for work in (
            Workload("compress", vm, "org.regatta.bench.vm.Main", 32),
            Workload("h2", h2, "org.regatta.bench.h2.Main", 100),
        )
        for row in _measure(place, work, turns, iterations)
    ]


if __name__ == "__main__":
    sys.exit(
        run_command(
            "Costs of the Java workloads' harness per iteration, compared with a bare loop in the same run.",
            measure_iterations,
        )
    )
