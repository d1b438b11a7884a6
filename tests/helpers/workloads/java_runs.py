"""How the jars of the suites `vm`, `apps`, `micro` and `gc` are run in tests, as the runner would run them."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from regatta.fleet.fetching import fetch
from regatta.host.errors import HostError
from regatta.host.ready.builds import build
from regatta.host.ready.runtimes import provision
from regatta.host.values.experiment import Build
from regatta.spec.registries import as_runtime
from regatta.spec.registry_schema import RuntimeSpec

ROOT = Path(__file__).resolve().parents[3]
SUITES: dict[str, dict[str, Any]] = {
    name: YAML(typ="safe").load((ROOT / "configs" / "suites" / f"{name}.yml").read_text(encoding="utf-8"))
    for name in ("vm", "apps", "micro", "gc")
}
TIMEOUT_S = 400
#: name in tests to the runtime of the registry
JVMS = {
    "11": "temurin-11",
    "17": "temurin-17",
    "21": "temurin-21",
    "25": "temurin-25",
    "zero": "openjdk-17-zero",
}
COMPILED = tuple(name for name in JVMS if name != "zero")
#: the quick compiler alone, where it is not the compiled code that is asked about: it takes half the time
QUICK = "-XX:TieredStopAtLevel=1"
#: every JVM, and one of them with its interpreter or its quick compiler alone
MODES = (*JVMS, "21 -Xint", f"21 {QUICK}")
#: the name of a build's output in a command
_BUILT = re.compile(r"\{(vm|apps|micro|gc)\.(\w+)\}")


def entry(label: str) -> dict[str, Any]:
    """A benchmark's block in its suite, by `suite/name`."""
    suite, name = label.split("/")
    found: dict[str, Any] = SUITES[suite]["benchmarks"][name]
    return found


def expected_digest(label: str, size: str) -> str:
    return str(entry(label)["sizes"][size]["expect"]["digest"])


@cache
def built(suite: str) -> dict[str, Path]:
    """Output to file of a suite's build, which has the suite's name."""
    spec = SUITES[suite]["builds"][suite]
    done = build(
        Build(suite, spec["directory"], tuple(spec["command"]), spec["outputs"], tuple(spec["needs"])), ROOT
    )
    return {name: Path(file.path) for name, file in done.items()}


@dataclass
class Run:
    """What one process left behind."""

    code: int
    stdout: str
    stderr: str
    lines: list[dict[str, Any]] = field(default_factory=list)
    #: where it ran
    directory: Path = field(default_factory=Path)

    @property
    def safepoints(self) -> str:
        """The JVM's log of safepoints; empty where there is none."""
        log = self.directory / "safepoints.log"
        return log.read_text(encoding="utf-8") if log.exists() else ""

    def digests(self) -> list[str]:
        return [line["digest"] for line in self.lines if "digest" in line]

    def values(self, metric: str, **parameters: object) -> list[Any]:
        """Values of a metric, whose lines have at least these parameters."""
        lines = (line for line in self.lines if line.get("metric") == metric)
        return [line["value"] for line in lines if parameters.items() <= line.get("parameters", {}).items()]

    @property
    def info(self) -> dict[str, Any]:
        """What the program reported besides values."""
        return {name: value for line in self.lines for name, value in line.get("info", {}).items()}


@dataclass
class Programs:
    """The jars, and how the suites' commands are run with them."""

    work: Path
    runs: int = 0

    def jar(self, name: str) -> Path:
        """The jar that commands call `{name}`, such as `vm.jar` or `apps.h2`."""
        suite, output = name.split(".")
        return built(suite)[output]

    def benchmark(
        self,
        label: str,
        *,
        size: str,
        flags: tuple[str, ...] = (),
        program: str = "java",
        iterations: int = 2,
        **changed: int,
    ) -> Run:
        """Run the suite's command of `suite/name` at one of its sizes; `changed` replaces parameters.

        Among the parameters may be one called `size` too: it is changed by `amount`.
        """
        block = entry(label)
        parameters = {**block["sizes"][size]["parameters"], "iterations": iterations, **changed}
        if "amount" in parameters:
            parameters["size"] = parameters.pop("amount")
        command = self.command(label, "command", **parameters)
        return self.java(*flags, *command, program=program)

    def probe(self, label: str, *, flags: tuple[str, ...] = (), program: str = "java") -> Run:
        """Ask whether a JVM can run a benchmark, as the planner does."""
        block = entry(label)["probe"]["command"]
        return self.java(*flags, *self._filled(label, block), program=program)

    def command(self, label: str, key: str, **parameters: object) -> list[str]:
        """A command of a benchmark without its runtime."""
        return self._filled(label, entry(label)[key], **parameters)

    def _filled(self, label: str, command: list[str], **parameters: object) -> list[str]:
        parameters["benchmark"] = label.split("/")[1]
        return [
            _BUILT.sub(lambda m: str(self.jar(f"{m[1]}.{m[2]}")), argument)
            if _BUILT.search(argument)
            else argument.format(**parameters)
            for argument in command
            if argument != "{runtime}"
        ]

    def main(self, *arguments: str, jar: str = "vm.jar", **environment: str) -> Run:
        """Run a jar's main class with other arguments."""
        return self.java("-jar", str(self.jar(jar)), *arguments, **environment)

    def java(self, *arguments: str, program: str = "java", **environment: str) -> Run:
        """Run a JVM; `program` may have flags after it, as `java -zero` has."""
        self.runs += 1
        directory = self.work / str(self.runs)
        directory.mkdir()
        results = directory / "results.jsonl"
        made = {
            "PATH": os.environ["PATH"],
            "LC_ALL": "C.UTF-8",
            "HOME": str(directory),
            "TMPDIR": str(directory),
            "REGATTA_RESULTS": str(results),
            **environment,
        }
        done = subprocess.run(
            [*program.split(), *arguments],
            cwd=directory,
            env={name: value for name, value in made.items() if value},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        text = results.read_text(encoding="utf-8") if results.exists() else ""
        lines = [json.loads(line) for line in text.splitlines()]
        return Run(done.returncode, done.stdout, done.stderr, lines, directory)


def java_release(program: str = "java") -> int:
    """The feature release of a JVM."""
    told = subprocess.run([*program.split(), "-version"], capture_output=True, text=True, check=True).stderr
    found = re.search(r'version "(\d+)', told)
    return int(found[1]) if found else 0


@cache
def jvms() -> dict[str, str]:
    """Program (and flags) by name: `11`, `17`, `21`, `25` and `zero`, brought here as any experiment would bring them.

    One that cannot be had here is left out, with a word on stderr.
    """
    registry = YAML(typ="safe").load((ROOT / "configs" / "runtimes.yml").read_text(encoding="utf-8"))
    found: dict[str, str] = {}
    for name, runtime in JVMS.items():
        spec = RuntimeSpec.model_validate(registry["runtimes"][runtime])
        try:
            wanted = as_runtime(runtime, spec, ROOT)
            program = provision(wanted, (), given=fetch(wanted, platform.machine())).program
        except HostError as error:
            print(f"NO JAVA {name} HERE: {error}", file=sys.stderr)
            continue
        found[name] = " ".join([program, *spec.flags])
    return found


def jvm(name: str | int) -> str:
    """The JVM of that name, which may have flags after it; a test that needs it is skipped, loudly, where there is none."""
    release, *flags = str(name).split()
    if release not in jvms():
        pytest.skip(f"NOT TESTED ON JAVA {release}: it cannot be had here")
    return " ".join([jvms()[release], *flags])
