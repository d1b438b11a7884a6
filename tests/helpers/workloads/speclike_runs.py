"""Building, filling in and running what the SPEC-like suite says."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[3]
SUITE = YAML(typ="safe").load(ROOT / "configs/suites/speclike.yml")
INPUTS = ROOT / "benchmarks/spec/inputs"


def needs(*programs: str) -> pytest.MarkDecorator:
    missing = [program for program in programs if shutil.which(program) is None]
    return pytest.mark.skipif(bool(missing), reason=f"NOT TESTED: {', '.join(missing)} is not on PATH")


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def templates(benchmark: dict[str, Any]) -> list[str]:
    """All that a benchmark's commands are made of."""
    check = benchmark.get("check", {}).get("command", [])
    return [*benchmark["command"], *check, *benchmark.get("arrange", {}).values()]


def named(benchmark: dict[str, Any]) -> set[str]:
    return {name for template in templates(benchmark) for name in re.findall(r"\{([^}]+)\}", template)}


def builds_of(benchmark: dict[str, Any]) -> list[str]:
    first = {name.partition(".")[0] for name in named(benchmark)}
    return [build for build in SUITE["builds"] if build in first]


def programs_of(benchmark: dict[str, Any]) -> list[str]:
    """Installed programs that a benchmark starts, or that its builds need."""
    started = {name.removeprefix("program.") for name in named(benchmark) if name.startswith("program.")}
    needed = {need for build in builds_of(benchmark) for need in SUITE["builds"][build]["needs"]}
    return sorted(started | needed)


def inputs_of(benchmark: dict[str, Any]) -> list[str]:
    return sorted(name.removeprefix("input.") for name in named(benchmark) if name.startswith("input."))


def fill(command: list[str], values: dict[str, str]) -> list[str]:
    return [re.sub(r"\{([^}]+)\}", lambda match: values[match[1]], argument) for argument in command]


def generate(output: Path, *arguments: str, **environment: str) -> bytes:
    """What the generator writes to `output`."""
    subprocess.run(
        [sys.executable, INPUTS, *arguments, "--output", output],
        check=True,
        env={**os.environ, **environment},
    )
    return output.read_bytes()


def execute(command: list[str], directory: Path, **environment: str) -> bytes:
    """Standard output of a command that must succeed."""
    own = {
        "PATH": os.environ["PATH"],
        "LC_ALL": "C",
        "HOME": str(directory),
        "TMPDIR": str(directory),
        **environment,
    }
    ended = subprocess.run(command, cwd=directory, env=own, capture_output=True, timeout=500, check=False)
    assert ended.returncode == 0, ended.stderr.decode()
    return ended.stdout


class Builds:
    """Copies of the sources in which the suite's own commands ran, each once."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def outputs(self, name: str) -> dict[str, str]:
        """`build.output` -> path."""
        build = SUITE["builds"][name]
        copy = self.directory / name
        if not copy.exists():
            shutil.copytree(ROOT / build["directory"], copy, ignore=shutil.ignore_patterns("build"))
            subprocess.run(build["command"], cwd=copy, check=True, capture_output=True)
        return {f"{name}.{output}": str(copy / path) for output, path in build["outputs"].items()}

    def values(self, benchmark: dict[str, Any], size: str, directory: Path) -> dict[str, str]:
        """What stands for every name in a benchmark's commands; its inputs are made in `directory`."""
        values = {key: str(value) for key, value in benchmark["sizes"][size]["parameters"].items()}
        values.update({f"program.{name}": shutil.which(name) or name for name in programs_of(benchmark)})
        for build in builds_of(benchmark):
            values.update(self.outputs(build))
        for kind in inputs_of(benchmark):
            path = str(directory / kind)
            command = fill(SUITE["inputs"][kind]["command"], {**values, "output": path})
            subprocess.run([sys.executable, *command[1:]], cwd=ROOT, check=True)
            values[f"input.{kind}"] = path
        return values
