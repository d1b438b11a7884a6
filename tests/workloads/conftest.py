"""What several tests of workloads share: each suite is built once."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import java_cases
import lm_runs
import pytest
from java_cases import Cases
from java_runs import Programs, java_release

PLANTED = Path(__file__).with_name("planted.c")


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    """The Java workloads; a suite is built when the first of its programs is asked for, as `regatta build` does it."""
    missing = [program for program in ("mvn", "javac", "java") if shutil.which(program) is None]
    if missing:
        pytest.skip(f"THE JAVA WORKLOADS ARE NOT TESTED: {', '.join(missing)} not on PATH")
    if java_release() < 17:
        pytest.skip("THE JAVA WORKLOADS ARE NOT TESTED: the java on PATH is older than release 17")
    return Programs(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="session")
def cases(programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> Cases:
    """Benchmarks on the harness whose behaviour is known."""
    return java_cases.build(programs, tmp_path_factory.mktemp("cases"))


@pytest.fixture(scope="session")
def lm_sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the micro-benchmarks' sources in which the suite's own build command has run."""
    if lm_runs.MISSING:
        pytest.skip(f"THE MICRO-BENCHMARKS ARE NOT TESTED: {', '.join(lm_runs.MISSING)} is not on PATH")
    copy = tmp_path_factory.mktemp("lm") / "lm"
    shutil.copytree(lm_runs.ROOT / lm_runs.BUILD["directory"], copy, ignore=shutil.ignore_patterns("build"))
    subprocess.run(lm_runs.BUILD["command"], cwd=copy, check=True)
    return copy


@pytest.fixture(scope="session")
def planted(lm_sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lm_runs.compile_against(lm_sources, PLANTED, tmp_path_factory.mktemp("planted") / "planted")


@pytest.fixture(scope="session")
def mutant(lm_sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str, str], Path]:
    """`planted` on a harness in one file of which one text is another."""

    def make(file: str, text: str, other: str) -> Path:
        copy = tmp_path_factory.mktemp("mutant") / "lm"
        shutil.copytree(lm_sources / "harness", copy / "harness")
        source = copy / "harness" / file
        original = source.read_text()
        assert original.count(text) == 1, f"{file} does not hold {text!r} once"
        source.write_text(original.replace(text, other))
        flags = ["-std=c11", "-O2", "-I."]
        files = sorted((copy / "harness").glob("*.c"))
        subprocess.run(
            ["gcc", *flags, "-o", copy / "planted", PLANTED, *files, "-pthread", "-lm"], cwd=copy, check=True
        )
        return copy / "planted"

    return make
