"""How the jar of the suite `first` is run in tests, as the runner would run it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2]
SUITE = YAML(typ="safe").load((ROOT / "configs" / "suites" / "first.yml").read_text(encoding="utf-8"))
TIMEOUT_S = 120


@dataclass
class Run:
    """What one process left behind."""

    code: int
    stdout: str
    stderr: str
    lines: list[dict[str, Any]] = field(default_factory=list)
    #: the JVM's log of safepoints; empty where there is none
    safepoints: str = ""

    def digests(self) -> list[str]:
        return [line["digest"] for line in self.lines if "digest" in line]

    def values(self, metric: str) -> list[int]:
        return [line["value"] for line in self.lines if line.get("metric") == metric]


@dataclass
class Jar:
    """The built jar, and how the suite's commands are run with it."""

    path: Path
    work: Path
    runs: int = 0

    def benchmark(
        self, name: str, *, flags: tuple[str, ...] = (), program: str = "java", **changed: int
    ) -> Run:
        """Run the suite's command of a benchmark at size small; `changed` replaces parameters."""
        entry = SUITE["benchmarks"][name]
        parameters = {**entry["sizes"]["small"]["parameters"], "iterations": 2, **changed}
        command = [
            argument.format(**parameters) if "java-bench" not in argument else str(self.path)
            for argument in entry["command"]
            if argument != "{runtime}"
        ]
        return self.java(*flags, *command, program=program)

    def main(self, *arguments: str, **environment: str) -> Run:
        return self.java("-cp", str(self.path), "org.regatta.bench.first.Main", *arguments, **environment)

    def java(self, *arguments: str, program: str = "java", **environment: str) -> Run:
        self.runs += 1
        directory = self.work / str(self.runs)
        directory.mkdir()
        results = directory / "results.jsonl"
        made = {
            "PATH": os.environ["PATH"],
            "LC_ALL": "C.UTF-8",
            "REGATTA_RESULTS": str(results),
            **environment,
        }
        done = subprocess.run(
            [program, *arguments],
            cwd=directory,
            env={name: value for name, value in made.items() if value},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        text = results.read_text(encoding="utf-8") if results.exists() else ""
        log = directory / "safepoints.log"
        return Run(
            done.returncode,
            done.stdout,
            done.stderr,
            [json.loads(line) for line in text.splitlines()],
            log.read_text(encoding="utf-8") if log.exists() else "",
        )


def java_release(program: str = "java") -> int:
    """The feature release of a JVM."""
    told = subprocess.run([program, "-version"], capture_output=True, text=True, check=True).stderr
    found = re.search(r'version "(\d+)', told)
    return int(found[1]) if found else 0
