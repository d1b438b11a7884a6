"""What several tests of workloads share: each suite is built once."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import lm_runs
import pytest
from java_runs import ROOT, SUITE, Jar, java_release


@pytest.fixture(scope="session")
def jar(tmp_path_factory: pytest.TempPathFactory) -> Jar:
    build = SUITE["builds"]["java-bench"]
    missing = [program for program in [*build["needs"], "java"] if shutil.which(program) is None]
    if missing:
        pytest.skip(f"THE JAVA WORKLOADS ARE NOT TESTED: {', '.join(missing)} not on PATH")
    if java_release() < 17:
        pytest.skip("THE JAVA WORKLOADS ARE NOT TESTED: the java on PATH is older than release 17")
    copy = tmp_path_factory.mktemp("build") / "java"
    shutil.copytree(ROOT / build["directory"], copy, ignore=shutil.ignore_patterns("target"))
    built = subprocess.run(build["command"], cwd=copy, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    return Jar(copy / build["outputs"]["jar"], tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="session")
def lm_sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the micro-benchmarks' sources in which the suite's own build command has run."""
    if lm_runs.MISSING:
        pytest.skip(f"THE MICRO-BENCHMARKS ARE NOT TESTED: {', '.join(lm_runs.MISSING)} is not on PATH")
    copy = tmp_path_factory.mktemp("lm") / "lm"
    shutil.copytree(lm_runs.ROOT / lm_runs.BUILD["directory"], copy, ignore=shutil.ignore_patterns("build"))
    subprocess.run(lm_runs.BUILD["command"], cwd=copy, check=True)
    return copy
