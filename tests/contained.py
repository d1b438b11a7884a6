"""Cells in containers for tests: the base image, made once, and what a container is asked for."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from docker_engine import DockerEngine
from runner_plans import cell

HOME = Path(__file__).resolve().parents[1]
BASE = "regatta-base:bookworm"


def base_image() -> str:
    """Id of the base image, which is made where it is not there."""
    done = subprocess.run([HOME / "docker/base"], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def contained(name: str, argv: Sequence[str], image_id: str, **other: Any) -> dict[str, Any]:
    """A cell of `plan.json` in a container of the base image; `isolation` among `other` changes parts of it."""
    isolation: dict[str, Any] = {
        "kind": "docker", "image": BASE, "image_id": image_id, "network": "none", "memory_mib": None,
        "programs": [argv[0]], "folders": [], **other.pop("isolation", {}),
    }  # fmt: skip
    return cell(name, argv, isolation=isolation, **other)


def containers_of(engine: DockerEngine, results_file: Path) -> list[str]:
    """Containers, running or not, of a runner with this results file."""
    listed = engine.run("ps", "--all", "--quiet", "--filter", f"label=regatta.results={results_file}")
    return listed.split()


def is_told(record: Mapping[str, Any]) -> bool:
    """Whether a record tells what its container was and cost, and gives a reason for each null."""
    isolation = record["isolation"]
    usage = {**record["rusage"], **record["cgroup"]}
    untold = {
        key.removeprefix("voluntary_").removeprefix("involuntary_") for key, v in usage.items() if v is None
    }
    costs = [isolation[key] for key in ("create_ns", "start_ns", "remove_ns")]
    return min(costs) > 0 and untold <= isolation["untold"].keys()
