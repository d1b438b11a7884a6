"""Experiments of the repository on a part of what they measure: other benchmarks, few rounds, nothing else changed."""

from __future__ import annotations

import json
import os
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from helpers import in_process
from helpers.experiments import jobs
from regatta.store.folder import Folder

HOME = Path(__file__).resolve().parents[3]
NEVER_PERTURBED = dict.fromkeys(
    ("steal_percent", "other_cpu_percent", "memory_pressure_percent", "io_pressure_percent",
     "frequency_drop_percent", "swapped_pages", "throttle_events")
)  # fmt: skip
#: as a line of a spec
NEVER_PERTURBED_LINE = f"perturbation: {json.dumps(NEVER_PERTURBED)}\n"


def regatta(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "REGATTA_HOST_LOCK": str(cwd / "lock"), "REGATTA_HOME": str(HOME)}
    return in_process.regatta(*arguments, cwd=cwd, environment=environment)


def measured(
    name: str,
    directory: Path,
    benchmarks: list[dict[str, Any]],
    rounds: int,
    *,
    workflow: bool = False,
    **changes: Any,
) -> dict[str, Any]:
    """Measure `name` on other benchmarks and so many rounds, with nothing but `changes` changed; returns the answer.

    With `workflow`, by `regatta run`; else by its jobs alone, which takes a third of the processor time.
    """
    spec = {
        "include": [str(HOME / "configs/experiments" / f"{name}.yml")],
        "benchmarks": benchmarks,
        "invocations": {"fixed": rounds},
        "perturbation": NEVER_PERTURBED,
        **changes,
    }
    YAML().dump(spec, directory / "spec.yml")
    folder = Folder(directory / "results" / name)
    here = partial(regatta, cwd=directory)
    if workflow:
        done = here("run", "spec.yml")
        assert done.returncode == 0, done.stderr
    else:
        jobs.measure(here, folder, "spec.yml")
        jobs.finish(here, folder)
    answer: dict[str, Any] = json.loads(folder.answer.read_bytes())
    return answer


def report_of(name: str, directory: Path) -> str:
    return (directory / "results" / name / "report.html").read_text(encoding="utf-8")
