"""Cost of the prediction of collections: the heap profiler on programs, the microbenchmarks of a collector, and predictions."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from command import run_command
from experiments import HOME, Unfit
from rows import Row, say
from turns import take_turns

from regatta.host.ready.builds import build
from regatta.host.values.experiment import Build
from regatta.models.gc.costs import Observation, fit_costs
from regatta.models.gc.heap_policy import policy_of
from regatta.models.gc.heap_profile import profile_heap, with_heap_profile
from regatta.models.gc.heap_vector import HeapVector, heap_vector
from regatta.models.gc.lifetimes import Lifetimes
from regatta.models.gc.prediction import predict_collections
from regatta.models.gc.work import Work
from regatta.models.system_calls.java_events import events_agent

TURNS = {False: 5, True: 1}
ITERATIONS, WARMUP = 6, 2
#: distance of the walks of the heap, and mean distance of samples
EVERY, SAMPLES = 4 << 20, 512 << 10
EXACT, SAMPLED = 20.0, 1.1
CHARACTERISED_S, PREDICTED_S, PREDICTIONS = 300.0, 2.0, 10_000
MIB = 1 << 20
SUITES = {name: Build(name, "benchmarks/java", ("mvn", "-q", "-B", "-pl", name, "-am", "package"), {"jar": f"{name}/target/regatta-{name}.jar"}, ("mvn", "javac")) for name in ("vm", "gc")}  # fmt: skip


def _iteration_ms(command: list[str]) -> float:
    """Run a program with the harness; return the mean time of its iterations after warm-up."""
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.jsonl"
        environment = {**os.environ, "REGATTA_RESULTS": str(results)}
        subprocess.run(command, check=True, env=environment, cwd=folder, stdout=subprocess.DEVNULL)
        lines = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    times = [
        line["value"] / 1e6
        for line in lines
        if line.get("metric") == "elapsed" and line["iteration"] >= WARMUP
    ]
    return statistics.fmean(times)


def profiler_rows(jar: str, quick: bool) -> list[Row]:
    """Return the slowdown of programs by the agent, counting every object or samples."""
    agent = events_agent()
    rows = []
    for program in ("jess",) if quick else ("jess", "db", "mtrt"):
        say(program)
        command = ["java", "-Xmx256m", "-XX:+UseParallelGC", "-jar", jar, program, "--size", "1" if quick else "10", "--iterations", str(ITERATIONS)]  # fmt: skip

        def profiled(interval: int, every: int, command: list[str] = command) -> float:
            with tempfile.TemporaryDirectory() as folder:
                return _iteration_ms(
                    with_heap_profile(
                        command, agent, Path(folder) / "heap.json", interval=interval, every=every
                    )
                )

        contenders: Mapping[str, Callable[[], float]] = {
            "bare": lambda command=command: _iteration_ms(command),  # type: ignore[misc]
            "every object, walks": lambda: profiled(0, EVERY),
            "samples": lambda: profiled(SAMPLES, 0),
        }
        found = take_turns(contenders, TURNS[quick])
        for name, limit in (("every object, walks", EXACT), ("samples", SAMPLED)):
            ratio = statistics.median(a / b for a, b in zip(found[name], found["bare"], strict=True))
            bare = statistics.median(found["bare"])
            rows.append(Row(f"an iteration of {program}, {name}", "ms", statistics.median(found[name]), bare, "without the agent", f"at most {limit:g} times", limit * bare, ratio <= limit, ratio))  # fmt: skip
    return rows


def characterisation_row(jar: str, quick: bool) -> Row:
    """Return the time of the microbenchmarks of one collector on one JVM, in two heaps, three times each."""
    began = time.monotonic()
    for heap in (128,) if quick else (128, 384):
        for benchmark in ("lists", "shapes", "young"):
            say(f"{benchmark}, {heap} MiB")
            command = ["java", "-Xlog:safepoint:file=safepoints.log:none:filecount=0", "-Xlog:gc,gc+marking,gc+phases:file=gc.log:timenanos:filecount=0", "-XX:+UseParallelGC", f"-Xms{heap}m", f"-Xmx{heap}m", "-jar", jar, benchmark, "--pauses", "safepoints.log", "--gc-log", "gc.log", "--size", "1" if quick else "2", "--iterations", "4"]  # fmt: skip
            for _ in range(1 if quick else 3):
                with tempfile.TemporaryDirectory() as folder:
                    subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL)
    took = time.monotonic() - began
    return Row("one collector on one JVM, measured", "s", took, None, "NOT COMPARED: no other tool fits costs of collectors", "at most", CHARACTERISED_S, took <= CHARACTERISED_S)  # fmt: skip


def prediction_row(vector: HeapVector, quick: bool) -> Row:
    """Return the time to predict single collections in several heaps, from an existing profile."""
    costs = fit_costs([[Observation(Work(64 * MIB, live={32: 1000}), 1e6, "made")]] * 3, "made")
    lives = [Lifetimes(run.profile) for run in vector.runs]
    began = time.monotonic()
    count, heap = 0, 0
    while count < PREDICTIONS // (10 if quick else 1):
        policy = policy_of("parallel", (48 + heap % 32) * MIB)
        found = predict_collections(vector, policy, dict.fromkeys(("young", "full"), costs), lives=lives)
        count, heap = count + max(len(found.collections), 1), heap + 1
    took = (time.monotonic() - began) * PREDICTIONS / count
    return Row(f"{PREDICTIONS:,} predicted collections", "s", took, None, "NOT COMPARED: no other tool predicts collections", "at most", PREDICTED_S, took <= PREDICTED_S)  # fmt: skip


def measure(place: Path, quick: bool) -> list[Row]:
    """Return all rows."""
    del place
    if missing := [
        program for program in ("java", "javac", "mvn", "make", "cc") if shutil.which(program) is None
    ]:
        raise Unfit(f"expected a JDK, Maven, make and a C compiler; missing: {', '.join(missing)}")
    jars = {name: build(each, HOME)["jar"].path for name, each in SUITES.items()}
    command = [
        "java",
        "-Xmx256m",
        "-Dregatta.collect=true",
        "-jar",
        jars["vm"],
        "db",
        "--size",
        "1" if quick else "10",
        "--iterations",
        "4",
    ]
    profiles, _ = profile_heap(command, interval=8192, every=MIB, warmup=1, runs=1)
    vector = heap_vector(profiles, "db")
    return [
        *profiler_rows(jars["vm"], quick),
        characterisation_row(jars["gc"], quick),
        prediction_row(vector, quick),
    ]


if __name__ == "__main__":
    sys.exit(run_command(__doc__ or "", measure))
