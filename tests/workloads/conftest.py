"""What several tests of workloads share: the Java suite is built once."""

from __future__ import annotations

import shutil
import subprocess

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
