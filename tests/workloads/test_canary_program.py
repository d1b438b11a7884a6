"""The frozen program: it does the same work in every iteration, says so, and checks its arguments."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
SUITE = yaml.safe_load((ROOT / "configs" / "suites" / "canary.yml").read_text())
BUILD = SUITE["builds"]["canary"]
pytestmark = pytest.mark.skipif(
    any(shutil.which(program) is None for program in BUILD["needs"]),
    reason="NOT TESTED: gcc or make is missing",
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("canary") / "source"
    shutil.copytree(ROOT / BUILD["directory"], folder, ignore=shutil.ignore_patterns("build"))
    subprocess.run(BUILD["command"], cwd=folder, check=True)
    return folder / BUILD["outputs"]["program"]


@pytest.mark.parametrize("name", ["mixed", "processor"])
def test_it_reports_each_iteration_and_prints_what_the_suite_expects(
    program: Path, tmp_path: Path, name: str
) -> None:
    results = tmp_path / "results"
    environment = {**os.environ, "REGATTA_RESULTS": str(results)}
    done = subprocess.run([program, name, "3", "1"], env=environment, capture_output=True, check=True)
    lines = [json.loads(line) for line in results.read_text().splitlines()]
    assert [line["iteration"] for line in lines] == [0, 1, 2]
    assert {(line["metric"], line["unit"]) for line in lines} == {("elapsed", "ns")}
    assert all(line["value"] > 0 for line in lines)
    digest = hashlib.sha256(done.stdout).hexdigest()
    sizes = SUITE["benchmarks"][name]["sizes"]
    assert {size["expect"]["stdout_sha256"] for size in sizes.values()} == {digest}


@pytest.mark.parametrize(
    "arguments",
    ["", "mixed", "mixed 1", "mixed 0 1", "mixed 1 x", "mixed 1 1 1", "mixed 1 -1", "all 1 1"],
)
def test_other_arguments_are_refused(program: Path, arguments: str) -> None:
    done = subprocess.run([program, *arguments.split()], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "canary" in done.stderr
