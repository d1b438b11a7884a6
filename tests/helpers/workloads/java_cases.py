"""How the benchmarks of HarnessCases.java are built and run on every JVM that this machine has."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from helpers.workloads.java_runs import JVMS, QUICK, Programs, Run, jvm

HERE = Path(__file__).parents[2] / "workloads"
COLLECTORS = {
    "serial": "-XX:+UseSerialGC",
    "parallel": "-XX:+UseParallelGC",
    "g1": "-XX:+UseG1GC",
    "z": "-XX:+UseZGC",
    "shenandoah": "-XX:+UseShenandoahGC",
}
#: every pair that exists
PAIRS = [(name, collector) for name in JVMS for collector in COLLECTORS if (name, collector) != ("zero", "z")]
SAFEPOINTS = "-Xlog:safepoint:file=safepoints.log:none:filecount=0"
GC_LOG = "-Xlog:gc,gc+marking,gc+phases:file=gc.log:timenanos:filecount=0"
READ = ("--pauses", "safepoints.log", "--gc-log", "gc.log")


@dataclass
class Cases:
    """The compiled cases."""

    programs: Programs
    classes: Path
    _churned: dict[tuple[str, str], Run] = field(default_factory=dict)

    def run(
        self, *arguments: str, flags: tuple[str, ...] = (), program: str = "java", **environment: str
    ) -> Run:
        """Run a case; its name is the first of `arguments`."""
        path = f"{self.programs.jar('vm.jar')}{os.pathsep}{self.classes}"
        return self.programs.java(
            *flags, "-cp", path, "HarnessCases", *arguments, program=program, **environment
        )

    def churned(self, name: str, collector: str) -> Run:
        """Two iterations of `churn` on a JVM with a collector in a small heap, with both logs; run once."""
        if (name, collector) not in self._churned:
            # The first Z needs more room for its pages.
            heap = "-Xmx192m" if (name, collector) == ("11", "z") else "-Xmx96m"
            flags = (heap, "-XX:+UnlockExperimentalVMOptions", COLLECTORS[collector], SAFEPOINTS, GC_LOG)
            arguments = ("churn", "--size", "300", "--iterations", "2", *READ)
            run = self.run(*arguments, flags=flags, program=jvm(name))
            assert run.code == 0, run.stderr
            self._churned[name, collector] = run
        return self._churned[name, collector]


def build(programs: Programs, classes: Path) -> Cases:
    """Compile the cases against a workload's jar, which has the harness in it."""
    for release, source in (("17", "CompiledFor17.java"), ("11", "HarnessCases.java")):
        path = f"{programs.jar('vm.jar')}{os.pathsep}{classes}"
        command = [
            "javac",
            f"-J{QUICK}",
            "--release",
            release,
            "-cp",
            path,
            "-d",
            str(classes),
            str(HERE / source),
        ]
        subprocess.run(command, check=True)
    return Cases(programs, classes)


def of_iteration(run: Run, metric: str, iteration: int) -> list[int]:
    """The values of a metric in one iteration, in their order."""
    return [x["value"] for x in run.lines if x.get("metric") == metric and x["iteration"] == iteration]


def by_parameter(run: Run, metric: str, iteration: int) -> dict[Any, int]:
    """The values of a metric in one iteration by their only parameter."""
    return dict(_by_parameter(run, metric, iteration))


def _by_parameter(run: Run, metric: str, iteration: int) -> Iterator[tuple[Any, int]]:
    for line in run.lines:
        if line.get("metric") == metric and line["iteration"] == iteration:
            (parameter,) = line["parameters"].values()
            yield parameter, line["value"]
