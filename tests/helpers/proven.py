"""Tests of programs that run again only when something changed that they depend on: proven.json.

A test that starts a program of benchmarks/ finds nothing new while the program, the test, every module that the test imports, and
the compilers are what they were when it passed. proven.json has a digest of all these for each such file of tests; where it is
still the same, `./regatta test --full` and `--only PART` skip the file.

./regatta test --full --record      run them all, and write this file and durations.json anew
./regatta test tests/workloads      run them, as every path that is named

Programs are also run by other tests, through `regatta run`, and those always run.
"""

from __future__ import annotations

import ast
import hashlib
import json
import platform
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from helpers import tiers

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
PROVEN = TESTS / "proven.json"
#: files of tests that start `regatta`, or import what loads modules by name: they depend on all of it
DEPENDENT = (
    "events_agent", "java_matrix", "jmh", "owned_suites", "trace_commands", "tracing", "tracing_servers", "web", "web_proxy",
    "web_saturation", "web_sessions",
)  # fmt: skip
#: the others start programs themselves, and depend on what they import and on what all of them share
FILES = sorted(
    path
    for path in (TESTS / "workloads").glob("test_*.py")
    if path.stem.removeprefix("test_") not in DEPENDENT
)
#: what all of them share besides imported modules: programs, what configures them, fixtures, and files that tests read
SHARED = (
    "benchmarks", "configs/suites", "configs/primitives", "configs/loads", "configs/modifiers.yml", "configs/runtimes.yml",
    "tests/helpers/workloads", "tests/helpers/own_network.py", "tests/helpers/shared_locks.py", "tests/workloads",
)  # fmt: skip
#: what programs are made and run with
TOOLS = (
    ["cc", "--version"],
    ["clang", "--version"],
    ["java", "-version"],
    ["nginx", "-v"],
    ["ldd", "--version"],
)
#: where modules are looked for
_ROOTS = (ROOT / "src", TESTS, TESTS / "workloads")
REASON = "AS PROVEN: nothing that this file depends on has changed since it passed; name it to run it"


def skip_proven(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip the tests of files that depend on nothing that has changed, in a run of a tier or of a part; named ones always run."""
    if config.getoption("record") or not (config.getoption("full") or config.getoption("only")):
        return
    recorded, named = read(), tiers.Named(config)
    chosen = {item.path for item in items if not named.path(item)}
    same = {path for path in FILES if path in chosen and recorded.get(path.name) == digest_of(path)}
    for item in items:
        if item.path in same:
            item.add_marker(pytest.mark.skip(reason=REASON))


def read(path: Path | None = None) -> dict[str, str]:
    """Name of a file -> digest of all that it depended on when its tests passed; none where nothing is recorded."""
    path = path or PROVEN
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def digest_of(path: Path) -> str:
    """The digest of all that the tests of a file depend on."""
    found = hashlib.sha256()
    for module in sorted(modules_of(path)):
        found.update(hashlib.sha256(module.read_bytes()).digest())
    found.update(_shared())
    return found.hexdigest()[:32]


def modules_of(path: Path) -> set[Path]:
    """The modules of this repository that a file imports anywhere, with those that they import, and the file itself."""
    found: set[Path] = set()
    left = [path]
    while left:
        here = left.pop()
        if here not in found:
            found.add(here)
            left += _imports(here)
    return found


@cache
def _imports(path: Path) -> list[Path]:
    names = set()
    tree = ast.parse(path.read_bytes())
    # The functions of a package itself are for its users: `regatta.open` is not what a test of a program calls.
    for node in tree.body if path.name == "__init__.py" else ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return [file for name in names for file in _files_of(name)]


def _files_of(name: str) -> list[Path]:
    """The files that are loaded for a module: its own, and those of its packages."""
    words = name.split(".")
    found = []
    for count in range(1, len(words) + 1):
        for root in _ROOTS:
            place = root.joinpath(*words[:count])
            found += [file for file in (place / "__init__.py", place.with_suffix(".py")) if file.is_file()]
    return found


@cache
def _shared() -> bytes:
    """The digest of what all of these tests share, of compilers, and of the architecture."""
    found = hashlib.sha256(platform.machine().encode())
    for place in map(ROOT.joinpath, SHARED):
        for file in sorted(place.rglob("*")) if place.is_dir() else [place]:
            # Another file of tests says nothing about this one.
            if file.is_file() and "__pycache__" not in file.parts and not file.name.startswith("test_"):
                found.update(
                    f"{file.relative_to(ROOT)}\0".encode() + hashlib.sha256(file.read_bytes()).digest()
                )
    for command in TOOLS:
        found.update(_told(command))
    return found.digest()


def _told(command: list[str]) -> bytes:
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except OSError:
        return b"none"
    return done.stdout + done.stderr


class Outcomes:
    """Writes, at the end of a whole run, the files whose tests all passed; a test that was skipped proves nothing."""

    def __init__(self, path: Path = PROVEN) -> None:
        self._path = path
        self._passed: Counter[Path] = Counter()
        self._other: set[Path] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        path = ROOT / report.nodeid.partition("::")[0]
        if report.outcome != "passed":
            self._other.add(path)
        elif report.when == "call":
            self._passed[path] += 1

    def pytest_sessionfinish(self) -> None:
        proven = {
            path.name: digest_of(path) for path in FILES if self._passed[path] and path not in self._other
        }
        self._path.write_text(json.dumps(proven, indent=0, sort_keys=True) + "\n", encoding="utf-8")
