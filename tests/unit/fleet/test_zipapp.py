"""The file that travels to hosts: what is in it, and that every Python which hosts may have runs it."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import itertools
import os
import platform
import re
import stat
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import regatta
from helpers.runner_plans import HOST, sh, write_plan
from regatta.fleet.agent import Agent
from regatta.fleet.detached import DetachedSegment
from regatta.fleet.remote.here import Here
from regatta.fleet.supplies import make_stock
from regatta.fleet.zipapp import zipapp_sources
from regatta.host.errors import HostError
from regatta.host.minheap.search import HEAP, Attempts, MinheapSearch, OpenAttempt
from regatta.host.values.cell import TrainingRun
from regatta.host.values.experiment import Archive, Collector, Runtime
from regatta.host.values.host import Host
from regatta.host.values.resolved import File, ResolvedHost
from regatta.host.verbs.questions import Resolve
from regatta.planner.cells import cross
from regatta.planner.plan import constant_header
from regatta.spec.load import load_spec
from regatta.store.folder import Folder

ROOT = Path(__file__).parents[3]
OLDEST = (3, 9)
VERSION = "import platform, sys; print(platform.python_implementation(), *sys.version_info[:2])"


def pythons() -> dict[tuple[int, ...], str]:
    """Version -> a CPython of this machine, from PATH or pyenv. A shim of pyenv is none: it starts whichever is chosen."""
    folders = [Path(name) for name in os.environ.get("PATH", "").split(os.pathsep) if "shims" not in name]
    folders += sorted(Path.home().glob(".pyenv/versions/*/bin"))
    found: dict[tuple[int, ...], str] = {}
    for python in [
        sys.executable,
        *(str(path) for folder in folders for path in sorted(folder.glob("python3*"))),
    ]:
        if re.fullmatch(r"python(3(\.\d+)?)?", Path(python).name) and os.access(python, os.X_OK):
            told = subprocess.run([python, "-I", "-c", VERSION], capture_output=True, text=True, check=False)
            kind, *version = told.stdout.split() or [""]
            if kind == "CPython":
                found.setdefault(tuple(map(int, version)), python)
    return found


PYTHONS = pythons()
PROMISED = sorted(version for version in PYTHONS if version >= OLDEST)
TOO_OLD = sorted(version for version in PYTHONS if version < OLDEST)


def name_of(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


SUITE = """\
suite: own
builds: {here: {directory: c, command: [cp, a.txt, made], outputs: {made: made}}}
benchmarks: {n: {command: [cat, "{here.made}"]}}
"""
SPEC = "name: s\nsuites: own.yml\nbenchmarks: [{suite: own, benchmark: n}]\ninvocations: {fixed: 1}\n"
#: as much of a JVM as a host asks it
JAVA = b'#!/bin/sh\necho "    java.home = ${0%/bin/java}"\necho openjdk 21\n'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REGATTA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("REGATTA_HOST_LOCK", str(tmp_path / "host.lock"))
    for name, text in {
        "configs/runtimes.yml": "runtimes: {}",
        "configs/hosts/local.yml": "all: {children: {local: {hosts: {local: {ansible_connection: local}}}}}",
        "own.yml": SUITE, "spec.yml": SPEC, "c/a.txt": "a",
    }.items():  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def agent_of(version: tuple[int, ...], root: Path) -> Agent:
    return Agent(Here(Host(HOST, "local", python=PYTHONS[version], root=str(root / "root"))))


@pytest.mark.parametrize("version", PROMISED, ids=name_of)
def test_every_python_resolves_with_a_build_and_an_archive(version: tuple[int, ...], home: Path) -> None:
    with tarfile.open(home / "jdk.tar.gz", "w:gz") as archive:
        info = tarfile.TarInfo("jdk/bin/java")
        info.size, info.mode = len(JAVA), 0o4755
        archive.addfile(info, io.BytesIO(JAVA))
    digest = hashlib.sha256((home / "jdk.tar.gz").read_bytes()).hexdigest()
    brought = Archive((home / "jdk.tar.gz").as_uri(), digest)
    jdk = Runtime("jdk", "java", "archive", archives={platform.machine(): brought})
    experiment = load_spec(Path("spec.yml"), home)
    experiment = dataclasses.replace(
        experiment, runtimes=(*experiment.runtimes, jdk), collectors=(Collector("serial", ("-XX:+Serial",)),)
    )
    supplies = make_stock(experiment, home).supplies_here(platform.machine())
    agent = agent_of(version, home)
    resolved = agent.resolve(Resolve(experiment, agent.host, supplies))
    assert isinstance(resolved, ResolvedHost)
    made = Path(resolved.builds["here"]["made"].path)
    assert (made.read_text(), resolved.builds["here"]["made"].sha256) == (
        "a",
        hashlib.sha256(b"a").hexdigest(),
    )
    java = Path(resolved.runtimes["jdk"].program)
    assert stat.S_IMODE(java.stat().st_mode) == 0o755
    assert resolved.runtimes["jdk"].collectors == {"serial": ""}


@pytest.mark.parametrize("version", PROMISED, ids=name_of)
def test_every_python_measures_a_segment(version: tuple[int, ...], home: Path) -> None:
    folder = Folder(home / "results" / "small")
    keeping = sh("keeping", "echo x > left.txt", keep=["left.txt"])
    write_plan(folder, [keeping, sh("false", "exit 3")], rounds=2)
    receipt = DetachedSegment(folder, agent_of(version, home), 0, False).run()
    assert (receipt["statuses"], receipt["refused"]) == ({"ok": 2, "failed": 2}, [])


@pytest.mark.skipif(not TOO_OLD, reason="NOT TESTED: no Python here is older than 3.9")
def test_an_older_python_is_named_with_what_to_set(home: Path) -> None:
    for version in TOO_OLD:
        with pytest.raises(HostError) as caught:
            agent_of(version, home).facts()
        (problem,) = caught.value.problems
        assert problem.expected == "Python 3.9 or newer"
        assert name_of(version) in problem.got
        assert "ansible_python_interpreter" in problem.fix


@pytest.mark.parametrize("version", sorted({PROMISED[0], PROMISED[-1]}), ids=name_of)
def test_the_oldest_and_the_newest_python_answer_every_question(version: tuple[int, ...], home: Path) -> None:
    agent = agent_of(version, home)
    assert agent.facts().architecture == platform.machine()
    experiment = load_spec(Path("spec.yml"), home)
    host = agent.resolve(Resolve(experiment, agent.host, make_stock(experiment, home).supplies_here("any")))
    assert isinstance(host, ResolvedHost)
    (cell,) = cross(experiment, host, {}).cells
    cell = dataclasses.replace(cell, training=TrainingRun(("cp", "/dev/null", "{output}"), "made"))
    (file,) = agent.train([cell], experiment, host).values()
    assert isinstance(file, File)
    assert Path(file.path).read_bytes() == b""
    attempt = OpenAttempt({"heap": HEAP}, {**cell.to_json(300.0, 1), "argv": ["/usr/bin/test", HEAP, "-gt", "20"]},
                          constant_header(experiment, host))  # fmt: skip
    search = MinheapSearch("b", "r", "local", f"{HOST}/b.jsonl", 1, 100, 300.0, {"g1": attempt})
    attempts = Attempts(Path(agent.search_minheap(search)).parents[1], search)
    assert attempts.known() == 21


def test_a_fault_of_our_own_is_not_blamed_on_the_host(home: Path) -> None:
    faulty = home / "faulty.pyz"
    with zipfile.ZipFile(faulty, "w") as archive:
        archive.writestr("__main__.py", "raise KeyError('ours')")
    agent = Agent(agent_of(PROMISED[-1], home).remote, faulty)
    with pytest.raises(HostError) as caught:
        agent.run(["ask", "facts", agent.host.root])
    (problem,) = caught.value.problems
    assert "provision" not in problem.fix
    assert f"Python {name_of(PROMISED[-1])}" in problem.got


def alternatives(pattern: str) -> list[str]:
    """A pattern of pyproject.toml without its braces."""
    parts = [part.split(",") for part in re.split(r"[{}]", pattern)]
    return ["".join(words) for words in itertools.product(*parts)]


def test_what_travels_to_hosts_is_one_folder() -> None:
    package = Path(regatta.__file__).parent
    folder = {path for path in package.rglob("*.py") if path.is_relative_to(package / "host")}
    assert set(zipapp_sources()) == {package / "__init__.py", *folder}
