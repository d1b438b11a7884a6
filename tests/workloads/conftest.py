"""What several tests of workloads share: each suite is built once."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from helpers.own_network import own_network
from helpers.shared_locks import made_once
from helpers.workloads import java_cases, lm_runs, web_runs
from helpers.workloads.java_cases import Cases
from helpers.workloads.java_runs import Programs, java_release
from helpers.workloads.tracing_runs import TRACING, needs
from regatta.host.measure.cgroup import TreeAccounting, open_accounting

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
    return made_once(tmp_path_factory, "lm", lm_runs.build)


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


@pytest.fixture(scope="session")
def web_sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the web servers' sources in which the suite's own build command has run."""
    if web_runs.MISSING:
        pytest.skip(f"THE WEB SERVERS ARE NOT TESTED: {', '.join(web_runs.MISSING)} is not on PATH")
    return made_once(tmp_path_factory, "web", web_runs.build)


@pytest.fixture(scope="session")
def sanitized_web(web_sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the web suite's programs with checks of addresses, leaks and undefined behavior."""
    copy = made_once(tmp_path_factory, "web-sanitized", lambda place: web_runs.build(place, "sanitized"))
    return copy / "build" / "sanitized"


@pytest.fixture(autouse=True)
def network(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test of C programs, some of which make thousands of connections, has a network of its own."""
    if {"lm_sources", "web_sources"}.isdisjoint(request.fixturenames):
        yield
    else:
        with own_network():
            yield


@pytest.fixture(scope="module")
def tracefs() -> Iterator[None]:
    """Where the machine has not mounted the tracepoints, they are mounted for these tests."""
    mounted = False
    if os.geteuid() == 0 and TRACING.is_dir() and not (TRACING / "events").exists():
        mounted = subprocess.run(["mount", "-t", "tracefs", "nodev", TRACING], check=False).returncode == 0
    yield
    if mounted:
        subprocess.run(["umount", TRACING], check=False)


@pytest.fixture(params=["strace", "bpftrace"])
def tracing_tool(request: pytest.FixtureRequest, tracefs: None) -> str:
    """Each tool that can trace here."""
    needs(request.param)
    return str(request.param)


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The program whose calls are known."""
    program = tmp_path_factory.mktemp("traced") / "traced"
    source = Path(__file__).parent / "traced.c"
    subprocess.run(
        ["gcc", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-o", program, source],
        check=True,
    )
    return str(program)


@pytest.fixture
def traced_server(traced: str) -> Iterator[subprocess.Popen[bytes]]:
    """It, serving itself with one child."""
    process = subprocess.Popen([traced, "serve"])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def accounting() -> Iterator[TreeAccounting]:
    """Accounting of a tree of processes, as the runner has it."""
    opened, reason = open_accounting()
    if opened is None:
        pytest.skip(f"NOT TESTED: no control group may be made here: {reason}")
    yield opened
    opened.close()
